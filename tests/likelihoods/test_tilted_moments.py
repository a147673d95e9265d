"""Tilted moments of likelihoods, against sums over very many nodes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_sgp.likelihoods import Likelihood, Logit, Poisson, Probit

CASES = [
    (Probit(0.3), -1.0),
    (Probit(0.3), 1.0),
    (Logit(-0.1), 1.0),
    (Poisson(0.5), 0.0),
    (Poisson(0.5), 7.0),
    (Poisson(0.0), 1000.0),
]
# Means and variances of f.
MOMENTS = [(0.0, 1.0), (-3.0, 20.0), (4.0, 0.01), (8.0, 50.0), (-8.0, 200.0)]


def by_sums(likelihood, y, mean, variance, power):
    """Log integral, slope and curvature by a sum over 200,000 nodes."""
    f, step = np.linspace(
        *(mean + 60.0 * np.sqrt(variance) * np.array([-1, 1])), 200_001, True, True
    )
    log_value = power * likelihood.log_density(np.array([[y]]), f[None])[0]
    log_value -= 0.5 * (f - mean) ** 2 / variance
    peak = log_value.max()
    value = np.exp(log_value - peak)
    total = value.sum()
    first = value @ (f - mean) / total
    second = value @ (f - mean - first) ** 2 / total
    log_integral = peak + np.log(total * step) - 0.5 * np.log(2.0 * np.pi * variance)
    return log_integral, first / variance, (second / variance - 1.0) / variance


@pytest.mark.parametrize("power", [1.0, 0.4])
@pytest.mark.parametrize(("likelihood", "y"), CASES)
def test_moments_are_sums_over_many_nodes(likelihood, y, power):
    """The closed form and the quadrature give what a sum over 200,000 nodes gives."""
    for mean, variance in MOMENTS:
        args = np.array([[y]]), np.array([mean]), np.array([variance]), np.array([power])
        expected = by_sums(likelihood, y, mean, variance, power)
        for moments in (
            likelihood.tilted_moments(*args),
            Likelihood.tilted_moments(likelihood, *args),
        ):
            assert_allclose(np.ravel(moments), expected, rtol=1e-8, atol=1e-9)


def test_a_row_does_not_depend_on_others():
    """Rows whose nodes have to be moved, or are more, leave the moments of others as they are."""
    y = np.array([0.0, 1000.0, 3.0, 0.0])[:, None]
    mean, variance = np.array([8.0, 4.0, 0.0, -8.0]), np.array([50.0, 0.01, 1.0, 200.0])
    together = np.array(Poisson(0.0).tilted_moments(y, mean, variance, np.ones(4)))
    for n in range(4):
        own = slice(n, n + 1)
        alone = Poisson(0.0).tilted_moments(y[own], mean[own], variance[own], np.ones(1))
        assert_allclose(together[:, own], alone, rtol=1e-12)


def test_a_peak_between_two_nodes():
    """Where every other node sees nothing of an integrand more nodes look, without a warning."""
    mean, variance, one = np.zeros(1), np.array([1e12]), np.ones(1)
    with np.errstate(all="raise", under="ignore"):
        moments = Poisson(0.0).tilted_moments(np.array([[3.0]]), mean, variance, one)
    assert_allclose(mean + variance * moments.slope, 0.92, atol=0.02)  # of digamma(3)


def test_without_a_log_density_the_error_names_it():
    """A likelihood that gives no log density says what is missing, and for what."""
    one = np.ones(1)
    with pytest.raises(NotImplementedError, match="log_density"):
        Likelihood().tilted_moments(one[:, None], one, one, one)
