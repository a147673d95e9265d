"""A table in Parquet files on dask workers beside one process, and workers that are killed."""

import os
import signal
import tempfile
import time
from pathlib import Path
from threading import Timer

import numpy as np
import pandas as pd
from protocol import emit, main

from ours.partitioned_rows import collection, rows_from
from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor

_TARGET = "target"


def _cluster(count):
    from distributed import LocalCluster

    return LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None)


def parquet_blocks(problem, *, n_inducing, n_blocks, workers, n_files=20, **parameters):
    """PIC with blocks found by k-means: of arrays in this process, of Parquet files on workers."""
    import dask.array as da
    import dask.dataframe as dd
    from distributed import Client

    X, y, n = problem.X, problem.y, len(problem.y)
    names = [f"column {k}" for k in range(X.shape[1])]
    model = AnytimeSGPRegressor(
        model="pic", solver="exact", n_inducing=n_inducing, block_size=-(-n // n_blocks),
        random_state=0, **parameters,
    )  # fmt: skip
    _emit_fit(problem, model, "one process", X, y, problem.X_test)
    with tempfile.TemporaryDirectory() as folder:
        table = pd.DataFrame(X, columns=names).assign(**{_TARGET: y})
        for k, own in enumerate(np.array_split(np.arange(n), n_files)):
            table.iloc[own].to_parquet(Path(folder) / f"{k:03}.parquet")
        with _cluster(workers) as cluster, Client(cluster):
            rows = dd.read_parquet(folder)
            asked = da.from_array(problem.X_test, chunks=(20_000, -1)).persist()
            _emit_fit(problem, model, "workers", rows[names], rows[_TARGET], asked)


def _emit_fit(problem, model, where, X, y, X_test):
    """Seconds of a fit and of predictions, and their error."""
    begin = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    mean = np.asarray(model.predict(X_test))
    emit(
        where=where,
        seconds=fitted - begin,
        predict_seconds=time.perf_counter() - fitted,
        rmse=float(np.sqrt(np.mean((mean - problem.y_test) ** 2)) / np.std(problem.y)),
        kernel=str(model.kernel_),
    )


def killed(_, *, n, per_partition, m, kills, **parameters):
    """Fits of which each loses a worker at a random moment, beside one that loses none."""
    rng = np.random.default_rng(0)
    X_new = rows_from(n, n + 1000)[:, :-1]
    model = SVGPRegressor(n_inducing=m, random_state=0, **parameters)
    mean, objective, undisturbed, _ = _fitted(model, n, per_partition, X_new)
    for moment in rng.uniform(0.0, undisturbed, kills):
        found, bound, seconds, lost = _fitted(model, n, per_partition, X_new, float(moment))
        emit(
            moment=float(moment),
            undisturbed=undisturbed,
            seconds=seconds,
            lost=lost,
            equal=bool(np.array_equal(found, mean) and bound == objective),
            difference=float(np.abs(found - mean).max()),
        )


def _fitted(model, n, per_partition, X_new, moment=None):
    """Means and bound of a fit, its seconds, and whether it lost a worker.

    On a cluster of its own: dask may give up on the next worker of one that has lost several.
    """
    from distributed import Client

    with _cluster(2) as cluster, Client(cluster) as client:
        X, y = collection(n, per_partition)
        first = sorted(client.run(os.getpid).values())
        victim = first[int(1e3 * (moment or 0.0)) % 2]
        timer = Timer(moment or 0.0, os.kill, (victim, signal.SIGKILL))
        begin = time.perf_counter()
        if moment is not None:
            timer.start()
        mean, objective = model.fit(X, y).predict(X_new), model.objective_
        seconds = time.perf_counter() - begin
        timer.cancel()
        lost = victim not in client.run(os.getpid).values()
    return mean, objective, seconds, lost


if __name__ == "__main__":
    main([parquet_blocks, killed])
