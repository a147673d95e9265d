"""How far direct coordinates may be used: where their gradient was seen to be good."""

import numpy as np
from dense import make_parameters, make_space
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.gp.coordinates import DIRECT_GRADIENT_LIMIT, Direct, Whitened
from sklearn_sgp.objectives.collapsed import collapsed_bound
from sklearn_sgp.objectives.rounding import gradient_limit

SPACE = make_space(3, np.array([1.0, 2.0]), bound=10.0)


def rows_of(n):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    y = np.sin(3.0 * X[:, :1]) + 0.1 * rng.standard_normal((n, 1))
    return Rows(X, y, None, np.zeros(1), np.ones(1))


def parameters_of(length_scale, m=20):
    Z = np.random.default_rng(1).uniform(-2.0, 2.0, (m, 2))
    return make_parameters(ConstantKernel(1.0) * RBF([length_scale] * 2), Z, 0.01)


def packed_gradient(parameters, rows, delta, coordinates):
    return SPACE.pack_gradient(collapsed_bound(parameters, rows, delta, coordinates=coordinates)[1])


def test_direct_coordinates_are_allowed_where_their_gradient_was_seen_to_be_good():
    """The limit rises where both coordinates have the same gradient at the start."""
    rows, parameters = rows_of(5000), parameters_of(1.0)
    limit = gradient_limit(parameters, rows, 1e-6, SPACE)
    assert limit > DIRECT_GRADIENT_LIMIT
    direct, whitened = (packed_gradient(parameters, rows, 1e-6, c) for c in (Direct, Whitened))
    assert np.abs(direct - whitened).max() < 1e-5 * len(rows)


def test_direct_coordinates_are_not_allowed_where_their_gradient_is_bad():
    """The limit stays where it is safe anywhere, where the gradients differ at the start."""
    rows, parameters = rows_of(5000), parameters_of(3.0)
    delta = 1e-12
    direct, whitened = (packed_gradient(parameters, rows, delta, c) for c in (Direct, Whitened))
    assert np.abs(direct - whitened).max() > 1e-6 * len(rows)
    assert gradient_limit(parameters, rows, delta, SPACE) == DIRECT_GRADIENT_LIMIT


def test_few_rows_are_not_worth_the_question():
    """With few rows nothing is measured, and the limit is that which is safe anywhere."""
    limit = gradient_limit(parameters_of(0.7), rows_of(500), 1e-6, SPACE)
    assert limit == DIRECT_GRADIENT_LIMIT
