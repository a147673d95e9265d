"""Covariances between categories: B = F F' + diag(b), and what it is for those not seen before.

A category that was not seen before is one at random of those that were: its covariances with them
are their means, and its variance is the mean variance. That is one more row of F, the mean of the
others, and one more entry of b (docs/theory.md, section 15). Two such categories share that row
alone, each has a part of its own.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._core import _linalg as la

# Of every category before anything is learned: the variance that all share, and each one's own.
_SHARED, _OWN = 0.5, 0.5
# Spread of further columns of F at the start: with equal rows none of them would ever move.
_SPREAD = 0.2
LARGEST_COUNT = 10_000


def starting_factor(n_categories, rank):
    """F at the start, shape (n_categories, rank): all categories share half of their variance."""
    factor = np.zeros((n_categories, rank))
    factor[:, 0] = np.sqrt(_SHARED)
    drawn = np.random.RandomState(0).uniform(-1.0, 1.0, (n_categories, rank - 1))
    factor[:, 1:] = _SPREAD * np.sqrt(_SHARED) * drawn
    return factor


def starting_diagonal(n_categories):
    """b at the start, shape (n_categories,)."""
    return np.full(n_categories, _OWN)


def codes_of(X):
    """Codes of categories, shape (n,), from inputs of one column."""
    return np.rint(np.asarray(X)[:, 0]).astype(np.intp)


@dataclass(frozen=True)
class DrawnNumbers:
    """Random numbers of categories, whose covariances are those of the categories.

    Parameters
    ----------
    numbers : ndarray of shape (n_categories, count)
    shared : ndarray of shape (count,)
        The part that categories not seen before have in common.
    spread : float
        Standard deviation of the part that each of these has alone, drawn from its code.
    seed : int
    """

    numbers: np.ndarray
    shared: np.ndarray
    spread: float
    seed: int

    def at(self, codes):
        """The numbers of codes (n,), shape (n, count)."""
        n_known = len(self.numbers)
        new, place = np.unique(codes[codes >= n_known], return_inverse=True)
        found = np.empty((len(codes), len(self.shared)))
        found[codes < n_known] = self.numbers[codes[codes < n_known]]
        if len(new):
            found[codes >= n_known] = np.array([self._of_new(code) for code in new])[place]
        return found

    def _of_new(self, code):
        signs = np.random.default_rng((self.seed, int(code))).choice([-1.0, 1.0], self.shared.shape)
        return self.shared + self.spread * signs


@dataclass(frozen=True)
class CategoryCovariance:
    """Covariances of categories by their codes, those beyond the last seen one included.

    Parameters
    ----------
    factor : ndarray of shape (n_categories, rank)
        F.
    diagonal : ndarray of shape (n_categories,)
        b.
    """

    factor: np.ndarray
    diagonal: np.ndarray

    @cached_property
    def rows(self):
        """F with a last row for categories not seen before, shape (n_categories + 1, rank)."""
        if not len(self.factor):
            return np.sqrt(_SHARED) * np.eye(1, self.factor.shape[1])
        return np.vstack([self.factor, self.factor.mean(axis=0)])

    @cached_property
    def own(self):
        """The variance that each category shares with no other, shape (n_categories + 1,)."""
        if not len(self.factor):
            return starting_diagonal(1)
        mean_variance = np.einsum("ij,ij->", self.factor, self.factor) / len(self.factor)
        mean_variance += self.diagonal.mean()
        return np.append(self.diagonal, mean_variance - self.rows[-1] @ self.rows[-1])

    def places(self, codes):
        """Rows of F of some codes."""
        return np.minimum(codes, len(self.factor))

    def block(self, left, right):
        """Covariances of codes (m,) and codes (n,), shape (m, n), C order."""
        places = self.places(left)
        K = np.empty((len(left), len(right)))
        la.gemm(self.rows[places], self.rows[self.places(right)], K, trans_b=True)
        K += np.where(left[:, None] == right, self.own[places][:, None], 0.0)
        return K

    def pairs(self, left, right):
        """Covariances of codes (k,) and codes (k,), one by one."""
        places = self.places(left)
        K = np.einsum("ij,ij->i", self.rows[places], self.rows[self.places(right)])
        return K + np.where(left == right, self.own[places], 0.0)

    def diag(self, codes):
        """Variances of codes."""
        return (np.einsum("ij,ij->i", self.rows, self.rows) + self.own)[self.places(codes)]

    def drawn(self, count, rng):
        """Numbers of mean product B for each category, `DrawnNumbers` of ``count`` columns."""
        signs = rng.choice([-1.0, 1.0], (len(self.own), count))
        shared = self.rows @ rng.choice([-1.0, 1.0], (self.rows.shape[1], count))
        numbers = np.sqrt(self.own[:-1, None]) * signs[:-1] + shared[:-1]
        seed = int.from_bytes(rng.bytes(4), "little")
        return DrawnNumbers(numbers, shared[-1], np.sqrt(self.own[-1]), seed)

    def block_vjp(self, left, right, G):
        """Gradients of sum(G * block) in b and in F."""
        to_left, to_right = self.places(left), self.places(right)
        in_rows, in_own = np.zeros_like(self.rows), np.zeros_like(self.own)
        pulled = np.empty((len(left), self.rows.shape[1]))
        la.gemm(G, self.rows[to_right], pulled)
        np.add.at(in_rows, to_left, pulled)
        pulled = np.empty((len(right), self.rows.shape[1]))
        la.gemm(G, self.rows[to_left], pulled, trans_a=True)
        np.add.at(in_rows, to_right, pulled)
        np.add.at(in_own, to_left, np.where(left[:, None] == right, G, 0.0).sum(axis=1))
        return self.to_categories(in_own, in_rows)

    def pairs_vjp(self, left, right, G):
        """Gradients of sum(G * pairs) in b and in F."""
        to_left, to_right, n = self.places(left), self.places(right), len(self.own)
        in_rows = [
            np.bincount(to_left, G * of_rank[to_right], n)
            + np.bincount(to_right, G * of_rank[to_left], n)
            for of_rank in self.rows.T
        ]
        in_own = np.bincount(to_left, np.where(left == right, G, 0.0), n)
        return self.to_categories(in_own, np.array(in_rows).reshape(-1, n).T)

    def diag_vjp(self, codes, g):
        """Gradients of sum(g * diag) in b and in F."""
        in_own = np.bincount(self.places(codes), weights=g, minlength=len(self.own))
        return self.to_categories(in_own, 2.0 * in_own[:, None] * self.rows)

    def to_categories(self, in_own, in_rows):
        """Gradients in b and F from those in `own` and `rows`, with leading axes alike."""
        in_b, in_F = in_own[..., :-1].copy(), in_rows[..., :-1, :].copy()
        if len(self.factor):
            # the last row is the mean of the others, its own variance completes the mean variance
            share = in_own[..., -1:] / len(self.factor)
            in_b += share
            in_F += in_rows[..., -1:, :] / len(self.factor)
            in_F += 2.0 * share[..., None] * (self.factor - self.rows[-1])
        return in_b, in_F
