"""Large temporary arrays whose memory is kept for the next one.

A fresh array of some megabytes comes from the system page by page, and goes back when it is freed;
in a loop over blocks those page faults cost more than a third of the time (a stochastic step with
500 inducing inputs and 1,000 rows: 52 ms, with memory reused 34 ms). Arrays made here are ordinary
numpy arrays; their memory returns to a pool when the last reference goes.
"""
from math import prod

import numpy as np
from cpython.buffer cimport PyBuffer_FillInfo
from libc.stddef cimport size_t
from libc.stdint cimport uintptr_t
from libc.stdlib cimport free, malloc

# Smaller arrays are numpy's business; more than the limit is not kept.
cdef enum:
    ALIGNMENT = 64
    SMALLEST = 65536
cdef size_t LIMIT = 256 << 20

_pool = {}                  # bytes -> list of addresses; only touched with the GIL held
cdef size_t _kept = 0


cdef class Block:
    """Memory on loan from the pool."""

    cdef void *address
    cdef size_t size

    def __cinit__(self, size_t size):
        global _kept
        addresses = _pool.get(size)
        self.size = size
        if addresses:
            self.address = <void *> <uintptr_t> addresses.pop()
            _kept -= size
        else:
            self.address = malloc(size + ALIGNMENT)
        if self.address == NULL:
            raise MemoryError(f"no memory for an array of {size} bytes")

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        cdef uintptr_t start = <uintptr_t> self.address
        start += ALIGNMENT - start % ALIGNMENT
        PyBuffer_FillInfo(buffer, self, <void *> start, <Py_ssize_t> self.size, False, flags)

    def __dealloc__(self):
        global _kept
        if self.address == NULL:
            return
        if _pool is None or _kept + self.size > LIMIT:
            free(self.address)
        else:
            _pool.setdefault(self.size, []).append(<uintptr_t> self.address)
            _kept += self.size


def empty(shape):
    """Uninitialised C-ordered float64 array of the given shape."""
    size = 8 * int(prod(shape))
    if size < SMALLEST:
        return np.empty(shape)
    return np.frombuffer(Block(size), dtype=np.float64).reshape(shape)


def kept_bytes():
    """Bytes that wait in the pool."""
    return _kept
