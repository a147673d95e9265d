"""Rows of later batches that lack a value which no first row lacked."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor

NOISE = 0.04
GIVEN = {
    "kernel": RBF(1.0),
    "noise_variance": NOISE,
    "optimizer": None,
    "normalize_y": False,
    "random_state": 0,
}
KINDS = [SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor]


@pytest.fixture
def batches(rng):
    """A batch, and a later one in which a column is silent in every third row."""
    X = rng.uniform(0.0, 4.0, (60, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * X[:, 1] + 0.2 * rng.standard_normal(60)
    later = X[40:].copy()
    later[::3, 0] = np.nan
    return X[:40], y[:40], later, y[40:]


def taught(kind, X, y, later, more):
    """The model, inputs as filled in, and the noise variance of each row, in loops."""
    filled = kind(**GIVEN).partial_fit(X, y)._format.missing.filled(later)
    options = {"inducing": np.vstack([X, filled])} if kind is not AnytimeSGPRegressor else {}
    model = kind(**GIVEN, **options).partial_fit(X, y)
    noise = np.full(60, NOISE)
    for i in np.flatnonzero(np.isnan(later[:, 0])):
        ((_, places),) = model._format.missing.alternatives(filled[[i]], np.array([[True, False]]))
        mean, std = model.predict(places[0], return_std=True, include_noise=False)
        known = model.predict(filled[[i]], return_std=True, include_noise=False)[1][0]
        noise[40 + i] += max(np.var(mean) + np.mean(std**2) - known**2, 0.0)
    return model.partial_fit(later, more), np.vstack([X, filled]), noise


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_open_is_noise_of_its_row(kind, batches):
    """Mean, deviation and evidence are those of the process with that noise."""
    _, y, _, more = batches
    model, inputs, noise = taught(kind, *batches)
    targets, kernel = np.append(y, more), GIVEN["kernel"]
    covariance = kernel(inputs) + np.diag(noise)
    at = np.column_stack([np.linspace(0.2, 3.8, 9), np.full(9, 2.0)])
    gain = np.linalg.solve(covariance, kernel(inputs, at)).T
    mean, std = model.predict(at, return_std=True, include_noise=False)
    assert_allclose(mean, gain @ targets, atol=1e-5)
    variance = 1.0 - np.sum(gain * kernel(at, inputs), axis=1)
    assert_allclose(std, np.sqrt(variance), atol=1e-4)
    evidence = multivariate_normal(cov=covariance).logpdf(targets)
    told = model.log_evidence_ if kind is StreamingSGPRegressor else model.objective_
    assert_allclose(told, evidence, atol=1e-2)


def test_later_batches_keep_the_constant(batches, rng):
    """Where all blocks are summed anew, too."""
    _, y, _, more = batches
    model, inputs, noise = taught(AnytimeSGPRegressor, *batches)
    new = rng.uniform(0.0, 4.0, (10, 2))
    last = np.sin(2.0 * new[:, 0])
    model.partial_fit(new, last)
    inputs, noise = np.vstack([inputs, new]), np.append(noise, np.full(10, NOISE))
    covariance = GIVEN["kernel"](inputs) + np.diag(noise)
    evidence = multivariate_normal(cov=covariance).logpdf(np.concatenate([y, more, last]))
    assert_allclose(model.objective_, evidence, atol=0.05)
