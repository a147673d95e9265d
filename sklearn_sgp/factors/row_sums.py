"""Sums over independent rows, and their reverse mode.

Two forms of the same numbers: *whitened* multiplies each block by inv(L) first; *direct* does so
once, at the end, on the sums (docs/theory.md, eqs. 4, 11 and 16), which is cheaper by two m x m by
m x n products but loses digits when K(Z, Z) is badly conditioned.
"""

from dataclasses import dataclass

import numpy as np

from .._core import _linalg as la
from .._core._memory import empty
from .._linalg import product
from .passes import Additive, computed


@dataclass
class RowSums(Additive):
    """Weighted sums over rows; a is K(Z, x), or inv(L) K(Z, x) in the whitened form.

    gram = sum w a a^T (m, m); cross = sum w a y^T (m, t); targets = sum w y^2 (t,);
    diagonal = sum w k(x, x); weight = sum w, that of observations. Where each output has weights of
    its own gram has the shape (t, m, m) and diagonal (t,).
    """

    gram: np.ndarray
    cross: np.ndarray
    targets: np.ndarray | float = 0.0
    diagonal: np.ndarray | float = 0.0
    weight: float = 0.0

    def __iadd__(self, other):
        for gram, more in zip(each_gram(self.gram), each_gram(other.gram), strict=True):
            la.axpy(1.0, more, gram)
        self.cross += other.cross
        self.targets = self.targets + other.targets
        self.diagonal = self.diagonal + other.diagonal
        self.weight += other.weight
        return self


@dataclass(frozen=True)
class RowSumsCotangent:
    """Cotangents of those `RowSums` that depend on the kernel.

    gram (m, m) symmetric, cross (m, t), diagonal a number; with weights of each output gram
    (t, m, m) and diagonal (t,).
    """

    gram: np.ndarray
    cross: np.ndarray
    diagonal: np.ndarray | float


def each_gram(gram):
    """Return the matrices (m, m) of sums: one of all outputs, or one of each."""
    return (gram,) if gram.ndim == 2 else tuple(gram)


def weighted_kernel_block(kernel, Z, L_inv, rows):
    """Compute block and targets of some rows, both times the roots of their weights.

    A block that outputs with weights of their own share is as it is.

    Returns
    -------
    A : ndarray of shape (m, n)
        K(Z, X), or inv(L) K(Z, X) if ``L_inv`` is given.
    y : ndarray of shape (n, t)
    root : ndarray of shape (n,) or (n, t), or None
    """
    A, y, root = kernel.block(Z, rows.X), rows.targets, rows.root_weight
    if L_inv is not None:
        la.trmm(L_inv, A)
    if root is not None:
        if not rows.outputs_differ:
            A *= root
        y = (y.T * root.T).T
    return A, np.ascontiguousarray(y), root


def _of_each(A, y, root):
    """Yield block and targets of each output with weights of its own."""
    out = empty(A.shape)
    for c in range(y.shape[1]):
        yield np.multiply(A, root[:, c], out=out), np.ascontiguousarray(y[:, c : c + 1])


def row_sums(kernel, Z, L_inv, pieces):
    """Sum over all rows: `RowSums`.

    ``L_inv`` is the inverse of the Cholesky factor of K(Z, Z) for the whitened form, None for the
    direct one.
    """
    total, *parts = pieces.map(_sum_group, kernel, Z, L_inv)
    for part in parts:
        total += part
    for gram in each_gram(total.gram):
        la.mirror(gram)
    return total


def _sum_group(group, kept, kernel, Z, L_inv):
    m, t, differ = len(Z), group[0].y.shape[1], group[0].outputs_differ
    total = RowSums(empty((t, m, m) if differ else (m, m)), np.zeros((m, t)))
    total.gram.fill(0.0)
    blocks = computed(group, kept, lambda piece: weighted_kernel_block(kernel, Z, L_inv, piece))
    for piece, (A, y, root) in blocks:
        diagonal = kernel.diag(piece.X)
        if differ:
            for c, (A_c, y_c) in enumerate(_of_each(A, y, root)):
                la.syrk(A_c, total.gram[c], 1.0, 1.0)
                total.cross[:, c] += product(A_c, y_c)[:, 0]
        else:
            la.syrk(A, total.gram, 1.0, 1.0)
            la.gemm(A, y, total.cross, False, False, 1.0, 1.0)
        total.targets = total.targets + (y * y).sum(axis=0)
        weighted = diagonal.sum() if piece.weight is None else diagonal @ piece.weight
        total.diagonal = total.diagonal + weighted
        total.weight += piece.total_weight
    return total


def row_sums_gradient(kernel, Z, L_inv, pieces, cotangent, *, with_inputs=True):
    """Return the gradient of <cotangent, sums> in log parameters and in Z, at fixed L.

    Parameters are those of `row_sums`, whose blocks the pieces may have kept, and the cotangents of
    its result. That in Z is 0.0 where it is not asked for.
    """
    gram, cross = 2.0 * cotangent.gram, np.array(cotangent.cross, order="C")
    if L_inv is not None:
        # inv(L)^T once on the m x m factor, not on every block
        for one in each_gram(gram):
            la.trmm(L_inv, one, True)
        la.trmm(L_inv, cross, True)
    parts = pieces.map(
        _gradient_group, kernel, Z, L_inv, gram, cross, cotangent.diagonal, with_inputs
    )
    grad_theta, grad_Z = zip(*parts, strict=True)
    return sum(grad_theta), sum(grad_Z)


def _gradient_group(group, kept, kernel, Z, L_inv, gram, cross, diagonal, with_inputs):
    grad_theta, grad_Z = 0.0, 0.0
    blocks = computed(group, kept, lambda piece: weighted_kernel_block(kernel, Z, L_inv, piece))
    for piece, (A, y, root) in blocks:
        weight, _ = piece.weights
        if piece.outputs_differ:
            G, of_diagonal = _cotangent_of_outputs(gram, cross, A, y, root), weight @ diagonal
        else:
            G, of_diagonal = _cotangent(gram, cross, A, y), diagonal * weight
            if root is not None:
                G *= root
        theta_part, Z_part = kernel.block_vjp(Z, piece.X, G, with_inputs)
        grad_theta = grad_theta + theta_part
        grad_theta = grad_theta + kernel.diag_vjp(piece.X, of_diagonal)
        if Z_part is not None:
            grad_Z = grad_Z + Z_part
    return grad_theta, grad_Z


def _cotangent(gram, cross, A, y):
    """Return the cotangent of a weighted block, shape (m, n)."""
    G = empty(A.shape)
    la.gemm(gram, A, G)
    la.gemm(cross, y, G, False, True, 1.0, 1.0)
    return G


def _cotangent_of_outputs(gram, cross, A, y, root):
    """Return the cotangent of the plain block, where each output has weights of its own."""
    total = np.zeros(A.shape)
    for c, (A_c, y_c) in enumerate(_of_each(A, y, root)):
        cross_c = np.ascontiguousarray(cross[:, c : c + 1])
        G = _cotangent(gram[c], cross_c, A_c, y_c)
        G *= root[:, c]
        total += G
    return total
