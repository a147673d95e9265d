"""Likelihoods of targets of which some are NaN."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.data.observed_outputs import (
    check_observed,
    expected_log_density,
    log_predictive_density,
)
from sklearn_sgp.likelihoods import Beta, Censored, Gamma, NegativeBinomial, Poisson, StudentT

T, N = 3, 12
CASES = {
    "poisson": (Poisson(), lambda rng: rng.poisson(2.0, (N, T))),
    "negative_binomial": (NegativeBinomial(), lambda rng: rng.poisson(2.0, (N, T))),
    "gamma": (Gamma(), lambda rng: rng.gamma(2.0, 1.0, (N, T))),
    "beta": (Beta(), lambda rng: rng.beta(2.0, 2.0, (N, T))),
    "student_t": (StudentT(df=None), lambda rng: rng.standard_normal((N, T))),
    "student_t, one df": (StudentT(df=4.0), lambda rng: rng.standard_normal((N, T))),
    "censored": (Censored(lower=-0.5), lambda rng: rng.standard_normal((N, T))),
}


@pytest.fixture(params=CASES)
def case(request):
    """A likelihood, targets with gaps, moments and noise."""
    rng = np.random.default_rng(0)
    likelihood, draw = CASES[request.param]
    y = draw(rng).astype(float)
    y[rng.random(y.shape) < 0.4] = np.nan
    y[0] = draw(rng)[0]
    likelihood = likelihood.initialized(y, None)
    moments = 0.5 * rng.standard_normal((N, T)), rng.uniform(0.1, 0.5, (N, T))
    return likelihood, y, *moments, np.array([0.1, 0.2, 0.3])


def test_expectations_are_those_of_each_target(case):
    """Sums over the targets of a row; what is missing has derivatives of zero."""
    likelihood, y, mean, variance, noise = case
    found = expected_log_density(likelihood, y, mean, variance, noise)
    value, theta = np.zeros(N), np.zeros((N, len(likelihood.theta)))
    for n, p in np.ndindex(N, T):
        if np.isnan(y[n, p]):
            assert found.d_mean[n, p] == found.d_variance[n, p] == found.d_log_noise[n, p] == 0.0
            continue
        at = (part[n : n + 1, p : p + 1] for part in (y, mean, variance))
        one = likelihood.for_output(p).expected_log_density(*at, noise[p])
        value[n] += one.value[0]
        assert_allclose(found.d_mean[n, p], one.d_mean[0, 0])
        assert_allclose(found.d_variance[n, p], one.d_variance[0, 0])
        if theta.shape[1]:
            theta[n, p] += one.d_theta[0, 0]
    assert_allclose(found.value, value)
    if theta.shape[1]:
        assert_allclose(found.d_theta, theta)


def test_complete_targets_are_left_to_the_likelihood(case):
    """The functions agree with it."""
    likelihood, y, mean, variance, noise = case
    rows = ~np.isnan(y).any(axis=1)
    parts = y[rows], mean[rows], variance[rows], noise
    whole = expected_log_density(likelihood, y, mean, variance, noise)
    assert_allclose(whole.value[rows], likelihood.expected_log_density(*parts).value)
    density = log_predictive_density(likelihood, y, mean, variance, noise)
    assert_allclose(density[rows], likelihood.log_predictive_density(*parts))
    assert_allclose(
        log_predictive_density(likelihood, *parts), likelihood.log_predictive_density(*parts)
    )


def test_what_is_taken_from_the_targets_is_of_those_observed(case):
    """Each output by itself, with the weights of its own rows."""
    likelihood, y, *_ = case
    weight = np.random.default_rng(1).uniform(0.5, 2.0, N)
    fresh = type(likelihood)(**({"lower": -0.5} if isinstance(likelihood, Censored) else {}))
    found = fresh.initialized(y, weight)
    for p in range(T):
        seen = ~np.isnan(y[:, p])
        alone = fresh.initialized(y[seen, p : p + 1], weight[seen])
        for name in ("offset", "lower", "upper"):
            if hasattr(alone, name) and getattr(alone, name) is not None:
                own = np.ravel(getattr(found.for_output(p), name))
                assert_allclose(own, np.ravel(getattr(alone, name)))


def test_targets_that_cannot_be_are_refused():
    """Though others of their row are missing; a column that was not observed says nothing."""
    y = np.array([[1.0, np.nan], [2.0, np.nan]])
    check_observed(Poisson(), y)
    y[1, 0] = 0.5
    with pytest.raises(ValueError, match="counts"):
        check_observed(Poisson(), y)


class TwoEach(Poisson):
    """A likelihood with two parameters of each output."""

    theta = np.zeros(4)

    def for_output(self, output):
        """One output has two of them."""
        one = Poisson()
        one.__class__ = type("One", (Poisson,), {"theta": np.zeros(2)})
        return one


def test_several_parameters_of_each_output_have_no_places():
    """Nothing says which of all they are."""
    y = np.array([[1.0, np.nan], [2.0, 3.0]])
    with pytest.raises(ValueError, match="or each has one"):
        expected_log_density(TwoEach(), y, np.zeros(y.shape), np.ones(y.shape), None)
    assert_array_equal(np.isnan(y), [[False, True], [False, False]])
