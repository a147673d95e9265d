"""Predictions of counts, at rates and spreads far beyond the ordinary."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

from sklearn_sgp.likelihoods import Poisson


@pytest.mark.parametrize("mean", [-30.0, -1.0, 0.0, 3.0])
@pytest.mark.parametrize("variance", [0.0, 1e-300, 1e-20])
def test_counts_of_a_known_rate(mean, variance):
    """Without latent variance the predictive density is Poisson's own."""
    y = np.arange(30.0)[:, None]
    found = Poisson().log_predictive_density(y, np.full_like(y, mean), np.full_like(y, variance))
    assert_allclose(found, stats.poisson.logpmf(y[:, 0], np.exp(mean)), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize(
    ("y", "mean", "variance"),
    [(1e6, -200.0, 9.0), (0.0, 200.0, 4.0), (3.0, -150.0, 1.0), (1e5, 0.0, 0.01), (2.0, 90.0, 0.5)],
)
def test_counts_far_from_what_is_expected(y, mean, variance):
    """The log density is that of quadrature even if the mode is hundreds of units away."""

    def log_joint(f):
        return y * f - np.exp(f) - 0.5 * (f - mean) ** 2 / variance

    coarse = np.linspace(-260.0, 260.0, 52_001)
    f = coarse[log_joint(coarse).argmax()] + np.linspace(-15.0, 15.0, 300_001)
    log_p = log_joint(f)
    step = f[1] - f[0]
    expected = special.logsumexp(log_p) + np.log(step) - 0.5 * np.log(2 * np.pi * variance)
    found = Poisson().log_predictive_density(*np.array([y, mean, variance]).reshape(3, 1, 1))
    assert_allclose(found, expected - special.gammaln(y + 1.0), rtol=1e-7)


def test_what_is_no_count_has_no_probability():
    """Fractions and negative numbers have log density -inf, as in scipy.stats."""
    y = np.array([[0.5], [-1.0], [2.0]])
    found = Poisson().log_predictive_density(y, np.zeros((3, 1)), np.ones((3, 1)))
    assert_array_equal(np.isneginf(found), [True, True, False])


def test_predictions_of_counts_are_numbers():
    """Means and variances of wild latent functions are finite, those of log densities not NaN."""
    mean, variance = (
        part.reshape(-1, 1)
        for part in np.meshgrid([-2000.0, -380.0, 0.0, 800.0], [0.0, 1.0, 150.0, 800.0, 1e6])
    )
    first, second = Poisson().moments(mean, variance)
    assert np.isfinite(first).all() and np.isfinite(second).all() and (second >= first).all()
    again, joint = Poisson().covariance(mean, np.diag(variance[:, 0])[:, :, None])
    assert np.isfinite(joint).all()
    assert_allclose(again, first)
    assert_allclose(np.diagonal(joint)[0], second[:, 0], rtol=1e-12)
    assert_allclose(Poisson().moments(-780.0, 780.0)[1], 1.0, rtol=1e-12)  # expm1 overflows
    for y in (0.0, 5.0):
        assert not np.isnan(Poisson().log_predictive_density(0 * mean + y, mean, variance)).any()


def test_a_rate_is_never_zero():
    """Nor is the standard deviation, where the function is far below what a float can hold."""
    mean, variance = Poisson().moments(np.array([[-1e5], [-800.0]]), np.array([[0.0], [1e-3]]))
    assert (np.sqrt(variance) > 0.0).all()
    assert (mean > 0.0).all()
    assert (mean < 1e-200).all()
