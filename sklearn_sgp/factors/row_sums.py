"""Sums over independent rows, and their reverse mode.

Two forms of the same numbers: *whitened* multiplies each block by inv(L) first; *direct* does so
once, at the end, on the sums (docs/theory.md, eqs. 4, 11 and 16), which is cheaper by two m x m by
m x n products but loses digits when K(Z, Z) is badly conditioned.
"""

from dataclasses import dataclass

import numpy as np

from .._core import _linalg as la
from .._core._memory import empty
from .passes import each_made


@dataclass
class RowSums:
    """Weighted sums over rows; a is K(Z, x), or inv(L) K(Z, x) in the whitened form.

    gram = sum w a a^T (m, m); cross = sum w a y^T (m, t); targets = sum w y^2 (t,);
    diagonal = sum w k(x, x); weight = sum w.
    """

    gram: np.ndarray
    cross: np.ndarray
    targets: np.ndarray | float = 0.0
    diagonal: float = 0.0
    weight: float = 0.0

    def __iadd__(self, other):
        la.axpy(1.0, other.gram, self.gram)
        self.cross += other.cross
        self.targets = self.targets + other.targets
        self.diagonal += other.diagonal
        self.weight += other.weight
        return self


@dataclass(frozen=True)
class RowSumsCotangent:
    """Cotangents of those `RowSums` that depend on the kernel.

    gram (m, m) symmetric, cross (m, t), diagonal a number.
    """

    gram: np.ndarray
    cross: np.ndarray
    diagonal: float


def weighted_kernel_block(kernel, Z, L_inv, rows):
    """Block and targets of some rows, both times the roots of their weights.

    Returns
    -------
    A : ndarray of shape (m, n)
        K(Z, X), or inv(L) K(Z, X) if ``L_inv`` is given.
    y : ndarray of shape (n, t)
    root : ndarray of shape (n,) or None
    """
    A, y, root = kernel.block(Z, rows.X), rows.targets, rows.root_weight
    if L_inv is not None:
        la.trmm(L_inv, A)
    if root is not None:
        A *= root
        y = y * root[:, None]
    return A, np.ascontiguousarray(y), root


def row_sums(kernel, Z, L_inv, pieces):
    """Sums over all rows.

    Parameters
    ----------
    kernel : BoundKernel
    Z : ndarray of shape (m, d)
    L_inv : ndarray of shape (m, m) or None
        Inverse of the Cholesky factor of K(Z, Z) for the whitened form, None for the direct one.
    pieces : passes.Pieces

    Returns
    -------
    sums : RowSums
    """
    total, *parts = pieces.map(_sum_group, kernel, Z, L_inv)
    for part in parts:
        total += part
    la.mirror(total.gram)
    return total


def _sum_group(group, kept, kernel, Z, L_inv):
    m, t = len(Z), group[0].y.shape[1]
    total = RowSums(empty((m, m)), np.zeros((m, t)))
    total.gram.fill(0.0)
    blocks = each_made(group, kept, lambda piece: weighted_kernel_block(kernel, Z, L_inv, piece))
    for piece, (A, y, _) in blocks:
        diagonal = kernel.diag(piece.X)
        la.syrk(A, total.gram, 1.0, 1.0)
        la.gemm(A, y, total.cross, False, False, 1.0, 1.0)
        total.targets = total.targets + (y * y).sum(axis=0)
        total.diagonal += float(
            diagonal.sum() if piece.weight is None else np.dot(piece.weight, diagonal)
        )
        total.weight += piece.total_weight
    return total


def row_sums_gradient(kernel, Z, L_inv, pieces, cotangent, *, with_inputs=True):
    """Gradient of <cotangent, sums> in the kernel's log parameters and in Z, at fixed L.

    Parameters are those of `row_sums`, whose blocks the pieces may have kept, and the cotangents of
    its result.

    Returns
    -------
    grad_theta : ndarray of shape (n_theta,)
    grad_Z : ndarray of shape (m, d), or 0.0 where not asked for
    """
    gram, cross = 2.0 * cotangent.gram, np.array(cotangent.cross, order="C")
    if L_inv is not None:
        # inv(L)^T once on the m x m factor, not on every block
        la.trmm(L_inv, gram, True)
        la.trmm(L_inv, cross, True)
    parts = pieces.map(
        _gradient_group, kernel, Z, L_inv, gram, cross, cotangent.diagonal, with_inputs
    )
    grad_theta, grad_Z = zip(*parts, strict=True)
    return sum(grad_theta), sum(grad_Z)


def _gradient_group(group, kept, kernel, Z, L_inv, gram, cross, diagonal, with_inputs):
    grad_theta, grad_Z = 0.0, 0.0
    blocks = each_made(group, kept, lambda piece: weighted_kernel_block(kernel, Z, L_inv, piece))
    for piece, (A, y, root) in blocks:
        G = empty(A.shape)  # cotangent of K(Z, X)
        la.gemm(gram, A, G)
        la.gemm(cross, y, G, False, True, 1.0, 1.0)
        if root is not None:
            G *= root
        weight, _ = piece.weights
        theta_part, Z_part = kernel.block_vjp(Z, piece.X, G, with_inputs)
        grad_theta = grad_theta + theta_part
        grad_theta = grad_theta + kernel.diag_vjp(piece.X, diagonal * weight)
        if Z_part is not None:
            grad_Z = grad_Z + Z_part
    return grad_theta, grad_Z
