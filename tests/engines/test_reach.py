"""Whether a kernel relates rows: half of them have another one with a correlation of 0.1."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern

from sklearn_sgp.engines.diagnostics import has_reach
from sklearn_sgp.kernels._compile import compile_kernel


def compiled(kernel, n_features):
    expression = compile_kernel(kernel, np.zeros(n_features))
    return expression.bind(expression.theta)


@pytest.mark.parametrize("length_scale", [0.01, 0.03, 0.05, 0.07, 0.1, 0.5])
@pytest.mark.parametrize("nu", [0.5, 2.5])
def test_reach_is_the_definition(nu, length_scale):
    """It is that of the dense correlations, the row itself left out."""
    X = np.random.default_rng(0).uniform(0.0, 1.0, (150, 2))
    kernel = 7.0 * Matern(length_scale, nu=nu)
    K = kernel(X) / 7.0
    np.fill_diagonal(K, 0.0)
    expected = np.median(K.max(axis=1)) >= 0.1
    assert has_reach(compiled(kernel, 2), X) == expected


def test_the_nearest_of_all_rows_counts():
    """However many there are: a sample of them would be too far apart."""
    X = np.random.default_rng(0).permutation(20_000.0 * np.linspace(0.0, 1.0, 20_000))[:, None]
    assert has_reach(compiled(RBF(0.6), 1), X)
    assert not has_reach(compiled(RBF(0.3), 1), X)


def test_few_rows_and_rows_of_no_variance():
    """Nine rows say nothing of distances, and a variance of zero is no division by zero."""
    X = 100.0 * np.arange(10.0)[:, None]
    assert has_reach(compiled(RBF(1.0), 1), X[:9])
    assert not has_reach(compiled(RBF(1.0), 1), X)
    assert has_reach(compiled(DotProduct(0.0, "fixed"), 1), X)
