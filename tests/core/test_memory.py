"""The pool of memory for large temporary arrays."""

import time

import numpy as np
import pytest

from sklearn_sgp._core._memory import empty, kept_bytes, release

LIMIT = 256 << 20


@pytest.fixture
def full_of_odd_sizes():
    """A pool that holds all it may, in sizes that nobody asks for again."""
    for k in range(1, 600):
        empty((2**16 + k,))
    assert 0.99 * LIMIT < kept_bytes() <= LIMIT


def test_memory_is_reused():
    """An array of the size of one that went takes its memory, aligned and writable."""
    array = empty((300, 1024))
    address = array.ctypes.data
    del array
    kept = kept_bytes()
    again = empty((300, 1024))
    assert again.ctypes.data == address and address % 64 == 0
    assert kept - kept_bytes() == again.nbytes
    again[...] = 1.0
    assert again.sum() == 300 * 1024


def test_memory_serves_arrays_that_are_a_little_smaller():
    """Of up to an eighth less; a larger array, or one of half the size, has memory of its own."""
    array = empty((2**20 + 7,))
    address = array.ctypes.data
    del array
    smaller = empty((2**20 - 2**16,))
    assert smaller.ctypes.data == address and smaller.nbytes == 8 * (2**20 - 2**16)
    del smaller
    others = [empty((size,)) for size in (2**20 + 8, 2**19)]
    assert address not in [other.ctypes.data for other in others]
    again = empty((2**20 + 7,))  # it went back whole
    assert again.ctypes.data == address


def test_two_arrays_never_share_memory():
    """Arrays that live at the same time are apart, whatever the pool holds."""
    arrays = [empty((2**14,)) for _ in range(5)]
    del arrays[1:4]
    arrays += [empty((2**14,)) for _ in range(5)]
    assert len({array.ctypes.data for array in arrays}) == len(arrays) == 7


@pytest.mark.parametrize("size", [2**14, 2**22, 2**24])
def test_a_full_pool_takes_what_is_used_now(full_of_odd_sizes, size):
    """What returns to a full pool is kept; what has waited longest goes instead."""
    array = empty((size,))
    address = array.ctypes.data
    del array
    assert kept_bytes() <= LIMIT
    kept = kept_bytes()
    again = empty((size,))
    assert again.ctypes.data == address
    assert kept_bytes() == kept - again.nbytes


def test_what_came_last_is_kept(full_of_odd_sizes):
    """Making room costs the oldest memory: the newest stays."""
    kept = kept_bytes()
    empty((2**20,))
    newest = empty((2**16 + 599,))
    assert kept_bytes() <= kept - newest.nbytes


def test_more_than_the_limit_is_never_kept(full_of_odd_sizes):
    """An array larger than the whole pool goes back to the system, and nothing else goes."""
    kept = kept_bytes()
    empty((LIMIT // 8 + 1,))
    assert kept_bytes() == kept


def test_small_arrays_are_numpys():
    """Small arrays leave the pool alone, whatever their shape."""
    kept = kept_bytes()
    for shape in [(), (0, 3), (2, 3), (8191,)]:
        array = empty(shape)
        assert array.shape == shape and array.dtype == np.float64
    assert kept_bytes() == kept


def test_what_is_not_used_goes_back(full_of_odd_sizes):
    """Memory that nobody has asked for in the last seconds is not kept."""
    release(3600)
    assert kept_bytes() > 0.99 * LIMIT
    time.sleep(3.1)
    array = empty((2**20,))
    size = array.nbytes
    del array
    assert kept_bytes() == size
    release(0)
    assert kept_bytes() == 0
