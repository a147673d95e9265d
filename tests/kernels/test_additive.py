"""A sum of functions of single columns, by one call."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.kernels import Columns, additive

X = np.random.default_rng(0).uniform(-2.0, 2.0, (60, 3))


def test_a_number_of_columns():
    """A number gives each column its own variance and length scale."""
    kernel = additive(3)
    parts = [ConstantKernel() * Columns(RBF(), [k]) for k in range(3)]
    assert kernel == parts[0] + parts[1] + parts[2]
    assert len(kernel.theta) == 6
    assert_allclose(kernel(X), sum(part(X) for part in parts))


def test_groups_and_a_kernel_of_ones_own():
    """A list within the list is one function of its columns; the given kernel is copied."""
    own = Matern(0.7, nu=1.5)
    kernel = additive([2, [0, 1]], own)
    assert kernel == Columns(own, [2]) + Columns(own, [0, 1])
    assert kernel.k1.kernel is not own and kernel.k1.kernel is not kernel.k2.kernel
    assert additive([-1]) == ConstantKernel() * Columns(RBF(), [-1])
    assert additive(np.int64(2)) == additive(range(2)) == additive(np.arange(2))


def test_terms_add_up():
    """The terms of a fit are the functions of the columns, and add up to the prediction."""
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + np.cos(X[:, 2])
    model = SVGPRegressor(additive(3), n_inducing=40, random_state=0).fit(X, y)
    terms = model.predict_terms(X)
    assert terms.shape == (60, 3)
    for column, truth in enumerate((np.sin(2 * X[:, 0]), X[:, 1] ** 2, np.cos(X[:, 2]))):
        assert_allclose(terms[:, column] - terms[:, column].mean(), truth - truth.mean(), atol=0.2)
    difference = model.predict(X) - terms.sum(axis=1)
    assert_allclose(difference, difference.mean(), atol=1e-6)


def test_columns_by_name():
    """Names are those of a data frame."""
    pd = pytest.importorskip("pandas")
    frame, y = pd.DataFrame(X, columns=["a", "b", "c"]), X[:, 0]
    named = SVGPRegressor(additive(["a", ["b", "c"]]), n_inducing=10, optimizer=None)
    numbered = SVGPRegressor(additive([0, [1, 2]]), n_inducing=10, optimizer=None)
    said = [m.set_params(random_state=0).fit(frame, y).predict(frame) for m in (named, numbered)]
    assert_allclose(*said)


@pytest.mark.parametrize("columns", [0, [], "hour", None, True, 1.5])
def test_what_is_no_list_of_columns(columns):
    """Anything else is refused, with what is taken."""
    with pytest.raises(ValueError, match=r"'columns' parameter must be a number of columns"):
        additive(columns)
