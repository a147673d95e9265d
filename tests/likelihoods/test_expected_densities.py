"""Expected log densities and predictions are those of quadrature, at extremes too."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

from sklearn_sgp.likelihoods import Gaussian, Logit, Poisson, Probit, Softmax, StudentT
from sklearn_sgp.likelihoods._classes import softmax_moments

MEANS = [-50.0, -8.0, -1.3, 0.0, 0.4, 5.0, 50.0]
VARIANCES = [1e-12, 1e-6, 0.01, 0.3, 1.0, 2.7, 40.0, 1e4]
EXTREMES = [(mean, variance) for mean in MEANS for variance in VARIANCES]
SCALE2 = 0.3
T_DENSITY = stats.t(4.0, scale=np.sqrt(SCALE2))
LIKELIHOODS = {
    "probit": (Probit(), lambda y, f: special.log_ndtr(y * f), (-1.0, 1.0)),
    "logit": (Logit(), lambda y, f: special.log_expit(y * f), (-1.0, 1.0)),
    "student_t": (StudentT(4.0), lambda y, f: T_DENSITY.logpdf(y - f), (-3.0, 0.0, 7.5)),
}
NAMES = pytest.mark.parametrize("name", LIKELIHOODS)


def by_legendre(function, mean, variance):
    """E[function(f)] by Gauss-Legendre on pieces narrower than anything in the integrand."""
    sd = np.sqrt(variance)
    width = min(0.2, sd / 4)
    edges = np.linspace(mean - 9 * sd, mean + 9 * sd, int(np.ceil(18 * sd / width)) + 1)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half = 0.5 * np.diff(edges)[:, None]
    f = edges[:-1, None] + half * (nodes + 1.0)
    density = np.exp(-0.5 * ((f - mean) / sd) ** 2) / (sd * np.sqrt(2.0 * np.pi))
    return float((half * weights * density * function(f)).sum())


def arrays(y, extremes=EXTREMES):
    mean, variance = np.array(extremes).T
    return np.full((len(mean), 1), y), mean[:, None].copy(), variance[:, None].copy()


@NAMES
def test_expected_log_density_at_extremes(name):
    """The value is the expectation by fine quadrature, far from the data and near it."""
    likelihood, log_density, targets = LIKELIHOODS[name]
    for y in targets:
        got = likelihood.expected_log_density(*arrays(y), SCALE2).value
        expected = [by_legendre(lambda f, y=y: log_density(y, f), *at) for at in EXTREMES]
        assert_allclose(got, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.quick_cases("probit")
@NAMES
def test_derivatives_at_extremes(name):
    """Derivatives are differences of the quadrature: d_variance is half the second in the mean."""
    likelihood, log_density, targets = LIKELIHOODS[name]
    for y in targets:
        found = likelihood.expected_log_density(*arrays(y), SCALE2)
        for k, (mean, variance) in enumerate(EXTREMES):
            h = 1e-4 * max(1.0, np.sqrt(variance))
            at = [
                by_legendre(lambda f, y=y: log_density(y, f), mean + s * h, variance)
                for s in (-2, -1, 0, 1, 2)
            ]
            first = (at[0] - 8 * at[1] + 8 * at[3] - at[4]) / (12 * h)
            size = max(1.0, abs(at[2]))
            assert_allclose(found.d_mean[k, 0], first, rtol=1e-6, atol=1e-9 * size / h)
            h = 1e-2 * max(1.0, np.sqrt(variance))
            at = [
                by_legendre(lambda f, y=y: log_density(y, f), mean + s * h, variance)
                for s in (-2, -1, 0, 1, 2)
            ]
            second = (-at[0] + 16 * at[1] - 30 * at[2] + 16 * at[3] - at[4]) / (12 * h * h)
            size = max(1.0, abs(at[2]))
            assert_allclose(
                2 * found.d_variance[k, 0], second, rtol=1e-4, atol=1e-11 * size / h**2 + 1e-7
            )


@pytest.mark.parametrize("name", ["student_t", "gaussian"])
def test_derivative_in_the_noise(name):
    """d_log_noise is the difference quotient of the value in the log noise variance."""
    likelihood = {"student_t": StudentT(4.0), "gaussian": Gaussian()}[name]
    y, mean, variance = arrays(0.7, [(0.3, 0.2), (-2.0, 3.0), (5.0, 1e-6)])
    step = 1e-5
    up, down = (
        likelihood.expected_log_density(y, mean, variance, SCALE2 * np.exp(s)).value
        for s in (step, -step)
    )
    found = likelihood.expected_log_density(y, mean, variance, SCALE2).d_log_noise
    assert_allclose(found[:, 0], (up - down) / (2 * step), rtol=1e-7)


@pytest.mark.parametrize("name", ["probit", "logit", "poisson"])
def test_log_concave_sites_are_positive(name):
    """A log-concave density has no positive derivative in the latent variance."""
    likelihood = {"probit": Probit(), "logit": Logit(), "poisson": Poisson()}[name]
    y, mean, variance = arrays(1.0, [(m, v) for m in MEANS for v in VARIANCES if v < 100])
    assert (likelihood.expected_log_density(y, mean, variance).d_variance <= 0).all()


@NAMES
def test_predictive_densities(name):
    """Predictive densities are those of quadrature, and P(-1) + P(+1) is 1."""
    likelihood, log_density, targets = LIKELIHOODS[name]
    extremes = [(mean, v) for mean, v in EXTREMES if abs(mean) <= 8]
    for y in targets:
        got = likelihood.log_predictive_density(*arrays(y, extremes), SCALE2)
        expected = [by_legendre(lambda f, y=y: np.exp(log_density(y, f)), *at) for at in extremes]
        assert_allclose(np.exp(got), expected, rtol=1e-8, atol=1e-14)
    if name != "student_t":
        _, mean, variance = arrays(1.0)
        assert_allclose(likelihood.probabilities(mean, variance).sum(axis=1), 1.0, rtol=1e-12)


def test_poisson():
    """The closed form is the definition; the predictive is a distribution with its moments."""
    likelihood = Poisson()
    extremes = [(-3.0, 0.5), (0.0, 1e-6), (1.5, 0.3), (3.0, 0.01)]
    for y in (0.0, 1.0, 7.0):
        got = likelihood.expected_log_density(*arrays(y, extremes))
        expected = [by_legendre(lambda f, y=y: y * f - np.exp(f), *at) for at in extremes]
        assert_allclose(got.value, np.array(expected) - special.gammaln(y + 1), rtol=1e-9)
    counts = np.arange(4000.0)
    for mean, variance in extremes:
        one = np.ones((len(counts), 1))
        log_p = likelihood.log_predictive_density(counts[:, None], mean * one, variance * one)
        p = np.exp(log_p)
        assert_allclose(p.sum(), 1.0, rtol=1e-7)
        got, spread = likelihood.moments(mean, variance)
        assert_allclose(p @ counts, got, rtol=1e-6)
        assert_allclose(p @ (counts - got) ** 2, spread, rtol=1e-5)


@pytest.mark.quick_cases("*-2", "*-3", "0.4-7")
@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("spread", [0.01, 0.4, 0.5, 1.0, 3.0])
def test_softmax_moments_are_those_of_draws(n_classes, spread, rng):
    """Log sum, probabilities and their squares have the means of many draws."""
    mean = rng.normal(0.0, 2.0, (1, n_classes))
    variance = spread**2 * rng.uniform(0.5, 1.5, (1, n_classes))
    log_sum, p, p2 = softmax_moments(mean, variance)
    f = mean + np.sqrt(variance) * rng.standard_normal((400_000, n_classes))
    draws = special.softmax(f, axis=1)
    for got, some in ((log_sum, special.logsumexp(f, axis=1)), (p[0], draws), (p2[0], draws**2)):
        error = some.std(axis=0) / np.sqrt(len(f))
        assert (np.abs(got - some.mean(axis=0)) < 5 * error + 1e-10).all()


def dense_softmax_moments(mean, sd):
    """(37) for one row, by sums far finer and wider than they need be."""
    step = 0.14
    lo = np.floor((-34.0 - (mean + np.minimum(0.5 * sd**2, 8.5 * sd)).max()) / step)
    hi = np.ceil((6.0 + 8.5 * sd - mean).min() / step)
    s = np.arange(lo, hi + 1) * step
    values = np.zeros((3, len(mean), len(s)))
    for c in range(len(mean)):
        z = np.linspace(-8.5, 8.5, 1 + 2 * int(np.ceil(34 * max(0.7, sd[c]))))
        weight = np.exp(-0.5 * z * z) / np.exp(-0.5 * z * z).sum()
        for node, times in zip(mean[c] + sd[c] * z, weight, strict=True):
            x = np.exp(np.minimum(s + node, 7.0))
            F = times * np.exp(-x)
            values[:, c] += F, x * F, x * x * F
    G, D, D2 = values
    others = np.stack([np.delete(G, c, axis=0).prod(axis=0) for c in range(len(mean))])
    log_sum = step * ((1.0 - G.prod(axis=0)).sum() - hi - 0.5) - np.euler_gamma
    return log_sum, step * (D * others).sum(axis=1), step * (D2 * others).sum(axis=1)


# On both sides of each change: of the number of nodes, from nodes to tables, of the table.
@pytest.mark.parametrize(
    "at", [6e-6, 0.0024, 0.017, 0.045, 0.11, 0.2, 0.26, 0.45, 0.779, 1.558, 3.116, 6.232, 12.464]
)
@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_softmax_moments_are_those_of_dense_sums(n_classes, at, rng):
    """Log sum, probabilities and their squares are those of much finer sums."""
    spread = np.linspace(0.0, 1.0, n_classes)
    # alike, so that steps are long, and with a class so narrow that they are not
    for sd in (at * (0.998 - spread / 8), at * (1.002 + spread / 8), at * 0.02**spread):
        mean = np.append(0.0, -rng.uniform(0.0, 6.0 + at, n_classes - 1))
        found = softmax_moments(3.0 + mean[None], sd[None] ** 2)
        for got, expected in zip(found, dense_softmax_moments(mean, sd), strict=True):
            shift = 3.0 if got.ndim == 1 else 0.0
            assert_allclose(got[0] - shift, expected, rtol=1e-9, atol=3e-10)


def test_softmax_probability_of_a_far_class():
    """A probability of order exp(-60) has all its digits."""
    p = softmax_moments(np.array([[0.0, -60.0]]), np.array([[1e-4, 0.09]]))[1]
    assert_allclose(p[0, 1], np.exp(-60.0 + 0.5 * 0.0901), rtol=1e-8)


def test_softmax_moments_without_sense_are_nan():
    """Inputs that are not numbers give NaN in their own rows and nowhere else."""
    mean, variance = np.zeros((4, 3)), np.ones((4, 3))
    mean[0, 1], mean[1, 2], variance[2, 0] = np.nan, -np.inf, np.inf
    good = softmax_moments(mean[3:], variance[3:])
    for some, expected in zip(softmax_moments(mean, variance), good, strict=True):
        assert np.isnan(some[:3]).all()
        assert_allclose(some[3:], expected, rtol=1e-13)


@pytest.mark.parametrize(("mean", "variance"), EXTREMES)
def test_softmax_of_two_is_logit(mean, variance):
    """The difference of two latent functions is one, with the sum of their variances."""
    for share in (0.0, 0.3, 1.0):
        means = np.array([[0.4, 0.4 + mean]])
        variances = np.maximum(variance * np.array([[share, 1.0 - share]]), 1e-300)
        y = np.array([[1.0]])
        two = Softmax().expected_log_density(y, means, variances)
        total = np.array([[variances.sum()]])
        one = Logit().expected_log_density(y, np.array([[mean]]), total)
        assert_allclose(two.value, one.value, rtol=1e-8, atol=1e-9)
        assert_allclose(two.d_mean[0], [-one.d_mean[0, 0], one.d_mean[0, 0]], rtol=1e-7, atol=1e-10)
        assert_allclose(two.d_variance[0], one.d_variance[0, 0], rtol=1e-6, atol=1e-10)


def test_softmax_derivatives(rng):
    """Derivatives in every mean and variance are difference quotients of the value."""
    mean, variance = rng.normal(0, 2, (5, 4)), rng.uniform(0.05, 3.0, (5, 4))
    y = rng.integers(0, 4, (5, 1)).astype(float)
    found = Softmax().expected_log_density(y, mean, variance)
    for c in range(4):
        step = np.zeros(4)
        step[c] = 1e-4
        for which, got in ((0, found.d_mean), (1, found.d_variance)):
            up, down = (
                Softmax()
                .expected_log_density(
                    y, mean + sign * step * (which == 0), variance + sign * step * (which == 1)
                )
                .value
                for sign in (1, -1)
            )
            assert_allclose(got[:, c], (up - down) / 2e-4, rtol=1e-5, atol=1e-8)
    assert_allclose(found.d_mean.sum(axis=1), 0.0, atol=1e-10)


@pytest.mark.parametrize("sd", [100.0, 300.0, 3000.0])
def test_softmax_of_very_wide_functions(sd):
    """Steps so long that powers of them overflow warn of nothing; equals share the probability."""
    p = Softmax().probabilities(np.zeros((2, 3)), np.full((2, 3), sd**2))
    assert_allclose(p, 1.0 / 3.0, rtol=1e-8)
