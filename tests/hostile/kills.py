"""Processes that are killed, and fits that are interrupted, at random moments.

    python tests/hostile/kills.py --kills 200 --interrupts 200 --seed 0

A stream saves itself after every batch and is killed: what was saved last loads, and goes on bit
for bit. Every estimator gets Ctrl-C somewhere in ``fit`` and ``partial_fit``: it is as before.
"""

import argparse
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

import numpy as np
from failures import state_of

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

SMALL = {"n_inducing": 10, "max_iter": 3, "random_state": 0}
MODELS = {
    "svgp": SVGPRegressor(n_jobs=1, **SMALL),
    "svgp, two jobs": SVGPRegressor(n_jobs=2, batch_size=50, **SMALL),
    "svgp, student_t": SVGPRegressor(likelihood="student_t", n_jobs=1, **SMALL),
    "svgp, auto noise": SVGPRegressor(likelihood="auto", n_jobs=1, **SMALL),
    "svgp, mixed": SVGPRegressor(n_latent=1, n_jobs=1, **SMALL),
    "classifier": SVGPClassifier(n_jobs=1, **SMALL),
    "vif": AnytimeSGPRegressor(n_neighbors=8, n_jobs=1, **SMALL),
    "pic, exact": AnytimeSGPRegressor(
        model="pic", solver="exact", block_size=60, n_jobs=1, **SMALL
    ),
    "vif, classes": AnytimeSGPClassifier(n_neighbors=8, n_jobs=1, **SMALL),
    "stream": StreamingSGPRegressor(n_jobs=1, **SMALL),
    "stream of classes": StreamingSGPClassifier(n_jobs=1, **SMALL),
    "latent": BayesianGPLVM(n_jobs=1, **SMALL),
}
SAVED = ["svgp", "classifier", "pic, exact", "vif", "stream", "stream of classes", "latent"]
N_BATCHES = 8


def rows(seed, n=60):
    """Rows of three columns, and their targets."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 3))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(n)


def fresh(name):
    """A copy of a model without what it has learned, and the arguments of its methods."""
    model = pickle.loads(pickle.dumps(MODELS[name]))

    def arguments(seed, n=60):
        X, y = rows(seed, n)
        if hasattr(model, "transform"):
            return (X,)
        if getattr(model, "n_latent", None):
            y = np.column_stack([y, y**2])
        return X, (y > 0.0 if hasattr(model, "predict_proba") else y)

    return model, arguments


def answer(model, X):
    """What a fitted model says of rows."""
    if hasattr(model, "transform"):
        return model.transform(X)
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


# SIGKILL -----------------------------------------------------------------------------------------


def learn_and_save(name, path):
    """Go on with what is saved, if anything is, and save after every batch."""
    warnings.simplefilter("ignore")
    model, arguments = fresh(name)
    done = 0
    if path.exists():
        done, model = pickle.loads(path.read_bytes())
    for number in range(done, N_BATCHES):
        model.partial_fit(*arguments(number))
        new = path.with_suffix(".new")
        new.write_bytes(pickle.dumps((number + 1, model)))
        new.replace(path)


def killed(name, seed, delays):
    """Kill learning at these moments, one after another, then let it end; return what it says."""
    random.seed(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        command = [sys.executable, __file__, "--child", name, str(path)]
        for delay in delays:
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            try:
                child.wait(delay)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
                child.wait()
        learn_and_save(name, path)
        return answer(pickle.loads(path.read_bytes())[1], rows(99)[0])


def undisturbed(name):
    """What the same batches give in one process, never saved."""
    model, arguments = fresh(name)
    for number in range(N_BATCHES):
        model.partial_fit(*arguments(number))
    return answer(model, rows(99)[0])


def kill_often(count, seed):
    """Kill so many processes; return names and seeds of loops that end otherwise."""
    rng, failed, number = random.Random(seed), [], 0
    expected = {name: undisturbed(name) for name in SAVED}
    while number < count:
        name = SAVED[rng.randrange(len(SAVED))]
        # importing takes most of the first second
        delays = [rng.uniform(0.6, 2.0) for _ in range(min(3, count - number))]
        if not np.array_equal(killed(name, seed, delays), expected[name]):
            failed.append((name, delays))
        number += len(delays)
    return failed


# SIGINT ------------------------------------------------------------------------------------------


def _is_interrupt(error):
    """Whether it is Ctrl-C, of which numpy makes a TypeError amid a comparison of records."""
    swallowed = isinstance(error, TypeError) and "compare structured arrays" in str(error)
    return swallowed or isinstance(error, KeyboardInterrupt)


def interrupted(name, method, delay):
    """Call a method that Ctrl-C ends after ``delay`` seconds.

    Returns
    -------
    came : bool
        Whether it came before the method's end.
    same : bool
        Whether the model is as before, and goes on as if nothing had been; or, as Ctrl-C may come
        between the last change and the caller's next line, as after the method.
    """
    model, arguments = fresh(name)
    model.partial_fit(*arguments(0))
    twin = pickle.loads(pickle.dumps(model))
    test, batch = rows(99)[0], arguments(1, 150)
    before, said, came = state_of(model), answer(model, test), False
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        getattr(model, method)(*batch)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    except BaseException as error:
        if not _is_interrupt(error):
            raise
        came = True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
    if not came:
        return False, True
    if _is_done(model, twin, method, batch, test):
        return True, True
    now = vars(model)
    same = set(now) == set(before) and all(now[key] is before[key] for key in now)
    same = same and np.array_equal(answer(model, test), said)
    if method == "fit" and _is_kept(model, now, before, batch):
        same = bool(np.isfinite(answer(model, test)).all())
    getattr(model, method)(*batch)
    getattr(twin, method)(*batch)
    return True, same and np.array_equal(answer(model, test), answer(twin, test))


def _is_kept(model, now, before, batch):
    """Whether what was learned of the batch stands in the place of the fit before, as a whole."""
    is_new = now["_fitted"] is not before["_fitted"]
    return is_new and set(before) <= set(now) and model.n_samples_seen_ == len(batch[0])


def _is_done(model, before, method, batch, test):
    """Whether a model is as one in which nothing came between."""
    done = pickle.loads(pickle.dumps(before))
    getattr(done, method)(*batch)
    seen = getattr(model, "n_samples_seen_", None) == getattr(done, "n_samples_seen_", None)
    return seen and np.array_equal(answer(model, test), answer(done, test))


def seconds_of(name, method):
    """How long a method takes."""
    model, arguments = fresh(name)
    model.partial_fit(*arguments(0))
    started = time.perf_counter()
    getattr(model, method)(*arguments(1, 150))
    return time.perf_counter() - started


def interrupt_often(count, seed, names=tuple(MODELS)):
    """Interrupt each model so often; return how many came in time, and the failures."""
    rng, came, failed = random.Random(seed), Counter(), []
    for name in names:
        for method in ("fit", "partial_fit"):
            seconds = seconds_of(name, method)
            for _ in range(count):
                delay = rng.uniform(1e-4, seconds)
                in_time, same = interrupted(name, method, delay)
                came[name, method] += in_time
                if not same:
                    failed.append((name, method, delay))
    return came, failed


def main():
    """Kill and interrupt, and print counts and failures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--interrupts", type=int, default=200, help="of each method and model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", nargs=2, metavar=("MODEL", "PATH"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.child:
        learn_and_save(options.child[0], Path(options.child[1]))
        return
    failed = kill_often(options.kills, options.seed)
    print(f"{options.kills} kills, seed {options.seed}: loops that end otherwise: {failed}")
    came, broken = interrupt_often(options.interrupts, options.seed)
    for (name, method), times in came.items():
        print(f"{name}, {method}: {times} of {options.interrupts} in time")
    print(f"{sum(came.values())} interrupts, seed {options.seed}: not as before: {broken}")
    sys.exit(bool(failed or broken))


if __name__ == "__main__":
    main()
