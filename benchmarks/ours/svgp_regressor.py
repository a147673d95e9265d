"""`SVGPRegressor` by its public interface: curves, fits, predictions, memory."""

import time
import warnings

import numpy as np
from meters import PeakMemory, median_seconds
from protocol import emit, main
from scipy.special import ndtr
from scoring import scores
from sklearn.exceptions import ConvergenceWarning

from ours.budgets import along
from sklearn_sgp import SVGPRegressor


def fitted(problem, **options):
    """A fitted model and the seconds it took."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        # short budgets say that they leave no time for all rows: that is what the curve shows
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVGPRegressor(random_state=0, **options).fit(problem.X, problem.y)
    return model, time.perf_counter() - begin


def evaluated(problem, model):
    return scores(problem.y_test, *model.predict(problem.X_test, return_std=True))


def curve(problem, *, budgets, **options):
    """Test scores after fits with growing ``max_time``, one fit from scratch for each budget."""

    def record(budget):
        model, seconds = fitted(problem, **{**options, "max_time": budget})
        return {
            "seconds": seconds,
            "n_steps": model.n_steps_,
            "noise_variance": model.noise_variance_,
            **evaluated(problem, model),
        }

    warm_up(problem)
    along(budgets, record)


def warm_up(problem):
    """Pay for what a process pays once: thread pools, lazy imports."""
    SVGPRegressor(n_inducing=5, max_iter=2).fit(problem.X[:100], problem.y[:100])


def fit(problem, **options):
    """One fit and its test scores, standardised; RMSE also in the units of the data."""
    warm_up(problem)
    model, seconds = fitted(problem, **options)
    result = evaluated(problem, model)
    emit(
        problem=problem.name,
        seconds=seconds,
        rmse_in_units=result["rmse"] * problem.y_scale,
        jitter=model.jitter_,
        n_iter=model.n_iter_,
        **result,
    )


def against_gaussian(problem, *, likelihood, **options):
    """Held-out log density, or log probability of counts, beside that with Gaussian noise."""
    model, seconds = fitted(problem, likelihood=likelihood, **options)
    plain, _ = fitted(problem, **options)
    X, y = problem.X_test, problem.y_test
    if likelihood == "poisson":
        gaussian = np.log(_count_probability(y, *plain.predict(X, return_std=True)))
    else:
        gaussian = plain.log_density(X, y)
    ours = np.mean(model.log_density(X, y))
    emit(problem=problem.name, seconds=seconds, log_density=ours, gaussian=np.mean(gaussian))


def _count_probability(y, mean, std):
    """Normal probability of half a unit to both sides of each count, and of all below for zero."""
    low = np.where(y > 0, y - 0.5 - mean, -np.inf) / std
    high = (y + 0.5 - mean) / std
    # the lesser tails, where a difference is exact
    mirrored = y > mean
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    return np.maximum(ndtr(high) - ndtr(low), np.finfo(np.float64).tiny)


def predict(problem, *, rows, repeats=5):
    """Rows per second of ``predict(X, return_std=True)``."""
    model, _ = fitted(problem, optimizer=None, inducing=problem.Z)
    X = np.resize(problem.X_test, (rows, problem.X.shape[1]))
    seconds = median_seconds(lambda: model.predict(X, return_std=True), repeats, warm_up=1)
    emit(rows_per_second=rows / seconds)


def memory(_, *, X, y, shape, predict_rows, **options):
    """Anonymous memory of a fit and a prediction on memory maps, above that after the imports."""
    with PeakMemory() as peak:
        X = np.memmap(X, dtype=np.float32, mode="r", shape=tuple(shape))
        y = np.memmap(y, dtype=np.float32, mode="r", shape=(shape[0],))
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = SVGPRegressor(random_state=0, **options).fit(X, y)
        fit_seconds = time.perf_counter() - begin
        begin = time.perf_counter()
        mean, std = model.predict(X[:predict_rows], return_std=True)
        predict_seconds = time.perf_counter() - begin
    emit(
        megabytes=peak.megabytes,
        fit_seconds=fit_seconds,
        predict_seconds=predict_seconds,
        **scores(np.asarray(y[:predict_rows], dtype=np.float64), mean, std),
    )


if __name__ == "__main__":
    main([curve, fit, against_gaussian, predict, memory])
