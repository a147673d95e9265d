"""Cholesky factors with errors that name cause and cure, and control over BLAS threads."""

import os
from contextlib import nullcontext
from threading import Lock, local

import numpy as np
from scipy.linalg.lapack import dpstrf
from threadpoolctl import ThreadpoolController

from ._core import _linalg as la
from ._core._memory import empty

# BLAS has its own threads for factorisations of so many rows, and one for all else, whatever else
# the machine does. Its threads wait for each other by spinning: with other processes on both of two
# cores, factor and inverse of 1,000 rows took 29 ms of processor time on one thread and 329 ms on
# two, of 1,500 75 and 1,130, of 2,000 167 and 1,213, of 4,000 1,157 and 4,118. On idle cores two
# threads can at best halve the time, and up to 700 rows they lengthen it (500: 1.4 and 2.1 ms).
LEAST_THREADED = 4096


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """A matrix that must be positive definite is not, in floating point."""


class _Limit:
    """One thread for some BLAS libraries, from the first who enters to the last who leaves."""

    def __init__(self, libraries):
        self.libraries, self.holders, self.before = libraries, 0, []

    def enter(self):
        if self.holders == 0:
            self.before = [library.num_threads for library in self.libraries]
            self._set([1] * len(self.libraries))
        self.holders += 1

    def leave(self):
        self.holders -= 1
        if self.holders == 0:
            self._set(self.before)

    def _set(self, counts):
        for library, count in zip(self.libraries, counts, strict=True):
            # since threadpoolctl 3.7 the public method does nothing in all threads but one, and the
            # last to leave may be any
            getattr(library, "_real_set_num_threads", library.set_num_threads)(count)

    def outside(self):
        """Return the thread counts while nobody is inside."""
        return self.before if self.holders else [library.num_threads for library in self.libraries]


class _LimitOfEachThread(local, _Limit):
    """The same where each thread that calls BLAS has a count of its own."""


class SingleBlasThread:
    """Context in which BLAS keeps to one thread, for any number of threads at once.

    The count belongs to the whole process: were each to save it and put it back, two that overlap
    would leave it at one. So the first to enter lowers it, and the last to leave restores it.

    Parameters
    ----------
    libraries : list of threadpoolctl.LibController
    """

    def __init__(self, libraries):
        by_thread = [library for library in libraries if _has_a_count_for_each_thread(library)]
        self._shared = _Limit([library for library in libraries if library not in by_thread])
        self._of_threads = _LimitOfEachThread(by_thread)
        self._lock = Lock()
        if hasattr(os, "register_at_fork"):  # a fork must not copy a lock that is taken
            free = self._lock.release
            os.register_at_fork(
                before=self._lock.acquire, after_in_parent=free, after_in_child=free
            )

    def __enter__(self):
        with self._lock:
            self._shared.enter()
        self._of_threads.enter()

    def __exit__(self, *_):
        self._of_threads.leave()
        with self._lock:
            self._shared.leave()

    def count_outside(self):
        """Return the most threads of a library while nobody is inside."""
        with self._lock:
            return max([*self._shared.outside(), *self._of_threads.outside()], default=1)


def _has_a_count_for_each_thread(library):
    """Return True if threadpoolctl sets OpenMP's count, as since 3.7 for such an OpenBLAS."""
    is_openmp = getattr(library, "threading_layer", None) == "openmp"
    return is_openmp and hasattr(library, "_real_set_num_threads")


class SingleOpenMPThread:
    """Context in which loops by OpenMP keep to the thread that calls; counts belong to threads.

    Parameters
    ----------
    libraries : list of threadpoolctl.LibController
    """

    def __init__(self, libraries):
        self._of_threads = _LimitOfEachThread(libraries)

    def __enter__(self):
        self._of_threads.enter()

    def __exit__(self, *_):
        self._of_threads.leave()


_LIBRARIES = ThreadpoolController().lib_controllers
_SINGLE = SingleBlasThread([library for library in _LIBRARIES if library.user_api == "blas"])
_SINGLE_OPENMP = SingleOpenMPThread([one for one in _LIBRARIES if one.user_api == "openmp"])


def blas_thread_count():
    """Return the threads that BLAS may use, whoever keeps it to one thread at the moment."""
    return _SINGLE.count_outside()


def single_blas_thread():
    """Keep BLAS to one thread in a context."""
    return _SINGLE


def blas_threads_for(n_rows):
    """Return a context for factorisations of so many rows: BLAS's own threads if many, else one."""
    return _SINGLE if n_rows < LEAST_THREADED else nullcontext()


def single_openmp_thread(when=True):
    """Keep OpenMP to one thread in a context; it does nothing where ``when`` is False."""
    return _SINGLE_OPENMP if when else nullcontext()


def copy_of(A):
    """Copy as float64 in C order."""
    copy = empty(A.shape)
    copy[...] = A
    return copy


def transposed(A):
    """Copy the transpose of a C-ordered float64 matrix, in C order."""
    out = empty((A.shape[1], A.shape[0]))
    la.transpose(A, out)
    return out


def cholesky(A, *, overwrite=False):
    """Factorise a symmetric matrix (m, m): its lower Cholesky factor, a new array or A itself.

    Raises
    ------
    NotPositiveDefiniteError
        If a pivot is not positive, or the matrix is not finite.
    """
    L = A if overwrite else copy_of(A)
    with blas_threads_for(len(L)):
        info = la.potrf(L)
    if info or not np.isfinite(np.diagonal(L)).all():
        raise NotPositiveDefiniteError(f"potrf stopped at pivot {info} of {len(L)}")
    return L


def pivoted_cholesky(A):
    """Return L and order with A[order][:, order] = L L^T, for a positive semidefinite A.

    Returns
    -------
    L : ndarray of shape (m, rank)
        Lower triangular; of rank 0 where nothing of A is above rounding.
    order : ndarray of int, shape (m,)
    """
    L, pivot, rank, _ = dpstrf(A, lower=1)
    rank = rank if L[0, 0] > 0.0 else 0
    return np.tril(L)[:, :rank], pivot - 1


def triangular_inverse(L):
    """Invert a lower triangular matrix, a new array."""
    inverse = copy_of(L)
    la.trtri(inverse)
    return inverse


def inverse_from_cholesky(L):
    """Compute inv(L L^T), exactly symmetric, a new array."""
    inverse = copy_of(L)
    with blas_threads_for(len(L)):
        la.potri(inverse)
    la.mirror(inverse)
    return inverse


def product(A, B, *, trans_a=False, trans_b=False):
    """Compute op(A) @ op(B), a new array, by the same BLAS as everything else."""
    rows = A.shape[1] if trans_a else A.shape[0]
    out = empty((rows, B.shape[0] if trans_b else B.shape[1]))
    la.gemm(A, B, out, trans_a, trans_b)
    return out


def sandwich(L, A, *, trans=False):
    """Compute L A L^T, or L^T A L, for lower triangular L; a new array."""
    out = copy_of(A)
    la.trmm(L, out, trans)
    la.trmm_right(out, L, not trans)
    return out
