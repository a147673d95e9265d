"""Warps are monotone functions of all numbers, with their slopes and inverses."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import yeojohnson
from sklearn.preprocessing import PowerTransformer

from sklearn_sgp.data.continued_warps import Identity, Warp
from sklearn_sgp.data.warps import TanhSum, YeoJohnson, tanh_sum_gradient

PARAMETERS = np.array([0.3, -1.0, 1.2, 0.5, -0.7, 1.9, 0.4, -1.1, 0.2])
SHAPES = {
    "tanh": TanhSum(PARAMETERS, 1.5, 2.5),
    "logarithm": YeoJohnson(0.0),
    "root": YeoJohnson(0.5),
    "steep": YeoJohnson(-2.0),
    "convex": YeoJohnson(2.7),
    "line": YeoJohnson(1.0),
    "about a centre": YeoJohnson(-0.4, 2.2),
    "about a negative one": YeoJohnson(2.6, -1.4),
}
each_shape = pytest.mark.parametrize("name", SHAPES)


def dense_tanh_sum(y):
    t = (y - 1.5) / 2.5
    b, c, d = np.exp(PARAMETERS[:3]), np.exp(PARAMETERS[3:6]), PARAMETERS[6:]
    return t + sum(b[j] * np.tanh(c[j] * (t + d[j])) for j in range(3))


def test_a_tanh_sum_is_what_snelson_and_others_write():
    """The value is t + sum of b tanh(c (t + d)), t in units of the spread about the centre."""
    y = np.linspace(-9.0, 12.0, 40)
    assert_allclose(SHAPES["tanh"].value(y), dense_tanh_sum(y), rtol=1e-13)


@pytest.mark.parametrize("power", [-2.0, 0.0, 0.5, 1.0, 2.0, 2.7])
def test_a_power_is_that_of_scipy(power):
    """The value is scipy's Yeo-Johnson transformation, for both signs."""
    y = np.linspace(-3.0, 4.0, 36)
    assert_allclose(YeoJohnson(power).value(y), yeojohnson(y, power), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("power", [-2.0, 0.0, 1.0, 2.7])
@pytest.mark.parametrize("centre", [1.7, -0.6])
def test_a_centre_only_moves_and_scales(power, centre):
    """About a centre it is (phi(y) - phi(centre)) / phi'(centre)."""
    y, step = np.linspace(-3.0, 4.0, 36), 1e-6
    of_centre, high, low = yeojohnson(centre + np.array([0.0, step, -step]), power)
    expected = (yeojohnson(y, power) - of_centre) / ((high - low) / (2 * step))
    assert_allclose(YeoJohnson(power, centre).value(y), expected, rtol=1e-6, atol=1e-8)


def test_a_centre_keeps_the_digits_of_large_targets(rng):
    """Where phi has most digits in common for all targets the warp is still one of all digits."""
    y = 450.0 + 17.0 * rng.standard_normal(300)
    warp = Warp(YeoJohnson(-6.0, 450.0), y.min(), y.max())
    assert_allclose(warp.inverse(warp(y)), y, rtol=1e-12)
    assert (np.diff(warp(np.sort(y))) > 0.0).all()


@each_shape
def test_slopes_are_derivatives(name):
    """exp(log_slope) is the derivative by differences, inside the data and on the lines beyond."""
    warp, step = Warp(SHAPES[name], -2.0, 3.0), 1e-5
    for y in (np.linspace(-1.9, 2.9, 31), np.array([-50.0, -2.5, 3.5, 1e3])):
        numeric = (warp(y + step) - warp(y - step)) / (2.0 * step)
        assert_allclose(np.exp(warp.log_slope(y)), numeric, rtol=1e-6)


@each_shape
def test_the_inverse_undoes_the_warp(name):
    """phi^-1(phi(y)) = y and phi(phi^-1(z)) = z to rounding; the fast inverse to eight digits."""
    warp = Warp(SHAPES[name], -2.0, 3.0)
    y = np.concatenate([np.linspace(-8.0, 9.0, 301), [-1e6, 1e6]])
    assert_allclose(warp.inverse(warp(y)), y, rtol=1e-11, atol=1e-12)
    z = np.linspace(*warp.ends, 400)
    assert_allclose(warp(warp.inverse(z)), z, rtol=1e-11, atol=1e-12)
    assert_allclose(warp.near_inverse(z), warp.inverse(z), rtol=1e-7, atol=1e-8)


@each_shape
def test_a_warp_rises_everywhere(name):
    """Warp and inverse rise strictly, and they are finite far from the data."""
    warp = Warp(SHAPES[name], -2.0, 3.0)
    far = np.concatenate([-np.geomspace(1e90, 1e-3, 50), np.geomspace(1e-3, 1e90, 50)])
    for function in (warp, warp.inverse):
        values = function(far)
        assert np.isfinite(values).all()
        assert (np.diff(values) > 0.0).all()


def test_a_line_beyond_the_data_is_not_too_gentle():
    """Where the slope at the largest target vanishes, the line has 0.05 of the mean slope."""
    warp = Warp(YeoJohnson(-3.0), 0.0, 1e4)
    mean_slope = np.diff(warp.ends)[0] / 1e4
    assert_allclose(np.exp(warp.log_slope(2e4)), 0.05 * mean_slope, rtol=1e-12)
    assert_allclose(warp.inverse(warp.ends[1] + np.diff(warp.ends))[0], 21e4, rtol=1e-10)


def test_far_targets_leave_the_inverse_exact():
    """One target at 1e8 does not blur the inverse among the others."""
    warp = Warp(SHAPES["tanh"], -3.0, 1e8)
    y = np.concatenate([np.linspace(-3.0, 10.0, 100), [1e4, 1e8]])
    assert_allclose(warp.inverse(warp(y)), y, rtol=1e-10, atol=1e-8)


def test_the_gradient_in_the_parameters():
    """Derivatives of value and log slope in all parameters are those by differences."""
    t, step = np.linspace(-3.0, 3.0, 9), 1e-6
    _, _, of_value, of_slope = tanh_sum_gradient(t, PARAMETERS)
    for k in range(9):
        move = step * np.eye(9)[k]
        high, low = (tanh_sum_gradient(t, PARAMETERS + sign * move) for sign in (1, -1))
        assert_allclose(of_value[:, k], (high[0] - low[0]) / (2 * step), atol=1e-8)
        assert_allclose(of_slope[:, k], (high[1] - low[1]) / (2 * step), atol=1e-8)


def test_warps_are_pickled_to_the_last_bit():
    """A warp that was saved and loaded gives equal numbers."""
    warp = Warp(SHAPES["tanh"], -2.0, 3.0)
    again, y = pickle.loads(pickle.dumps(warp)), np.linspace(-4.0, 5.0, 50)
    assert_array_equal(again(y), warp(y))
    assert_array_equal(again.inverse(y), warp.inverse(y))


def test_the_identity():
    """The identity returns its argument; its slope is 1."""
    y = np.linspace(-1.0, 1.0, 5)
    for result in (Identity()(y), Identity().inverse(y), Identity().near_inverse(y)):
        assert_array_equal(result, y)
    assert_array_equal(Identity().log_slope(y), np.zeros(5))


def test_a_power_is_invertible_as_in_scikit_learn(rng):
    """Within the data the inverse is that of scikit-learn's PowerTransformer."""
    y = rng.gamma(2.0, size=(200, 1))
    known = PowerTransformer(standardize=False).fit(y)
    warp = Warp(YeoJohnson(known.lambdas_[0]), y.min(), y.max())
    z = known.transform(y)
    assert_allclose(warp(y), z, rtol=1e-10)
    assert_allclose(warp.inverse(z), known.inverse_transform(z), rtol=1e-8)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.7])
@pytest.mark.parametrize("centre", [3.0, 1e8, 1e30])
def test_a_power_far_above_zero_keeps_its_digits_below(power, centre):
    """Numbers near zero, seen from a centre of any size, without a warning of NumPy."""
    y = np.array([-1.0, 0.0, 1e-3, 1.0, 1e4, 0.3 * centre, 0.7 * centre, centre, 2.0 * centre])
    phi, of_centre = yeojohnson(y, power), yeojohnson(np.array([centre]), power)
    expected = (phi - of_centre) / (1.0 + centre) ** (power - 1.0)
    shape = YeoJohnson(power, centre)
    assert_allclose(shape.value(y), expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    assert_allclose(shape.value(np.array([0.0])), expected[1], rtol=1e-12)
