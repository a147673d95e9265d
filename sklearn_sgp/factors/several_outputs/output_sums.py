"""Sums over rows of which each has some of the outputs, and their reverse mode.

What mixing and noise do to the information about the inducing values is the same for all rows of
one output. So one matrix for each output is all that a pass has to make, and outputs that are
observed in the same rows share it: complete targets cost what one output costs.
"""

from dataclasses import dataclass

import numpy as np

from ..._core import _linalg as la
from ..._core._memory import empty
from ..passes import each_made


def outputs_by_rows(y):
    """Outputs that are observed in the same rows.

    Parameters
    ----------
    y : ndarray of shape (n, t)
        Targets, NaN where an output was not observed.

    Returns
    -------
    patterns : list of ndarray of int
        Each output is in one of them.
    """
    patterns = {}
    for p in range(y.shape[1]):
        patterns.setdefault(np.packbits(np.isnan(y[:, p])).tobytes(), []).append(p)
    return [np.array(own) for own in patterns.values()]


@dataclass
class OutputSums:
    """Weighted sums over the rows of each output; a is inv(L) K(Z, x).

    gram (g, m, m), for each pattern sum w a a^T; cross = sum w a y^T (m, t); targets = sum w y^2;
    diagonal = sum w k(x, x) and count = sum w, all of shape (t,).
    """

    gram: np.ndarray
    cross: np.ndarray
    targets: np.ndarray
    diagonal: np.ndarray
    count: np.ndarray

    def __iadd__(self, other):
        for name in ("gram", "cross", "targets", "diagonal", "count"):
            getattr(self, name)[...] += getattr(other, name)
        return self


@dataclass(frozen=True)
class OutputScalars:
    """Sums over rows that a bound has besides (H, h): their weight, and sums for each output.

    Of shape (t,): targets = sum w y^2, count = sum w, unexplained = sum w (k(x, x) - |a|^2).
    """

    weight: float
    targets: np.ndarray
    count: np.ndarray
    unexplained: np.ndarray

    @classmethod
    def of(cls, rows, sums, patterns):
        traces = np.empty(len(sums.count))
        for own, gram in zip(patterns, sums.gram, strict=True):
            traces[own] = np.trace(gram)
        unexplained = np.maximum(sums.diagonal - traces, 0.0)
        return cls(rows.total_weight, sums.targets, sums.count, unexplained)

    def plus(self, other):
        return OutputScalars(
            self.weight + other.weight,
            self.targets + other.targets,
            self.count + other.count,
            self.unexplained + other.unexplained,
        )


@dataclass(frozen=True)
class OutputSumsCotangent:
    """Cotangents of those `OutputSums` that depend on the kernel, of the same shapes."""

    gram: np.ndarray
    cross: np.ndarray
    diagonal: np.ndarray


def _made(kernel, Z, L_inv, piece):
    """Block, targets and which of them there are; block and targets times roots of weights."""
    A, y, root = kernel.block(Z, piece.X), piece.targets, piece.root_weight
    la.trmm(L_inv, A)
    observed = ~np.isnan(y)
    y = np.where(observed, y, 0.0)
    if root is not None:
        A *= root
        y *= root[:, None]
    return A, np.ascontiguousarray(y), observed


def _of_rows(A, seen):
    return A if seen.all() else np.ascontiguousarray(A[:, seen])


def output_sums(kernel, Z, L_inv, pieces, patterns):
    """Sums over all rows.

    Parameters
    ----------
    kernel : BoundKernel
    Z : ndarray of shape (m, d)
    L_inv : ndarray of shape (m, m)
    pieces : passes.Pieces
    patterns : list of ndarray of int
        See `outputs_by_rows`.

    Returns
    -------
    sums : OutputSums
    """
    total, *parts = pieces.map(_sum_group, kernel, Z, L_inv, patterns)
    for part in parts:
        total += part
    for gram in total.gram:
        la.mirror(gram)
    return total


def _sum_group(group, kept, kernel, Z, L_inv, patterns):
    m, t = len(Z), group[0].y.shape[1]
    total = OutputSums(
        np.zeros((len(patterns), m, m)), np.zeros((m, t)), *(np.zeros(t) for _ in range(3))
    )
    for piece, (A, y, observed) in each_made(
        group, kept, lambda piece: _made(kernel, Z, L_inv, piece)
    ):
        weight, _ = piece.weights
        for own, gram in zip(patterns, total.gram, strict=True):
            la.syrk(_of_rows(A, observed[:, own[0]]), gram, 1.0, 1.0)
        la.gemm(A, y, total.cross, False, False, 1.0, 1.0)
        total.targets += (y * y).sum(axis=0)
        total.diagonal += (weight * kernel.diag(piece.X)) @ observed
        total.count += weight @ observed
    return total


def output_sums_gradient(kernel, Z, L_inv, pieces, patterns, cotangent, *, with_inputs=True):
    """Gradient of <cotangent, sums> in the kernel's free parameters and in Z, at fixed L.

    Parameters are those of `output_sums`, whose blocks the pieces may have kept, and the cotangents
    of its result.

    Returns
    -------
    grad_theta : ndarray of shape (n_theta,)
    grad_Z : ndarray of shape (m, d), or 0.0 where not asked for
    """
    gram, cross = 2.0 * cotangent.gram, np.array(cotangent.cross, order="C")
    for one in (*gram, cross):  # inv(L)^T once on these, not on every block
        la.trmm(L_inv, one, True)
    parts = pieces.map(
        _gradient_group, kernel, Z, L_inv, patterns, gram, cross, cotangent.diagonal, with_inputs
    )
    grad_theta, grad_Z = zip(*parts, strict=True)
    return sum(grad_theta), sum(grad_Z)


def _gradient_group(group, kept, kernel, Z, L_inv, patterns, gram, cross, diagonal, with_inputs):
    grad_theta, grad_Z = 0.0, 0.0
    for piece, (A, y, observed) in each_made(
        group, kept, lambda piece: _made(kernel, Z, L_inv, piece)
    ):
        G = empty(A.shape)  # cotangent of K(Z, X)
        la.gemm(cross, y, G, False, True)
        for own, matrix in zip(patterns, gram, strict=True):
            seen = observed[:, own[0]]
            if seen.all():
                la.gemm(matrix, A, G, False, False, 1.0, 1.0)
            else:
                some = _of_rows(A, seen)
                pulled = empty(some.shape)
                la.gemm(matrix, some, pulled)
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
