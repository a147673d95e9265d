"""Cholesky factors with errors that name cause and cure, and control over BLAS threads."""

from contextlib import nullcontext
from functools import lru_cache

import numpy as np
from scipy.linalg.lapack import dpstrf
from threadpoolctl import ThreadpoolController

from ._core import _linalg as la
from ._core._memory import empty

# OpenBLAS factorises smaller matrices faster on one thread than on two (500: 1.4 against 2.1 ms).
_SINGLE_THREAD_POTRF = 700


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """A matrix that must be positive definite is not, in floating point."""


@lru_cache(maxsize=1)
def _controller():
    # scanning the loaded libraries costs 0.6 ms, entering a kept controller's limit 11 us
    return ThreadpoolController()


def blas_thread_count():
    """Threads that BLAS would use now."""
    counts = [lib.num_threads for lib in _controller().lib_controllers if lib.user_api == "blas"]
    return max(counts, default=1)


def blas_threads(limit):
    """Context in which BLAS uses at most ``limit`` threads; None leaves it alone."""
    if limit is None:
        return nullcontext()
    return _controller().limit(limits=limit, user_api="blas")


def copy_of(A):
    """C-ordered float64 copy."""
    copy = empty(A.shape)
    copy[...] = A
    return copy


def cholesky(A):
    """Lower Cholesky factor of a symmetric matrix of shape (m, m), a new array.

    Raises
    ------
    NotPositiveDefiniteError
        If a pivot is not positive, or the matrix is not finite.
    """
    L = copy_of(A)
    with blas_threads(1 if len(L) < _SINGLE_THREAD_POTRF else None):
        info = la.potrf(L)
    if info or not np.isfinite(np.diagonal(L)).all():
        raise NotPositiveDefiniteError(f"potrf stopped at pivot {info} of {len(L)}")
    return L


def pivoted_cholesky(A):
    """L and order with A[order][:, order] = L L^T, for a positive semidefinite A.

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
    """Inverse of a lower triangular matrix, a new array."""
    inverse = copy_of(L)
    la.trtri(inverse)
    return inverse


def inverse_from_cholesky(L):
    """inv(L L^T), exactly symmetric, a new array."""
    inverse = copy_of(L)
    la.potri(inverse)
    la.mirror(inverse)
    return inverse


def product(A, B, *, trans_a=False, trans_b=False):
    """op(A) @ op(B), a new array, by the same BLAS as everything else."""
    rows = A.shape[1] if trans_a else A.shape[0]
    out = empty((rows, B.shape[0] if trans_b else B.shape[1]))
    la.gemm(A, B, out, trans_a, trans_b)
    return out


def sandwich(L, A, *, trans=False):
    """L A L^T, or L^T A L, for lower triangular L; a new array."""
    out = copy_of(A)
    la.trmm(L, out, trans)
    la.trmm_right(out, L, not trans)
    return out
