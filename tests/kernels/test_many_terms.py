"""Sums and products of many terms: they take time by their number, not by 2 to the power of it."""

from functools import reduce
from operator import add, mul

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp.kernels import Categorical, Columns
from sklearn_sgp.kernels._compile import compile_without_noise


@pytest.fixture
def asked(monkeypatch):
    """Kernels of levels that were asked for their bounds."""
    asked, bounds = [], Categorical.bounds.fget
    monkeypatch.setattr(
        Categorical, "bounds", property(lambda self: asked.append(self) or bounds(self))
    )
    return asked


@pytest.mark.parametrize("around", [lambda kernel: kernel, lambda kernel: kernel**2.0])
@pytest.mark.parametrize("operation", [add, mul])
def test_bounds_of_many_columns_of_categories(operation, around, asked):
    """Eighteen columns took two minutes of each fit, and each more column twice that."""
    levels = [Columns(Categorical(1, n_categories=2), [c]) for c in range(18)]
    kernel = around(reduce(operation, levels))
    expression, _, bounds = compile_without_noise(kernel, np.zeros(18))
    assert len(asked) <= 2 * 18
    assert bounds.shape == (len(expression.theta), 2)


def test_bounds_of_many_terms_of_the_same_columns(asked):
    terms = [Categorical(1, n_categories=k) for k in range(2, 14)]
    compile_without_noise(Columns(reduce(add, terms), [0]), np.zeros(1))
    assert len(asked) <= 2 * 12


def test_bounds_are_those_of_the_kernel():
    """Terms with held parameters have none."""
    kernel = ConstantKernel(2.0, "fixed") * RBF([1.0, 2.0], [(0.1, 1.0), (0.2, 9.0)])
    kernel = kernel + ConstantKernel(1.0, "fixed") + RBF(3.0, (1.0, 4.0))
    assert_array_equal(compile_without_noise(kernel, np.zeros(2))[2], kernel.bounds)
