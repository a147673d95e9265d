"""What the adapters share: JSON lines on stdout, a clock that can be stopped, scores.

Needs numpy only: every adapter imports it in its own environment. An adapter is called as
``python adapter_NAME.py TASK [--problems FILE ...] [--options JSON]``, runs the task once for each
problem (once without one), and writes a line of JSON for each result.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from problems import Problem

HERE = Path(__file__).resolve().parent
_FIRST_EVALUATION, _EVALUATION_GROWTH = 1.0, 1.25  # seconds of training, and factor


class AdapterError(RuntimeError):
    """An adapter ended with an error; the message is the end of what it wrote."""


def call(python, adapter, task, problems=(), **options):
    """Run a task of an adapter in its own process.

    Parameters
    ----------
    python : str
        Interpreter of the environment that has the library.
    adapter : str
        Name of the file without "adapter_" and ".py".
    task : str
    problems : iterable of Path
    **options
        Keyword arguments of the task.

    Returns
    -------
    records : list of dict
    """
    command = [python, str(HERE / f"adapter_{adapter}.py"), task]
    command += ["--options", json.dumps(options)]
    if problems:
        command += ["--problems", *map(str, problems)]
    environment = dict(os.environ)
    if python != sys.executable:
        environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        # without the lines that say where files are: this is stored with the results
        said = [line for line in done.stderr.strip().splitlines() if ", line " not in line]
        last = "\n".join(line for line in said[-8:] if line.strip())
        raise AdapterError(f"{adapter} {task} ended with status {done.returncode}:\n{last}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def emit(**record):
    """Write one result."""
    print(json.dumps(record, default=float), flush=True)


def main(tasks):
    """Command line of an adapter.

    Parameters
    ----------
    tasks : iterable of callable
        Each takes a `Problem` or None, and keyword options.
    """
    tasks = {task.__name__: task for task in tasks}
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=tasks)
    parser.add_argument("--problems", nargs="*", default=[])
    parser.add_argument("--options", type=json.loads, default={})
    args = parser.parse_args()
    for path in args.problems or [None]:
        tasks[args.task](path and Problem.read(path), **args.options)


def scores(y, mean, std):
    """RMSE, mean negative log density and coverage of the central 90 % interval."""
    z = (y - mean) / std
    return {
        "rmse": float(np.sqrt(np.mean((y - mean) ** 2))),
        "nlpd": float(np.mean(0.5 * z**2 + np.log(std)) + 0.5 * np.log(2.0 * np.pi)),
        "coverage": float(np.mean(np.abs(z) <= 1.6448536)),
    }


def class_scores(y, probability, n_bins=15):
    """Error, mean negative log probability and expected calibration error.

    The last is the mean distance of the greatest probability from how often it is right, over bins
    of equal width, weighted by their rows.
    """
    top, right = probability.max(axis=1), probability.argmax(axis=1) == y
    place = np.minimum((n_bins * top).astype(int), n_bins - 1)
    gaps = np.bincount(place, right - top, minlength=n_bins)
    given = np.maximum(probability[np.arange(len(y)), y], np.finfo(np.float64).tiny)
    return {
        "error": float(np.mean(~right)),
        "nlpd": float(-np.mean(np.log(given))),
        "ece": float(np.abs(gaps).sum() / len(y)),
    }


def median_seconds(function, repeats, warm_up=2):
    """Median time of a call; the first few calls are not counted."""
    for _ in range(warm_up):
        function()
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds))


def batches(n, size, seed=0):
    """Indices of minibatches without replacement, epoch after epoch, for ever."""
    rng = np.random.default_rng(seed)
    size = min(n, size)
    while True:
        order = rng.permutation(n)
        for lo in range(0, n - size + 1, size):
            yield order[lo : lo + size]


class Stopwatch:
    """Seconds since it was made, but for those spent inside `paused`."""

    def __init__(self):
        self._begin, self._paused = time.perf_counter(), 0.0

    def seconds(self):
        return time.perf_counter() - self._begin - self._paused

    @contextmanager
    def paused(self):
        begin = time.perf_counter()
        yield
        self._paused += time.perf_counter() - begin


class Evaluations:
    """Emits test scores at growing intervals of training time, off the clock.

    Parameters
    ----------
    evaluate : callable
        Returns a dict of scores.
    seconds : float
        Training ends after so many.
    """

    def __init__(self, evaluate, seconds):
        self.evaluate, self.seconds = evaluate, seconds
        self.watch, self.due = Stopwatch(), min(_FIRST_EVALUATION, seconds)

    def over(self):
        """To be called after each step; whether the time is up."""
        now = self.watch.seconds()
        if now < self.due:
            return False
        self.report()
        self.due = min(max(now, self.due) * _EVALUATION_GROWTH, self.seconds)
        return now >= self.seconds

    def report(self):
        now = self.watch.seconds()
        with self.watch.paused():
            emit(seconds=now, **self.evaluate())


def train(step, evaluate, seconds):
    """Run ``step`` for so many seconds. The first, which compiles, is not counted."""
    step()
    evaluations = Evaluations(evaluate, seconds)
    while not evaluations.over():
        step()


def anonymous_memory():
    """Anonymous memory of this process in MB; 0 where /proc does not tell."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0.0
    return float(status.partition("RssAnon:")[2].split()[0]) / 1024.0


class PeakMemory:
    """Largest anonymous memory while the block runs, in MB above that at its start."""

    def __enter__(self):
        self.start = self.peak = anonymous_memory()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self):
        while not self._stop.wait(0.01):
            self.peak = max(self.peak, anonymous_memory())

    def __exit__(self, *error):
        self._stop.set()
        self._thread.join()
        self.peak = max(self.peak, anonymous_memory())

    @property
    def megabytes(self):
        return self.peak - self.start
