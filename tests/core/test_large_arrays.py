"""Arrays of more numbers than 32 bits can count."""

import mmap
import sys

import numpy as np
import pytest

from sklearn_sgp._core import _linalg as la

_NO_RESERVE = 0x4000  # of Linux; Python has no name for it


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs 17 GB that are never written")
def test_dot_of_a_matrix_with_more_than_2_to_31_entries():
    """The sum goes over all entries: those before and behind entry 2^31 count."""
    n = 46_342
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    A = np.frombuffer(mmap.mmap(-1, 8 * n * n, flags=flags)).reshape(n, n)
    A[0, 0], A[n // 2, 7], A[-1, -1] = 1.0, 2.0, 2.0
    assert la.dot(A, A) == 9.0
