"""The compiled wrappers of BLAS and LAPACK against dense NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp._core import _linalg as la

RECTANGLES = [(0, 0), (0, 3), (3, 0), (1, 1), (1, 5), (5, 1), (4, 7), (70, 33)]
SIZES = [0, 1, 2, 31, 32, 33, 70]
FALSE_TRUE = [False, True]


def read_only(array):
    array.flags.writeable = False
    return array


def normal(rng, *shape):
    return read_only(rng.standard_normal(shape))


def triangle(rng, m):
    """A well-conditioned lower triangular matrix."""
    return read_only(np.tril(rng.standard_normal((m, m)), -1) / max(m, 1) + 2.0 * np.eye(m))


def positive_definite(rng, m):
    L = triangle(rng, m)
    return L @ L.T


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (-0.5, 2.0)])
@pytest.mark.parametrize("trans_b", FALSE_TRUE)
@pytest.mark.parametrize("trans_a", FALSE_TRUE)
@pytest.mark.parametrize("k", [0, 1, 6])
@pytest.mark.parametrize(("p", "q"), RECTANGLES)
def test_gemm(p, q, k, trans_a, trans_b, alpha, beta, rng):
    """C becomes alpha op(A) op(B) + beta C."""
    A, B = normal(rng, p, k), normal(rng, k, q)
    C = rng.standard_normal((p, q))
    expected = alpha * A @ B + beta * C
    op_A = np.ascontiguousarray(A.T) if trans_a else A
    op_B = np.ascontiguousarray(B.T) if trans_b else B
    la.gemm(op_A, op_B, C, trans_a, trans_b, alpha, beta)
    assert_allclose(C, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (-0.5, 2.0)])
@pytest.mark.parametrize(("m", "n"), RECTANGLES)
def test_syrk(m, n, alpha, beta, rng):
    """The lower triangle becomes that of alpha A A^T + beta C, the rest is not touched."""
    A, C = normal(rng, m, n), rng.standard_normal((m, m))
    expected = np.tril(alpha * A @ A.T + beta * C) + np.triu(C, 1)
    transposed, of_transposed = np.empty((n, m)), C.copy()
    la.transpose(A, transposed)
    assert_array_equal(transposed, A.T)
    la.syrk(transposed, of_transposed, alpha, beta, True)
    la.syrk(A, C, alpha, beta)
    for found in (C, of_transposed):
        assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [0, 2])
def test_beta_zero_clears_what_was_never_written(k, rng):
    """With beta = 0 the output's old entries do not matter, be they NaN."""
    A, C, S = normal(rng, 3, k), np.full((3, 3), np.nan), np.full((3, 3), np.nan)
    la.gemm(A, A, C, trans_b=True)
    la.syrk(A, S)
    assert_allclose(C, A @ A.T, rtol=1e-12)
    assert_allclose(np.tril(S), np.tril(A @ A.T), rtol=1e-12)


@pytest.mark.parametrize("m", SIZES)
def test_mirror(m, rng):
    """The upper triangle becomes exactly the lower one's transpose."""
    C = rng.standard_normal((m, m))
    expected = np.tril(C) + np.tril(C, -1).T
    la.mirror(C)
    assert_array_equal(C, expected)


@pytest.mark.parametrize("trans", FALSE_TRUE)
@pytest.mark.parametrize(("m", "n"), RECTANGLES)
def test_triangular_products(m, n, trans, rng):
    """trmm multiplies from the left, trmm_right from the right, and trsm undoes trmm."""
    L, B = triangle(rng, m), normal(rng, m, n)
    op_L = L.T if trans else L
    left, right = B.copy(), np.array(B.T, order="C")
    la.trmm(L, left, trans)
    la.trmm_right(right, L, trans)
    assert_allclose(left, op_L @ B, rtol=1e-12, atol=1e-12)
    assert_allclose(right, B.T @ op_L, rtol=1e-12, atol=1e-12)
    la.trsm(L, left, trans)
    assert_allclose(left, B, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("wrapper", [la.trmm, la.trsm])
def test_only_the_lower_triangle_is_read(wrapper, rng):
    """Whatever stands above the diagonal of a triangular factor does not matter."""
    L, B = triangle(rng, 5), normal(rng, 5, 3)
    clean, dirty = B.copy(), B.copy()
    wrapper(L, clean)
    wrapper(L + np.triu(np.full((5, 5), np.nan), 1), dirty)
    assert_array_equal(clean, dirty)


@pytest.mark.parametrize("m", [*SIZES, 48, 49, 199])
def test_cholesky_routines(m, rng):
    """potrf factors, trtri inverts the factor, and potri the factored matrix."""
    A = positive_definite(rng, m)
    L = A.copy()
    assert la.potrf(L) == 0
    assert_allclose(L @ L.T, A, rtol=1e-12, atol=1e-12)
    assert_array_equal(L, np.tril(L))
    L_inv, A_inv = L.copy(), L.copy()
    assert la.trtri(L_inv) == la.potri(A_inv) == 0
    assert_allclose(L_inv @ L, np.eye(m), atol=1e-10)
    assert_allclose(np.tril(A_inv), np.tril(np.linalg.inv(A)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("pivot", [1, 3, 70])
def test_potrf_reports_the_failing_pivot(pivot, rng):
    """A matrix that is not positive definite gives the one-based row, not an exception."""
    A = positive_definite(rng, 70)
    A[pivot - 1, pivot - 1] = -1.0
    assert la.potrf(A) == pivot


def test_singular_factors_are_reported():
    """trtri and potri return the row of a zero on the diagonal."""
    L = np.diag([1.0, 0.0, 2.0])
    assert la.trtri(L.copy()) == la.potri(L.copy()) == 2


def test_reciprocal_condition_of_nothing():
    """The empty matrix is perfectly conditioned."""
    assert la.reciprocal_condition(np.empty((0, 0)), 0.0) == 1.0


@pytest.mark.parametrize(("m", "n"), RECTANGLES)
def test_elementwise_sums(m, n, rng):
    """column_dots, row_dots and axpy add to their output, dot sums the elementwise product."""
    A, B = normal(rng, m, n), normal(rng, m, n)
    rows = rng.standard_normal(m)
    expected_rows = rows - 0.5 * (A * B).sum(axis=1)
    la.row_dots(A, B, rows, -0.5)
    assert_allclose(rows, expected_rows, rtol=1e-12, atol=1e-12)
    out, Y = rng.standard_normal(n), rng.standard_normal((m, n))
    expected_out, expected_Y = out - 0.5 * (A * B).sum(axis=0), Y + 3.0 * A
    la.column_dots(A, B, out, -0.5)
    la.axpy(3.0, A, Y)
    assert_allclose(out, expected_out, rtol=1e-12, atol=1e-12)
    assert_allclose(Y, expected_Y, rtol=1e-12)
    assert_allclose(la.dot(A, B), (A * B).sum(), rtol=1e-12, atol=1e-12)


def z(*shape):
    return np.zeros(shape)


@pytest.mark.parametrize(
    ("wrapper", "args"),
    [
        (la.gemm, (z(2, 3), z(4, 5), z(2, 5))),
        (la.gemm, (z(2, 3), z(3, 5), z(5, 2))),
        (la.gemm, (z(2, 3), z(3, 5), z(2, 5), True)),
        (la.gemm, (z(2, 3), z(3, 5), z(2, 5), False, True)),
        (la.syrk, (z(2, 3), z(3, 3))),
        (la.syrk, (z(2, 3), z(2, 3))),
        (la.mirror, (z(2, 3),)),
        (la.trmm, (z(3, 3), z(2, 3))),
        (la.trmm, (z(2, 3), z(2, 3))),
        (la.trmm_right, (z(2, 3), z(2, 2))),
        (la.trsm, (z(3, 3), z(2, 3))),
        (la.trsm, (z(3, 2), z(3, 3))),
        (la.potrf, (z(2, 3),)),
        (la.trtri, (z(2, 3),)),
        (la.potri, (z(2, 3),)),
        (la.reciprocal_condition, (z(2, 3), 1.0)),
        (la.column_dots, (z(2, 3), z(3, 2), z(3))),
        (la.column_dots, (z(2, 3), z(2, 3), z(2))),
        (la.row_dots, (z(2, 3), z(3, 2), z(2))),
        (la.row_dots, (z(2, 3), z(2, 3), z(3))),
        (la.dot, (z(2, 3), z(3, 2))),
        (la.axpy, (1.0, z(2, 3), z(3, 2))),
    ],
)
def test_wrong_shapes_are_refused(wrapper, args):
    """Shapes that do not agree raise before LAPACK sees them, naming the routine."""
    with pytest.raises(ValueError, match=f"{wrapper.__name__}: the shapes of the arrays"):
        wrapper(*args)


@pytest.mark.parametrize("bad", [np.zeros((3, 3), order="F").T[:, ::-1], np.zeros((3, 3), "f4")])
def test_wrong_layouts_are_refused(bad):
    """Arrays that are not C-ordered float64 raise instead of being read wrongly."""
    with pytest.raises(ValueError, match=r"contiguous|Buffer dtype mismatch"):
        la.syrk(bad, np.zeros((3, 3)))


def test_read_only_outputs_are_refused():
    """A read-only array cannot be an output."""
    with pytest.raises(ValueError, match="read-only"):
        la.potrf(read_only(np.eye(2)))
