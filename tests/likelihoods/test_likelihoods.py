"""Likelihoods against quadrature and finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_sgp.likelihoods import Gaussian


def _arguments():
    rng = np.random.default_rng(0)
    y, mean = rng.standard_normal((2, 6, 2))
    variance = rng.gamma(2.0, 0.5, 6)
    variance[0] = 0.0
    return y, mean, variance


@pytest.mark.parametrize("noise", [1e-3, 0.4, 50.0])
def test_value_is_the_expectation(noise):
    """The value is the expected log density under N(mean, variance), summed over outputs."""
    y, mean, variance = _arguments()
    nodes, node_weights = np.polynomial.hermite_e.hermegauss(8)
    f = mean[..., None] + np.sqrt(variance)[:, None, None] * nodes
    log_density = -0.5 * np.log(2.0 * np.pi * noise) - (y[..., None] - f) ** 2 / (2.0 * noise)
    expected = (log_density @ node_weights / node_weights.sum()).sum(axis=1)
    value = Gaussian().expected_log_density(y, mean, variance, noise).value
    assert_allclose(value, expected, rtol=1e-12)


@pytest.mark.parametrize("noise", [1e-3, 0.4, 50.0])
def test_derivatives(noise):
    """Derivatives in mean, variance and log noise are those of the value."""
    y, mean, variance = _arguments()
    step = 1e-5

    def slope(shift_mean=0.0, shift_variance=0.0, shift_log_noise=0.0):
        def value(sign):
            return Gaussian().expected_log_density(
                y,
                mean + sign * step * shift_mean,
                variance + sign * step * shift_variance,
                noise * np.exp(sign * step * shift_log_noise),
            )

        return (value(1).value - value(-1).value) / (2.0 * step)

    expected = Gaussian().expected_log_density(y, mean, variance, noise)
    tolerance = {"rtol": 1e-6, "atol": 1e-6 / noise}
    assert expected.d_mean.shape == expected.d_variance.shape == y.shape
    for output in range(y.shape[1]):
        only = np.arange(y.shape[1]) == output
        assert_allclose(expected.d_mean[:, output], slope(shift_mean=only), **tolerance)
    assert_allclose(expected.d_variance.sum(axis=1), slope(shift_variance=1.0), **tolerance)
    for output in range(y.shape[1]):
        only = np.arange(y.shape[1]) == output
        slopes = slope(shift_log_noise=only)
        assert_allclose(expected.d_log_noise[:, output], slopes, **tolerance)
