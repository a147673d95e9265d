"""Seconds and memory, and training loops that are scored off the clock. Needs numpy only."""

import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from protocol import emit

_FIRST_EVALUATION, _EVALUATION_GROWTH = 1.0, 1.25  # seconds of training, and factor


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


class Allowance:
    """Says whether so many seconds are up, counted from the first time that it is asked.

    It is asked after each iteration, so that the first one, which compiles, is not counted.
    """

    def __init__(self, seconds):
        self._allowed, self._watch = seconds, None

    def over(self):
        self._watch = self._watch or Stopwatch()
        return self.seconds() > self._allowed

    def seconds(self):
        return self._watch.seconds() if self._watch else 0.0


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
