"""Kernels that can be compiled, the bounds of their parameters, and kernels that are refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    Matern,
    WhiteKernel,
)

from sklearn_sgp.kernels import Columns, compile_kernel
from sklearn_sgp.kernels._compile import compile_without_noise


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF([1.0, 2.0]), "length_scale of RBF .* 3 columns. Got 2 entries"),
        (Columns(Matern([1.0, 2.0]), [0]), "length_scale of Matern .* 1 columns. Got 2 entries"),
        (CompoundKernel([RBF(), RBF()]), "'kernel' parameter must be .* Got CompoundKernel"),
        ("rbf", "'kernel' parameter must be a scikit-learn kernel .* Got 'rbf'"),
    ],
)
def test_unusable_kernels_are_refused(kernel, message):
    """A kernel that cannot be compiled is an error that names the parameter and the value."""
    with pytest.raises(ValueError, match=message):
        compile_kernel(kernel, np.zeros(3))


@pytest.mark.parametrize(
    "columns",
    [
        [],
        [3],
        -4,
        [0.5],
        1.0,
        True,
        [0, True],
        None,
        [True, False],
        [False] * 3,
        slice(3, 5),
        [[0, 1]],
    ],
    ids=str,
)
def test_bad_columns_are_refused(columns):
    """Bad columns are an error that names the parameter, the range and the value."""
    with pytest.raises(ValueError, match=r"'columns' of Columns must be .* = 2, .* Got "):
        compile_kernel(Columns(RBF(), columns), np.zeros(3))


def test_compile_without_noise():
    """The noise terms are split off, and the bounds are logarithms of the process's bounds."""
    kernel = ConstantKernel(2.0, (1.0, 3.0)) * RBF(0.5, "fixed") + WhiteKernel(0.3)
    expression, whites, bounds = compile_without_noise(kernel, np.zeros(2))
    assert whites == [WhiteKernel(0.3)]
    assert_allclose(np.exp(expression.theta), [2.0])
    assert_allclose(np.exp(bounds), [[1.0, 3.0]])


@pytest.mark.parametrize(
    "kernel, message",
    [
        (RBF(1.0, (2.0, 1.0)), r"0 < lower <= upper.*Got \["),
        (RBF(1.0, (-1.0, 1.0)), r"0 < lower <= upper.*Got \["),
        (ConstantKernel(-1.0) * RBF(), "must be positive and finite"),
        (DotProduct(np.nan), "must be positive and finite"),
    ],
)
def test_compile_without_noise_refuses(kernel, message):
    """Bounds out of order and parameters without a logarithm are errors that show them."""
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=message):
        compile_without_noise(kernel, np.zeros(1))


def test_a_linear_kernel_through_the_origin():
    """A fixed sigma_0 of 0 is accepted, although it has no logarithm."""
    expression, _, bounds = compile_without_noise(DotProduct(0.0, "fixed"), np.zeros(1))
    kernel = expression.bind(expression.theta)
    assert bounds.shape == (0, 2)
    assert_allclose(kernel.block(np.array([[2.0]]), np.array([[3.0]])), 6.0)
