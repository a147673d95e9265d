"""Fits on rows that dask workers make where they need them: seconds, bytes moved, memory."""

import resource
import time

import numpy as np
from protocol import emit, main
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from ours import flops
from sklearn_sgp import SVGPRegressor

_COLUMNS = 8
_NOISE = 0.1


def rows_from(start, stop):
    """Inputs and targets of some rows, the same wherever they are made."""
    rng = np.random.default_rng(start)
    X = rng.random((stop - start, _COLUMNS), dtype=np.float32)
    f = np.sin(6.0 * X[:, 0]) + 2.0 * X[:, 1] * X[:, 2] - X[:, 3]
    y = f + _NOISE * rng.standard_normal(len(X), dtype=np.float32)
    return np.column_stack([X, y.astype(np.float32)])


def collection(n, per_partition):
    """X and y as dask arrays whose chunks are made on the workers."""
    import dask.array as da

    sizes = tuple(min(per_partition, n - lo) for lo in range(0, n, per_partition))
    starts = da.arange(0, n, per_partition, chunks=1)

    def make(start):
        lo = int(start[0])
        return rows_from(lo, min(n, lo + per_partition))

    table = starts.map_blocks(
        make,
        new_axis=1,
        chunks=(sizes, (_COLUMNS + 1,)),
        dtype=np.float32,
        meta=np.empty((0, 0), dtype=np.float32),
    )
    return table[:, :_COLUMNS], table[:, _COLUMNS]


def _here(n, per_partition):
    parts = [rows_from(lo, min(n, lo + per_partition)) for lo in range(0, n, per_partition)]
    table = np.concatenate(parts)
    return np.ascontiguousarray(table[:, :_COLUMNS]), table[:, _COLUMNS]


def _model(m, **parameters):
    return SVGPRegressor(n_inducing=m, random_state=0, normalize_y=(0.0, 1.0), **parameters)


def _incoming(dask_worker):
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


def _peak():
    """Megabytes that this process has held at most, once it has the package."""
    import sklearn_sgp  # noqa: F401

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def passes(_, *, n, per_partition, m, workers, compares):
    """The posterior at given kernel, noise and inducing inputs, by one pass over all rows.

    ``compares`` says whether the same is done in this process, for the differences.
    """
    from distributed import Client, LocalCluster

    Z = rows_from(0, m)[:, :_COLUMNS].astype(np.float64)
    kernel = ConstantKernel(1.0) * RBF([1.0] * _COLUMNS)
    given = {"kernel": kernel, "inducing": Z, "noise_variance": _NOISE**2, "optimizer": None}
    X_new = rows_from(n, n + 1000)[:, :_COLUMNS]
    found = {}
    for count in workers:
        with (
            LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            before = max(client.run(_peak).values()), _peak()
            X, y = collection(n, per_partition)
            moved = sum(client.run(_incoming).values())
            begin = time.perf_counter()
            model = _model(m, **given).fit(X, y)
            seconds = time.perf_counter() - begin
            moved = sum(client.run(_incoming).values()) - moved
            n_partitions = -(-n // per_partition)
            emit(
                workers=count,
                seconds=seconds,
                megabytes_moved=moved / 1e6,
                matrices_a_partition=moved / (8.0 * m * m * n_partitions),
                n_partitions=n_partitions,
                worker_megabytes=max(client.run(_peak).values()) - before[0],
                client_megabytes=_peak() - before[1],
                partition_megabytes=per_partition * (_COLUMNS + 1) * 4e-6,
                gflop_done=1e-9 * flops.exact_pass(m, n, _COLUMNS, True)[1],
            )
            found[count] = model.predict(X_new, return_std=True), model.objective_
    if compares:
        X, y = _here(n, per_partition)
        begin = time.perf_counter()
        model = _model(m, **given).fit(X, y)
        seconds = time.perf_counter() - begin
        (mean, std), objective = model.predict(X_new, return_std=True), model.objective_
        for count, ((far, far_std), far_objective) in found.items():
            emit(
                here=seconds,
                compared=count,
                mean=float(np.abs(far - mean).max()),
                std=float(np.abs(far_std / std - 1.0).max()),
                objective=abs(far_objective / objective - 1.0),
            )


def learning(_, *, n, per_partition, m, workers):
    """A fit with ``optimizer="auto"``: seconds, bytes and memory."""
    from distributed import Client, LocalCluster

    for count in workers:
        with (
            LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            before = max(client.run(_peak).values()), _peak()
            X, y = collection(n, per_partition)
            begin = time.perf_counter()
            model = _model(m).fit(X, y)
            seconds = time.perf_counter() - begin
            rows = rows_from(n, n + 10_000)
            emit(
                workers=count,
                seconds=seconds,
                rmse=float(np.sqrt(np.mean((model.predict(rows[:, :-1]) - rows[:, -1]) ** 2))),
                megabytes_moved=sum(client.run(_incoming).values()) / 1e6,
                worker_megabytes=max(client.run(_peak).values()) - before[0],
                client_megabytes=_peak() - before[1],
            )


if __name__ == "__main__":
    main([passes, learning])
