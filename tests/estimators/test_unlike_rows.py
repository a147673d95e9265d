"""A row unlike all others costs nats, not thousands of them, where noise is next to none."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor

KINDS = [AnytimeSGPRegressor, SVGPRegressor]


def identity(n, noise=0.0, seed=0):
    """Make rows of a function without noise, in units of a hundred."""
    rng = np.random.RandomState(seed)
    X = rng.uniform(size=(n, 2))
    return X, 100.0 * (np.sin(6.0 * X[:, 0]) + X[:, 1] + noise * rng.standard_normal(n))


def normal(model, X, y):
    return norm.logpdf(y, *model.predict(X, return_std=True))


@pytest.mark.parametrize("kind", KINDS)
def test_the_density_has_a_share_as_wide_as_two_targets_are_apart(kind):
    (X, y), (T, f) = identity(120), identity(30, seed=1)
    model = kind(random_state=0).fit(X, y)
    for off in (0.0, 50.0):
        mean, std = model.predict(T, return_std=True)
        function = model.predict_std(T, include_noise=False)
        wide = norm.logpdf(f + off, mean, np.sqrt(function**2 + 2.0 * y.var()))
        plain = norm.logpdf(f + off, mean, std)
        expected = np.logaddexp(np.log(121.0 / 122.0) + plain, np.log(1.0 / 122.0) + wide)
        assert_allclose(model.log_density(T, f + off), expected, rtol=1e-8)
        assert_allclose(model.predict_distribution(T).logpdf(f + off), expected, rtol=1e-8)
    assert model.log_density(T, f + 50.0).min() > -12.0
    assert (normal(model, T, f + 50.0) < -1000.0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_quantiles_and_distributions_agree(kind):
    (X, y), (T, _) = identity(120), identity(30, seed=1)
    model = kind(random_state=0).fit(X, y)
    distribution = model.predict_distribution(T)
    quantiles = model.predict_quantiles(T, [0.001, 0.05, 0.5, 0.95])
    for k, level in enumerate([0.001, 0.05, 0.5, 0.95]):
        assert_allclose(distribution.cdf(quantiles[:, k]), level, rtol=1e-9)
    mean, std = model.predict(T, return_std=True)
    assert_allclose(distribution.mean(), mean)
    assert_allclose(distribution.std(), std)
    # nine of ten rows are like the others: the usual band grows by little
    assert (quantiles[:, 3] < mean + 1.8 * std).all()
    assert (quantiles[:, 0] < mean - 4.0 * std).all()


@pytest.mark.parametrize("kind", KINDS)
def test_noise_that_is_there_stays_normal(kind):
    (X, y), (T, f) = identity(120, noise=0.15), identity(30, seed=1)
    model = kind(random_state=0).fit(X, y)
    assert_allclose(model.log_density(T, f), normal(model, T, f), rtol=1e-10)


@pytest.mark.parametrize(
    "given",
    [
        {"kernel": ConstantKernel() * RBF([1.0, 1.0])},
        {"noise_variance": 1e-5, "noise_variance_bounds": "fixed"},
    ],
)
def test_what_the_user_says_is_taken_at_its_word(given):
    (X, y), (T, f) = identity(120), identity(30, seed=1)
    model = SVGPRegressor(random_state=0, **given).fit(X, y)
    assert_allclose(model.log_density(T, f), normal(model, T, f), rtol=1e-10)


def test_the_share_falls_with_the_rows():
    (T, f), off = identity(30, seed=1), 50.0
    few, more = (
        SVGPRegressor(random_state=0).fit(*identity(n)).log_density(T, f + off).mean()
        for n in (60, 240)
    )
    assert_allclose(few - more, np.log(242.0 / 62.0), atol=0.2)
