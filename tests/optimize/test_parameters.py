"""Named groups of parameters, the vector of the free ones, and the prior of tied length scales."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from dense import central_difference, make_case, make_space
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.factors.gradients import Gradient
from sklearn_sgp.optimize.parameters import Group, Parameters, ParameterSpace, TiedLengthScales

VALUES = {
    "theta": np.array([0.5, -1.0]),
    "log_noise": -2.0,
    "likelihood": np.array([0.7]),
    "warp": np.array([[1.5, -0.5], [0.25, 2.0]]),  # no part of the package knows it
    "Z": np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
}
START = Parameters(None, VALUES)
GROUPS = {
    "theta": Group("theta", np.array([[-10.0, 10.0], [-9.0, 9.0]])),
    "log_noise": Group("log_noise", np.array([[-8.0, 8.0]])),
    "likelihood": Group("likelihood", np.log([[0.05, 998.0]])),
    "warp": Group("warp", None, 4.0),
    "Z": Group("Z", None, np.array([0.5, 20.0])),
}
SUBSETS = [names for size in range(len(GROUPS) + 1) for names in combinations(GROUPS, size)]
EACH_SUBSET = pytest.mark.parametrize("names", SUBSETS, ids="-".join)
FREE = [(True, True), (True, False), (False, True), (False, False)]


def space_of(names):
    return ParameterSpace(tuple(GROUPS[name] for name in names))


def old_space(noise=True, inputs=True):
    """Kernel parameters, and noise and inducing inputs where they are free."""
    return make_space(2, np.array([0.5, 20.0]) if inputs else None, noise=noise, bound=10.0)


def assert_same_values(one, other, **tolerance):
    assert one.values.keys() == other.values.keys()
    for name, value in other.values.items():
        assert np.shape(one.values[name]) == np.shape(value)
        assert_allclose(one.values[name], value, **tolerance)


@EACH_SUBSET
def test_packing_and_unpacking_named_groups_are_inverse(names):
    """For every set of free groups unpacking what was packed gives back all parameters."""
    space = space_of(names)
    x = space.pack(START)
    assert x.shape == (sum(np.size(VALUES[name]) for name in names),)
    assert_same_values(space.unpack(x, START), START)
    assert_allclose(space.pack(space.unpack(x + 1.0, START)), x + 1.0)
    expected = [np.ravel(VALUES[name] / GROUPS[name].unit) for name in names]
    assert_array_equal(x, np.concatenate([np.empty(0), *expected]))


@EACH_SUBSET
def test_fixed_groups_stay(names):
    """A moved vector moves each free group by its unit, and leaves every fixed one as it was."""
    space = space_of(names)
    moved = space.unpack(space.pack(START) + 1.0, START)
    for name, value in VALUES.items():
        if name in names:
            assert_allclose(moved.values[name], value + GROUPS[name].unit)
        else:
            assert moved.values[name] is value
        assert space.learns(name) == (name in names)
    assert isinstance(moved.log_noise, float)
    assert moved.expression is START.expression


@EACH_SUBSET
def test_packed_gradients_of_named_groups(names):
    """For every set of free groups pack_gradient is the derivative in the vector, units and all."""
    space = space_of(names)

    def value(parameters):
        return sum(np.sum(np.sin((1.0 + k) * v)) for k, v in enumerate(parameters.values.values()))

    gradient = Gradient(
        {name: (1.0 + k) * np.cos((1.0 + k) * v) for k, (name, v) in enumerate(VALUES.items())}
    )
    expected = central_difference(lambda x: value(space.unpack(x, START)), space.pack(START))
    assert_allclose(space.pack_gradient(gradient), expected, rtol=1e-6, atol=1e-6)


@EACH_SUBSET
def test_bounds_of_named_groups(names):
    """Bounds have a row for each entry of the vector; groups without bounds are free."""
    space = space_of(names)
    bounds, lo = space.bounds(START), 0
    for name in names:
        rows = bounds[lo : lo + np.size(VALUES[name])]
        free = np.tile([-np.inf, np.inf], (len(rows), 1))
        assert_array_equal(rows, free if GROUPS[name].bounds is None else GROUPS[name].bounds)
        lo += len(rows)
    assert bounds.shape == (lo, 2)


@pytest.mark.parametrize("unit", [0.25, np.array([2.0, 0.5])])
def test_bounds_are_in_units_of_the_vector(unit):
    """Whatever its unit, a group is clipped to the bounds of its value."""
    space = ParameterSpace((replace(GROUPS["theta"], unit=unit),))
    assert_allclose(
        space.bounds(START) * np.reshape(unit * np.ones(2), (2, 1)), GROUPS["theta"].bounds
    )
    moved = START.with_values(theta=np.array([50.0, -50.0]))
    assert_allclose(space.clipped(moved).theta, [10.0, -9.0])


@EACH_SUBSET
def test_clipped_parameters_are_within_their_bounds(names):
    """Free groups beyond their bounds go to them, free ones without bounds and fixed ones stay."""
    far = Parameters(None, {name: value + 50.0 for name, value in VALUES.items()})
    clipped = space_of(names).clipped(far)
    for name, value in far.values.items():
        bounds = GROUPS[name].bounds
        if name in names and bounds is not None:
            assert_allclose(clipped.values[name], np.reshape(bounds[:, 1], np.shape(value)))
        else:
            assert_allclose(clipped.values[name], value)


def test_one_group_can_be_changed():
    """with_group changes the group of a name, and nothing where that is fixed."""
    space = space_of(["theta", "Z"])
    changed = space.with_group("Z", unit=3.0)
    assert changed.group("Z") == Group("Z", None, 3.0)
    assert changed.group("theta") is space.group("theta")
    assert_array_equal(space.group("Z").unit, [0.5, 20.0])
    same = space.with_group("warp", unit=3.0)
    assert same.groups == space.groups and not same.learns("warp")


@pytest.mark.parametrize("columns", [(), [0]])
def test_rows_that_are_not_learned_stay(columns):
    """Of values, gradients and bounds the vector has the others alone, columns held or not."""
    space = space_of(["theta", "Z"]).with_group("Z", rows=np.array([0, 2]), held=columns)
    x, free = space.pack(START), slice(len(columns), None)
    part = VALUES["Z"][[0, 2]] / [0.5, 20.0]
    assert_array_equal(x[2:], part[:, free].ravel())
    assert space.bounds(START).shape == (len(x), 2)
    moved = VALUES["Z"].copy()
    moved[[0, 2], free] += np.array([0.5, 20.0])[free]
    assert_allclose(space.unpack(x + 1.0, START).Z, moved)
    gradient = Gradient(theta=np.ones(2), Z=np.arange(6.0).reshape(3, 2))
    expected = np.array([[0.0, 1.0], [4.0, 5.0]]) * [0.5, 20.0]
    assert_array_equal(space.pack_gradient(gradient)[2:], expected[:, free].ravel())


def test_values_can_be_replaced_by_name():
    """with_values changes the groups that are named, the others are the same objects."""
    moved = START.with_values(log_noise=1.0, warp=np.zeros((2, 2)))
    assert moved.log_noise == 1.0 and not moved.values["warp"].any()
    assert moved.Z is START.Z and moved.theta is START.theta
    assert START.log_noise == -2.0


def test_parameters_of_the_likelihood():
    """They are the group "likelihood", and empty where there is none."""
    assert_array_equal(START.likelihood_theta, [0.7])
    without = Parameters(None, {"theta": np.zeros(1), "log_noise": 0.0, "Z": np.zeros((1, 1))})
    assert without.likelihood_theta.shape == (0,)


# Kernel, noise and inducing inputs


@pytest.mark.parametrize("noise, inputs", FREE)
def test_pack_and_unpack_are_inverse(noise, inputs):
    """Unpacking what was packed gives the same parameters; the vector has only the free ones."""
    space = old_space(noise, inputs)
    x = space.pack(START)
    assert x.shape == (2 + noise + 6 * inputs,)
    assert space.bounds(START).shape == (len(x), 2)
    back = space.unpack(x, START)
    assert_allclose(back.theta, START.theta)
    assert_allclose(back.log_noise, START.log_noise)
    assert_allclose(back.Z, START.Z)
    assert_allclose(space.pack(space.unpack(x + 1.0, START)), x + 1.0)


@pytest.mark.parametrize("noise, inputs", FREE)
def test_what_is_fixed_stays(noise, inputs):
    """A moved vector moves the kernel, and noise and inducing inputs only where they are free."""
    space = old_space(noise, inputs)
    moved = space.unpack(space.pack(START) + 1.0, START)
    assert_allclose(moved.theta, START.theta + 1.0)
    assert_allclose(moved.log_noise, START.log_noise + noise)
    assert_allclose(moved.Z, START.Z + inputs * np.array([0.5, 20.0]))
    assert moved.expression is START.expression


@pytest.mark.parametrize("noise, inputs", FREE)
def test_packed_gradient_is_that_in_the_vector(noise, inputs):
    """pack_gradient follows the chain rule through the units of Z."""
    space = old_space(noise, inputs)

    def value(parameters):
        return np.sum(parameters.theta**2) + parameters.log_noise**3 + np.sum(parameters.Z**2)

    gradient = Gradient(
        theta=2.0 * START.theta, log_noise=3.0 * START.log_noise**2, Z=2.0 * START.Z
    )
    expected = central_difference(lambda x: value(space.unpack(x, START)), space.pack(START))
    assert_allclose(space.pack_gradient(gradient), expected, rtol=1e-6)


def test_unpacked_parameters_own_their_theta():
    """Writing to the vector afterwards does not move the kernel."""
    space = old_space()
    x = space.pack(START)
    parameters = space.unpack(x, START)
    x[:] = 99.0
    assert_allclose(parameters.theta, START.theta)


def test_parameters_bind_kernel_and_noise():
    """The kernel has the theta of the parameters, the noise is a variance."""
    case = make_case()
    moved = case.parameters.with_values(theta=np.log([2.0, 3.0, 4.0]), log_noise=np.log(0.7))
    expected = case.kernel.clone_with_theta(moved.theta)(case.Z, case.X)
    assert_allclose(moved.kernel.block(case.Z, case.X), expected, rtol=1e-10)
    assert_allclose(moved.noise_variance, 0.7)


# The prior


def test_tied_length_scales_prefer_equal_ones():
    """The prior is in units of the columns, whatever those are; its slope is that of its value."""
    prior = TiedLengthScales(np.log([1.0, 10.0, 0.1]), (np.arange(1, 4),), 1.0)
    theta = np.array([2.0, 0.5, 1.5, -3.0])
    assert prior(np.append(2.0, prior.log_std + 0.7))[0] == pytest.approx(0.0, abs=1e-15)
    # two length scales that differ by a factor of e**2 are one away from their mean
    two = TiedLengthScales(np.zeros(2), (np.arange(1, 3),), 1.0)
    assert_allclose(two(np.array([5.0, 1.0, 3.0]))[0], -1.0)
    assert_allclose(two.at([np.arange(2)])(np.array([1.0, 3.0, 5.0]))[0], -1.0)
    numeric = [
        (prior(theta + 1e-5 * e)[0] - prior(theta - 1e-5 * e)[0]) / 2e-5 for e in np.eye(len(theta))
    ]
    assert_allclose(prior(theta)[1], numeric, atol=1e-8)


def test_a_length_scale_far_from_the_others_costs_little_with_tails():
    """The slope of Cauchy's density is that of its value; e**5 apart costs some nats, not 50."""
    prior = TiedLengthScales(np.zeros(3), (np.arange(3),), 4.0, has_tails=True)
    theta = np.array([0.5, 7.0, -0.2])
    numeric = [(prior(theta + 1e-5 * e)[0] - prior(theta - 1e-5 * e)[0]) / 2e-5 for e in np.eye(3)]
    assert_allclose(prior(theta)[1], numeric, atol=1e-8)
    assert -12.0 < prior(np.array([0.0, 0.0, 5.0]))[0] < -8.0
    assert replace(prior, has_tails=False)(np.array([0.0, 0.0, 5.0]))[0] < -30.0


def test_the_prior_raises_value_and_gradient():
    """with_prior adds the log prior to the value and its slope to theta, and to nothing else."""
    prior = TiedLengthScales(np.zeros(2), (np.arange(len(START.theta) - 2, len(START.theta)),), 1.0)
    gradient = Gradient(theta=np.array([1.0, 2.0]), log_noise=3.0, likelihood=np.ones(1), Z=0.0)
    space = replace(space_of(["theta"]), prior=prior)
    value, raised = space.with_prior(7.0, gradient, START)
    log_prior, slope = prior(START.theta)
    assert value == 7.0 + log_prior
    assert isinstance(raised, Gradient)
    assert_array_equal(raised["theta"], gradient["theta"] + slope)
    assert {name: raised[name] for name in ("log_noise", "likelihood", "Z")} == {
        name: gradient[name] for name in ("log_noise", "likelihood", "Z")
    }
    assert space_of(["theta"]).with_prior(7.0, gradient, START) == (7.0, gradient)
