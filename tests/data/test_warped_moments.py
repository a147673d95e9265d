"""Moments of observations whose warped values are normal or mixtures of normal distributions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm, t

from sklearn_sgp.data.continued_warps import Identity, Warp
from sklearn_sgp.data.varying_noise import VaryingNoise
from sklearn_sgp.data.warped_moments import warped_covariance, warped_moments
from sklearn_sgp.data.warped_targets import WarpedTargets
from sklearn_sgp.data.warps import TanhSum, YeoJohnson
from sklearn_sgp.likelihoods import HeteroscedasticGaussian, HeteroscedasticStudentT, StudentT
from sklearn_sgp.likelihoods.noise import Gaussian

PSI = np.array([0.3, -1.0, 1.2, 0.5, -0.7, 1.9, 0.4, -1.1, 0.2])
TANH, LOG = Warp(TanhSum(PSI, 1.5, 2.5), -4.0, 9.0), Warp(YeoJohnson(0.0), -1.0, 20.0)
NOISE = 0.3
MEAN, VARIANCE = np.array([[-0.8], [0.1], [2.9]]), np.array([[0.4], [1e-3], [0.9]])


def targets_of(*warps):
    return WarpedTargets(2, np.full(len(warps), 0.7), np.full(len(warps), 1.3), warps)


def inverse(warp, z):
    return warp.inverse(0.7 + 1.3 * z)


def expected_moments(warp, density, mean):
    """Mean and variance of h(z) by a sum over very many z, up to 1e12 from the mean."""
    u = np.linspace(-28.0, 28.0, 200_001)
    z, share = mean + np.sinh(u), np.cosh(u) * (u[1] - u[0])
    y, share = inverse(warp, z) - inverse(warp, mean), share * density(z)
    first, second = y @ share, y**2 @ share
    return first + inverse(warp, mean), second - first**2


@pytest.mark.parametrize("warp", [TANH, LOG])
@pytest.mark.parametrize("likelihood", [Gaussian(), None])
def test_normal_ones(warp, likelihood):
    """Mean and variance of h(z), z normal with noise or without, are those of the sum."""
    (found,) = warped_moments(targets_of(warp), likelihood, MEAN, VARIANCE, NOISE)
    for row in range(3):
        sd = np.sqrt(VARIANCE[row, 0] + (NOISE if likelihood else 0.0))
        mean, variance = expected_moments(warp, norm(MEAN[row, 0], sd).pdf, MEAN[row, 0])
        assert_allclose(found.mean[row], mean, rtol=1e-4)
        assert_allclose(found.variance[row], variance, rtol=2e-3)


@pytest.mark.parametrize("warp", [TANH, LOG])
@pytest.mark.parametrize("df", [2.3, 5.0])
def test_heavy_tails(warp, df):
    """Student-t noise: as by the sum where f is known; the variance is finite for df above 2."""
    known = np.zeros((3, 1))
    (found,) = warped_moments(targets_of(warp), StudentT(df), MEAN, known, NOISE)
    for row in range(3):
        density = t(df, MEAN[row, 0], np.sqrt(NOISE)).pdf
        mean, variance = expected_moments(warp, density, MEAN[row, 0])
        assert_allclose(found.mean[row], mean, rtol=1e-3)
        assert_allclose(found.variance[row], variance, rtol=5e-3)


@pytest.mark.parametrize("likelihood", [HeteroscedasticGaussian(), HeteroscedasticStudentT(9.0)])
def test_noise_that_varies(likelihood, rng):
    """Mean and variance are those of many draws, where the log noise is uncertain, too."""
    noise = VaryingNoise(np.log(np.array([[0.3], [0.5], [0.6]])), np.full((3, 1), 0.3))
    (found,) = warped_moments(targets_of(LOG), likelihood, MEAN, VARIANCE, noise)
    f = MEAN[..., None] + np.sqrt(VARIANCE)[..., None] * rng.standard_normal((3, 1, 200_000))
    y = inverse(LOG, likelihood.draw(f, noise, np.random.RandomState(0)))[:, 0]
    assert_allclose(found.mean, y.mean(axis=1), atol=5.0 * y.std(axis=1).max() / np.sqrt(2e5))
    assert_allclose(found.variance, y.var(axis=1), rtol=0.1)


def test_many_components_are_joined(monkeypatch):
    """The mixture of 700 normal distributions and the one of 80 in its place agree to 1e-3."""
    noise = VaryingNoise(np.log(np.array([[0.3], [0.05], [0.6]])), np.full((3, 1), 0.3))
    arguments = (targets_of(TANH), HeteroscedasticStudentT(4.0), MEAN, VARIANCE, noise)
    (joined,) = warped_moments(*arguments)
    monkeypatch.setattr("sklearn_sgp.data.warped_moments._MOST_COMPONENTS", 10_000)
    (expected,) = warped_moments(*arguments)
    assert_allclose(joined.mean, expected.mean, rtol=1e-5)
    assert_allclose(joined.variance, expected.variance, rtol=5e-3)


def test_no_variance_at_all():
    """A function that is known, without noise, is h of it, and its variance is zero."""
    nothing = np.zeros((3, 1))
    (found,) = warped_moments(targets_of(TANH), None, MEAN, nothing, None)
    assert_allclose(found.mean, inverse(TANH, MEAN[:, 0]), rtol=1e-7)
    assert_allclose(found.variance, 0.0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.quick_cases("likelihood1")
@pytest.mark.parametrize("likelihood", [Gaussian(), StudentT(6.0)])
def test_covariances_are_those_of_draws(likelihood, rng):
    """The Hermite series gives the covariance of h(z) at rows whose functions are correlated."""
    mean = np.array([[-0.5], [0.4], [2.0]])
    root = np.array([[0.8, 0.0, 0.0], [0.6, 0.4, 0.0], [-0.3, 0.2, 0.7]])
    covariance = (root @ root.T)[:, :, None]
    found, joint = warped_covariance(targets_of(TANH), likelihood, mean, covariance.copy(), 0.1)
    f = mean + root @ rng.standard_normal((3, 400_000))
    y = inverse(TANH, likelihood.draw(f[:, None], 0.1, np.random.RandomState(1)))[:, 0]
    scale = y.std(axis=1)
    assert_allclose(joint[:, :, 0] / np.outer(scale, scale), np.corrcoef(y), atol=0.04)
    assert_allclose(found[:, 0], y.mean(axis=1), atol=0.02 * scale.max())
    assert np.linalg.eigvalsh(joint[:, :, 0]).min() > 0.0


def test_the_diagonal_of_a_covariance_is_the_variance():
    """Rows with the same function have its variance as covariance; noise is on the diagonal."""
    mean, covariance = np.full((2, 1), 0.3), np.full((2, 2, 1), 0.5)
    joint = warped_covariance(targets_of(TANH), Gaussian(), mean, covariance, 0.2)[1][:, :, 0]
    both = warped_moments(targets_of(TANH), Gaussian(), mean, np.full((2, 1), 0.5), 0.2)[0]
    assert_allclose(np.diag(joint), both.variance, rtol=1e-12)
    assert joint[0, 1] < joint[0, 0]
    without = warped_covariance(targets_of(TANH), Gaussian(), mean, np.full((2, 2, 1), 0.5), 1e-12)
    assert_allclose(without[1][0, 1], without[1][0, 0], rtol=1e-3)


def test_an_output_that_is_not_warped():
    """The identity gives mean and variance as they are scaled, and the covariance of f."""
    targets = targets_of(Identity(), TANH)
    mean, variance = np.tile(MEAN, 2), np.tile(VARIANCE, 2)
    found, _ = warped_moments(targets, StudentT(2.5), mean, variance, NOISE)
    assert_allclose(found.mean, 0.7 + 1.3 * MEAN[:, 0], rtol=1e-10)
    total = StudentT(2.5).moments(MEAN, VARIANCE, NOISE)[1][:, 0]
    assert_allclose(found.variance, 1.69 * total, rtol=1e-8)
    covariance = np.array([[0.4, 0.1, 0.0], [0.1, 0.2, 0.05], [0.0, 0.05, 0.9]])[:, :, None]
    _, joint = warped_covariance(targets, Gaussian(), mean, covariance.copy(), NOISE)
    expected = 1.69 * (covariance[:, :, 0] + NOISE * np.eye(3))
    assert_allclose(joint[:, :, 0], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("likelihood", "noise"),
    [
        (Gaussian(), NOISE),
        (StudentT(2.5), NOISE),
        (None, NOISE),
        (
            HeteroscedasticStudentT(df=4.0),
            VaryingNoise(np.full((3, 2), -1.0), np.full((3, 2), 0.5)),
        ),
    ],
)
def test_means_within_a_range_come_with_those_of_all_values(likelihood, noise):
    """Both means of one pass are those of the warps as they are, and of the warps that are cut."""
    targets, y = targets_of(TANH, LOG), np.array([[-0.5, 0.2], [3.0, 6.0]])
    moments = likelihood, np.hstack([MEAN, MEAN[::-1]]), np.hstack([VARIANCE, VARIANCE]), noise
    own, within = targets.means_within(y, *moments)
    assert_allclose(own, targets.moments(*moments)[0], rtol=1e-12)
    cut = targets.with_means_within(y, True)
    assert_allclose(within, cut.moments(*moments)[0], rtol=1e-12)
    assert np.abs(own - within).max() > 0.1


def test_only_means_are_cut():
    """Deviations and covariances are those of what is drawn, beyond the range of the targets too.

    At the top of the range they were too small, and beyond it 0.
    """
    targets, y = targets_of(LOG), np.array([[0.2], [3.0]])
    cut, mean = targets.with_means_within(y, True), np.append(MEAN, [[6.0]], axis=0)
    variance = np.append(VARIANCE, [[0.2]], axis=0)
    found = cut.moments(Gaussian(), mean, variance, NOISE)
    for row in range(4):
        density = norm(mean[row, 0], np.sqrt(variance[row, 0] + NOISE)).pdf
        _, expected = expected_moments(LOG, density, mean[row, 0])
        assert_allclose(found[1][row, 0], expected, rtol=2e-3)
    assert found[0][3, 0] == pytest.approx(3.0) and (found[0] <= 3.0).all()
    covariance = np.diag(variance[:, 0])[:, :, None] + 0.1
    told, joint = cut.covariance(Gaussian(), mean, covariance.copy(), NOISE)
    assert_array_equal(joint, targets.covariance(Gaussian(), mean, covariance, NOISE)[1])
    assert_array_equal(told, cut.moments(Gaussian(), mean, variance + 0.1, NOISE)[0])


@pytest.mark.parametrize("weight", [None, np.array([1.0, 0.0, 2.0])])
def test_later_targets_widen_the_range_of_means(weight):
    """Means may be as large as any target of positive weight so far; what is not cut stays so."""
    first = np.array([[0.2, 0.5], [3.0, 1.0]])
    later = np.array([[1.0, 2.0], [20.0, -4.0], [9.0, 0.7]])
    targets = targets_of(LOG, TANH).with_means_within(first, [True, False])
    cut, same = targets.joined(later, weight).mean_warps
    assert (cut.low, cut.high) == (0.2, 20.0 if weight is None else 9.0)
    assert same is TANH
    at = np.full((1, 2), 9.0), np.full((1, 2), 0.1), NOISE
    found = targets.joined(later, weight).moments(Gaussian(), *at)
    assert_allclose(found[0][0, 0], cut.high, rtol=1e-6)
