"""Symmetric matrices as the numbers of their lower triangles, row by row."""

import numpy as np

from .._core import _linalg as la


def packed_size(m):
    return m * (m + 1) // 2


def pack(A):
    """Pack lower triangles of symmetric (..., m, m): a copy of shape (..., m (m + 1) / 2)."""
    return np.ascontiguousarray(A[(..., *np.tril_indices(A.shape[-1]))])


def unpack(packed, m):
    """Unpack one symmetric matrix of shape (m, m) from its lower triangle."""
    A = np.zeros((m, m))
    A[np.tril_indices(m)] = packed
    la.mirror(A)
    return A


def for_inner_products(packed, m):
    """Return numbers whose products with a packed matrix sum to <A, B> over both triangles."""
    doubled = 2.0 * packed
    doubled[..., _diagonal(m)] *= 0.5
    return doubled


def _diagonal(m):
    """Return the places of the diagonal."""
    return np.arange(m) * (np.arange(m) + 3) // 2
