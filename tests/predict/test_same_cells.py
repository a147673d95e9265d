"""Moments, and means for other targets, from cells that are factorised once."""

from dataclasses import replace

import numpy as np
import pytest
from fitted_models import fitted
from numpy.testing import assert_allclose

from sklearn_sgp import AnytimeSGPRegressor
from sklearn_sgp.data.inputs import Inputs
from sklearn_sgp.gp.posterior import Posterior
from sklearn_sgp.predict import same_cells
from sklearn_sgp.predict.rescaled import Rescaled
from sklearn_sgp.predict.same_cells import moments_and_mean


class Twice:
    """A factor of deviations."""

    def at(self, X, n_jobs):
        return np.full((len(X), 1), 2.0)


@pytest.fixture
def pair(rng):
    """Return near rows of 700 rows, and the same rows with other targets."""
    X = rng.standard_normal((700, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(700)
    model = AnytimeSGPRegressor(n_inducing=20, model="vif", optimizer=None, random_state=0)
    one = fitted(model.fit(X, y)).predictor
    rows, q = one.blocks.rows, one.posterior
    blocks = one.blocks.weighted_as(rows)
    blocks.groups.rows = replace(rows, y=np.exp(rows.y), y_scale=3.0 * rows.y_scale)
    blocks.near_cells = replace(one.blocks.near_cells, rows=blocks.rows)
    posterior = Posterior(q.prior, q.H, 0.5 * q.h)
    return one, replace(one.with_posterior(posterior), blocks=blocks), X


def test_cells_that_are_the_same_are_factorised_once(pair, rng, monkeypatch):
    """Also with a factor of deviations; by the numbers of both predictors."""
    monkeypatch.setattr(same_cells, "CACHE_BYTES", 0)
    (one, other, _), inputs = pair, Inputs(rng.standard_normal((50, 2)))
    for factor, predictor in ((1.0, one), (4.0, Rescaled(one, Twice()))):
        mean, variance, means = moments_and_mean(predictor, other, inputs)
        for given, expected in zip((mean, variance), one.moments(inputs), strict=True):
            assert_allclose(given, (factor if given is variance else 1.0) * expected, rtol=1e-10)
        assert_allclose(means, other.mean(inputs), rtol=1e-9, atol=1e-12)
        assert np.abs(means - mean).max() > 0.1


def test_other_cells_are_not(pair, rng, monkeypatch):
    """None of another noise, other weights, or rows of which a cache holds all cells."""
    (one, other, X), inputs = pair, Inputs(rng.standard_normal((5, 2)))
    assert moments_and_mean(one, other, inputs) is None
    monkeypatch.setattr(same_cells, "CACHE_BYTES", 0)
    assert moments_and_mean(one, other, inputs) is not None
    assert moments_and_mean(one, replace(other, noise_variance=0.7), inputs) is None
    other.blocks.groups.rows = replace(other.blocks.rows, weight=np.ones(len(X)))
    assert moments_and_mean(one, other, inputs) is None
