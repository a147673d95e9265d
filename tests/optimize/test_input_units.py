"""Units of the inducing inputs in the vector that L-BFGS sees."""

from dataclasses import replace

import numpy as np
import pytest
from dense import make_parameters, make_space
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.variational.inference import ConjugateInference
from sklearn_sgp.likelihoods import Gaussian
from sklearn_sgp.optimize.input_units import with_input_units

SCALES = np.array([0.7, 0.7])
SPACE = make_space(3, np.array([1.0, 2.0]), bound=10.0)


def unit_of(space):
    return space.group("Z").unit


@pytest.fixture
def rows():
    """200 rows of a noisy sine in two columns."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (200, 2))
    y = np.sin(3.0 * X[:, :1]) + 0.1 * rng.standard_normal((200, 1))
    return Rows(X, y, None, np.zeros(1), np.ones(1))


@pytest.fixture
def parameters():
    """20 inducing inputs, length scales 0.7 and noise variance 0.01."""
    Z = np.random.default_rng(1).uniform(-2.0, 2.0, (20, 2))
    return make_parameters(ConstantKernel(1.0) * RBF([0.7, 0.7]), Z, 0.01)


def measured(parameters, rows):
    """The unit for a run that begins at parameters that were learned."""
    inference = ConjugateInference(Gaussian(), 1)
    return unit_of(inference.objective(SPACE, parameters, rows, 1e-8, True, None, np.inf)[0])


def test_units_are_equal_where_nothing_has_been_learned():
    """Without coefficients all inducing inputs get one unit, in proportion to that of the space."""
    unit = unit_of(with_input_units(SPACE))
    assert_allclose(unit / unit_of(SPACE), np.full(2, unit[0]))


def test_units_shrink_with_the_coefficient_of_an_inducing_input(rows, parameters):
    """Units fall with the squared coefficients of the mean, in units of their median."""
    Z = parameters.Z
    kernel = RBF([0.7, 0.7])
    K, Kx = kernel(Z), kernel(Z, rows.X)
    coefficients = np.linalg.solve(0.01 * (K + 1e-8 * np.eye(len(Z))) + Kx @ Kx.T, Kx @ rows.y)
    squares = coefficients[:, 0] ** 2
    expected = (1.0 + squares / np.median(squares)) ** -0.25
    unit = measured(parameters, rows) / unit_of(with_input_units(SPACE, scales=SCALES))
    assert_allclose(unit, np.column_stack([expected] * 2), rtol=1e-6)


def test_units_are_equal_where_the_mean_is_zero(rows, parameters):
    """Coefficients that are all zero say nothing: the units are those without coefficients."""
    rows = replace(rows.select(slice(50)), y=np.zeros((50, 1)))
    equal = unit_of(with_input_units(SPACE, scales=SCALES))
    assert_array_equal(measured(parameters, rows), equal)


def test_units_are_no_larger_than_length_scales():
    """A column whose length scale is shorter than its standard unit moves in units of that."""
    usual = unit_of(with_input_units(SPACE))
    shorter = unit_of(with_input_units(SPACE, scales=np.array([0.5, 5.0])))
    assert_allclose(shorter / usual, [0.5, 1.0])


def test_units_of_inducing_inputs_that_stay_are_not_asked_for():
    """A space in which the inducing inputs are fixed is returned as it is."""
    space = make_space(3)
    assert with_input_units(space, np.ones(8)) is space


def test_vanishing_coefficients():
    """Where most inducing inputs do nothing, the others' units are small, not zero."""
    equal = unit_of(with_input_units(SPACE))
    squares = np.full(8, 1e-320)
    squares[0] = 1.0
    unit = unit_of(with_input_units(SPACE, squares))
    assert np.isfinite(unit).all() and (unit >= 1e-3 * equal * (1.0 - 1e-9)).all()
    assert (unit <= equal).all()
