"""Factors, inverses and products against NumPy; the routines below them are in test_lapack.py."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp import _linalg as linalg
from sklearn_sgp._core import _linalg as la
from sklearn_sgp._linalg import pivoted_cholesky

RNG = np.random.default_rng(0)
SIZES = [1, 2, 7, 40]
# LAPACK only looks at lower triangles: what stands above must not matter
RUBBISH = 1e3


def _lower(m):
    return np.tril(RNG.standard_normal((m, m))) + 2.0 * np.eye(m)


def _with_rubbish_above(L):
    return L + RUBBISH * np.triu(np.ones_like(L), 1)


def _spd(m, condition=10.0):
    Q = np.linalg.qr(RNG.standard_normal((m, m)))[0]
    A = (Q * np.geomspace(1.0, 1.0 / condition, m)) @ Q.T
    return 0.5 * (A + A.T)


@pytest.mark.parametrize("m", SIZES)
def test_cholesky(m):
    """The factor is NumPy's, its upper triangle zero, and the matrix is left alone."""
    A = _spd(m)
    kept = A.copy()
    assert_allclose(linalg.cholesky(A), np.linalg.cholesky(A), atol=1e-13)
    assert_array_equal(A, kept)


@pytest.mark.parametrize("m", [1, 3, 12])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_cholesky_refuses(m, bad):
    """An indefinite or non-finite matrix raises, wherever the bad pivot is."""
    for pivot in range(m):
        A = np.eye(m)
        A[pivot, pivot] = bad
        with pytest.raises(linalg.NotPositiveDefiniteError, match="potrf"):
            linalg.cholesky(A)


def test_cholesky_refuses_nan_off_the_diagonal():
    """A NaN below a finite diagonal raises as well."""
    A = np.eye(5)
    A[3, 1] = A[1, 3] = np.nan
    with pytest.raises(linalg.NotPositiveDefiniteError):
        linalg.cholesky(A)


def test_not_positive_definite_is_a_linalg_error():
    """Callers who catch NumPy's LinAlgError catch ours."""
    assert issubclass(linalg.NotPositiveDefiniteError, np.linalg.LinAlgError)


@pytest.mark.parametrize("m", SIZES)
def test_inverses(m):
    """Inverses from factors are NumPy's; that of L L^T is exactly symmetric."""
    L = _lower(m)
    kept = L.copy()
    assert_allclose(linalg.triangular_inverse(L) @ L, np.eye(m), atol=1e-9)
    inverse = linalg.inverse_from_cholesky(L)
    assert_array_equal(inverse, inverse.T)
    assert_allclose(inverse @ (L @ L.T), np.eye(m), atol=1e-6)
    assert_array_equal(L, kept)


@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize("p, k, q", [(1, 1, 1), (3, 4, 1), (1, 5, 2), (6, 2, 5), (3, 0, 2)])
def test_product(p, k, q, trans_a, trans_b):
    """The product is op(A) op(B), also with one column, which takes another routine."""
    A, B = RNG.standard_normal((p, k)), RNG.standard_normal((k, q))
    given_A = np.ascontiguousarray(A.T) if trans_a else A
    given_B = np.ascontiguousarray(B.T) if trans_b else B
    out = linalg.product(given_A, given_B, trans_a=trans_a, trans_b=trans_b)
    assert_allclose(out, A @ B, atol=1e-13)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("trans", [False, True])
def test_triangular_product_from_the_right(rows, trans, rng):
    """B L, or B L^T, also of one row."""
    B, L = rng.standard_normal((rows, 70)), np.tril(rng.standard_normal((70, 70)))
    expected = B @ (L.T if trans else L)
    la.trmm_right(B, L, trans)
    assert_allclose(B, expected, atol=1e-12)


@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("m", SIZES)
def test_sandwich(m, trans):
    """L A L^T, or L^T A L, for an A that need not be symmetric; nothing above L is read."""
    L, A = _lower(m), RNG.standard_normal((m, m))
    M = L.T if trans else L
    out = linalg.sandwich(_with_rubbish_above(L), A, trans=trans)
    assert_allclose(out, M @ A @ M.T, atol=1e-11)


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e8, 1e12])
@pytest.mark.parametrize("m", [1, 2, 6, 15, 33])
def test_reciprocal_condition(m, condition):
    """The estimate is no smaller than 1 / cond(A), and within a factor of three of it."""
    A = _spd(m, condition)
    rcond = la.reciprocal_condition(np.linalg.cholesky(A), float(np.abs(A).sum(axis=0).max()))
    assert 1.0 - 1e-3 < rcond * np.linalg.cond(A, 1) < 3.0


@pytest.mark.parametrize("rank", [0, 1, 3, 6])
def test_pivoted_cholesky_of_a_semidefinite_matrix(rank):
    """The factor has as many columns as the matrix has rank, and its rows are in pivot order."""
    root = np.random.default_rng(rank).standard_normal((6, rank))
    A = root @ root.T
    L, order = pivoted_cholesky(A)
    assert L.shape == (6, rank)
    assert_allclose(L @ L.T, A[np.ix_(order, order)], rtol=1e-12, atol=1e-12)


def test_pivoted_cholesky_leaves_out_what_rounding_made_negative():
    """Pivots that rounding made negative count as zero."""
    L, _ = pivoted_cholesky(np.diag([1.0, -1e-17, 0.5]))
    assert_allclose(L @ L.T, np.diag([1.0, 0.5, 0.0]))
    assert pivoted_cholesky(-1e-17 * np.eye(3))[0].shape == (3, 0)
