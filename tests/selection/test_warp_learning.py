"""What is learned of a warp: its start, its search for other bends, and when there is none."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm, yeojohnson_normmax

from sklearn_sgp import SVGPRegressor
from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.data.continued_warps import Identity
from sklearn_sgp.data.warps import tanh_sum
from sklearn_sgp.estimators.settings import choices_of, settings_of
from sklearn_sgp.likelihoods.noise import Gaussian
from sklearn_sgp.optimize.progress import Clock, Trace
from sklearn_sgp.selection import warp_choice as learning


def learned(X, y, seed=0, seconds=np.inf, weight=None, **options):
    model = SVGPRegressor(**options)
    rng = np.random.RandomState(seed)
    parts = choices_of(model), Gaussian(), settings_of(model), rng, seconds
    return learning.learned_warps(X, y, weight, *parts, told=Trace(Clock()))


def smooth(rng, n):
    X = rng.uniform(-3.0, 3.0, (n, 1))
    return X, np.sin(2.0 * X) + 0.2 * rng.standard_normal((n, 1))


@pytest.mark.parametrize("n", [300, 1200])
def test_an_exponential_is_undone(rng, n):
    """Of y = exp(g), g a function with Gaussian noise, the warp is a line of log y in the bulk."""
    X, g = smooth(rng, n)
    (warp,) = learned(X, np.exp(2.0 * g))
    z = warp(np.exp(2.0 * g))
    assert np.corrcoef(z[:, 0], g[:, 0])[0, 1] > 0.99


@pytest.mark.parametrize("n", [300, 1200])
def test_what_needs_no_warp_gets_none(rng, n):
    """A function with Gaussian noise: the identity, for one group of all rows and for many."""
    (warp,) = learned(*smooth(rng, n))
    assert isinstance(warp, Identity)


def test_each_output_is_decided_alone(rng):
    """One column is warped, the other is not."""
    X, g = smooth(rng, 400)
    first, second = learned(X, np.hstack([np.exp(2.0 * g), g]), noise_variance=[0.1, 0.2])
    assert not first.is_identity
    assert isinstance(second, Identity)


def test_capped_targets_have_a_steep_warp_at_the_cap(rng):
    """Where many targets are the same largest number, the slope there is far above the mean."""
    X, g = smooth(rng, 1500)
    y = np.minimum(g, np.quantile(g, 0.85))
    (warp,) = learned(X, y)
    mean_slope = np.diff(warp.ends)[0] / np.ptp(y)
    assert np.exp(warp.log_slope(y.max())) > 3.0 * mean_slope


def test_there_is_a_budget(rng):
    """Hardly any seconds: still an answer, after a few evaluations."""
    X, g = smooth(rng, 600)
    (warp,) = learned(X, np.exp(2.0 * g), seconds=1e-9)
    assert np.isfinite(warp(np.exp(2.0 * g))).all()


def test_covariances_that_fail_are_told(rng, monkeypatch):
    """Where the evidence cannot be had, the targets are not warped, and a warning says why."""

    def fails(self, parameters):
        raise NotPositiveDefiniteError("no")

    monkeypatch.setattr("sklearn_sgp.selection.warp_evidence.WarpedEvidence.__call__", fails)
    with pytest.warns(UserWarning, match="must be positive definite.*noise_variance_bounds"):
        (warp,) = learned(*smooth(rng, 100))
    assert isinstance(warp, Identity)


def power_of(y):
    """The best power of targets about their median, in units of what quantiles say of their sd."""
    low, center, high = np.quantile(y, [0.1, 0.5, 0.9])
    return yeojohnson_normmax((y - center) * (norm.ppf(0.9) - norm.ppf(0.1)) / (high - low))


def test_whole_weights_count_rows_for_the_power(rng):
    """The power of weighted rows is that of repeated ones; other weights are not used."""
    y = rng.gamma(2.0, size=(120, 1))
    weight = np.where(np.arange(120) % 3 == 0, 3.0, 1.0)
    (warp,) = learning.power_warps(y, weight)
    expected = power_of(np.repeat(y[:, 0], weight.astype(int)))
    assert_allclose(warp.shape.shape.power, expected, rtol=1e-5)
    (warp,) = learning.power_warps(y, weight + 0.5)
    assert_allclose(warp.shape.shape.power, power_of(y[:, 0]), rtol=1e-5)
    (warp,) = learning.power_warps(y, np.append(np.zeros(20), np.ones(100)))
    assert_allclose(warp.shape.shape.power, power_of(y[20:, 0]), rtol=1e-5)


@pytest.mark.parametrize("unit, shift", [(1.0 / 1024, 0.0), (1000.0, 0.0), (1000.0, -5e4), (-1, 0)])
def test_powers_are_the_same_in_every_unit(rng, unit, shift):
    """A power transformation of skewed targets is one and the same function in every unit."""
    y = np.exp(rng.standard_normal((300, 1)))
    (warp,), (other,) = (learning.power_warps(some, None) for some in (y, unit * y + shift))
    z = np.sign(unit) * other(unit * y + shift)
    assert_allclose(z, warp(y), rtol=1e-5, atol=1e-5)
    # densities of y differ by the slope of the unit alone
    slope = other.log_slope(unit * y + shift) + np.log(np.abs(unit))
    assert_allclose(slope, warp.log_slope(y), rtol=1e-5, atol=1e-5)
    assert_allclose(other.inverse(other(unit * y + shift)), unit * y + shift, rtol=1e-9, atol=1e-9)


def test_a_shape_is_fitted_to_another(rng):
    """Learning may begin at a sum of tanh that is near a line of the logarithm."""
    t = np.quantile(np.expm1(rng.standard_normal(5000)), (np.arange(200) + 0.5) / 200)
    begin = np.concatenate([np.full(3, np.log(0.1)), np.zeros(3), [0.3, 0.0, -1.0]])
    psi = learning._fitted_shape(t, np.log1p(t), begin)
    assert np.corrcoef(tanh_sum(t, psi)[0], np.log1p(t))[0, 1] > 0.995


def test_the_bend_that_does_least():
    """It is the one nearest to a line on the targets."""
    t = np.linspace(-2.0, 2.0, 50)
    psi = np.log([[1.0, 0.5, 1.0], [2.0, 0.1, 3.0], [1.0, 1.0, 1.0]]).ravel()
    assert learning._least_bend(t, psi) == 1


@pytest.mark.parametrize("y", [np.ones(50), np.arange(5.0), np.arange(50.0) % 3])
def test_too_few_targets_say_nothing(y):
    """Few rows or few different targets: the identity, whatever is asked for."""
    X, y = np.arange(float(len(y)))[:, None], y[:, None]
    for (warp,) in (learned(X, y), learning.power_warps(y, None)):
        assert isinstance(warp, Identity)
    assert_array_equal(warp(y), y)


@pytest.mark.filterwarnings("ignore:y should vary by more than")
@pytest.mark.parametrize("kind", ["yeo-johnson", "warped"])
def test_targets_whose_squares_are_zero_get_none(rng, kind):
    """They are fitted as without a warp: no deviation is zero."""
    X, y = smooth(rng, 40)
    fits = [
        SVGPRegressor(normalize_y=how, max_iter=5, random_state=0).fit(X, 1e-200 * y[:, 0])
        for how in (kind, True)
    ]
    for one, other in zip(*(fit.predict(X, return_std=True) for fit in fits), strict=True):
        assert_array_equal(one, other)


def test_few_rows_are_in_about_one_group_each(rng, monkeypatch):
    """A warp of 660 rows is learned from groups that have no more rows together than there are."""
    sizes = []

    def counted(rows, scale, n_groups, *more):
        sizes.append((n_groups, len(rows)))
        return sampled(rows, scale, n_groups, *more)

    sampled = learning.sampled_groups
    monkeypatch.setattr(learning, "sampled_groups", counted)
    learned(*smooth(rng, 1000))
    assert sizes
    for n_groups, n_rows in sizes:
        assert n_groups * learning._SIZE < n_rows + learning._SIZE
