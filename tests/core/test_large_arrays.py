"""Arrays of more numbers than 32 bits can count, and dimensions that BLAS cannot."""

import mmap
import sys

import numpy as np
import pytest

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
}


@pytest.mark.parametrize("call", CALLS)
def test_dimensions_that_blas_cannot_count(call):
    """A dimension beyond 2^31 is refused, not cut off."""
    with pytest.raises(ValueError, match=f"fewer than {2**31}.*Got {LONG}: work"):
        CALLS[call](zeros(LONG, 1), zeros(1, LONG))
