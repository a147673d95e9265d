"""The rough part of a default kernel, and what is left of it once a share is noise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sklearn_sgp.kernels import Categorical, Columns, compile_kernel
from sklearn_sgp.kernels._rough_part import Term
from sklearn_sgp.optimize.parameters import Parameters

SMOOTH = ConstantKernel(1.3) * RBF([0.9, 1.4])
ROUGH = ConstantKernel(0.4) * Matern([0.3, 0.7], nu=0.5)


def parameters_of(kernel, n_features=2):
    expression = compile_kernel(kernel, np.zeros(n_features))
    return Parameters(expression, {"theta": expression.theta})


def test_its_covariances_are_those_of_the_term():
    """Covariances, variances and correlations are those of the Matern term by itself."""
    X = np.random.default_rng(0).standard_normal((6, 4, 2))
    parameters = parameters_of(SMOOTH + ROUGH)
    part = Term.all_of(parameters.expression)[0]
    assert_allclose(part.gram(parameters, X[0]), ROUGH(X[0]), atol=1e-14)
    assert_allclose(part.variances(parameters, X[0]), 0.4)
    expected = [ROUGH(rows)[0, 1:] / 0.4 for rows in X]
    assert_allclose(part.correlations(parameters, X), expected, atol=1e-14)


def test_it_is_found_inside_a_product_with_categories():
    """Multiplied by a kernel of categories, its variance is a category's, rows in others apart."""
    rough = ConstantKernel(0.4) * Matern(0.3, nu=0.5)
    of_categories = Categorical(1, diagonal=[0.5, 2.0], factor=np.zeros((2, 1)))
    numbers = Columns(ConstantKernel(1.0, "fixed") * RBF(0.9) + rough, [0])
    kernel = numbers * Columns(of_categories, [1])
    X = np.array([[0.1, 0.0], [0.1, 1.0], [0.2, 1.0]])
    parameters = parameters_of(kernel)
    part = Term.all_of(parameters.expression)[0]
    assert_allclose(part.variances(parameters, X), [0.2, 0.8, 0.8])
    correlations = part.correlations(parameters, X[None, ::-1])
    assert_allclose(correlations, [[np.exp(-0.1 / 0.3), 0.0]], atol=1e-14)


@pytest.mark.parametrize(
    "kernel", [SMOOTH, SMOOTH + ConstantKernel(0.4, "fixed") * Matern(0.3, "fixed", nu=0.5)]
)
def test_there_may_be_none(kernel):
    """A kernel without such a term, or with one that is held, has none."""
    assert not any(term.is_rough for term in Term.all_of(compile_kernel(kernel, np.zeros(2))))


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
@pytest.mark.parametrize("distance", [0.01, 0.3, 30.0])
def test_near_rows_keep_their_covariance(share, distance):
    """What is taken away at distance zero is no covariance of rows that are so far apart."""
    kernel = ConstantKernel(1.0) * RBF(1.0) + ConstantKernel(0.4) * Matern(0.3, nu=0.5)
    parameters = parameters_of(kernel, 1)
    part = Term.all_of(parameters.expression)[0]
    correlation = float(np.exp(-distance / 0.3))
    kept = 1.0 - share * (1.0 - correlation)
    theta = part.with_less(parameters.theta, kept, correlation)
    less, X = parameters.with_values(theta=theta), np.array([[0.0], [distance]])
    assert_allclose(part.variances(less, X), 0.4 * kept)
    before = part.gram(parameters, X)[0, 1]
    assert_allclose(part.gram(less, X)[0, 1], before, rtol=1e-8, atol=1e-12)
