"""Where the mixing of latent functions starts."""

import numpy as np
from scipy.special import ndtri

from ...data.rows import each_weight

_MIXING_ROWS = 10_000
# Share of the variance of scaled targets that is not noise, at the start.
_EXPLAINED_SHARE = 0.9
# Rows that two outputs must share for their correlation to be believed by half.
_LEAST_SHARED = 10.0
# Size of columns, and of an entry of rows, that correlations leave empty: at zero they would never
# move.
_SMALL = 0.05
# Of the components of rows with gaps: most iterations, the change of W W^T with which they end, and
# the smallest share of noise, with less of which they hardly move.
_MOST_ITERATIONS, _SMALLEST_CHANGE, _LEAST_NOISE = 200, 1e-3, 1e-3


def starting_mixing(rows, n_latent, size=1.0, by_rank=False):
    """Find W from the principal components of the outputs, shape (t, n_latent).

    Complete targets have them in the eigenvectors of their correlations. Correlations of pairs of
    outputs, each over the rows that have both, may be those of no set of targets: where outputs are
    missing in stretches, learning that began there took outputs that are alike for opposite (four
    outputs of two functions, 12 of 20 stretches missing: -10.2 nats a missing target, from the
    likelihood of all rows -1.1).

    Parameters
    ----------
    rows : Rows
        Targets that are NaN are not there.
    size : float or ndarray of shape (t, 1)
        Root mean squares of the scaled targets.
    by_rank : bool
        Whether targets count by their ranks alone, as they may be skewed, or far off.
    """
    sample = rows.fixed_subset(_MIXING_ROWS)
    targets, weight = sample.targets / np.ravel(size), sample.weight
    sample = _Observed(normal_scores(targets, weight) if by_rank else targets, weight)
    W, varies = sample.starting_mixing(n_latent), sample.varies
    if sample.has_gaps:
        vector, value, _ = np.linalg.svd(sample.components(W), full_matrices=False)
        W = vector * np.maximum(value, np.sqrt(_EXPLAINED_SHARE * _SMALL))
    W = np.where(varies[:, None], W, 0.0)
    W *= np.where(np.abs(W.min(axis=0)) > W.max(axis=0), -1.0, 1.0)
    left_out = np.flatnonzero(varies & (np.abs(W).max(axis=1) < _SMALL))
    W[left_out, np.arange(len(left_out)) % n_latent] = _SMALL
    return W * size


def normal_scores(y, weight):
    """Return the normal quantiles that the ranks of targets (n, t) have; NaN stays.

    Equal ones have the middle of their ranks, 0 where an output has one value alone.
    """
    scores, weight = np.full(y.shape, np.nan), each_weight(weight, len(y))
    for p, column in enumerate(y.T):
        seen = ~np.isnan(column)
        _, own = np.unique(column[seen], return_inverse=True)
        own = own.ravel()
        mass = np.bincount(own, weights=weight[seen])
        below = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
        scores[seen, p] = ndtri(below)[own]
    return scores


class _Observed:
    """Scaled targets (n, t) of which some are NaN."""

    def __init__(self, y, weight):
        self.seen = ~np.isnan(y)
        self.y = np.where(self.seen, y, 0.0)
        self.weighted = (each_weight(weight, len(y)) * self.seen.T).astype(np.float64)  # (t, n)
        self.squares = (self.weighted * self.y.T**2).sum(axis=1)

    @property
    def varies(self):
        """Outputs that are not constant: others ask for no direction."""
        return self.squares > 0.0

    @property
    def has_gaps(self):
        return not self.seen.all()

    def starting_mixing(self, n_latent):
        """Find W from the principal components of the outputs, shape (t, n_latent)."""
        count = self.weighted @ self.seen
        square = (self.weighted * (self.y**2).T) @ self.seen
        size = np.sqrt(square * square.T)  # each output over the rows that it shares with another
        product = (self.weighted * self.y.T) @ self.y
        correlation = np.divide(product, size, out=np.zeros_like(size), where=size > 0.0)
        correlation *= count / (count + _LEAST_SHARED)
        np.fill_diagonal(correlation, self.varies)
        value, vector = np.linalg.eigh(correlation)
        value, vector = value[::-1][:n_latent], vector[:, ::-1][:, :n_latent]
        return np.sqrt(_EXPLAINED_SHARE * np.maximum(value, _SMALL)) * vector

    def components(self, W):
        """Find probabilistic principal components, (t, Q), by expectation and maximisation.

        Targets are W g plus noise of one variance, g ~ N(0, I) for each row by itself (Tipping and
        Bishop 1999). Entries of W are N(0, 1), which holds outputs of few rows. It begins at W, (t,
        Q).
        """
        (t, Q), n = W.shape, len(self.y)
        patterns, own = np.unique(self.seen, axis=0, return_inverse=True)
        patterns, own = patterns.astype(np.float64), own.ravel()
        weighted_y, total = self.weighted * self.y.T, self.weighted.sum()
        noise, eye = 1.0 - _EXPLAINED_SHARE, np.eye(Q)
        for _ in range(_MOST_ITERATIONS):
            squares = (W[:, :, None] * W[:, None, :]).reshape(t, -1)
            covariance = np.linalg.inv(eye + (patterns @ squares).reshape(-1, Q, Q) / noise)[own]
            mean = np.einsum("nqr,nr->nq", covariance, self.y @ W) / noise
            second = covariance + mean[:, :, None] * mean[:, None, :]
            inner = (self.weighted @ second.reshape(n, -1)).reshape(t, Q, Q)
            cross = weighted_y @ mean
            old, W = W, np.linalg.solve(inner + noise * eye, cross[:, :, None])[:, :, 0]
            explained = 2.0 * (W * cross).sum() - np.einsum("pq,pqr,pr->", W, inner, W)
            noise = max(float(self.squares.sum() - explained) / total, _LEAST_NOISE)
            if np.abs(W @ W.T - old @ old.T).max() < _SMALLEST_CHANGE:
                break
        return W
