"""Cholesky factors with errors that name cause and cure, and products, by the BLAS of the core."""

import numpy as np
from scipy.linalg.lapack import dpstrf

from ._core import _linalg as la
from ._core._memory import empty
from ._parallel import blas_threads_for


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """A matrix that must be positive definite is not, in floating point."""


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
