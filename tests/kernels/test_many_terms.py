"""Sums and products of many terms: they take time by their number, not by 2 to the power of it."""

import time
from functools import reduce
from operator import add, mul

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp.kernels import Categorical, Columns
from sklearn_sgp.kernels._compile import compile_without_noise


@pytest.mark.parametrize("operation", [add, mul])
def test_bounds_of_many_columns_of_categories(operation):
    """Eighteen columns took two minutes of each fit, and each more column twice that."""
    levels = [Columns(Categorical(1, n_categories=2), [c]) for c in range(18)]
    begin = time.process_time()
    expression, _, bounds = compile_without_noise(reduce(operation, levels), np.zeros(18))
    assert time.process_time() - begin < 1.0
    assert bounds.shape == (len(expression.theta), 2)


def test_bounds_are_those_of_the_kernel():
    """Terms with held parameters have none."""
    kernel = ConstantKernel(2.0, "fixed") * RBF([1.0, 2.0], [(0.1, 1.0), (0.2, 9.0)])
    kernel = kernel + ConstantKernel(1.0, "fixed") + RBF(3.0, (1.0, 4.0))
    assert_array_equal(compile_without_noise(kernel, np.zeros(2))[2], kernel.bounds)
