"""Predictions of PIC by workers, beside the same in one process: seconds of each, in turn."""

import pickle
import time

import numpy as np
from joblib import Parallel, delayed, parallel_config
from protocol import emit, main
from sklearn.base import clone

from sklearn_sgp import AnytimeSGPRegressor

_PARTITIONS = 20  # of the training rows, which dask fits
_ASKED = 5  # partitions of the test rows


def pic(problem, *, n_inducing, n_blocks, workers, repeats, labelled):
    """Predict all test rows here, by joblib's processes, and by dask's of two kinds of models.

    The second kind was fitted to a dask array, so that its blocks are on the workers. Kernel and
    noise are those that learning would start from. ``labelled`` says whether blocks are slabs of
    rows, named in a column of X, or made by k-means.
    """
    import dask.array as da
    from distributed import Client, LocalCluster

    X, y, X_test = problem.X, problem.y, problem.X_test
    size = -(-len(y) // n_blocks)
    model = AnytimeSGPRegressor(
        model="pic", solver="exact", n_inducing=n_inducing, block_size=size, optimizer=None,
        random_state=0,
    )  # fmt: skip
    if labelled:
        X, y, X_test = _in_slabs(X, y, X_test, size)
        model.set_params(block_column=X.shape[1] - 1)
    bounds = np.unique(np.linspace(0, n_blocks, _PARTITIONS + 1).astype(int) * size)
    sizes = tuple(np.diff(np.minimum(bounds, len(y))).tolist())
    model.fit(X, y)
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        rows = da.from_array(X, chunks=(sizes, -1)).persist()
        there = clone(model).fit(rows, da.from_array(y, chunks=(sizes,)).persist())
        asked = da.from_array(X_test, chunks=(-(-len(X_test) // _ASKED), -1)).persist()
        ways = {
            "here": lambda: fresh(model).set_params(n_jobs=1).predict(X_test, return_std=True),
            "joblib": lambda: _by_joblib(fresh(model), X_test, workers),
            "dask": lambda: client.gather(client.compute(fresh(model).predict(asked, True))),
            "dask, blocks there": lambda: client.gather(client.compute(there.predict(asked, True))),
        }
        _wake(client, workers)
        for _ in range(repeats):
            _emit_turn(ways)


def _in_slabs(X, y, X_test, size):
    """Return rows in order of their slabs, with a column of labels."""
    direction = np.random.default_rng(0).standard_normal(X.shape[1])
    place = X @ direction
    order, labels = np.argsort(place, kind="stable"), np.arange(len(y)) // size
    at = np.searchsorted(place[order][size::size], X_test @ direction, side="right")
    return np.column_stack([X[order], labels]), y[order], np.column_stack([X_test, at])


def fresh(model):
    """Return the model as another process gets it: nothing is factorised yet."""
    return pickle.loads(pickle.dumps(model))


def _by_joblib(model, X_test, workers):
    with parallel_config("loky", n_jobs=workers):
        return model.predict(X_test, return_std=True)


def _import():
    import sklearn_sgp  # noqa: F401


def _wake(client, workers):
    """Start all processes, and have them import the package."""
    client.run(_import)
    Parallel(workers, "loky")(delayed(_import)() for _ in range(8 * workers))


def _emit_turn(ways):
    """Emit the seconds of each way, and how far its answers are from those in one process."""
    seconds, answers = {}, {}
    for name, way in ways.items():
        begin = time.perf_counter()
        answers[name] = way()
        seconds[name] = time.perf_counter() - begin
    for name, found in answers.items():
        apart = [np.abs(a - b).max() for a, b in zip(found, answers["here"], strict=True)]
        emit(
            where=name,
            seconds=seconds[name],
            times=seconds[name] / seconds["here"],
            difference=max(apart),
        )


if __name__ == "__main__":
    main([pic])
