"""Threads that take and return memory of the pool at the same time; each finds what it wrote.

    python tests/hostile/pool.py --turns 20000 --seed 0

`.ci/valgrind` runs it under memcheck.
"""

import argparse
import importlib
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np


def compiled(name):
    """A module of the core without the rest of the package, whose imports take minutes there."""
    root = Path(__file__).parents[2]
    for package in ("sklearn_sgp", "sklearn_sgp._core"):
        sys.modules[package] = types.ModuleType(package)
        sys.modules[package].__path__ = [str(root.joinpath(*package.split(".")))]
    return importlib.import_module(f"sklearn_sgp._core.{name}")


_memory = compiled("_memory")
empty, kept_bytes, release = _memory.empty, _memory.kept_bytes, _memory.release

LIMIT = 256 << 20  # of what may wait
N_THREADS = 4


def work(turns, seed):
    """Take arrays, write them, and look at them before they go; the bytes that were in use."""
    rng, held, used = np.random.default_rng(seed), [], 0
    for turn in range(turns):
        array = empty((int(rng.integers(8_000, 60_000)),))
        array[0] = array[-1] = array[len(array) // 2] = mark = seed + turn / turns
        held.append((mark, array))
        used += array.nbytes
        if len(held) > 6:
            mark, array = held.pop(int(rng.integers(len(held))))
            assert array[0] == array[-1] == array[len(array) // 2] == mark, "memory is shared"
        if turn % 97 == 0:
            release(int(rng.integers(0, 3)))
        assert kept_bytes() <= LIMIT
    return used


def main():
    """Run the threads, and print what they used."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=20_000, help="of each thread")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + N_THREADS)
    with ThreadPoolExecutor(N_THREADS) as pool:
        used = sum(pool.map(work, N_THREADS * [options.turns], seeds))
    release(0)
    assert kept_bytes() == 0
    print(f"{N_THREADS} threads, {options.turns} turns each, {used / 1e9:.1f} GB: all right")


if __name__ == "__main__":
    main()
