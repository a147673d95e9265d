"""Block factors of rows: sums over the data and their reverse mode.

Everything that is of the size of the data happens in the two passes of this file, chunk by chunk
and group by group: `accumulate` forms the sums that every objective needs, `pull_back` carries
cotangents of those sums to the kernel. Two forms of the same numbers: *whitened* multiplies each
block by inv(L) first; *direct* does so once, at the end, on the sums (docs/theory.md, eqs. 4, 11
and 16), which is cheaper by two m x m by m x n products but loses digits when K(Z, Z) is badly
conditioned.
"""

from dataclasses import dataclass

import numpy as np

from .._core import _linalg as la
from .._core._memory import empty
from .._parallel import group_bounds, map_groups, shares_memory

CHUNK = 1024
# Largest size of the blocks that a first pass may keep for the second.
_STORE_BYTES = 256 << 20


@dataclass
class Sums:
    """Weighted sums over rows; a is K(Z, x), or inv(L) K(Z, x) in the whitened form.

    gram = sum w a a^T (m, m); cross = sum w a y^T (m, t); targets = sum w |y|^2;
    diagonal = sum w k(x, x); weight = sum w.
    """

    gram: np.ndarray
    cross: np.ndarray
    targets: float = 0.0
    diagonal: float = 0.0
    weight: float = 0.0

    def __iadd__(self, other):
        la.axpy(1.0, other.gram, self.gram)
        self.cross += other.cross
        self.targets += other.targets
        self.diagonal += other.diagonal
        self.weight += other.weight
        return self

    def scaled(self, factor):
        """The same sums with all weights multiplied by ``factor``."""
        return Sums(
            self.gram * factor,
            self.cross * factor,
            self.targets * factor,
            self.diagonal * factor,
            self.weight * factor,
        )


def weighted_block(kernel, Z, L_inv, rows):
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


def _accumulate_group(kernel, Z, L_inv, rows, chunk, blocks):
    m, t = len(Z), rows.y.shape[1]
    total = Sums(empty((m, m)), np.zeros((m, t)))
    total.gram.fill(0.0)
    for piece in rows.chunks(chunk):
        block = weighted_block(kernel, Z, L_inv, piece)
        if blocks is not None:
            blocks.append(block)
        A, y, _ = block
        diagonal = kernel.diag(piece.X)
        la.syrk(A, total.gram, 1.0, 1.0)
        la.gemm(A, y, total.cross, False, False, 1.0, 1.0)
        total.targets += float(np.vdot(y, y))
        total.diagonal += float(
            diagonal.sum() if piece.weight is None else np.dot(piece.weight, diagonal)
        )
        total.weight += piece.total_weight
    return total


def block_store(m, rows, chunk=CHUNK):
    """A list for each group in which a pass may leave its blocks to the next, or None.

    None where they would be large, or workers are other processes.
    """
    return empty_stores(len(group_bounds(len(rows), chunk)), m * len(rows))


def empty_stores(n_groups, size):
    """As many lists, or None where ``size`` numbers are too many or cannot be left to a next map."""
    if 8 * size > _STORE_BYTES or not shares_memory():
        return None
    return [[] for _ in range(n_groups)]


def each_store(store, groups):
    """The list of each group, or None for each."""
    return store or [None] * len(groups)


def accumulate(kernel, Z, L_inv, rows, *, n_jobs=None, chunk=CHUNK, store=None):
    """Sums over all rows.

    Parameters
    ----------
    kernel : BoundKernel
    Z : ndarray of shape (m, d)
    L_inv : ndarray of shape (m, m) or None
        Inverse of the Cholesky factor of K(Z, Z) for the whitened form, None for the direct one.
    rows : Rows
    n_jobs : int or None
    chunk : int
        Rows in one block.
    store : list or None
        From `block_store`; is filled.

    Returns
    -------
    sums : Sums
    """
    groups = [rows.select(slice(*bounds)) for bounds in group_bounds(len(rows), chunk)]
    stores = each_store(store, groups)
    parts = map_groups(
        _accumulate_group,
        [
            (kernel, Z, L_inv, group, chunk, blocks)
            for group, blocks in zip(groups, stores, strict=True)
        ],
        n_jobs,
    )
    total = parts[0]
    for part in parts[1:]:
        total += part
    la.mirror(total.gram)
    return total


@dataclass(frozen=True)
class SumsCotangent:
    """Cotangents of `Sums` that depend on the kernel.

    gram (m, m) symmetric, cross (m, t), diagonal a number.
    """

    gram: np.ndarray
    cross: np.ndarray
    diagonal: float


def _pull_back_group(kernel, Z, L_inv, rows, blocks, gram, cross, diagonal, with_inputs, chunk):
    grad_theta, grad_Z = 0.0, 0.0
    for i, piece in enumerate(rows.chunks(chunk)):
        A, y, root = blocks[i] if blocks else weighted_block(kernel, Z, L_inv, piece)
        G = empty(A.shape)
        la.gemm(gram, A, G)
        la.gemm(cross, y, G, False, True, 1.0, 1.0)
        if root is not None:
            G *= root
        weight = np.ones(len(piece)) if piece.weight is None else piece.weight
        theta_part, Z_part = kernel.block_vjp(Z, piece.X, G, with_inputs)
        grad_theta = grad_theta + theta_part
        grad_theta = grad_theta + kernel.diag_vjp(piece.X, diagonal * weight)
        if Z_part is not None:
            grad_Z = grad_Z + Z_part
    return grad_theta, grad_Z


def pull_back(
    kernel,
    Z,
    L_inv,
    rows,
    cotangent,
    *,
    with_inputs=True,
    n_jobs=None,
    chunk=CHUNK,
    store=None,
):
    """Gradient of <cotangent, sums> in the kernel's log parameters and in Z, at fixed L.

    Parameters are those of `accumulate`, which may have filled the ``store``, and the cotangents of
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
    shared = (gram, cross, cotangent.diagonal, with_inputs, chunk)
    groups = [rows.select(slice(*bounds)) for bounds in group_bounds(len(rows), chunk)]
    stores = each_store(store, groups)
    parts = map_groups(
        _pull_back_group,
        [
            (kernel, Z, L_inv, group, blocks, *shared)
            for group, blocks in zip(groups, stores, strict=True)
        ],
        n_jobs,
    )
    grad_theta, grad_Z = zip(*parts, strict=True)
    return sum(grad_theta), sum(grad_Z)
