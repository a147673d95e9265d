"""Simulators: functions without noise, learned from few runs by users who say so."""

import numpy as np
import pytest
from scipy.stats import qmc

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor

BOTH = pytest.mark.parametrize("estimator", [SVGPRegressor, AnytimeSGPRegressor])
NONE = {"noise_variance_bounds": (1e-8, 1e3), "random_state": 0}


def runs(function, n, d, seed=1):
    """Runs of a function at a Latin hypercube, and new inputs."""
    X = qmc.LatinHypercube(d, rng=np.random.default_rng(seed)).random(n)
    new = np.random.default_rng(seed + 1000).random((300, d))
    return X, function(X), new, function(new)


def branin(X):
    a, b = 15.0 * X[:, 0] - 5.0, 15.0 * X[:, 1]
    bowl = (b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6) ** 2
    return bowl + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10


def few_of_many(X):
    return np.exp(X[:, 0]) * (1.0 + X[:, 1]) + 0.3 * X[:, 2]


def measured(model, X, y, new, truth):
    """Error in deviations of the runs, and the share of new values in 90 % bands."""
    mean, std = model.fit(X, y).predict(new, return_std=True)
    error = np.abs(mean - truth)
    return np.sqrt(np.mean(error**2)) / y.std(), np.mean(error < 1.645 * std)


@BOTH
def test_branin(estimator):
    """The bound of the noise, a thousandth of the deviation, was the error: 0.0007 to 0.001."""
    error, held = measured(estimator(**NONE), *runs(branin, 100, 2))
    assert error < 2e-4
    assert held > 0.85


@BOTH
def test_columns_that_say_nothing(estimator):
    """Length scales far beyond the others cost little: errors were 0.03 and more."""
    error, _ = measured(estimator(**NONE), *runs(few_of_many, 40, 8))
    assert error < 1.5e-3


@BOTH
@pytest.mark.filterwarnings("ignore:The optimal value found for noise_variance")
def test_chosen_bounds_stay(estimator):
    X, y, *_ = runs(branin, 60, 2)
    chosen = estimator(noise_variance_bounds=(1e-5, 1.0), random_state=0).fit(X, y)
    assert chosen.noise_variance_ == pytest.approx(1e-5)
    assert estimator(random_state=0).fit(X, y).noise_variance_ == pytest.approx(1e-6)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.filterwarnings("ignore:The optimal value found for")
def test_bounds_are_those_of_the_exact_process(seed):
    """With noise of a billionth the jitter stays below it: bounds were 1,400 to 12,000 nats off."""
    X = qmc.LatinHypercube(2, rng=np.random.default_rng(seed)).random(60)
    y = branin(X)
    model = SVGPRegressor(inducing=X, noise_variance_bounds=(1e-9, 1e3), random_state=0).fit(X, y)
    covariance = model.kernel_(X) + model.noise_variance_ * np.eye(len(X))
    root, z = np.linalg.cholesky(covariance), (y - model.y_mean_) / model.y_scale_
    evidence = -0.5 * np.sum(np.linalg.solve(root, z) ** 2) - np.log(np.diag(root)).sum()
    evidence -= len(X) * (0.5 * np.log(2.0 * np.pi) + np.log(model.y_scale_))
    assert model.objective_ == pytest.approx(evidence, abs=5.0)
