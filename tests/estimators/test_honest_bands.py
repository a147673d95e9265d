"""Bands that hold far too few of the rows that are left out are widened, and that is told."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor
from sklearn_sgp.estimators import noise_steps
from sklearn_sgp.noise import bands
from sklearn_sgp.noise.variance_scale import VarianceScale

KINDS = [
    pytest.param(SVGPRegressor(n_inducing=20, max_iter=20, random_state=0), id="svgp"),
    pytest.param(AnytimeSGPRegressor(n_inducing=20, random_state=0), id="vif"),
]


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 10.0, (n, 1))
    return X, np.sin(X[:, 0]) + 0.5 * rng.normal(size=n)


def coverage(model, X, y):
    lower, upper = model.predict_quantiles(X, quantiles=(0.05, 0.95)).T
    return np.mean((lower <= y) & (y <= upper))


def test_the_factor_is_a_weighted_quantile():
    """With the least factor the weights of the rows within are a share of nine tenths."""
    rng = np.random.default_rng(0)
    ratios, weight = rng.gamma(2.0, size=500), rng.uniform(size=500)
    factor = bands._factor(ratios, weight)
    assert bands._share_within(ratios, weight, factor) >= 0.9
    assert bands._share_within(ratios, weight, factor * (1.0 - 1e-9)) < 0.9


def _far_too_narrow(problem, likelihood, fitted):
    """Scale predicted deviations by a fifth."""
    scale = VarianceScale(np.full(1, 2.0 * np.log(0.2)))
    return fitted.with_noise(replace(fitted.row_noise, variance_scale=scale), 0.0)


@pytest.mark.parametrize("model", KINDS)
def test_deviations_that_are_far_too_small_are_widened(model, monkeypatch):
    """Deviations of a fifth: new rows are in the bands as they should, and a warning says so."""
    monkeypatch.setattr(noise_steps, "with_variance_scale", _far_too_narrow)
    (X, y), new = data(600), data(1000, seed=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.set_params(likelihood="heteroscedastic").fit(X, y)
    told = [str(one.message) for one in caught if "left out" in str(one.message)]
    assert len(told) == 1
    assert 0.86 < coverage(model, *new) < 0.94
    assert model.variance_scale_[0] > 0.5


@pytest.mark.parametrize("model", KINDS)
def test_bands_that_hold_what_they_should_stay(model, monkeypatch):
    """Where left-out rows are held there is no warning, and nothing is wider than before."""
    X, y = data(600)
    model.set_params(likelihood="heteroscedastic").fit(X, y)
    before = model.predict_std(X)
    monkeypatch.setattr(noise_steps, "with_honest_bands", lambda problem, likelihood, one: one)
    np.testing.assert_array_equal(model.fit(X, y).predict_std(X), before)
