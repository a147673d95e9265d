"""A long mixed use in one process: memory, open files and threads, minute by minute.

    python tests/hostile/soak.py --minutes 30

Every turn fits an estimator, adds a batch, predicts and goes through a pickle. It ends with status
1 if memory has grown by more than 5 MB after the first two minutes (and five turns of each
estimator), or files or threads at all.
"""

import argparse
import ctypes
import gc
import os
import pickle
import sys
import threading
import time
import warnings
from itertools import count
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[2])]

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp._core._memory import release

WARM_UP = 120.0  # seconds
MOST_MB = 5.0
_C_LIBRARY = ctypes.CDLL(None)
_MMAP_THRESHOLD = -3  # of glibc; by default it grows to the largest array that was freed
SMALL = {"n_inducing": 20, "max_iter": 3, "random_state": 0}
MODELS = [
    SVGPRegressor(**SMALL),
    SVGPRegressor(optimizer="adam", batch_size=100, **SMALL),
    SVGPRegressor(likelihood="student_t", **SMALL),
    SVGPRegressor(likelihood="heteroscedastic", **SMALL),
    SVGPRegressor(n_jobs=2, init_size=200, **SMALL),
    SVGPClassifier(**SMALL),
    AnytimeSGPRegressor(n_neighbors=10, **SMALL),
    AnytimeSGPRegressor(model="pic", block_size=100, n_jobs=2, **SMALL),
    AnytimeSGPRegressor(model="fitc", solver="exact", **SMALL),
    AnytimeSGPClassifier(n_neighbors=10, **SMALL),
    StreamingSGPRegressor(**SMALL),
    StreamingSGPClassifier(**SMALL),
    BayesianGPLVM(**SMALL),
]


def in_use():
    """Memory in MB, open files, threads of the process and of Python; resident memory besides.

    Memory is what is resident once the pool and the C library have given back what waits for the
    next array: how much that is goes with the sizes of the last arrays, and no leak is in it. The
    library gives nothing back of what threads had that have ended, hence `_keep_little`.
    """
    gc.collect()
    resident = _resident()
    release(0)
    if hasattr(_C_LIBRARY, "malloc_trim"):
        _C_LIBRARY.malloc_trim(0)
    threads = len(os.listdir("/proc/self/task"))
    files = len(os.listdir("/proc/self/fd"))
    return _resident(), files, threads, threading.active_count(), resident


def _keep_little():
    """Let arrays of 128 kB and more go back to the system where they are freed, in all threads."""
    if hasattr(_C_LIBRARY, "mallopt"):
        _C_LIBRARY.mallopt(_MMAP_THRESHOLD, 1 << 17)


def _resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def turn(number, rng):
    """Fit, add, predict and pickle one model, on data of a size of their own."""
    model = pickle.loads(pickle.dumps(MODELS[number % len(MODELS)]))
    X = rng.uniform(-2.0, 2.0, (int(rng.integers(50, 1_500)), 3))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(len(X))
    if hasattr(model, "transform"):
        model.fit(X[:300])
        pickle.loads(pickle.dumps(model)).transform(X)
        return
    y = np.digitize(y, [-0.5, 0.5]) if hasattr(model, "predict_proba") else y
    model.fit(X, y).partial_fit(X[:40], y[:40])
    model = pickle.loads(pickle.dumps(model))
    if hasattr(model, "predict_proba"):
        model.predict_proba(X)
    else:
        model.predict(X, return_std=True)
        model.sample_y(X[:20])
    try:
        model.fit(np.full_like(X, np.nan), y)
    except ValueError:
        pass


def main():
    """Use the package for some minutes, and compare what it holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    _keep_little()
    rng = np.random.default_rng(options.seed)
    started, told, warm = time.perf_counter(), 0.0, None
    for number in count():
        turn(number, rng)
        seconds = time.perf_counter() - started
        if seconds > told:
            now = in_use()
            said = "{:.1f} MB, {} files, {} threads ({}), {:.1f} MB resident".format(*now)
            print(f"{seconds:7.0f} s, {number + 1} turns: {said}", flush=True)
            told = seconds + 30.0
        if warm is None and seconds > WARM_UP and number >= 5 * len(MODELS):
            warm = in_use()
        if seconds > 60.0 * options.minutes:
            break
    now, warm = in_use(), warm or in_use()
    grown = now[0] - warm[0], now[1] - warm[1], now[2] - warm[2]
    memory, files, threads = grown
    print(f"since the first two minutes: {memory:.1f} MB, {files} files, {threads} threads")
    sys.exit(grown[0] > MOST_MB or grown[1] > 0 or grown[2] > 0)


if __name__ == "__main__":
    main()
