"""How run.py and the adapters talk: a task by its name, results as lines of JSON on stdout.

Needs numpy only: every adapter imports it in its own environment. An adapter is called as
``python FOLDER/NAME.py TASK [--problems FILE ...] [--options JSON]`` with this folder on
PYTHONPATH, runs the task once for each problem (once without one), and writes a line of JSON for
each result. Before these it says how far it lets its library go, by `allow`.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from problems.problem import Problem

HERE = Path(__file__).resolve().parent
_ALLOWED = "allowed"


class AdapterError(RuntimeError):
    """An adapter ended with an error; the message is the end of what it wrote."""


@dataclass(frozen=True)
class Answer:
    """What an adapter wrote.

    Parameters
    ----------
    records : list of dict
    allowed : dict
        How far its library was let go: iterations, seconds, repeats.
    seconds : float
        Of the whole process.
    cut_off : bool
        Whether it was ended by the limit; the records are those written until then.
    """

    records: list
    allowed: dict
    seconds: float
    cut_off: bool


def call(python, adapter, task, problems=(), limit=None, **options):
    """Run a task of an adapter in its own process.

    Parameters
    ----------
    python : str
        Interpreter of the environment that has the library.
    adapter : str
        Path of the file from this folder without ".py", such as "ours/svgp_regressor".
    task : str
    problems : iterable of Path
    limit : float or None
        Seconds after which the process is ended.
    **options
        Keyword arguments of the task.

    Returns
    -------
    answer : Answer
    """
    command = [python, str(HERE / f"{adapter}.py"), task]
    command += ["--options", json.dumps(options)]
    if problems:
        command += ["--problems", *map(str, problems)]
    begin, cut_off = time.perf_counter(), False
    try:
        done = subprocess.run(
            command, env=_environment(python), capture_output=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired as error:
        cut_off, written = True, error.stdout or b""
    else:
        written = done.stdout
        if done.returncode:
            raise AdapterError(_failure(adapter, task, done))
    records, allowed = _read(written.decode())
    return Answer(records, allowed, time.perf_counter() - begin, cut_off)


def _failure(adapter, task, done):
    # without the lines that say where files are: this is stored with the results
    said = [line for line in done.stderr.decode().strip().splitlines() if ", line " not in line]
    last = "\n".join(line for line in said[-8:] if line.strip())
    return f"{adapter} {task} ended with status {done.returncode}:\n{last}"


def _read(written):
    """Records and allowances; a last line that is not whole was being written at the limit."""
    records, allowed = [], {}
    for line in written.splitlines(keepends=True):
        if line.startswith("{") and line.endswith("\n"):
            record = json.loads(line)
            allowed |= record.get(_ALLOWED, {})
            if _ALLOWED not in record:
                records.append(record)
    return records, allowed


def _environment(python):
    """Ours with this folder on the path; another interpreter gets no other folder of ours."""
    folders = [str(HERE)]
    if python == sys.executable and os.environ.get("PYTHONPATH"):
        folders.append(os.environ["PYTHONPATH"])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}


def allow(**limits):
    """Say how far the library may go, for the page: iterations, seconds, repeats."""
    emit(**{_ALLOWED: limits})


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
