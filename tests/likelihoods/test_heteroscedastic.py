"""Noise whose log variance is normal: distributions of y, and the likelihood of that logarithm."""

import numpy as np
import pytest
from dense import central_difference
from numpy.testing import assert_allclose
from scipy.stats import norm, t

from sklearn_sgp.data.varying_noise import VaryingNoise, noise_of_output, of_rows
from sklearn_sgp.likelihoods import (
    Gaussian,
    HeteroscedasticGaussian,
    HeteroscedasticStudentT,
    StudentT,
)
from sklearn_sgp.noise.squared_errors import LogNoise

BOTH = pytest.mark.parametrize(
    "likelihood, unit",
    [(HeteroscedasticGaussian(), norm), (HeteroscedasticStudentT(4.0), t(4.0))],
    ids=["gaussian", "student_t"],
)
MEAN = np.array([[0.3, -1.0], [2.0, 0.0], [0.5, 0.5]])
VARIANCE = np.array([[0.2, 0.1], [1e-6, 0.5], [0.0, 1.0]])
NOISE = VaryingNoise(
    np.array([[-1.0, -1.0], [0.5, 0.5], [0.1, 0.1]]), np.array([[0.3, 0.3], [0.8, 0.8], [0.0, 0.0]])
)
Y = MEAN + np.array([[0.5, -3.0], [1.0, 0.1], [-2.0, 0.0]])


def drawn(likelihood, n=400_000):
    """Observations by their definition: f, then the noise variance, then the noise."""
    rng = np.random.default_rng(0)
    f = MEAN[..., None] + np.sqrt(VARIANCE)[..., None] * rng.standard_normal((*MEAN.shape, n))
    return likelihood.draw(f, NOISE, rng)


@BOTH
def test_moments_and_distribution_are_those_of_draws(likelihood, unit):
    """Variance, distribution function and quantiles, against draws."""
    samples = drawn(likelihood)
    _, variance = likelihood.moments(MEAN, VARIANCE, NOISE)
    if unit is norm:
        assert_allclose(variance, samples.var(axis=2), rtol=0.03)
    assert_allclose(
        likelihood.cdf(Y, MEAN, VARIANCE, NOISE), (samples <= Y[..., None]).mean(axis=2), atol=4e-3
    )
    levels = np.array([0.05, 0.5, 0.9])
    quantiles = likelihood.quantiles(MEAN, VARIANCE, NOISE, levels)
    for k, level in enumerate(levels):
        cdf = likelihood.cdf(quantiles[..., k], MEAN, VARIANCE, NOISE)
        assert_allclose(cdf, level, atol=1e-8)


@BOTH
def test_the_density_is_the_slope_of_the_distribution(likelihood, unit):
    """log p(y), summed over outputs."""
    step = 1e-4

    def cdf(y):
        return likelihood.cdf(y, MEAN, VARIANCE, NOISE)

    slope = (cdf(Y + step) - cdf(Y - step)) / (2.0 * step)
    found = likelihood.log_predictive_density(Y, MEAN, VARIANCE, NOISE)
    assert_allclose(found, np.log(slope).sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize(
    "likelihood, same", [(HeteroscedasticGaussian(), Gaussian()),
                         (HeteroscedasticStudentT(3.0), StudentT(3.0))],
)  # fmt: skip
def test_noise_that_is_known_and_the_same(likelihood, same):
    """With a log variance that is certain, it is the likelihood with that noise variance."""
    noise = VaryingNoise(np.full((3, 2), np.log(0.4)), np.zeros((3, 2)))
    args = (MEAN, VARIANCE)
    for method in ("log_predictive_density", "cdf", "sf"):
        found = getattr(likelihood, method)(Y, *args, noise)
        assert_allclose(found, getattr(same, method)(Y, *args, 0.4), rtol=1e-9)
    assert_allclose(likelihood.moments(*args, noise), same.moments(*args, 0.4), rtol=1e-12)
    levels = np.array([0.01, 0.5, 0.7])
    expected = same.quantiles(*args, 0.4, levels)
    assert_allclose(likelihood.quantiles(*args, noise, levels), expected, atol=1e-7)


def test_covariances_get_the_noise_of_each_row():
    """On the diagonal; a covariance that outputs share becomes one for each."""
    likelihood = HeteroscedasticGaussian()
    covariance = likelihood.covariance(MEAN, np.zeros((3, 3, 1)), NOISE)[1]
    for c in range(2):
        assert_allclose(covariance[:, :, c], np.diag(NOISE.mean[:, c]))


def test_parts_of_the_noise():
    """Rows and outputs of it; noise that is the same everywhere is handed on."""
    assert_allclose(of_rows(NOISE, lambda part: part[1:]).log_mean, NOISE.log_mean[1:])
    assert noise_of_output(NOISE, 1).log_variance.shape == (3, 1)
    assert of_rows(0.3, None) == 0.3
    assert noise_of_output(np.array([0.3, 0.4]), 1) == 0.4


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_likelihood_of_log_noise(n_outputs):
    """Expected density and derivatives, against quadrature and differences."""
    likelihood = LogNoise(n_outputs)
    y, mean, variance = np.array([[0.2], [3.0]]), np.array([[0.1], [1.0]]), np.array([[0.3], [0.1]])
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    g = mean + np.sqrt(variance) * nodes
    expected = (-0.5 * (n_outputs * g + y * np.exp(-g))) @ weights / weights.sum()
    found = likelihood.expected_log_density(y, mean, variance)
    assert_allclose(found.value, expected, rtol=1e-10)
    for n in range(2):

        def value(x, n=n):
            of_one = likelihood.expected_log_density(y[[n]], x[None, [0]], x[None, [1]])
            return of_one.value[0]

        slopes = central_difference(value, np.array([mean[n, 0], variance[n, 0]]))
        assert_allclose([found.d_mean[n, 0], found.d_variance[n, 0]], slopes, rtol=1e-6)


@pytest.mark.parametrize("wrong", [{"kernel": "rbf"}, {"n_inducing": 0}, {"n_inducing": 2.5}])
def test_wrong_parameters(wrong):
    """Are told by name."""
    with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter of Heterosc"):
        HeteroscedasticGaussian(**wrong).initialized(Y, None)
