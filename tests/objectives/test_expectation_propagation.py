"""Expectation propagation in a group: against sites in turn, quadrature and identities."""

import numpy as np
import pytest
from dense import log_normal
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp.likelihoods import (
    Beta,
    Censored,
    Gamma,
    Likelihood,
    Logit,
    NegativeBinomial,
    Ordinal,
    Poisson,
    Probit,
)
from sklearn_sgp.objectives.expectation_propagation import (
    Observed,
    Sites,
    _Posterior,
    propagate,
)


class KnownNoise(Likelihood):
    """Numbers with Gaussian noise of a known variance, by their log density alone."""

    def log_density(self, y, f, noise_variance=None):
        return -0.5 * ((y - f) ** 2 / 0.3 + np.log(2.0 * np.pi * 0.3))


def test_variances_are_right_where_a_site_says_next_to_nothing():
    """Sites of 1e-20 and 0 beside large ones leave what a dense inverse leaves."""
    K, precision = covariance(6), np.array([1e-20, 1e8, 0.0, 1.0, 1e-12, 30.0])
    sites = Sites(precision, np.zeros(6))
    found = _Posterior.of(K, np.diagonal(K).copy(), np.ones(6), sites).variance
    root = np.sqrt(precision)
    inner = np.linalg.solve(np.eye(6) + root[:, None] * K * root, root[:, None] * K)
    assert_allclose(found, np.diagonal(K - (K * root) @ inner), rtol=1e-6)
    far = np.full((4, 4), 1.0)  # one function value, which the first site says to 1e-12
    sites = Sites(np.array([1e12, 1e-300, 1e-20, 0.0]), np.zeros(4))
    assert (_Posterior.of(far, np.ones(4), np.ones(4), sites).variance > 0.0).all()


LIKELIHOODS = [
    Probit(0.2),
    Logit(-0.3),
    Poisson(0.1),
    NegativeBinomial(0.4, offset=0.1),
    Gamma(3.0, offset=0.2),
    Beta(6.0, offset=-0.1),
    Censored(lower=-0.5, upper=1.0, noise_variance=0.3),
    Ordinal([-0.5, 0.8]),
]


def covariance(n, variance=2.0, seed=0):
    X = np.random.RandomState(seed).uniform(-2.0, 2.0, (n, 2))
    return variance * RBF(1.0)(X)


def targets(likelihood, n, seed=0):
    rng = np.random.RandomState(seed)
    if isinstance(likelihood, Poisson | NegativeBinomial):
        return rng.poisson(2.0, (n, 1)).astype(np.float64)
    if isinstance(likelihood, Gamma):
        return rng.gamma(2.0, 0.6, (n, 1))
    if isinstance(likelihood, Beta):
        return rng.beta(2.0, 2.0, (n, 1))
    if isinstance(likelihood, Censored):
        return np.clip(rng.normal(size=(n, 1)), -0.5, 1.0)
    if isinstance(likelihood, Ordinal):
        return rng.randint(0, 3, (n, 1)).astype(np.float64)
    return np.where(rng.rand(n, 1) < 0.6, 1.0, -1.0)


def one_after_the_other(K, y, likelihood, n_sweeps=60):
    """Dense expectation propagation: sites in turn, each with a new inverse; evidence and sites."""
    n = len(K)
    w, nu = np.zeros(n), np.zeros(n)

    def posterior():
        S = np.linalg.inv(np.linalg.inv(K) + np.diag(w))
        return S @ nu, S

    def cavity(i):
        m, S = posterior()
        variance = 1.0 / (1.0 / S[i, i] - w[i])
        mean = variance * (m[i] / S[i, i] - nu[i])
        return (
            mean,
            variance,
            [
                part[0]
                for part in likelihood.tilted_moments(
                    y[i : i + 1], np.array([mean]), np.array([variance]), np.ones(1)
                )
            ],
        )

    for _ in range(n_sweeps):
        for i in range(n):
            mean, variance, (_, d1, d2) = cavity(i)
            w[i] = -d2 / (1.0 + variance * d2)
            nu[i] = (d1 - mean * d2) / (1.0 + variance * d2)
    # log of int N(f; 0, K) prod_n c_n N(f_n; nu_n / w_n, 1 / w_n)
    value = log_normal((nu / w)[:, None], K + np.diag(1.0 / w))
    for i in range(n):
        mean, variance, (log_z, *_) = cavity(i)
        value += log_z - log_normal(
            np.array([[nu[i] / w[i] - mean]]), np.array([[variance + 1.0 / w[i]]])
        )
    return value, w, nu


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_the_fixed_point_is_that_of_sites_in_turn(likelihood):
    """Sites that are all updated at once end where those that are updated in turn end."""
    K = covariance(12) + 1e-6 * np.eye(12)
    y = targets(likelihood, 12)
    value, w, nu = one_after_the_other(K, y, likelihood)
    found = propagate(K, Observed(y, np.ones(12)), likelihood, Sites.none(12), 1e-10)
    assert_allclose(found.evidence, value, rtol=1e-7)
    assert_allclose(found.sites.precision, w, rtol=1e-6, atol=1e-8)
    assert_allclose(found.sites.shift, nu, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_the_evidence_of_six_rows_is_nearly_the_integral(likelihood):
    """log Z is within 0.02 nats of the integral over six function values, by Gauss-Hermite."""
    K, y = covariance(6, 1.0) + 1e-6 * np.eye(6), targets(likelihood, 6)
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    grid = np.stack(np.meshgrid(*[nodes] * 6), axis=-1).reshape(-1, 6)
    weights = np.meshgrid(*[np.log(weights / weights.sum())] * 6)
    log_w = sum(weights).ravel()
    found = propagate(K, Observed(y, np.ones(6)), likelihood, Sites.none(6), 1e-8)
    # nodes lie where the posterior is, for likelihoods that are narrow beside the prior
    S = np.linalg.inv(np.linalg.inv(K) + np.diag(found.sites.precision))
    L, L_prior = np.linalg.cholesky(S), np.linalg.cholesky(K)
    f = S @ found.sites.shift + grid @ L.T
    of_prior = -0.5 * (np.linalg.solve(L_prior, f.T) ** 2).sum(axis=0)
    ratio = of_prior + 0.5 * (grid**2).sum(axis=1)
    ratio += np.log(np.diag(L)).sum() - np.log(np.diag(L_prior)).sum()
    total = log_w + ratio + likelihood.log_density(y.T, f).sum(axis=1)
    expected = total.max() + np.log(np.exp(total - total.max()).sum())
    assert_allclose(found.evidence, expected, atol=0.02)


def test_gaussian_noise_gives_the_exact_evidence_and_sites():
    """Sites of Gaussian noise are its own, and the evidence is the normal density."""
    K = covariance(20)
    y = np.random.RandomState(1).standard_normal((20, 1))
    found = propagate(K, Observed(y, np.ones(20)), KnownNoise(), Sites.none(20), 1e-12)
    assert_allclose(found.sites.precision, 1.0 / 0.3, rtol=1e-10)
    assert_allclose(found.sites.shift, y[:, 0] / 0.3, rtol=1e-9, atol=1e-10)
    assert_allclose(found.evidence, log_normal(y, K + 0.3 * np.eye(20)), rtol=1e-10)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_weights_are_repetitions(likelihood):
    """A row of weight 3 is three equal rows."""
    K, y = covariance(8), targets(likelihood, 8)
    weight = np.array([1.0, 3.0, 1.0, 2.0, 1.0, 1.0, 1.0, 3.0])
    place = np.repeat(np.arange(8), weight.astype(int))
    weighted = propagate(K, Observed(y, weight), likelihood, Sites.none(8), 1e-9)
    n = len(place)
    repeated = propagate(
        K[np.ix_(place, place)], Observed(y[place], np.ones(n)), likelihood, Sites.none(n), 1e-9
    )
    assert_allclose(weighted.evidence, repeated.evidence, rtol=1e-9)
    assert_allclose(weighted.sites.precision[place], repeated.sites.precision, rtol=1e-6, atol=1e-9)


def test_a_weight_below_one_is_a_power():
    """The site of a row of weight 0.5 stands for the root of its likelihood, and 0 for nothing."""
    K, y = covariance(8), targets(Probit(0.0), 8)
    values = [
        propagate(K, Observed(y, weight), Probit(0.0), Sites.none(8), 1e-9).evidence
        for weight in np.array([np.ones(8), np.full(8, 0.5), np.full(8, 1e-9)])
    ]
    assert values[0] < values[1] < values[2]
    assert_allclose(values[2], 0.0, atol=1e-7)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_slopes_are_the_derivative(likelihood):
    """At the fixed point the derivative in K at fixed sites is that of the evidence."""
    K, y = covariance(10) + 0.1 * np.eye(10), targets(likelihood, 10)
    observed = Observed(y, np.linspace(0.5, 2.0, 10))
    found = propagate(K, observed, likelihood, Sites.none(10), 1e-11)
    rng = np.random.RandomState(3)
    for _ in range(3):
        A = rng.standard_normal((10, 10))
        A = 1e-5 * (A + A.T)
        ends = [
            propagate(K + sign * A, observed, likelihood, found.sites, 1e-11).evidence
            for sign in (1.0, -1.0)
        ]
        slopes = np.ones(66)  # of eleven rows, of which the first ten have sites
        found.add_slopes(-2.0, slopes, 11)
        here = np.zeros((11, 11))
        here[np.triu_indices(11)] = 0.5 * (1.0 - slopes)
        assert (here[:, 10] == 0.0).all()
        assert_allclose((here[:10, :10] * A).sum(), 0.5 * (ends[0] - ends[1]), rtol=1e-5)


def test_single_sweeps_go_on_to_the_fixed_point():
    """Learning moves sites by one sweep with each of its steps: they go where many sweeps lead."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(20, 2))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    observed = Observed((rng.uniform(size=(20, 1)) < 0.5).astype(float), np.ones(20))
    exact = propagate(K, observed, Probit(0.0), Sites.none(20), 1e-10)
    sites = Sites.none(20)
    for _ in range(40):
        found = propagate(K, observed, Probit(0.0), sites, 1e-10, 1)
        assert_allclose(found.sites, sites)  # those that the evidence is of
        sites = found.following
    assert_allclose(found.evidence, exact.evidence, rtol=1e-10)
    assert_allclose(sites, exact.sites, rtol=1e-6)


def test_rows_of_one_class_that_all_but_coincide_come_to_rest():
    """Sites of 250 rows with nearly one function value do not swing: a second run moves nothing."""
    X = np.random.RandomState(0).uniform(-1.0, 1.0, (250, 2))
    K, observed = 30.0 * RBF(8.0)(X), Observed(np.ones((250, 1)), np.ones(250))
    first = propagate(K, observed, Probit(0.0), Sites.none(250), 1e-4)
    again = propagate(K, observed, Probit(0.0), first.sites, 1e-4)
    assert_allclose(again.evidence, first.evidence, atol=1e-3)
    assert -3.0 < first.evidence < np.log(0.5)


def test_held_sites_are_observations_with_noise_of_their_own():
    """Sites that are held stay, and other rows see them as Gaussian observations."""
    K, y = covariance(9), np.random.RandomState(2).standard_normal((9, 1))
    held = np.arange(9) < 5
    sites = Sites(np.where(held, 0.7, 0.0), np.where(held, 0.2, 0.0))
    found = propagate(K, Observed(y, np.ones(9), held), KnownNoise(), sites, 1e-12)
    assert_allclose(found.sites.precision, np.where(held, 0.7, 1.0 / 0.3), rtol=1e-9)
    noise, seen = np.where(held, 1.0 / 0.7, 0.3), np.where(held, 0.2 / 0.7, y[:, 0])
    S = K + np.diag(noise)
    assert_allclose(found.slope, np.linalg.solve(S, seen), rtol=1e-8)
    # the integral of exp(shift f - precision f^2 / 2) is that of a density, but for its scale
    scale = 0.5 * np.log(2.0 * np.pi / 0.7) + 0.5 * 0.2**2 / 0.7
    assert_allclose(found.evidence, log_normal(seen[:, None], S) + 5.0 * scale, rtol=1e-9)
