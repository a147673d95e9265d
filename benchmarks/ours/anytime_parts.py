"""Parts of a fit of `AnytimeSGPRegressor`, run alone: a step, a pass over all blocks."""

import pickle
import time
from pathlib import Path

import numpy as np
from meters import PeakMemory, median_seconds
from protocol import emit, main
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from ours import flops, internals
from ours.peak import peak_gflops
from sklearn_sgp._parallel import single_blas_thread


def steps(_, *, n_inducing, block_size, d, repeats):
    """Seconds of an anytime step at fixed hyperparameters, and the flops that it owes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8 * block_size, d))
    y = np.sin(X[:, :1]) + 0.3 * rng.standard_normal((len(X), 1))
    m, b = n_inducing, block_size
    owed, peak = flops.block_step(m, b), peak_gflops()
    kernel = ConstantKernel(1.0) * RBF(np.full(d, 2.0))
    for name, step in internals.block_steps(X, y, kernel, m, b, 0.1, owed):
        seconds = median_seconds(step, repeats)
        gflop = owed[name] / 1e9
        emit(model=name, seconds=seconds, gflop_owed=gflop, share=gflop / peak / seconds)


def passes(problem, *, kept, predict_rows):
    """Exact pass over all blocks with 1 and 2 jobs, and prediction with nothing cached."""
    model = pickle.loads(Path(kept).read_bytes())
    run, peak = internals.block_pass(model), peak_gflops()
    n, d = problem.X.shape
    sizes = {"m": len(model.inducing_points_), "b": n / model.n_blocks_, "n": n, "d": d}
    owed = flops.pic_pass(**sizes) / 1e9
    for n_jobs in (1, 2):
        with PeakMemory() as memory, single_blas_thread():
            begin = time.perf_counter()
            run(n_jobs)
            seconds = time.perf_counter() - begin
        emit(
            part="pass",
            n_jobs=n_jobs,
            seconds=seconds,
            share=owed / peak / seconds,
            megabytes=memory.megabytes,
            times_data=memory.megabytes * 1e6 / (problem.X.nbytes + problem.y.nbytes),
        )
    X = problem.X_test[:predict_rows]
    begin = time.perf_counter()
    model.predict(X, return_std=True)
    seconds = time.perf_counter() - begin
    owed = flops.pic_predictions(**sizes, rows=len(X)) / 1e9
    emit(part="predict", rows=len(X), seconds=seconds, share=owed / peak / seconds)


if __name__ == "__main__":
    main([steps, passes])
