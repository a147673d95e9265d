"""Sums over rows of which each has some of the outputs, and their reverse mode.

What mixing and noise do to the information about the inducing values is the same for all rows of
one output. So one matrix for each output is all that a pass has to make, and outputs that are
observed in the same rows share it: complete targets cost what one output costs.
"""

from dataclasses import dataclass

import numpy as np

from .._core import _linalg as la
from .._core._memory import empty
from .._linalg import product
from .passes import computed


def outputs_by_rows(y):
    """Group outputs that are observed in the same rows.

    Targets, (n, t), are NaN where an output was not observed.

    Returns
    -------
    patterns : list of ndarray of int
        Each output is in one of them.
    """
    patterns = {}
    for p in range(y.shape[1]):
        patterns.setdefault(np.packbits(np.isnan(y[:, p])).tobytes(), []).append(p)
    return [np.array(outputs) for outputs in patterns.values()]


@dataclass
class OutputSums:
    """Weighted sums over the rows of each output; a is inv(L) K(Z, x), shape (m,).

    gram (g, m, m), for each pattern sum w a a^T; cross = sum w a y^T (m, t), and level = sum w a
    there, too; targets = sum w y^2, first = sum w y, diagonal = sum w k(x, x) and count = sum w,
    all (t,).
    """

    gram: np.ndarray
    cross: np.ndarray
    level: np.ndarray
    targets: np.ndarray
    first: np.ndarray
    diagonal: np.ndarray
    count: np.ndarray

    def __iadd__(self, other):
        for name in ("gram", "cross", "level", "targets", "first", "diagonal", "count"):
            getattr(self, name)[...] += getattr(other, name)
        return self


@dataclass(frozen=True)
class OutputScalars:
    """Sums over rows that a bound has besides (H, h): their weight, and sums for each output.

    Of shape (t,): targets = sum w y^2, count = sum w, unexplained = sum w (k(x, x) - |a|^2), and
    shares, or 1: what each target counts (docs/theory.md, section 16).
    """

    weight: float
    targets: np.ndarray
    count: np.ndarray
    unexplained: np.ndarray
    shares: np.ndarray | float = 1.0

    @classmethod
    def of(cls, rows, sums, patterns, shares=1.0):
        traces = np.empty_like(sums.diagonal)
        for outputs, gram in zip(patterns, sums.gram, strict=True):
            traces[outputs] = np.trace(gram)
        unexplained = np.maximum(sums.diagonal - traces, 0.0)
        return cls(rows.total_weight, sums.targets, sums.count, unexplained, shares)

    def plus(self, other):
        return OutputScalars(
            self.weight + other.weight,
            self.targets + other.targets,
            self.count + other.count,
            self.unexplained + other.unexplained,
            self.shares,
        )


@dataclass(frozen=True)
class OutputSumsCotangent:
    """Cotangents of those `OutputSums` that depend on the kernel, of the same shapes."""

    gram: np.ndarray
    cross: np.ndarray
    diagonal: np.ndarray


def _weighted_blocks(kernel, Z, L_inv, piece):
    """Return blocks and targets times roots of weights, and which targets are observed."""
    y, root, A = piece.targets, piece.root_weight, kernel.block(Z, piece.X)
    la.trmm(L_inv, A)
    observed = ~np.isnan(y)
    y = np.where(observed, y, 0.0)
    if root is not None:
        A *= root
        y *= root[:, None]
    return A, np.ascontiguousarray(y), observed


def _of_rows(A, seen):
    return A if seen.all() else A.take(np.flatnonzero(seen), axis=1)


def output_sums(prior, pieces, patterns):
    """Sum over all rows: `OutputSums`.

    For ``patterns`` see `outputs_by_rows`.
    """
    total, *parts = pieces.map(_sum_group, prior.kernel, prior.Z, prior.L_inv, patterns)
    for part in parts:
        total += part
    for gram in total.gram:
        la.mirror(gram)
    return total


def _sum_group(group, kept, kernel, Z, L_inv, patterns):
    m, t = len(Z), group[0].y.shape[1]
    shapes = ((len(patterns), m, m), (m, t), (m, t), t, t, t, t)
    total = OutputSums(*map(np.zeros, shapes))
    for piece, (A, y, observed) in computed(
        group, kept, lambda piece: _weighted_blocks(kernel, Z, L_inv, piece)
    ):
        weight, _ = piece.weights
        for outputs, gram in zip(patterns, total.gram, strict=True):
            la.syrk(_of_rows(A, observed[:, outputs[0]]), gram, 1.0, 1.0)
        la.gemm(A, y, total.cross, False, False, 1.0, 1.0)
        root = 1.0 if piece.root_weight is None else piece.root_weight[:, None]
        la.gemm(A, np.ascontiguousarray(observed * root), total.level, False, False, 1.0, 1.0)
        total.targets += (y * y).sum(axis=0)
        total.first += (root * y).sum(axis=0)
        total.diagonal += (weight * kernel.diag(piece.X)) @ observed
        total.count += weight @ observed
    return total


def output_sums_gradient(prior, pieces, patterns, cotangent, *, with_inputs):
    """Return the gradient of <cotangent, sums> in the kernel's parameters and in Z, at fixed L.

    Parameters are those of `output_sums`, whose blocks the pieces may have kept, and the cotangents
    of its result. That in Z is 0.0 where it is not asked for.
    """
    gram, cross = 2.0 * cotangent.gram, np.array(cotangent.cross, order="C")
    for one in (*gram, cross):  # inv(L)^T once on these, not on every block
        la.trmm(prior.L_inv, one, True)
    shared = prior.kernel, prior.Z, prior.L_inv, patterns
    parts = pieces.map(_gradient_group, *shared, gram, cross, cotangent.diagonal, with_inputs)
    grad_theta, grad_Z = zip(*parts, strict=True)
    return sum(grad_theta), sum(grad_Z)


def _gradient_group(group, kept, kernel, Z, L_inv, patterns, gram, cross, diagonal, with_inputs):
    grad_theta, grad_Z = 0.0, 0.0
    for piece, (A, y, observed) in computed(
        group, kept, lambda piece: _weighted_blocks(kernel, Z, L_inv, piece)
    ):
        G = empty(A.shape)  # cotangents of K(Z, X)
        la.gemm(cross, y, G, False, True)
        for outputs, matrix in zip(patterns, gram, strict=True):
            seen = observed[:, outputs[0]]
            if seen.all():
                la.gemm(matrix, A, G, False, False, 1.0, 1.0)
            else:
                A_seen = _of_rows(A, seen)
                pulled = empty(A_seen.shape)
                la.gemm(matrix, A_seen, pulled)
                G[:, seen] += pulled
        if piece.root_weight is not None:
            G *= piece.root_weight
        weight, _ = piece.weights
        theta_part, Z_part = kernel.block_vjp(Z, piece.X, G, with_inputs)
        grad_theta = grad_theta + theta_part
        grad_theta = grad_theta + kernel.diag_vjp(piece.X, weight * (observed @ diagonal))
        if Z_part is not None:
            grad_Z = grad_Z + Z_part
    return grad_theta, grad_Z


def product_with_blocks(cotangent, sums):
    """Return the cotangents of blocks inv(L) K(Z, X), times these, summed over rows; (m, m)."""
    total = product(cotangent.cross, sums.cross, trans_b=True)
    for in_gram, gram in zip(cotangent.gram, sums.gram, strict=True):
        total += 2.0 * product(in_gram, gram)
    return total
