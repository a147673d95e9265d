"""Parts of a fit of `AnytimeSGPRegressor`, run alone: a step, a pass over all blocks."""

import pickle
import time
from pathlib import Path

import numpy as np
from meters import PeakMemory, median_seconds
from protocol import emit, main
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from ours import internals


def steps(_, *, n_inducing, block_size, d, repeats):
    """Seconds of an anytime step at fixed hyperparameters, and the flops that it owes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8 * block_size, d))
    y = np.sin(X[:, :1]) + 0.3 * rng.standard_normal((len(X), 1))
    m, b = n_inducing, block_size
    shared = m * m * b + m * m * b  # A from K(Z, X) by a triangular product, and the sum A A^T
    owed = {"pic": shared + b * b * m + b**3 / 3 + m * b * b, "fitc": shared, "dtc": shared}
    kernel = ConstantKernel(1.0) * RBF(np.full(d, 2.0))
    for name, step in internals.block_steps(X, y, kernel, m, b, 0.1, owed):
        seconds = median_seconds(step, repeats)
        emit(model=name, seconds=seconds, gflop_owed=owed[name] / 1e9)


def passes(problem, *, kept, predict_rows):
    """Exact pass over all blocks with 1 and 2 jobs, and prediction with nothing cached."""
    model = pickle.loads(Path(kept).read_bytes())
    run = internals.block_pass(model)
    for n_jobs in (1, 2):
        with PeakMemory() as peak, internals.one_blas_thread(n_jobs):
            begin = time.perf_counter()
            run(n_jobs)
            seconds = time.perf_counter() - begin
        emit(part="pass", n_jobs=n_jobs, seconds=seconds, megabytes=peak.megabytes)
    X = problem.X_test[:predict_rows]
    begin = time.perf_counter()
    model.predict(X, return_std=True)
    emit(part="predict", rows=len(X), seconds=time.perf_counter() - begin)


if __name__ == "__main__":
    main([steps, passes])
