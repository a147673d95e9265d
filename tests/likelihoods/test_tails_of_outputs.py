"""Degrees of freedom of each output: every method answers for each as the output's own noise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest

from sklearn_sgp.data.continued_warps import Warp
from sklearn_sgp.data.varying_noise import VaryingNoise, each_output, of_rows
from sklearn_sgp.data.warped_moments import warped_moments
from sklearn_sgp.data.warped_targets import WarpedTargets
from sklearn_sgp.data.warps import YeoJohnson
from sklearn_sgp.likelihoods import HeteroscedasticStudentT, StudentT
from sklearn_sgp.likelihoods.noise._heavy_tails import best_tails

DF = [2.3, 700.0, 5.0]
RNG = np.random.default_rng(0)
Y, MEAN = 2.0 * RNG.standard_normal((2, 7, 3))
VARIANCE = RNG.uniform(0.01, 1.0, (7, 3))
NOISE = np.array([0.3, 1.0, 0.1])
VARYING = VaryingNoise(RNG.standard_normal((7, 3)), RNG.uniform(0.0, 1.0, (7, 3)))
LEVELS = np.array([0.01, 0.4, 0.9])
BOTH = pytest.mark.parametrize(
    ("likelihood", "noise"),
    [(StudentT(DF), NOISE), (StudentT(DF), 0.3), (HeteroscedasticStudentT(DF), VARYING)],
)


@BOTH
def test_predictions_are_those_of_each_output(likelihood, noise):
    """Densities, probabilities, quantiles and moments."""
    at = MEAN, VARIANCE, noise
    log_p, moments = 0.0, likelihood.moments(*at)[1]
    below, above = likelihood.cdf(Y, *at), likelihood.sf(Y, *at)
    quantiles = likelihood.quantiles(*at, LEVELS)
    gram = np.einsum("it,jt->ijt", VARIANCE, VARIANCE)
    covariance = likelihood.covariance(MEAN, gram.copy(), noise)[1]
    shared = likelihood.covariance(MEAN, gram[:, :, :1].copy(), noise)[1]
    assert shared.shape == gram.shape
    for own, one, own_noise in each_output(likelihood, noise, 3):
        assert type(one) is type(likelihood) and isinstance(one.df, float)
        own_at = MEAN[:, own], VARIANCE[:, own], own_noise
        log_p = log_p + one.log_predictive_density(Y[:, own], *own_at)
        assert_allclose(moments[:, own], one.moments(*own_at)[1])
        assert_allclose(below[:, own], one.cdf(Y[:, own], *own_at))
        assert_allclose(above[:, own], one.sf(Y[:, own], *own_at))
        assert_allclose(quantiles[:, own], one.quantiles(*own_at, LEVELS))
        expected = one.covariance(MEAN[:, own], gram[:, :, own].copy(), own_noise)[1]
        assert_allclose(covariance[:, :, own], expected)
        off = ~np.eye(7, dtype=bool)
        assert_allclose(shared[off][:, own.start], gram[:, :, 0][off])
    assert_allclose(likelihood.log_predictive_density(Y, *at), log_p)


@BOTH
def test_draws_are_those_of_each_output(likelihood, noise):
    """Where f is known, draws have the distribution of the noise."""
    draws = likelihood.draw(np.zeros((7, 3, 4000)), noise, np.random.RandomState(0))
    noise, nothing = of_rows(noise, lambda part: part[:1]), np.zeros((1, 1))
    for own, one, own_noise in each_output(likelihood, noise, 3):
        y = np.sort(draws[0, own.start])[:, None]
        below = one.cdf(y, nothing, nothing, own_noise)[:, 0]
        assert kstest(below, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("learned", [False, True])
def test_expectations_are_those_of_each_output(learned):
    """Expected log densities and their derivatives, those in the numbers of each output too."""
    likelihood = StudentT(None).initialized(Y, None)
    likelihood = likelihood.with_theta(np.log(np.array(DF) - 2.0)) if learned else StudentT(DF)
    found = likelihood.expected_log_density(Y, MEAN, VARIANCE, NOISE)
    value = 0.0
    for own, one, own_noise in each_output(likelihood, NOISE, 3):
        each = one.expected_log_density(Y[:, own], MEAN[:, own], VARIANCE[:, own], own_noise)
        value = value + each.value
        for name in ("d_mean", "d_variance", "d_log_noise", *(["d_theta"] if learned else [])):
            assert_allclose(getattr(found, name)[:, own], getattr(each, name), rtol=1e-10)
    assert_allclose(found.value, value)
    assert (found.d_theta is None) == (not learned)


def test_numbers_that_are_learned_are_those_of_each_output():
    """theta has one entry for each; a number that is given is that of all."""
    likelihood = StudentT(None).initialized(Y, None)
    assert_allclose(likelihood.theta, np.log([2.0, 2.0, 2.0]))
    assert likelihood.theta_bounds.shape == (3, 2)
    assert likelihood.row_precision.n_parameters == 3
    assert StudentT(5.0).initialized(Y, None).df == 5.0
    assert StudentT(None).initialized(Y[:, :1], None).df is None
    assert StudentT([5.0]).initialized(Y[:, :1], None).df == 5.0
    assert len(StudentT(DF).initialized(Y, None).theta) == 0


def test_one_scale_of_several_outputs():
    """Two outputs with one scale: it is found with the degrees of freedom of each."""
    rng = np.random.default_rng(0)
    errors = 0.3 * np.column_stack([rng.standard_t(3.0, 20_000), rng.standard_t(30.0, 20_000)])
    weight, df = np.ones(20_000), np.array([4.0, 4.0])
    tails = best_tails(errors**2, weight, df, learns_df=True, learns_scale=True)
    assert_allclose(np.sqrt(tails.scale), 0.3, rtol=0.03)
    assert_allclose(1.0 / tails.df, [1.0 / 3.0, 1.0 / 30.0], atol=0.03)


@pytest.mark.parametrize("n_scales", [0, 1, 2])
def test_the_update_of_each_output_is_its_own(n_scales):
    """Without a scale, or with one of each; one that is shared lies between."""
    squares = np.random.default_rng(1).standard_t([3.0, 20.0], (500, 2)) ** 2 * [2.0, 0.5]
    weight = np.linspace(0.5, 2.0, 500)
    both = StudentT(None).updated(squares, weight, learns=True, n_scales=n_scales)
    each = [
        StudentT(None).updated(squares[:, [c]], weight, learns=True, n_scales=min(n_scales, 1))
        for c in range(2)
    ]
    scales = [one.scale for one in each]
    assert np.size(both.scale) == max(n_scales, 1) or n_scales == 0
    if n_scales == 1:
        assert min(scales) < both.scale < max(scales)
        return
    assert_allclose(both.precision, np.hstack([one.precision for one in each]))
    assert_allclose(both.likelihood.df, [one.likelihood.df for one in each])
    assert_allclose(both.constant, sum(one.constant for one in each))
    assert_allclose(np.broadcast_to(both.scale, 2), scales)


@BOTH
def test_moments_of_warped_targets(likelihood, noise):
    """Each output has those of its own warp and noise."""
    warps = [Warp(YeoJohnson(power), -1.0, 20.0) for power in (0.0, 0.5, 1.5)]

    def found(own, likelihood, noise):
        t = len(warps[own])
        targets = WarpedTargets(2, np.full(t, 0.7), np.full(t, 1.3), warps[own])
        return warped_moments(targets, likelihood, MEAN[:, own], VARIANCE[:, own], noise)

    both = found(slice(0, 3), likelihood, noise)
    for own, *each in each_output(likelihood, noise, 3):
        (one,) = found(own, *each)
        assert_allclose(both[own.start].mean, one.mean)
        assert_allclose(both[own.start].variance, one.variance)
