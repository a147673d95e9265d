"""Warps of positive targets: monotone, inverse to rounding, positive at every value."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor
from sklearn_sgp.data.continued_warps import Warp
from sklearn_sgp.data.positive_warps import Composed, FromZero, PositiveWarp, Power
from sklearn_sgp.data.warps import TanhSum

LOW, HIGH = np.log(0.02), np.log(700.0)
PSI = np.array([0.3, -1.0, 1.2, 0.5, -0.7, 1.0, 0.4, -1.1, 0.2])


def _warps():
    for power in (1.0, 0.5, 0.0):
        base = Power(power, np.log(5.0))
        yield PositiveWarp(Warp(base, LOW, HIGH))
        yield PositiveWarp(Warp(Composed(base, TanhSum(PSI, 0.4, 1.7)), LOW, HIGH))


@pytest.mark.parametrize("warp", _warps())
def test_is_a_monotone_function_with_this_slope_and_inverse(warp):
    """Values rise everywhere, at 0 and below as well; slope and inverse are theirs."""
    y = np.concatenate([[-3.0, -1e-9, 0.0], np.geomspace(1e-10, 1e6, 400)])
    z = warp(y)
    assert (np.diff(z) > 0.0).all()
    assert np.isfinite(z).all()
    at = np.geomspace(1e-5, 1e5, 50)
    by_differences = (warp(at * (1.0 + 1e-6)) - warp(at * (1.0 - 1e-6))) / (2e-6 * at)
    assert_allclose(np.exp(warp.log_slope(at)), by_differences, rtol=1e-5)
    assert_allclose(warp.inverse(warp(at)), at, rtol=1e-9)
    assert_allclose(warp.near_inverse(warp(at)), at, rtol=1e-4)


@pytest.mark.parametrize("warp", _warps())
def test_values_between_those_of_far_smaller_targets_have_positive_inverses(warp):
    """What is four of the data's ranges below all values still stands for a positive target."""
    low, high = warp.of_log.ends
    z = np.linspace(max(low - 4.0 * (high - low), warp.ends[0]), low, 30)
    assert (warp.inverse(z) > 0.0).all()


@pytest.mark.slow
@pytest.mark.quick_cases("AnytimeSGPRegressor-5.0")
@pytest.mark.parametrize("decades", [pytest.param(3.0, marks=pytest.mark.slow), 5.0])
@pytest.mark.parametrize("kind", [SVGPRegressor, AnytimeSGPRegressor])
def test_the_process_of_the_logarithm_is_found(kind, decades):
    """Where log y is a function with normal noise, its density is met, and bands are positive."""
    rng = np.random.default_rng(int(decades))
    X = rng.uniform(0.0, 10.0, (500, 1))
    log_y = np.log(10.0) * decades / 6.0 * np.sin(X[:, 0]) + 0.5 * rng.normal(size=500)
    old, new = slice(0, 300), slice(300, 500)
    of_log = kind(random_state=0).fit(X[old], log_y[old])
    best = (of_log.log_density(X[new], log_y[new]) - log_y[new]).mean()
    model = kind(likelihood="auto", random_state=0).fit(X[old], np.exp(log_y[old]))
    assert model.log_density(X[new], np.exp(log_y[new])).mean() > best - 0.02
    assert (model.predict_quantiles(X[new], quantiles=[1e-3]) > 0.0).all()


@pytest.mark.slow
def test_the_square_root_is_found():
    """Where the root of y is a function with normal noise, it is among the warps."""
    rng = np.random.default_rng(4)
    X = rng.uniform(0.0, 10.0, (600, 1))
    root = 4.0 + 2.0 * np.sin(X[:, 0]) + 0.4 * rng.normal(size=600)
    old, new = slice(0, 400), slice(400, 600)
    of_root = SVGPRegressor(random_state=0).fit(X[old], root[old])
    best = (of_root.log_density(X[new], root[new]) - np.log(2.0 * root[new])).mean()
    model = SVGPRegressor(normalize_y="warped", random_state=0).fit(X[old], root[old] ** 2)
    assert model.log_density(X[new], root[new] ** 2).mean() > best - 0.02


@pytest.fixture
def from_zero():
    shape = Power(0.5, float(np.log(3.0)))
    return FromZero(PositiveWarp(Warp(shape, float(np.log(1.0)), float(np.log(41.0)))), 1.0, 1e4)


def test_a_warp_from_zero_has_no_value_below(from_zero):
    """From 0 on its inverse leads back; what lies below what 0 becomes is 0."""
    y = np.linspace(0.0, 60.0, 50)
    z = from_zero(y)
    assert (np.diff(z) > 0.0).all()
    assert_allclose(from_zero.inverse(z), y, atol=1e-9)
    assert_array_equal(from_zero.inverse(z[0] - np.array([0.1, 5.0, 1e6])), 0.0)
    assert from_zero(-1.0) < z[0] - 1e3


def test_slopes_of_a_warp_from_zero_are_those_of_differences(from_zero):
    """On both sides of 0."""
    y, step = np.array([-2.0, 0.5, 3.0, 30.0]), 1e-6
    slopes = (from_zero(y + step) - from_zero(y - step)) / (2.0 * step)
    assert_allclose(np.exp(from_zero.log_slope(y)), slopes, rtol=1e-5)


def test_numbers_above_zero_begin_next_to_the_edge(from_zero):
    """What is between 0 and an edge belongs to 0, but for a share; 0 stays where it is."""
    plain = from_zero
    edged = FromZero(plain.of_shifted, plain.shift, plain.steep, edge=2.0, rest=0.01)
    y = np.array([0.0, 2.0, 3.0, 40.0, 60.0])
    assert_allclose(edged(y), plain(y), rtol=1e-12)
    assert_allclose(edged.log_slope(y[1:]), plain.log_slope(y[1:]), rtol=1e-12)
    inner = np.array([1e-6, 0.5, 1.0, 1.999])
    z = edged(inner)
    low, high = plain(0.0), plain(2.0)
    assert (z > high - 0.0101 * (high - low)).all() and (np.diff(z) > 0.0).all()
    assert_allclose(edged.inverse(z), inner, rtol=1e-6)
    assert_allclose(edged.near_inverse(np.linspace(low - 5.0, z[0], 9)), 0.0, atol=1e-5)
    step = 1e-5
    slope = (edged(inner[1:] + step) - edged(inner[1:] - step)) / (2.0 * step)
    assert_allclose(np.log(slope[:-1]), edged.log_slope(inner[1:-1]), atol=1e-5)
