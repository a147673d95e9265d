"""scikit-learn's exact GP where it can, its gradient boosting, and its support vector machine."""

import time
import warnings

import numpy as np
from protocol import emit, main, scores
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from stream_problems import gp_draw


def exact_gp(d):
    """Our default kernel, starting values and bounds, for standardised inputs."""
    length_scale = np.full(d, np.sqrt(d))
    bounds = length_scale[:, None] * np.array([1e-4, 1e4])
    kernel = ConstantKernel(1.0, (1e-4, 1e4)) * RBF(length_scale, bounds)
    return GaussianProcessRegressor(kernel + WhiteKernel(0.1, (1e-6, 1e3)), normalize_y=True)


def fit(problem):
    """Exact GP: seconds and test scores."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        # a length scale at its bound belongs to an input that does not matter
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = exact_gp(problem.X.shape[1]).fit(problem.X, problem.y)
    seconds = time.perf_counter() - begin
    result = scores(problem.y_test, *model.predict(problem.X_test, return_std=True))
    emit(problem=problem.name, seconds=seconds, **result)


def draw(_, *, n, seed):
    """Exact GP on a draw from a known one: what it learned."""
    X, y = gp_draw(n, seed)
    kernel = exact_gp(X.shape[1]).fit(X, y).kernel_
    emit(
        length_scale=np.max(kernel.k1.k2.length_scale),
        noise_std=np.sqrt(kernel.k2.noise_level) * y.std(),
    )


def boosting(problem, *, trees=(100, 200)):
    """Histogram gradient boosting; the noise is that of a tenth it was not fitted to."""
    n = len(problem.y) * 9 // 10
    order = np.random.default_rng(0).permutation(len(problem.y))
    used, held = order[:n], order[n:]
    for max_iter in trees:
        begin = time.perf_counter()
        model = HistGradientBoostingRegressor(max_iter=max_iter, random_state=0)
        model.fit(problem.X[used], problem.y[used])
        std = np.std(problem.y[held] - model.predict(problem.X[held]))
        seconds = time.perf_counter() - begin
        mean = model.predict(problem.X_test)
        result = scores(problem.y_test, mean, np.full(len(mean), std))
        emit(
            trees=max_iter,
            seconds=seconds,
            rmse_in_units=result["rmse"] * problem.y_scale,
            **result,
        )


def subsets(problem, *, sizes, repeats):
    """Test RMSE, in units of the data, of exact GPs on random rows."""
    for size in sizes:
        for repeat in range(repeats):
            rows = np.random.default_rng(repeat).permutation(len(problem.y))[:size]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = exact_gp(problem.X.shape[1]).fit(problem.X[rows], problem.y[rows])
            parts = [
                model.predict(problem.X_test[lo : lo + 10_000])
                for lo in range(0, len(problem.y_test), 10_000)
            ]
            rmse = np.sqrt(np.mean((problem.y_test - np.concatenate(parts)) ** 2))
            emit(size=size, repeat=repeat, rmse=rmse * problem.y_scale)


def svm(problem, *, grid):
    """RBF support vector machines: a usual one, and the best of a grid by cross-validation."""
    usual = SVC(C=10, gamma="scale")
    for way, model in (("usual", usual), ("grid", GridSearchCV(SVC(), grid, cv=3))):
        begin = time.perf_counter()
        model.fit(problem.X, problem.y)
        seconds = time.perf_counter() - begin
        error = np.mean(model.predict(problem.X_test) != problem.y_test)
        emit(way=way, seconds=seconds, error=error, best=getattr(model, "best_params_", None))


if __name__ == "__main__":
    main([fit, draw, boosting, subsets, svm])
