"""Large temporary arrays whose memory is kept for the next one.

A fresh array of some megabytes comes from the system page by page, and goes back when it is freed;
in a loop over blocks those page faults cost more than a third of the time (a stochastic step with
500 inducing inputs and 1,000 rows: 52 ms, with memory reused 34 ms). Arrays made here are ordinary
numpy arrays; their memory returns to a pool when the last reference goes. It returns to the system
when it has waited there for some seconds in which the pool was used, or when the pool is full and
nothing that waits there has waited longer.
"""
from math import prod

cimport cython
import numpy as np
from cpython.buffer cimport PyBuffer_FillInfo
from libc.stddef cimport ptrdiff_t, size_t
from libc.stdint cimport uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memmove
from libc.time cimport time, time_t

# Smaller arrays are numpy's business; more than the limit is not kept. An array may get an eighth
# more than it needs.
cdef enum:
    ALIGNMENT = 64
    SMALLEST = 65536
    LIMIT = 256 << 20
    PLACES = LIMIT // SMALLEST
    SPARE = 8
    LONGEST_WAIT = 2  # seconds; a loop over blocks asks again in thousandths of one

cdef struct Piece:
    void *address
    size_t size
    time_t since

# What waits, longest first. Only touched with the lock held, which is for interpreters without a
# GIL; plain C, as Python objects could start a garbage collection, and so another return, in the
# middle of a change.
cdef cython.pymutex _lock
cdef Piece[PLACES] _pool
cdef ptrdiff_t _n_pieces = 0
cdef size_t _kept = 0


cdef Piece _taken(size_t size) noexcept:
    """Memory of this size or little more out of the pool, what came last first; else NULL.

    Groups of rows are of many sizes: half of what tasks of a prediction took was new each time.
    """
    cdef ptrdiff_t i
    cdef Piece piece
    piece.address, piece.size, piece.since = NULL, size, 0
    with _lock:
        i = _n_pieces - 1
        while i >= 0 and not size <= _pool[i].size <= size + size // SPARE:
            i -= 1
        if i >= 0:
            piece = _removed(i)
    return piece


cdef Piece _removed(ptrdiff_t i) noexcept:
    global _n_pieces, _kept
    cdef Piece piece = _pool[i]
    _n_pieces -= 1
    _kept -= piece.size
    memmove(&_pool[i], &_pool[i + 1], (_n_pieces - i) * sizeof(Piece))
    return piece


cdef void _put_back(void *address, size_t size) noexcept:
    global _n_pieces, _kept
    cdef time_t now = time(NULL)
    _release(now - LONGEST_WAIT)
    if size > LIMIT:
        free(address)
        return
    with _lock:
        while _kept + size > LIMIT:
            free(_removed(0).address)
        _pool[_n_pieces].address, _pool[_n_pieces].size, _pool[_n_pieces].since = address, size, now
        _n_pieces += 1
        _kept += size


cdef void _release(time_t before) noexcept:
    """Give back what has waited since then or longer."""
    with _lock:
        while _n_pieces and _pool[0].since <= before:
            free(_removed(0).address)


cdef class Block:
    """Memory on loan from the pool."""

    cdef Piece piece
    cdef size_t size

    def __cinit__(self, size_t size):
        self.size = size
        self.piece = _taken(size)
        if self.piece.address == NULL:
            self.piece.address = malloc(size + ALIGNMENT)
        if self.piece.address == NULL:
            raise MemoryError(f"no memory for an array of {size} bytes")

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        cdef uintptr_t start = <uintptr_t> self.piece.address
        start += ALIGNMENT - start % ALIGNMENT
        PyBuffer_FillInfo(buffer, self, <void *> start, <Py_ssize_t> self.size, False, flags)

    def __dealloc__(self):
        if self.piece.address != NULL:
            _put_back(self.piece.address, self.piece.size)


def empty(shape):
    """Uninitialised C-ordered float64 array of the given shape."""
    size = 8 * int(prod(shape))
    if size < SMALLEST:
        return np.empty(shape)
    return np.frombuffer(Block(size), dtype=np.float64).reshape(shape)


def kept_bytes():
    """Bytes that wait in the pool."""
    cdef size_t kept
    with _lock:
        kept = _kept
    return kept


def release(seconds):
    """Give back what has waited for so many seconds, which are counted in whole ones."""
    _release(time(NULL) - <time_t> seconds)
