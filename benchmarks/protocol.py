"""How run.py and the adapters talk: a task by its name, results as lines of JSON on stdout.

Needs numpy only: every adapter imports it in its own environment. An adapter is called as
``python FOLDER/NAME.py TASK [--problems FILE ...] [--options JSON]`` with this folder on
PYTHONPATH, runs the task once for each problem (once without one), and writes a line of JSON for
each result.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from problems.problem import Problem

HERE = Path(__file__).resolve().parent


class AdapterError(RuntimeError):
    """An adapter ended with an error; the message is the end of what it wrote."""


def call(python, adapter, task, problems=(), **options):
    """Run a task of an adapter in its own process.

    Parameters
    ----------
    python : str
        Interpreter of the environment that has the library.
    adapter : str
        Path of the file from this folder without ".py", such as "ours/svgp_regressor".
    task : str
    problems : iterable of Path
    **options
        Keyword arguments of the task.

    Returns
    -------
    records : list of dict
    """
    command = [python, str(HERE / f"{adapter}.py"), task]
    command += ["--options", json.dumps(options)]
    if problems:
        command += ["--problems", *map(str, problems)]
    done = subprocess.run(
        command, env=_environment(python), capture_output=True, text=True, check=False
    )
    if done.returncode:
        # without the lines that say where files are: this is stored with the results
        said = [line for line in done.stderr.strip().splitlines() if ", line " not in line]
        last = "\n".join(line for line in said[-8:] if line.strip())
        raise AdapterError(f"{adapter} {task} ended with status {done.returncode}:\n{last}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _environment(python):
    """Ours with this folder on the path; another interpreter gets no other folder of ours."""
    folders = [str(HERE)]
    if python == sys.executable and os.environ.get("PYTHONPATH"):
        folders.append(os.environ["PYTHONPATH"])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}


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
