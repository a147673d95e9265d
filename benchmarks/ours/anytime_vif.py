"""The default model, "vif", of `AnytimeSGPRegressor`: its pass over all rows, fits, predictions."""

import time
from pathlib import Path

import numpy as np
from meters import PeakMemory
from protocol import emit, main
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from ours import internals
from sklearn_sgp import AnytimeSGPRegressor

_NOISE, _FREQUENCIES, _CHUNK = 0.1, 50, 100_000
_MEMORY_SHARE = 0.6  # of what is free, that a larger size may be expected to take


def _rows(n, d):
    """float32 inputs uniform in the unit cube, and a smooth random function of them plus noise."""
    rng = np.random.default_rng(0)
    frequencies = rng.standard_normal((d, _FREQUENCIES), dtype=np.float32)
    phases = rng.uniform(0.0, 2.0 * np.pi, _FREQUENCIES).astype(np.float32)
    weights = (np.sqrt(2.0 / _FREQUENCIES) * rng.standard_normal(_FREQUENCIES)).astype(np.float32)
    X, y = rng.random((n, d), dtype=np.float32), np.empty(n)
    for lo in range(0, n, _CHUNK):
        rows = slice(lo, lo + _CHUNK)
        y[rows] = np.cos(X[rows] @ frequencies + phases) @ weights
    return X, y + _NOISE * rng.standard_normal(n)


def _fit(X, y, model, n_inducing, n_neighbors):
    """Seconds of a pass over all rows, kernel, noise and inducing inputs given, and the model."""
    Z = X[np.random.default_rng(1).permutation(len(X))[:n_inducing]].astype(np.float64)
    kernel = ConstantKernel(1.0) * RBF(np.ones(X.shape[1]))
    estimator = AnytimeSGPRegressor(
        kernel,
        model=model,
        inducing=Z,
        n_neighbors=n_neighbors,
        noise_variance=_NOISE**2,
        optimizer=None,
        solver="exact",
        random_state=0,
    )
    begin = time.perf_counter()
    estimator.fit(X, y)
    return time.perf_counter() - begin, estimator


def speed(_, *, n, n_large, d, predict_rows, repeats, max_time=None, **sizes):
    """A default fit; passes of "vif" and "fitc" in turn, one of more rows; predictions."""
    X, y = _rows(n, d)
    _fit(X[:500], y[:500], "vif", **sizes)  # pays for what a process pays once
    for _ in range(repeats):
        for name in ("vif", "fitc"):
            seconds, model = _fit(X, y, name, **sizes)
            emit(part=f"{name} pass", seconds=seconds)
            emit(part=f"{name} sums", seconds=_seconds_of_sums(model, X, y))
            if name == "vif":
                emit(part="predict", seconds=_seconds_to_predict(model, X, predict_rows))
    begin = time.perf_counter()
    model = AnytimeSGPRegressor(random_state=0, max_time=max_time).fit(X, y)
    emit(part="default fit", seconds=time.perf_counter() - begin)
    emit(part="default predict", seconds=_seconds_to_predict(model, X, predict_rows))
    del model
    X, y = _rows(n_large, d)
    emit(part="large vif pass", seconds=_fit(X, y, "vif", **sizes)[0])


def _seconds_of_sums(model, X, y):
    """The sums over all rows alone: no checks, no blocks, no search for near rows."""
    run = internals.block_pass(model, X, y)
    begin = time.perf_counter()
    run(None)
    return time.perf_counter() - begin


def _seconds_to_predict(model, X, rows):
    """Mean and standard deviation at rows that are none of the training rows."""
    fresh = np.random.default_rng(2).random((rows, X.shape[1]), dtype=np.float32)
    begin = time.perf_counter()
    model.predict(fresh, return_std=True)
    return time.perf_counter() - begin


def growth(_, *, n_rows, d, **sizes):
    """The pass of "vif" for growing numbers of rows, as far as memory allows."""
    X, y = _rows(500, d)
    _fit(X, y, "vif", **sizes)
    megabytes_per_row = 0.0
    for n in n_rows:
        expected, free = megabytes_per_row * n, _free_megabytes()
        if expected > _MEMORY_SHARE * free:
            emit(n=n, left_out=f"{expected:,.0f} MB expected, {free:,.0f} MB free")
            break
        with PeakMemory() as peak:
            X, y = _rows(n, d)
            data = peak.megabytes
            seconds, model = _fit(X, y, "vif", **sizes)
        del model
        megabytes_per_row = peak.megabytes / n
        emit(n=n, seconds=seconds, megabytes=peak.megabytes, data_megabytes=data)


def _free_megabytes():
    """Memory that is free; without limit where /proc does not tell."""
    try:
        told = Path("/proc/meminfo").read_text()
    except OSError:
        return float("inf")
    return float(told.partition("MemAvailable:")[2].split()[0]) / 1024.0


if __name__ == "__main__":
    main([speed, growth])
