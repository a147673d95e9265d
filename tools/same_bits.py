"""Show that a change of the package's structure leaves every bit of its numbers as it was.

    python tools/same_bits.py store FILE.npz       before the change: all answers of many models
    python tools/same_bits.py compare FILE.npz     after it: 1 is returned if anything differs

``--only SUBSTRING`` takes the configurations whose names have it, ``--jobs`` is the number of
processes, and ``--rtol`` allows for numbers that differ by so much. What is stored depends on the
machine and on the versions of all libraries, so that both commands should run on one machine. It is
the package in the folder above this one that answers. Needs ``pip install -e ".[test]"``.

`bits` has the configurations, and in `bits.answers` what is asked of each.
"""

import argparse
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
# Between the name of a configuration, a stage of its life, and an entry.
BETWEEN = " | "
# Sums in threads depend on how many there are, and those on the machine's load.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


def prepare():
    """Make workers import the package of this folder, with one thread for BLAS."""
    os.environ |= dict.fromkeys(ONE_THREAD, "1")
    sys.path.insert(0, str(ROOT))


def answers_of(name):
    """Answer all that is asked of a configuration; return its name, the answers and the seconds."""
    from bits.answers import all_answers

    begun = time.perf_counter()
    return name, all_answers(name), time.perf_counter() - begun


def chosen(only):
    """List the configurations whose names have this in them, the largest first."""
    from bits.every import CASES

    names = [name for name in CASES if only in name]
    return sorted(names, key=lambda name: -CASES[name].n)


def computed(only, jobs, report=None):
    """Run configurations in processes of their own; return the entries by their full names."""
    names, found, context = chosen(only), {}, multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        for name, answers, seconds in pool.map(answers_of, names):
            found |= {f"{name}{BETWEEN}{key}": value for key, value in answers.items()}
            if report is not None:
                report(name, answers, seconds)
    return found


def configuration(key):
    return key.partition(BETWEEN)[0]


# Differences -------------------------------------------------------------------------------------


def largest_difference(one, other):
    """Find the largest relative difference of two arrays of numbers of one shape."""
    if one.dtype.kind not in "fc":
        return float(np.mean(one != other))
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(one), np.abs(other))
        relative = np.where(one == other, 0.0, np.abs(one - other) / size)
    both = np.isnan(one) & np.isnan(other)
    return float(np.max(np.where(np.isnan(relative), np.where(both, 0.0, np.inf), relative)))


def difference(one, other, rtol):
    """Say in words how an entry differs from what was stored, or nothing if it does not."""
    if one is None or other is None:
        return "is new" if one is None else "is missing"
    if one.dtype != other.dtype or one.shape != other.shape:
        if one.dtype.kind == other.dtype.kind == "U" and one.shape == other.shape == ():
            return f"was\n        {one}\n      and is\n        {other}"
        return f"was {one.dtype}{one.shape} and is {other.dtype}{other.shape}"
    if one.tobytes() == other.tobytes():
        return ""
    if one.dtype.kind == "U":
        return f"was\n        {one}\n      and is\n        {other}"
    found = largest_difference(one, other)
    if found <= rtol and rtol > 0.0:
        return ""
    return f"differs by {found:.1e}" if found else "differs by a sign of zero or NaN"


def differences(stored, found, rtol):
    """Describe all entries that differ, by the name of the configuration and of the entry."""
    told = {}
    for key in [*stored, *(key for key in found if key not in stored)]:
        words = difference(stored.get(key), found.get(key), rtol)
        if words:
            name, _, entry = key.partition(BETWEEN)
            told.setdefault(name, {})[entry] = words
    return told


def line_of(name, entries, n_shown=12):
    """Name what differs in one configuration."""
    shown = [f"    {entry} {words}" for entry, words in list(entries.items())[:n_shown]]
    more = [f"    and {len(entries) - n_shown} more"] if len(entries) > n_shown else []
    return "\n".join([f"{name}: {len(entries)} entries differ", *shown, *more])


# Commands ----------------------------------------------------------------------------------------


def store(path, only, jobs):
    """Write all answers; return 1 if a configuration could not be run as it is meant."""
    failed = []

    def report(name, answers, seconds):
        broken = [f"{key}: {value}" for key, value in answers.items() if key.endswith("broken")]
        failed.extend(f"{name} {BETWEEN} {text}" for text in broken)
        print(f"{seconds:6.1f} s {len(answers):5} entries  {name}", flush=True)

    begun = time.perf_counter()
    found = computed(only, jobs, report)
    np.savez(path, **found)
    count = len({configuration(key) for key in found})
    print("\n".join(failed), end="\n" if failed else "")
    seconds = time.perf_counter() - begun
    print(f"{count} configurations, {len(found)} entries, {len(failed)} broken, {seconds:.0f} s")
    return int(bool(failed))


def compare(path, only, jobs, rtol):
    """Print what differs from a file; return 1 if anything does."""
    with np.load(path) as file:
        stored = {key: file[key] for key in file.files if only in configuration(key)}
    found = computed(only, jobs)
    told = differences(stored, found, rtol)
    for name, entries in told.items():
        print(line_of(name, entries))
    count = len({configuration(key) for key in found})
    n_different = sum(map(len, told.values()))
    print(f"{count} configurations, {len(found)} entries, {n_different} differ")
    return int(bool(told))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=("store", "compare"))
    parser.add_argument("path", metavar="FILE.npz")
    parser.add_argument("--only", default="", metavar="SUBSTRING")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rtol", type=float, default=0.0)
    given = parser.parse_args(arguments)
    prepare()
    if given.command == "store":
        return store(given.path, given.only, given.jobs)
    return compare(given.path, given.only, given.jobs, given.rtol)


if __name__ == "__main__":
    sys.exit(main())
