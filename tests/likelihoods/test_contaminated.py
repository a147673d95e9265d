"""Contaminated noise: mixtures of what a likelihood says and of wide normal noise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest, norm

from sklearn_sgp.data.varying_noise import VaryingNoise, noise_of_output
from sklearn_sgp.likelihoods import (
    Gaussian,
    HeteroscedasticGaussian,
    HeteroscedasticStudentT,
    StudentT,
)

SHARE, WIDE = 0.01, np.array([2.0, 0.5])
LEVELS = np.array([1e-4, 0.002, 0.01, 0.05, 0.3, 0.5, 0.9, 0.995, 0.9999])


def rows(n=40):
    rng = np.random.RandomState(0)
    mean, variance = rng.standard_normal((n, 2)), 0.01 * rng.random_sample((n, 2))
    y = mean + np.where(rng.random_sample((n, 2)) < 0.3, 3.0, 0.05) * rng.standard_normal((n, 2))
    varying = VaryingNoise(rng.standard_normal((n, 2)) - 5.0, rng.random_sample((n, 2)))
    return y, mean, variance, varying


CASES = {
    "gaussian": (Gaussian(), False),
    "student_t": (StudentT(df=3.0), False),
    "student_t of outputs": (StudentT(df=np.array([3.0, 8.0])), False),
    "heteroscedastic": (HeteroscedasticGaussian(), True),
    "heteroscedastic_student_t": (HeteroscedasticStudentT(df=4.0), True),
}


@pytest.fixture(params=CASES)
def case(request):
    likelihood, varies = CASES[request.param]
    y, *moments, varying = rows()
    return likelihood, y, (*moments, varying if varies else np.array([1e-6, 0.1]))


def each(case):
    """Yield the likelihood, targets, moments and noise of each output."""
    likelihood, y, (mean, variance, noise) = case
    for c in range(2):
        moments = mean[:, [c]], variance[:, [c]], noise_of_output(noise, c)
        yield likelihood.for_output(c), y[:, [c]], moments, WIDE[c]


def test_densities_are_those_of_the_mixture(case):
    likelihood, y, at = case
    expected = 0.0
    for one, own, moments, wide in each(case):
        of_wide = norm.logpdf(own, moments[0], np.sqrt(moments[1] + wide)).ravel()
        of_noise = one.log_predictive_density(own, *moments)
        expected += np.logaddexp(np.log1p(-SHARE) + of_noise, np.log(SHARE) + of_wide)
    log_p = likelihood.contaminated(SHARE, WIDE).log_predictive_density(y, *at)
    assert_allclose(log_p, expected, rtol=1e-10)


def test_distribution_functions_are_those_of_the_mixture(case):
    likelihood, y, at = case
    parts = []
    for one, own, moments, wide in each(case):
        of_wide = norm.cdf(own, moments[0], np.sqrt(moments[1] + wide))
        parts.append((1.0 - SHARE) * one.cdf(own, *moments) + SHARE * of_wide)
    noise = likelihood.contaminated(SHARE, WIDE)
    assert_allclose(noise.cdf(y, *at), np.hstack(parts), rtol=1e-9)
    assert_allclose(noise.cdf(y, *at) + noise.sf(y, *at), 1.0, rtol=1e-12)


def test_quantiles_are_inverses(case):
    likelihood, _, at = case
    noise = likelihood.contaminated(SHARE, WIDE)
    quantiles = noise.quantiles(*at, LEVELS)
    for k, level in enumerate(LEVELS):
        # an expectation over Student's precisions has the digits of the furthest of its rows
        assert_allclose(noise.cdf(quantiles[:, :, k], *at), level, rtol=2e-4)


def test_draws_follow_the_distribution():
    n = 4000
    mean, variance = np.zeros((n, 1)), np.full((n, 1), 1e-4)
    noise, rng = Gaussian().contaminated(0.3, 2.0), np.random.RandomState(0)
    f = mean + np.sqrt(variance) * rng.standard_normal((n, 1))
    y = noise.draw(f[:, :, None], 1e-2, rng)[:, :, 0]
    assert kstest(noise.cdf(y, mean, variance, 1e-2).ravel(), "uniform").pvalue > 0.05


@pytest.mark.parametrize("likelihood", [Gaussian(), StudentT(df=5.0)])
def test_moments_are_those_without_the_share(likelihood):
    _, mean, variance, _ = rows()
    noise = likelihood.contaminated(SHARE, WIDE)
    for own, plain in zip(
        noise.moments(mean, variance, 0.1), likelihood.moments(mean, variance, 0.1), strict=True
    ):
        assert_allclose(own, plain)
