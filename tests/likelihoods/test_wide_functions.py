"""Expectations under wide latent functions: right, and at a cost that hardly grows."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats
from slow_variants import slow

from sklearn_sgp.likelihoods import Logit, Poisson, Probit, StudentT
from sklearn_sgp.likelihoods._classes import softmax_moments
from sklearn_sgp.likelihoods._quadrature import gaussian_expectations

# distance of singularities over 2.8, function, and the size that errors are measured in
NARROW = {
    "log logistic": (1.0, special.log_expit),
    "logistic": (1.0, special.expit),
    "log probit": (1.0, special.log_ndtr),
    "curvature of probit": (1.0, lambda f: Probit._derivatives(f)[2]),
    "log t": (1.0 / 2.8, lambda f: np.log1p(f * f)),
    "slope of t": (1.0 / 2.8, lambda f: f / (1.0 + f * f)),
    "curvature of t": (1.0 / 2.8, lambda f: (f * f - 1.0) / (1.0 + f * f) ** 2),
}


def graded(mean, sd, center, width, reach=14.0):
    """Nodes and weights of Gauss-Legendre on pieces that are narrow about the center."""
    furthest = reach * sd + abs(mean - center) + 1.0
    steps = np.concatenate([[0.0], np.geomspace(1e-3 * width, furthest, 800)])
    wide = mean + sd * np.linspace(-reach, reach, 400)
    edges = np.unique(np.concatenate([center - steps, center + steps, wide]))
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = 0.5 * np.diff(edges)[:, None]
    return edges[:-1, None] + half * (nodes + 1.0), half * weights


def dense(function, mean, sd, center, width, reach=14.0):
    """E[function(f)] for f ~ N(mean, sd^2)."""
    f, weight = graded(mean, sd, center, width, reach)
    return float((weight * stats.norm.pdf(f, mean, sd) * function(f)).sum())


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("ratio", [0.3, 1.01, 3.0, 30.0, 1e3, 1e5])
def test_narrow_functions(name, ratio):
    """Expectations are those of dense sums however wide the normal density, and wherever it is."""
    width, function = NARROW[name]
    sd = ratio * width
    mean = sd * np.array([0.0, 0.5, -2.0, 4.0, -7.0, 10.0, -15.9, 16.1, 30.0])
    (found,) = gaussian_expectations(
        lambda f, rows: (function(f),), mean, np.full(len(mean), sd**2), width
    )
    for got, at in zip(found, mean, strict=True):
        expected = dense(function, at, sd, 0.0, width)
        size = max(1.0, abs(expected), np.abs(function(np.array([-sd, sd]))).max())
        assert_allclose(got, expected, rtol=0, atol=3e-11 * size)


def test_the_number_of_nodes_hardly_grows():
    """A standard deviation a billion times the width takes less than a thousand nodes a row."""
    sizes = []

    def function(f, rows):
        sizes.append(f.shape[1])
        return (special.expit(f),)

    gaussian_expectations(function, np.linspace(-9e9, 9e9, 50), np.full(50, 1e18))
    assert max(sizes) < 1000


def test_student_t_with_little_noise_is_quick():
    """Ten thousand rows with noise of a millionth of the latent variance take seconds."""
    begin, y = time.perf_counter(), np.linspace(-3.0, 3.0, 10_000)[:, None]
    found = StudentT().expected_log_density(y, 0.0 * y, 1.0 + 0.0 * y, 1e-6)
    StudentT().quantiles(0.0 * y[:1000], 1.0 + y[:1000] ** 2, 1e-6, np.array([0.05, 0.95]))
    assert time.perf_counter() - begin < 20.0
    assert np.isfinite(found.value).all()


@pytest.mark.quick_cases("*-2.05", "*-1000.0")
@pytest.mark.parametrize("df", [2.05, 3.0, 4.0, 30.0, 1000.0, 1e6, 1e15])
@pytest.mark.parametrize("noise", [1e-8, 1e-2, 1.0])
@pytest.mark.parametrize("variance", [1e-300, 1e-2, 1.0, 1e4])
def test_student_t_predictions(df, noise, variance):
    """Densities and tails have their digits, be the target near, or far in the noise's tail."""
    likelihood, s, sd = StudentT(df), np.sqrt(noise), np.sqrt(max(variance, 1e-20))
    for error in (0.0, 0.4, 3.0, 25.0):
        y = error * np.hypot(s, sd)
        one = np.ones((1, 1))
        arguments = y * one, 0.0 * one, variance * one, noise
        f, weight = graded(0.0, sd, y, s, reach=40.0)
        log_weight = np.log(weight) + stats.norm.logpdf(f, scale=sd)
        t = stats.norm if df > 1e12 else stats.t(df)
        density = special.logsumexp(log_weight + t.logpdf((y - f) / s) - np.log(s))
        assert_allclose(likelihood.log_predictive_density(*arguments)[0], density, atol=1e-8)
        tail = special.logsumexp(log_weight + t.logsf((y - f) / s))
        assert_allclose(np.log(likelihood.sf(*arguments)[0, 0]), tail, atol=1e-8)
    levels = np.array([1e-9, 0.01, 0.5, 0.9])
    found = likelihood.quantiles(one, variance * one, noise, levels)[0, 0]
    back = likelihood.cdf(found[:, None], np.ones((4, 1)), np.full((4, 1), variance), noise)
    assert_allclose(back[:, 0], levels, rtol=1e-7)


@pytest.mark.parametrize("variance", [1e-6, 0.01, 1.0, 10.0, 1000.0, 1e4, 1e8])
@pytest.mark.parametrize("mean", [-30.0, -2.0, 0.0, 3.0])
def test_densities_and_tails_of_counts(mean, variance):
    """Log densities of counts are right to 1e-8 nats, and probabilities to 1e-11."""
    sd = np.sqrt(variance)
    for y in (0.0, 1.0, 7.0, 1000.0, 1e6):
        one = np.ones((1, 1))
        f, weight = graded(mean, sd, np.log(y + 1.0), 1.0 / np.sqrt(y + 1.0))
        log_normal, rate = stats.norm.logpdf(f, mean, sd), np.exp(np.minimum(f, 700.0))
        if y < 1e6 and (y < 30 or variance > 0.1):
            log_p = y * f - rate - special.gammaln(y + 1.0)
            expected = special.logsumexp(log_p + log_normal + np.log(weight))
            found = Poisson().log_predictive_density(y * one, mean * one, variance * one)[0]
            assert_allclose(found, expected, rtol=1e-11, atol=1e-8)
        for method, tail in (("cdf", special.gammaincc), ("sf", special.gammainc)):
            expected = (weight * np.exp(log_normal) * tail(y + 1.0, rate)).sum()
            found = getattr(Poisson(), method)(y * one, mean * one, variance * one)[0, 0]
            assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("variance", [0.0, slow(1e-3), 0.5, slow(4.0), 12.0])
def test_quantiles_of_counts_are_the_smallest_counts(variance):
    """Of the counts up to a quantile the probability is the level or more, of fewer it is less."""
    mean, levels = np.linspace(-3.0, 9.0, 13)[:, None], np.array([0.01, 0.3, 0.5, 0.95, 0.999])
    found = Poisson().quantiles(mean, np.full((13, 1), variance), None, levels)[:, 0]
    assert_array_equal(found, np.floor(found))
    for column, level in zip(found.T, levels, strict=True):
        for k, center in zip(column, mean[:, 0], strict=True):
            if variance == 0.0:
                assert k == stats.poisson.ppf(level, np.exp(center))
                continue
            f, weight = graded(center, np.sqrt(variance), np.log1p(k), 1.0 / np.sqrt(k + 1.0))
            weight = weight * stats.norm.pdf(f, center, np.sqrt(variance))
            assert (weight * special.gammaincc(k + 1.0, np.exp(f))).sum() > level - 1e-10
            if k > 0:
                assert (weight * special.gammaincc(k, np.exp(f))).sum() < level + 1e-10


def test_quantiles_of_counts_end_at_any_variance():
    """Quantiles take seconds, whatever the largest variance; there they are lognormal."""
    begin = time.perf_counter()
    variance = np.append(np.ones(500), np.geomspace(1.0, 1e5, 500))[:, None]
    levels = np.array([0.05, 0.5, 0.95])
    found = Poisson().quantiles(0.0 * variance, variance, None, levels)[:, 0]
    assert time.perf_counter() - begin < 30.0
    assert np.isfinite(found).all() and (np.diff(found, axis=1) >= 0).all()
    assert_array_equal(found[:500], np.broadcast_to(found[0], (500, 3)))
    large = np.flatnonzero((variance[:, 0] > 1000.0) & (variance[:, 0] < 3e4))
    expected = np.sqrt(variance[large, 0]) * special.ndtri(0.95)
    assert_allclose(np.log(found[large, 2]), expected, rtol=1e-9)


def test_draws_of_huge_rates():
    """Rates above the largest that numpy draws from give counts of that size, ordinary ones too."""
    f = np.array([np.log(3.0), 40.0, 60.0, 800.0])[:, None, None] * np.ones((1, 1, 4000))
    draws = Poisson().draw(f, None, np.random.RandomState(0))
    assert np.isfinite(draws).all()
    assert_array_equal(draws, np.floor(draws))
    assert_allclose(draws[:3].mean(axis=(1, 2)), np.exp(f[:3, 0, 0]), rtol=0.05)
    z = (draws[1] - np.exp(40.0)) / np.exp(20.0)
    assert abs(z.mean()) < 0.1 and 0.95 < z.std() < 1.05


def test_softmax_of_functions_without_scale():
    """Beyond a standard deviation of 1e4 probabilities stay, and derivatives fall with it."""
    mean, sd = np.array([[0.0, 1.0, -0.5]]), np.array([[1.0, 0.5, 0.2]])
    base = softmax_moments(9e3 * mean, (9e3 * sd) ** 2)
    for scale in (1.2e4, 1e5, 1e7, 1e100):
        log_sum, p, p2 = softmax_moments(scale * mean, (scale * sd) ** 2)
        assert_allclose(log_sum / scale, base[0] / 9e3, rtol=1e-7)
        assert_allclose(p, base[1], rtol=1e-6)
        if scale < 1e6:
            assert_allclose(scale * (p - p2), 9e3 * (base[1] - base[2]), rtol=1e-6, atol=1e-9)
    likely = Logit().log_predictive_density(
        -np.ones((1, 1)), 1e5 * np.ones((1, 1)), np.ones((1, 1))
    )
    assert np.isfinite(likely).all()
