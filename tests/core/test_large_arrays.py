"""Arrays of more numbers than 32 bits can count, and dimensions that BLAS cannot.

Only the Cholesky factorisation and the two inverses that begin with one are not run beyond
2^31 entries: their work is cubic, 20 minutes for the smallest such matrix. Their sizes go through
the same check.
"""

import ctypes
import mmap
import os
import sys
import weakref

import numpy as np
import pytest

from sklearn_sgp._core import _cells, _classes, _densities, _groups, _stationary
from sklearn_sgp._core import _linalg as la

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs memory that is never written"),
]
_NO_RESERVE = 0x4000  # of Linux; Python has no name for it
LONG = 2**31 + 5


def zeros(*shape):
    """Zeros that take no memory until they are written."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    size = 8 * int(np.prod(shape))
    return np.frombuffer(mmap.mmap(-1, size, flags=flags)).reshape(shape)


def test_dot_of_a_matrix_with_more_than_2_to_31_entries():
    """The sum goes over all entries: those before and behind entry 2^31 count."""
    n = 46_342
    A = zeros(n, n)
    A[0, 0], A[n // 2, 7], A[-1, -1] = 1.0, 2.0, 2.0
    assert la.dot(A, A) == 9.0


def test_products_of_a_matrix_with_more_than_2_to_31_entries():
    """Strides are right where an entry's number has more than 32 bits."""
    n, k = 46_342, 46_342
    A, x, out = zeros(n, k), np.zeros((k, 1)), np.zeros((n, 1))
    A[0, 0], A[-1, -1], x[0], x[-1] = 1.0, 3.0, 1.0, 2.0
    la.gemm(A, x, out)
    assert out[0, 0] == 1.0 and out[-1, 0] == 6.0 and out.sum() == 7.0
    few = np.zeros((2, n))
    few[1, -1] = 2.0
    product = np.zeros((2, k))
    la.gemm(few, A, product)
    assert product[1, -1] == 6.0 and product.sum() == 6.0


WIDTH = 2**30 + 3  # two rows of it are more than 2^31 entries
WINDOW, OWN = 1 << 26, 1 << 21  # bytes


def writable(*shape):
    """Zeros that may all be written: the same 64 MB again and again.

    The first, the last and the middle 2 MB are memory of their own, for what is not zero.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *3 * [ctypes.c_int], ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    size = -(-8 * int(np.prod(shape)) // OWN) * OWN
    flags, fixed = mmap.PROT_READ | mmap.PROT_WRITE, 0x10
    own = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    start = libc.mmap(None, size, 0, own, -1, 0)
    file = os.memfd_create("zeros")
    os.ftruncate(file, WINDOW)
    for low in range(0, size, WINDOW):
        length = min(WINDOW, size - low)
        got = libc.mmap(start + low, length, flags, mmap.MAP_SHARED | fixed, file, 0)
        assert got == start + low
    os.close(file)
    for low in (0, size // 2 // OWN * OWN - OWN, size // 2 // OWN * OWN, size - OWN):
        assert libc.mmap(start + low, OWN, flags, own | fixed, -1, 0) == start + low
    memory = (ctypes.c_double * int(np.prod(shape))).from_address(start)
    weakref.finalize(memory, libc.munmap, start, size)
    return np.frombuffer(memory).reshape(shape)


LOWER = np.array([[2.0, 0.0], [3.0, 5.0]])


def test_triangular_products_of_more_than_2_to_31_entries():
    """Both ends of both rows are multiplied and solved for, and nothing else appears."""
    B = writable(2, WIDTH)
    B[:, 0], B[:, -1] = (1.0, 2.0), (-1.0, 1.0)
    expected = LOWER @ B[:, [0, -1]]
    la.trmm(LOWER, B)
    assert np.array_equal(B[:, [0, -1]], expected) and la.dot(B, B) == (expected**2).sum()
    la.trsm(LOWER, B)
    assert np.array_equal(B[:, [0, -1]], [[1.0, -1.0], [2.0, 1.0]]) and la.dot(B, B) == 7.0


def test_a_triangular_product_from_the_right():
    """The first and the last of 2^30 rows are multiplied."""
    B = writable(WIDTH, 2)
    B[0], B[-1] = (1.0, 2.0), (-1.0, 1.0)
    expected = B[[0, -1]] @ LOWER
    la.trmm_right(B, LOWER)
    assert np.array_equal(B[[0, -1]], expected) and la.dot(B, B) == (expected**2).sum()


@pytest.mark.parametrize("trans", [False, True])
def test_syrk_of_more_than_2_to_31_entries(trans):
    """Both ends of both long vectors count."""
    A, C = zeros(WIDTH, 2) if trans else zeros(2, WIDTH), np.zeros((2, 2))
    ends = np.array([[1.0, 4.0], [2.0, 3.0]])
    if trans:
        A[[0, -1]] = ends.T
    else:
        A[:, [0, -1]] = ends
    la.syrk(A, C, trans=trans)
    assert np.array_equal(np.tril(C), np.tril(ends @ ends.T))


def test_sums_of_more_than_2_to_31_entries():
    """Row and column sums of products, and a sum of two arrays, reach the last entry."""
    A, row_sums, column_sums = zeros(2, WIDTH), np.zeros(2), np.zeros(2)
    A[:, 0], A[:, -1] = (1.0, 2.0), (3.0, 4.0)
    la.row_dots(A, A, row_sums)
    assert np.array_equal(row_sums, [10.0, 20.0])
    tall = zeros(WIDTH, 2)
    tall[0], tall[-1] = (1.0, 2.0), (3.0, 4.0)
    la.column_dots(tall, tall, column_sums)
    assert np.array_equal(column_sums, [10.0, 20.0])
    Y = writable(2, WIDTH)
    la.axpy(2.0, A, Y)
    assert np.array_equal(Y[:, [0, -1]], [[2.0, 6.0], [4.0, 8.0]]) and la.dot(Y, Y) == 120.0


def test_the_transpose_of_more_than_2_to_31_entries():
    """Ends of rows are ends of columns."""
    A, out = zeros(2, WIDTH), writable(WIDTH, 2)
    A[:, 0], A[:, -1] = (1.0, 2.0), (3.0, 4.0)
    la.transpose(A, out)
    assert np.array_equal(out[[0, -1]], [[1.0, 2.0], [3.0, 4.0]]) and la.dot(out, out) == 30.0


def test_triangles_of_more_than_2_to_31_entries():
    """The corner below the diagonal goes to the one above, both meet, and that above is cleared."""
    C = writable(46_342, 46_342)
    C[-1, 0] = 2.0
    la.mirror(C)
    assert C[0, -1] == 2.0 and la.dot(C, C) == 8.0
    C[0, -1] = 0.0
    la.symmetrize(C)
    assert C[0, -1] == C[-1, 0] == 1.0 and la.dot(C, C) == 2.0
    la.clear_upper(C)
    assert C[0, -1] == 0.0 and C[-1, 0] == 1.0


def test_the_condition_of_a_factor_of_more_than_2_to_31_entries():
    """The last diagonal entry is the smallest one."""
    L = zeros(46_342, 46_342)
    np.fill_diagonal(L, 1.0)
    L[-1, -1] = 0.5
    assert la.reciprocal_condition(L, 1.0) == 0.25


ONE, PAIR, FIRST, ENDS = np.ones((1, 1)), np.ones(2), np.zeros(1, np.intp), np.array([0, 1])
CALLS = {
    "gemm, rows": lambda long, wide: la.gemm(long, np.ones((1, 1)), long),
    "gemm, columns": lambda long, wide: la.gemm(np.ones((1, 1)), wide, wide),
    "gemm, sum": lambda long, wide: la.gemm(wide, long, np.ones((1, 1))),
    "syrk": lambda long, wide: la.syrk(wide, np.ones((1, 1))),
    "syrk, transposed": lambda long, wide: la.syrk(long, np.ones((1, 1)), trans=True),
    "trmm": lambda long, wide: la.trmm(np.ones((1, 1)), wide),
    "trmm_right": lambda long, wide: la.trmm_right(long, np.ones((1, 1))),
    "trsm": lambda long, wide: la.trsm(np.ones((1, 1)), wide),
    "row_dots": lambda long, wide: la.row_dots(wide, wide, np.zeros(1)),
    "value_block": lambda long, wide: _stationary.value_block(0, ONE, wide, 1.0, PAIR, wide, False),
    "vjp_block": lambda long, wide: _stationary.vjp_block(
        0, ONE, wide, 1.0, PAIR, wide, np.zeros(3), False
    ),
    "value_blocks": lambda long, wide: _stationary.value_blocks(
        0, wide, wide, *2 * [FIRST], *2 * [ENDS], 1.0, PAIR, np.ones(1), False
    ),
    "factorise": lambda long, wide: _cells.factorise(
        np.ones(1), FIRST, wide, ONE, long, np.ones(1), [wide], [ONE], [ONE], [ONE], [long]
    ),
    "whiten": lambda long, wide: _cells.whiten(ONE, wide),
    "condition": lambda long, wide: _cells.condition(
        [ONE], [ONE[:, :0]], [None], [ONE], ENDS * LONG, long[:, :0], long[:, 0], long[:, :0], long,
        long[:, 0],
    ),
    "eliminate": lambda long, wide: _groups.eliminate(
        np.ones(1), FIRST, ENDS[1:], FIRST, wide, ONE, np.ones(1), np.ones(1), np.ones(0), wide, ONE
    ),
    "solve_classes": lambda long, wide: _classes.solve_classes(np.ones(1), ENDS, wide),
    "add_densities": lambda long, wide: _densities.add_densities(
        np.ones(1), ENDS[1:], FIRST, wide, np.ones(1), np.ones(1), wide
    ),
    "add_class_densities": lambda long, wide: _densities.add_class_densities(
        np.ones(1), ENDS[1:], FIRST, wide, FIRST, *3 * [np.ones(1)], wide
    ),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_dimensions_that_blas_cannot_count(call):
    """A dimension beyond 2^31 is refused, not cut off."""
    with pytest.raises(ValueError, match=f"fewer than {2**31}.*Got {LONG}: work"):
        CALLS[call](zeros(LONG, 1), zeros(1, LONG))
