"""Noise that differs from row to row: scores, coverage by the width of the band, recovery."""

import time

import numpy as np
from protocol import emit, main
from scipy.interpolate import CubicSpline
from scoring import by_density

from ours.svgp_regressor import warm_up
from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor
from sklearn_sgp.likelihoods import HeteroscedasticStudentT

_STRATA = 3
# Of the drawn functions: noise variance where g is 0, degrees of freedom, grid of the draws
_NOISE_VARIANCE, _DF, _GRID = 0.04, 5.0, 400


def _made(model, options):
    if model == "svgp":
        return SVGPRegressor(random_state=0, **options)
    return AnytimeSGPRegressor(model=model, random_state=0, **options)


def fit(problem, *, model, **options):
    """One fit and its test scores, with the coverage in terciles of the predicted deviation."""
    warm_up(problem)
    begin = time.perf_counter()
    fitted = _made(model, options).fit(problem.X, problem.y)
    seconds = time.perf_counter() - begin
    found = fitted.predict_distribution(problem.X_test)
    below, std = found.cdf(problem.y_test), found.std()
    covered = (below >= 0.05) & (below <= 0.95)
    result = by_density(problem.y_test, found.mean(), found.logpdf(problem.y_test), covered)
    parts = np.array_split(np.argsort(std, kind="stable"), _STRATA)
    emit(
        problem=problem.name,
        seconds=seconds,
        likelihood=str(fitted.likelihood_),
        by_width=[float(covered[part].mean()) for part in parts],
        **result,
    )


def recovered(_, *, n, draws, **options):
    """Degrees of freedom and noise curve from rows that the model itself has drawn."""
    for seed in range(draws):
        X, y, sd = _drawn(n, np.random.default_rng(seed))
        begin = time.perf_counter()
        fitted = SVGPRegressor(likelihood=HeteroscedasticStudentT(), random_state=0, **options)
        fitted.fit(X, y)
        seconds = time.perf_counter() - begin
        ratio = fitted.noise_std(X) / sd
        emit(
            seed=seed,
            seconds=seconds,
            df=fitted.likelihood_.df,
            df_ratio=fitted.likelihood_.df / _DF,
            sd_error=float(np.sqrt(np.mean((ratio - 1.0) ** 2))),
        )


def _drawn(n, rng):
    """Inputs (n, 1), targets (n,) and the standard deviations (n,) of their noise."""
    grid, x = np.linspace(0.0, 10.0, _GRID), rng.uniform(0.0, 10.0, n)
    f, g = (CubicSpline(grid, _draw(grid, length, rng))(x) for length in (1.0, 2.0))
    scale = np.sqrt(_NOISE_VARIANCE) * np.exp(0.5 * g)
    sd = scale * np.sqrt(_DF / (_DF - 2.0))
    return x[:, None], f + scale * rng.standard_t(_DF, n), sd


def _draw(grid, length, rng):
    """A squared exponential process of unit variance at the places of a grid."""
    K = np.exp(-0.5 * ((grid[:, None] - grid) / length) ** 2)
    values, vectors = np.linalg.eigh(K)
    return vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(len(grid)))


if __name__ == "__main__":
    main([fit, recovered])
