"""Symmetric matrices as the numbers of their lower triangles, row by row."""

import numpy as np

from .._core import _linalg as la


def packed_size(m):
    """Return the number of entries of a lower triangle."""
    return m * (m + 1) // 2


def pack(A):
    """Copy lower triangles of symmetric matrices (..., m, m), shape (..., m (m + 1) / 2)."""
    return np.ascontiguousarray(A[(..., *np.tril_indices(A.shape[-1]))])


def unpack(packed, m):
    """Make one symmetric matrix (m, m) from its lower triangle."""
    A = np.zeros((m, m))
    A[np.tril_indices(m)] = packed
    la.mirror(A)
    return A


def for_inner_products(packed, m):
    """Double what is off the diagonal: products with a packed matrix then sum to <A, B>."""
    doubled = 2.0 * packed
    doubled[..., _diagonal(m)] *= 0.5
    return doubled


def _diagonal(m):
    """Return the places of the diagonal."""
    return np.arange(m) * (np.arange(m) + 3) // 2
