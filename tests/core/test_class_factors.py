"""Factors of the rows of each class: the compiled functions against dense ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp._core._classes import factorise_classes, solve_classes

SIZES = np.array([3, 0, 1, 40, 0, 2])
ENDS = np.append(0, np.cumsum(SIZES))


def case():
    """W, an order of its rows, the roots of these, and room for factors."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((ENDS[-1], 60))
    W = A @ A.T / 60.0
    return W, rng.permutation(len(W)), rng.uniform(0.2, 0.5, len(W)), np.empty((SIZES**2).sum())


def dense():
    """1 - d W d where two rows are of one class, 0 elsewhere, rows in order."""
    W, order, root, _ = case()
    number = np.repeat(np.arange(len(SIZES)), SIZES)
    together = number[:, None] == number
    return np.eye(len(W)) - together * root[:, None] * W[np.ix_(order, order)] * root


def test_classes_are_factorised():
    W, order, root, U = case()
    log_det = factorise_classes(W, order, ENDS, root, U)
    L = np.linalg.cholesky(dense())
    assert_allclose(log_det, np.log(np.diagonal(L)).sum(), rtol=1e-12)
    parts = np.split(U, np.cumsum(SIZES**2)[:-1])
    for part, size, lo in zip(parts, SIZES, ENDS, strict=False):
        own = slice(lo, lo + size)
        assert_allclose(part.reshape(size, size).T, L[own, own], atol=1e-12)


@pytest.mark.parametrize("k", [0, 1, 5])
@pytest.mark.parametrize("trans", [False, True])
def test_classes_are_solved(k, trans):
    W, order, root, U = case()
    factorise_classes(W, order, ENDS, root, U)
    B = np.random.default_rng(1).standard_normal((len(W), k))
    found, L = B.copy(), np.linalg.cholesky(dense())
    solve_classes(U, ENDS, found, trans)
    assert_allclose(found, np.linalg.solve(L.T if trans else L, B), atol=1e-12)


@pytest.mark.parametrize("bad", [10.0, np.nan, np.inf])
@pytest.mark.parametrize("row", [0, 3, 45])
def test_a_class_that_does_not_factorise_is_told(row, bad):
    W, order, root, U = case()
    root[row] = bad
    assert np.isnan(factorise_classes(W, order, ENDS, root, U))


def test_shapes_and_rows_are_checked():
    W, order, root, U = case()
    given = [W, order, ENDS, root, U]
    kept = [each.copy() for each in given[:4]]
    for i in range(5):
        with pytest.raises(ValueError, match="shapes of the arrays"):
            factorise_classes(*given[:i], np.ascontiguousarray(given[i][:-1]), *given[i + 1 :])
    with pytest.raises(ValueError, match="must hold rows"):
        factorise_classes(W, order - 1, ENDS, root, U)
    with pytest.raises(ValueError, match="shapes of the arrays"):
        solve_classes(U, ENDS, np.zeros((len(W) - 1, 2)))
    factorise_classes(*given)
    for array, before in zip(given, kept, strict=False):
        assert_array_equal(array, before)
