"""scikit-learn's exact GP: fits of whole problems, of random rows, and of a stream's last rows."""

import pickle
import time
import warnings

import numpy as np
from problems.batches import scored_batches
from problems.streams import gp_draw
from protocol import allow, emit, main
from scoring import scores, stream_scores
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

# scikit-learn stops L-BFGS by its own criterion, or after 15,000 iterations
_TO_ITS_END = "until L-BFGS ends by itself"
_CHUNK = 10_000


def exact_gp(d):
    """Our default kernel, starting values and bounds, for standardised inputs."""
    length_scale = np.full(d, np.sqrt(d))
    bounds = length_scale[:, None] * np.array([1e-4, 1e4])
    kernel = ConstantKernel(1.0, (1e-4, 1e4)) * RBF(length_scale, bounds)
    return GaussianProcessRegressor(kernel + WhiteKernel(0.1, (1e-6, 1e3)), normalize_y=True)


def fit(problem):
    """Exact GP: seconds and test scores."""
    allow(iterations=_TO_ITS_END)
    _fit(problem)


def fit_some(problem, *, max_rows):
    """The same on so many random rows at most."""
    allow(iterations=_TO_ITS_END, max_rows=max_rows)
    _fit(problem.some(max_rows))


def _fit(problem):
    begin = time.perf_counter()
    with warnings.catch_warnings():
        # a length scale at its bound belongs to an input that does not matter
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = exact_gp(problem.X.shape[1]).fit(problem.X, problem.y)
    seconds = time.perf_counter() - begin
    parts = [
        model.predict(problem.X_test[lo : lo + _CHUNK], return_std=True)
        for lo in range(0, len(problem.y_test), _CHUNK)
    ]
    result = scores(problem.y_test, *map(np.concatenate, zip(*parts, strict=True)))
    emit(problem=problem.name, seconds=seconds, rows=len(problem.y), **result)


def draw(_, *, n, seed):
    """Exact GP on a draw from a known one: what it learned."""
    allow(iterations=_TO_ITS_END)
    X, y = gp_draw(n, seed)
    kernel = exact_gp(X.shape[1]).fit(X, y).kernel_
    emit(
        length_scale=np.max(kernel.k1.k2.length_scale),
        noise_std=np.sqrt(kernel.k2.noise_level) * y.std(),
    )


def subsets(problem, *, sizes, repeats):
    """Test RMSE, in units of the data, of exact GPs on random rows."""
    allow(sizes=sizes, repeats=repeats)
    for size in sizes:
        for repeat in range(repeats):
            rows = np.random.default_rng(repeat).permutation(len(problem.y))[:size]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = exact_gp(problem.X.shape[1]).fit(problem.X[rows], problem.y[rows])
            parts = [
                model.predict(problem.X_test[lo : lo + _CHUNK])
                for lo in range(0, len(problem.y_test), _CHUNK)
            ]
            rmse = np.sqrt(np.mean((problem.y_test - np.concatenate(parts)) ** 2))
            emit(size=size, repeat=repeat, rmse=rmse * problem.y_scale)


def last_rows(problem, *, first, size, every, memory, subset, restarts, places=3):
    """Test scores along a stream, fitted on the last rows; seconds are of learning, added up.

    At three places among those where others are scored, in the middle, at three quarters and at the
    end, or at the end alone.
    Hyperparameters are learned once, on random ones of the rows it has the first time.
    """
    allow(rows_kept=memory, rows_to_learn_kernel=subset, restarts=restarts)
    batches = scored_batches(len(problem.y), first, size, every)
    ends = [rows.stop for rows, scored in batches if scored]
    used = sorted({(len(ends) - 1) // 2, 3 * (len(ends) - 1) // 4, len(ends) - 1})[-places:]
    model, seconds = None, 0.0
    for end in (ends[k] for k in used):
        last = slice(max(0, end - memory), end)
        X, y = problem.X[last], problem.y[last]
        begin = time.perf_counter()
        if model is None:
            model = _learned_once(X, y, subset, restarts)
        model.fit(X, y)
        seconds += time.perf_counter() - begin
        kept = len(pickle.dumps(model))  # with its rows, and the factor of their covariance
        emit(rows=end, seconds=seconds, **stream_scores(problem, model, end), bytes=kept)


def _learned_once(X, y, subset, restarts):
    """An exact GP with hyperparameters from some of the rows, and none of them to learn."""
    some = np.random.default_rng(0).permutation(len(y))[:subset]
    spread = X[some].std(axis=0)
    model = exact_gp(X.shape[1]).set_params(n_restarts_optimizer=restarts, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[some] / spread, y[some])
    kernel = model.kernel_
    kernel.k1.k2.length_scale = kernel.k1.k2.length_scale * spread
    return GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True)


if __name__ == "__main__":
    main([fit, fit_some, draw, subsets, last_rows])
