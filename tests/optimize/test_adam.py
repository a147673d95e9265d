"""Adam's recursion, its bounds, and its one move in kernel, noise and inducing inputs."""

from dataclasses import replace

import numpy as np
import pytest
from dense import make_case, make_space
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.factors.gradients import Gradient
from sklearn_sgp.optimize.adam import Adam, adam_step


def test_adam_is_the_textbook_recursion():
    """Steps follow Kingma & Ba's algorithm 1, upwards."""
    rng, bounds = np.random.default_rng(0), np.tile([-np.inf, np.inf], (4, 1))
    adam, x = Adam(4, 0.1), np.zeros(4)
    m, v, expected = np.zeros(4), np.zeros(4), np.zeros(4)
    for t in range(1, 20):
        g = rng.standard_normal(4) * [1.0, 1e-3, 1e3, 0.0]
        x = adam.step(x, g, bounds)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        expected = expected + 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        assert_allclose(x, expected, rtol=1e-10)


def test_adam_stays_within_bounds():
    """A step ends at the bounds, and the vector it was given is not written to."""
    bounds, x = np.array([[-1.0, 0.05], [-0.02, 1.0]]), np.zeros(2)
    moved = Adam(2, 0.1).step(x, np.array([5.0, -5.0]), bounds)
    assert_allclose(moved, [0.05, -0.02])
    assert_array_equal(x, 0.0)


@pytest.fixture
def case_space_gradient():
    """A small problem, the space of all its parameters, and a gradient."""
    case = make_case()
    space = make_space(3, np.array([0.5, 20.0]))
    gradient = Gradient(
        theta=np.array([1.0, -2.0, 3.0]), log_noise=-4.0, Z=np.where(case.Z > 0, 1.0, -1.0)
    )
    return case, space, gradient


def test_adam_moves_all_parameters(case_space_gradient):
    """The first step goes by the learning rate along the signs of the gradient, in all groups."""
    case, space, gradient = case_space_gradient
    start = case.parameters
    moved, prior = adam_step(Adam(14, 0.01), space, start, gradient, case.delta)
    assert_allclose(moved.theta, start.theta + [0.01, -0.01, 0.01], rtol=1e-6)
    assert_allclose(moved.log_noise, start.log_noise - 0.01, rtol=1e-6)
    assert_allclose(moved.Z, start.Z + 0.01 * gradient["Z"] * [0.5, 20.0], rtol=1e-6)
    K = case.kernel.clone_with_theta(moved.theta)(moved.Z)
    assert_allclose(prior.K, K + case.delta * np.eye(len(K)), rtol=1e-9)


def test_adam_follows_the_prior_of_the_space(case_space_gradient):
    """The slope of the log prior counts like the gradient of the objective."""
    case, space, gradient = case_space_gradient
    pulled = replace(space, prior=lambda theta: (0.0, np.array([-2.0, 3.0, -4.0])))
    moved, _ = adam_step(Adam(14, 0.01), pulled, case.parameters, gradient, case.delta)
    assert_allclose(moved.theta, case.parameters.theta + [-0.01, 0.01, -0.01], rtol=1e-6)


def test_adam_does_not_step_where_nothing_factorises(case_space_gradient):
    """Where K(Z, Z) is not positive definite there is no move, and steps are half as long."""
    case, space, gradient = case_space_gradient
    adam = Adam(14, 0.01)
    gradient["theta"] = np.full(3, np.nan)
    assert adam_step(adam, space, case.parameters, gradient, case.delta) is None
    assert adam.learning_rate == 0.005
