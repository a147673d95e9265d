"""Covariances that test rows of different cells have besides u (docs/theory.md, section 12).

Each cell predicts from near rows of its own. What these predictions get wrong is a sum of the
function at test rows and of noisy near rows, with known weights: so are the covariances of such
errors, whatever cells they are of.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .._linalg import cholesky, product, transposed
from .._parallel import map_groups
from ..data.rows import outputs_by_noise, weight_of

# Near rows of cells that are put together, about.
_TOGETHER_ROWS = 1024
# Entries of kernel matrices, about, up to which all near rows take part: half a minute of one core.
# Beyond, those with the largest weights do: they are enough for correlations.
_MOST_KERNEL_ENTRIES = 1 << 31
_LEAST_NEAR_ROWS = 16


class CellErrors(NamedTuple):
    """Holds what the predictions of a cell get wrong, given u.

    Attributes
    ----------
    index : ndarray of int, shape (k,)
        Its test rows.
    X : ndarray of shape (k, d)
    near : ndarray of int, shape (n,)
        Numbers of its near rows.
    near_X : ndarray of shape (n, d)
    At : ndarray of shape (n, m)
    a : ndarray of shape (k, m)
    weights : list of ndarray of shape (n, k)
        Of near rows, for each H.
    """

    index: np.ndarray
    X: np.ndarray
    near: np.ndarray
    near_X: np.ndarray
    At: np.ndarray
    a: np.ndarray
    weights: list

    @classmethod
    def of(cls, index, X, near, cell, a, parts):
        """Make them from what `near_rows` conditions on near rows: roots c of each H."""
        weights = []
        for factor, (_, (c,), _) in zip(cell.factors, parts, strict=True):
            weights.append(np.ascontiguousarray(c.reshape(len(X), len(near)).T))
            la.trsm(transposed(factor.U), weights[-1], True)
        return cls(index, X, near, cell.X, cell.At, a, weights)

    def thinned(self, count, kernel, noise):
        """Return the errors of predictions from so many near rows, those that count most."""
        if len(self.near) <= count:
            return self
        size = np.abs(np.hstack(self.weights)).sum(axis=1)
        kept = np.sort(np.argsort(-size, kind="stable")[:count])
        fewer = self._replace(near=self.near[kept], near_X=self.near_X[kept], At=self.At[kept])
        residual = kernel.gram(fewer.near_X) - fewer.At @ fewer.At.T
        cross = kernel.block(fewer.near_X, self.X) - fewer.At @ self.a.T
        weights = []
        for of_rows in noise:
            L = cholesky(residual + np.diag(of_rows[fewer.near]))
            weights.append(np.ascontiguousarray(cross))
            la.trsm(L, weights[-1])
            la.trsm(L, weights[-1], True)
        return fewer._replace(weights=weights)


@dataclass(frozen=True)
class _Part:
    """Some cells: their test rows, all their near rows, and what is put on both.

    Parameters
    ----------
    index, cell : ndarray of int, shape (k,)
        Test rows, and the cell of each.
    near : ndarray of int, shape (n,)
    X : ndarray of shape (n + k, d)
        Near rows, then test rows.
    weights : list of ndarray of shape (n + k, k)
        For each H.
    b : list of ndarray of shape (k, m)
        What is left of A^T of the test rows.
    """

    index: np.ndarray
    cell: np.ndarray
    near: np.ndarray
    X: np.ndarray
    weights: list
    b: list

    @classmethod
    def of(cls, cells, first):
        near, place = np.unique(np.concatenate([one.near for one in cells]), return_index=True)
        near_X = np.concatenate([one.near_X for one in cells])[place]
        sizes, n = [len(one.X) for one in cells], len(near)
        weights = [np.zeros((n + sum(sizes), sum(sizes))) for _ in cells[0].weights]
        b, ends = [[] for _ in weights], np.append(0, np.cumsum(sizes))
        for one, lo, hi in zip(cells, ends, ends[1:], strict=False):
            rows = np.searchsorted(near, one.near)
            for of_H, own, left in zip(weights, one.weights, b, strict=True):
                of_H[rows, lo:hi] = -own
                of_H[n + np.arange(lo, hi), np.arange(lo, hi)] = 1.0
                left.append(one.a - product(own, one.At, trans_a=True))
        return cls(
            np.concatenate([one.index for one in cells]),
            first + np.repeat(np.arange(len(cells)), sizes),
            near,
            np.concatenate([near_X, *[one.X for one in cells]]),
            weights,
            [np.vstack(of_H) for of_H in b],
        )


@dataclass(frozen=True)
class BetweenCells:
    """Covariances that test rows have besides u, across cells.

    Parameters
    ----------
    noise : list of ndarray of shape (n_rows,)
        Noise variances of the training rows, for each H.
    near : callable
        ``near(numbers)``: the numbers of the near rows of cells.
    """

    noise: list
    near: object
    n_jobs: int | None = None

    @classmethod
    def of(cls, blocks, noise_variance, n_jobs):
        """Return it for rows in blocks that are conditioned on others."""
        weight, _ = blocks.rows.weights
        noise = [
            np.broadcast_to(s2 / np.ravel(weight_of(weight, columns)), len(weight))
            for columns, s2 in outputs_by_noise(noise_variance)
        ]
        return cls(noise, blocks.near, n_jobs)

    def residual(self, within, cells, kernel):
        """Return the covariances for each H, (n, n).

        ``within`` has those of rows of one cell, 0 elsewhere.
        """
        parts = _parts(cells)
        if sum(len(part.X) for part in parts) ** 2 <= _MOST_KERNEL_ENTRIES:
            apart = self._sums(len(within[0]), parts, kernel)
            cell = np.concatenate([part.cell for part in parts])
            index = np.concatenate([part.index for part in parts])
            number = np.empty_like(cell)
            number[index] = cell
            same = number[:, None] == number
            return [np.where(same, own, other) for own, other in zip(within, apart, strict=True)]
        count = max(_LEAST_NEAR_ROWS, int(np.sqrt(_MOST_KERNEL_ENTRIES)) // len(cells))
        few = _parts([one.thinned(count, kernel, self.noise) for one in cells])
        result = []
        for own, rough in zip(within, self._sums(len(within[0]), few, kernel), strict=True):
            variance = np.maximum(np.diagonal(rough), np.finfo(float).tiny)
            factor = np.sqrt(np.diagonal(own) / variance)
            result.append(rough * factor[:, None] * factor)
        return result

    def _sums(self, n, parts, kernel):
        """Compute the covariances of all errors, pairs of parts in turn."""
        pairs = [(p, q) for i, p in enumerate(parts) for q in parts[: i + 1]]
        sums = [np.empty((n, n)) for _ in self.noise]
        tasks = [(p, q, kernel, self.noise) for p, q in pairs]
        for (p, q), blocks in zip(pairs, map_groups(_between, tasks, self.n_jobs), strict=True):
            for of_H, block in zip(sums, blocks, strict=True):
                of_H[np.ix_(p.index, q.index)] = block
                of_H[np.ix_(q.index, p.index)] = block.T
        return sums


def _parts(cells):
    """Put cells together until their near rows are many."""
    parts, first, held = [], 0, 0
    for k, one in enumerate(cells):
        held += len(one.near)
        if held > _TOGETHER_ROWS or k + 1 == len(cells):
            parts.append(_Part.of(cells[first : k + 1], first))
            first, held = k + 1, 0
    return parts


def _between(p, q, kernel, noise):
    """Compute the covariances between errors of two parts for each H."""
    K = kernel.gram(p.X) if p is q else kernel.block(p.X, q.X)
    _, ours, theirs = np.intersect1d(p.near, q.near, assume_unique=True, return_indices=True)
    blocks = []
    for number, of_rows in enumerate(noise):
        left, right = p.weights[number], q.weights[number]
        block = product(left, product(K, right), trans_a=True)
        block -= product(p.b[number], q.b[number], trans_b=True)
        noisy = np.ascontiguousarray(right[theirs]) * of_rows[q.near[theirs]][:, None]
        blocks.append(block + product(np.ascontiguousarray(left[ours]), noisy, trans_a=True))
    return blocks
