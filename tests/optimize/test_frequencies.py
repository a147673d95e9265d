"""Frequencies of features are parameters that cosine and sine share."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.kernels import compile_kernel
from sklearn_sgp.kernels._features import draw_features
from sklearn_sgp.objectives.collapsed import collapsed_bound
from sklearn_sgp.optimize.frequencies import Frequencies, holding_function
from sklearn_sgp.optimize.parameters import Group, Parameters, ParameterSpace


def problem():
    """Parameters with nine features, one of them constant, their space, and rows."""
    rng = np.random.RandomState(0)
    expression = compile_kernel(2.0 * RBF([0.5, 1.0]) + ConstantKernel(1.5), np.zeros(2))
    theta = expression.theta
    Z = draw_features(expression.bind(theta), 9, rng)
    parameters = Parameters(expression, {"theta": theta, "log_noise": np.log(0.1), "Z": Z})
    bounds = np.tile([-5.0, 5.0], (len(theta), 1))
    groups = (
        Group("theta", bounds),
        Group("log_noise", np.array([[-5.0, 5.0]])),
        Frequencies("Z", None, 0.5, n_constants=1),
    )
    X, y = rng.standard_normal((20, 2)), rng.standard_normal((20, 1))
    return parameters, ParameterSpace(groups), Rows(X, y, None, np.zeros(1), np.ones(1))


def test_vectors_hold_each_frequency_once():
    """The vector has a frequency once, in its unit; from it cosine and sine get the same."""
    parameters, space, _ = problem()
    x = space.pack(parameters)
    assert len(x) == 4 + 1 + 8
    assert_allclose(x[5:], parameters.Z[:4, :2].ravel() / 0.5)
    back = space.unpack(x, parameters)
    assert_allclose(back.Z, parameters.Z)
    moved = space.unpack(x + 1.0, parameters)
    assert_allclose(moved.Z[:4, :2], parameters.Z[:4, :2] + 0.5)
    assert_array_equal(moved.Z[:4, :2], moved.Z[4:8, :2])
    assert_array_equal(moved.Z[:, 2], parameters.Z[:, 2])
    assert_array_equal(moved.Z[8], parameters.Z[8])
    assert space.bounds(parameters).shape == (13, 2)


def test_gradient_of_the_evidence_is_that_of_differences():
    """The evidence's gradient in all that is learned agrees with central differences."""
    parameters, space, rows = problem()
    x = space.pack(parameters)

    def value(x):
        return collapsed_bound(space.unpack(x, parameters), rows, 0.0)[0]

    gradient = space.pack_gradient(collapsed_bound(parameters, rows, 0.0)[1])
    step = 1e-5 * np.eye(len(x))
    differences = [(value(x + one) - value(x - one)) / 2e-5 for one in step]
    assert_allclose(gradient, differences, atol=1e-6, rtol=1e-6)


def test_later_rows_hold_the_function():
    """What later rows may move is all but the kernel and the frequencies."""
    _, space, _ = problem()
    assert [group.name for group in holding_function(space).groups] == ["log_noise"]
