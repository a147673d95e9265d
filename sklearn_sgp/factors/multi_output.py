"""Sums over rows of which each has some of the outputs, and their reverse mode.

What mixing and noise do to the information about the inducing values is the same for all rows of
one output. So one matrix for each output is all that a pass has to make, and outputs that are
observed in the same rows share it: complete targets cost what one output costs. Latent functions
with one kernel share it, too; with K kernels it has K m rows, one kernel after the other.
"""

from dataclasses import dataclass

import numpy as np

from .._core import _linalg as la
from .._core._memory import empty
from .._linalg import product
from .passes import computed


def outputs_by_rows(y):
    """Group outputs that are observed in the same rows.

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
    return [np.array(outputs) for outputs in patterns.values()]


@dataclass
class OutputSums:
    """Weighted sums over the rows of each output; a is inv(L) K(Z, x), of all kernels (K m,).

    gram (g, K m, K m), for each pattern sum w a a^T; cross = sum w a y^T (K m, t), and level = sum
    w a there, too; targets = sum w y^2, first = sum w y and count = sum w, all (t,); diagonal = sum
    w k(x, x) (t, K).
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

    Of shape (t,): targets = sum w y^2, count = sum w. Of shape (t, K) for K kernels: unexplained =
    sum w (k(x, x) - |a|^2).
    """

    weight: float
    targets: np.ndarray
    count: np.ndarray
    unexplained: np.ndarray

    @classmethod
    def of(cls, rows, sums, patterns):
        traces, n_kernels = np.empty_like(sums.diagonal), sums.diagonal.shape[1]
        for outputs, gram in zip(patterns, sums.gram, strict=True):
            traces[outputs] = np.diagonal(gram).reshape(n_kernels, -1).sum(axis=1)
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


def _weighted_blocks(kernels, Z, L_inv, piece):
    """Return blocks and targets times roots of weights, and which targets are observed."""
    y, root = piece.targets, piece.root_weight
    blocks = [kernel.block(Z, piece.X) for kernel in kernels]
    for one, block in zip(L_inv, blocks, strict=True):
        la.trmm(one, block)
    A = blocks[0] if len(blocks) == 1 else np.vstack(blocks)
    observed = ~np.isnan(y)
    y = np.where(observed, y, 0.0)
    if root is not None:
        A *= root
        y *= root[:, None]
    return A, np.ascontiguousarray(y), observed


def _of_rows(A, seen):
    return A if seen.all() else A.take(np.flatnonzero(seen), axis=1)


def output_sums(priors, pieces, patterns):
    """Sum over all rows.

    Parameters
    ----------
    priors : tuple of gp.prior.Prior
        With one Z: one that all latent functions share, or one for each.
    pieces : passes.AnyPieces
    patterns : list of ndarray of int
        See `outputs_by_rows`.

    Returns
    -------
    sums : OutputSums
    """
    total, *parts = pieces.map(_sum_group, *_shared(priors), patterns)
    for part in parts:
        total += part
    for gram in total.gram:
        la.mirror(gram)
    return total


def _shared(priors):
    """Return the parts that blocks are made of: kernels, Z and inverse factors."""
    kernels, L_inv = zip(*((prior.kernel, prior.L_inv) for prior in priors), strict=True)
    return kernels, priors[0].Z, L_inv


def _sum_group(group, kept, kernels, Z, L_inv, patterns):
    size, t = len(kernels) * len(Z), group[0].y.shape[1]
    total = OutputSums(
        np.zeros((len(patterns), size, size)),
        np.zeros((size, t)),
        np.zeros((size, t)),
        np.zeros(t),
        np.zeros(t),
        np.zeros((t, len(kernels))),
        np.zeros(t),
    )
    for piece, (A, y, observed) in computed(
        group, kept, lambda piece: _weighted_blocks(kernels, Z, L_inv, piece)
    ):
        weight, _ = piece.weights
        for outputs, gram in zip(patterns, total.gram, strict=True):
            la.syrk(_of_rows(A, observed[:, outputs[0]]), gram, 1.0, 1.0)
        la.gemm(A, y, total.cross, False, False, 1.0, 1.0)
        root = 1.0 if piece.root_weight is None else piece.root_weight[:, None]
        la.gemm(A, np.ascontiguousarray(observed * root), total.level, False, False, 1.0, 1.0)
        total.targets += (y * y).sum(axis=0)
        total.first += (root * y).sum(axis=0)
        for k, kernel in enumerate(kernels):
            total.diagonal[:, k] += (weight * kernel.diag(piece.X)) @ observed
        total.count += weight @ observed
    return total


def output_sums_gradient(priors, pieces, patterns, cotangent, *, with_inputs=True):
    """Return the gradient of <cotangent, sums> in the kernels' parameters and in Z, at fixed L.

    Parameters are those of `output_sums`, whose blocks the pieces may have kept, and the cotangents
    of its result.

    Returns
    -------
    grad_theta : ndarray of shape (n_theta,)
    grad_Z : ndarray of shape (m, d), or 0.0 where not asked for
    """
    kernels, Z, L_inv = _shared(priors)
    gram, cross = 2.0 * cotangent.gram, np.array(cotangent.cross, order="C")
    for one in (*gram, cross):  # inv(L)^T once on these, not on every block
        for inverse, part in zip(L_inv, np.split(one, len(L_inv)), strict=True):
            la.trmm(inverse, part, True)
    parts = pieces.map(
        _gradient_group, kernels, Z, L_inv, patterns, gram, cross, cotangent.diagonal, with_inputs
    )
    grad_theta, grad_Z = zip(*parts, strict=True)
    return sum(grad_theta), sum(grad_Z)


def _gradient_group(group, kept, kernels, Z, L_inv, patterns, gram, cross, diagonal, with_inputs):
    grad_theta, grad_Z = 0.0, 0.0
    for piece, (A, y, observed) in computed(
        group, kept, lambda piece: _weighted_blocks(kernels, Z, L_inv, piece)
    ):
        G = empty(A.shape)  # cotangents of K(Z, X), kernel by kernel
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
        for k, (kernel, G_k) in enumerate(zip(kernels, np.split(G, len(kernels)), strict=True)):
            theta_part, Z_part = kernel.block_vjp(Z, piece.X, G_k, with_inputs)
            grad_theta = grad_theta + theta_part
            in_diagonal = weight * (observed @ diagonal[:, k])
            grad_theta = grad_theta + kernel.diag_vjp(piece.X, in_diagonal)
            if Z_part is not None:
                grad_Z = grad_Z + Z_part
    return grad_theta, grad_Z


def products_with_blocks(cotangent, sums, n_kernels):
    """Return the cotangents of each kernel's blocks inv(L) K(Z, X), times these, summed over rows.

    Returns
    -------
    products : list of ndarray of shape (m, m)
    """
    m = len(sums.cross) // n_kernels
    products = []
    for k in range(n_kernels):
        rows = slice(k * m, (k + 1) * m)
        total = product(cotangent.cross[rows], np.ascontiguousarray(sums.cross[rows]), trans_b=True)
        for in_gram, gram in zip(cotangent.gram, sums.gram, strict=True):
            total += 2.0 * product(in_gram[rows], np.ascontiguousarray(gram[:, rows]))
        products.append(total)
    return products
