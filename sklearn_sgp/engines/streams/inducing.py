"""New inducing inputs for a stream: from the old ones and the rows of a batch."""

from dataclasses import dataclass

import numpy as np

from ...data.inducing import distinct_rows, greedy_variance, is_new, kmeans_centres

# The jitter hides what a candidate could add where the others leave less than this share of its
# variance unexplained.
_UNEXPLAINED_TOL = 1e-8
# An unexplained variance below this share of the noise costs the bound at most 0.05 nats a row.
_ENOUGH = 0.1
# Pairs (new, old) of inducing inputs that are the same.
NO_PAIRS = np.empty((0, 2), dtype=np.intp)


def identity_pairs(Z):
    """Return pairs where the new inducing inputs are the old ones, in their order."""
    return np.column_stack([np.arange(len(Z))] * 2)


@dataclass(frozen=True)
class StreamInducing:
    """Choice of inducing inputs.

    Parameters
    ----------
    method : {"greedy", "kmeans", "random"}
    n_inducing : int
        Most of them.
    min_inducing : int or None
        With a number, no more than these are taken while the conditional variances of the rows are
        below a tenth of the noise variance. None takes as many as there may be.
    """

    method: str
    n_inducing: int
    min_inducing: int | None

    @property
    def thins_to(self):
        """Number that "greedy" may exceed at first, to thin out later; None for other methods."""
        return self.n_inducing if self.method == "greedy" else None

    def first(self, rows, kernel, noise_variance, scale, rng):
        """Choose the inducing inputs with which a stream begins."""
        none = np.empty((0, rows.X.shape[1]))
        return self.choose(rows, kernel, noise_variance, none, 0.0, scale, rng)[0]

    def choose(self, rows, kernel, noise_variance, old, seen, scale, rng, spare=0):
        """Choose inducing inputs, and tell which of the old ones are among them.

        Parameters
        ----------
        rows : Rows
            The batch.
        old : ndarray of shape (m, d)
            Present inducing inputs, none at first.
        seen : float
            Weight of the rows that the old ones stand for.
        scale : ndarray of shape (d,)
            Units of distances between rows.
        spare : int, default=0
            With "greedy", so many more than there may be, to be thinned out.

        Returns
        -------
        Z : ndarray of shape (m_new, d)
        kept : ndarray of int, shape (n_kept, 2)
            Pairs (new, old).
        """
        X, mass = distinct_rows(rows.X, rows.observations, self.n_inducing, rng)
        new = is_new(X, old)
        candidates = np.vstack([old, X[new]])
        if self.method == "greedy":
            return _pairs(
                candidates, self._greedy(candidates, kernel, noise_variance, spare), len(old)
            )
        if len(candidates) <= self.n_inducing:
            return _pairs(candidates, np.arange(len(candidates)), len(old))
        mass = np.concatenate([np.full(len(old), seen / max(len(old), 1)), mass[new]])
        if self.method == "kmeans":
            centres = kmeans_centres(kernel, candidates, mass, self.n_inducing, scale, rng)
            return centres, NO_PAIRS
        if self.method != "random":
            raise NotImplementedError(f"No inducing inputs of streams by {self.method!r}.")
        share = mass / mass.sum()
        picked = rng.choice(len(candidates), self.n_inducing, replace=False, p=share)
        return _pairs(candidates, np.sort(picked), len(old))

    def _greedy(self, candidates, kernel, noise_variance, spare):
        enough, least = 0.0, 0
        if self.min_inducing is not None:
            enough, least = _ENOUGH * noise_variance, self.min_inducing
        ones = np.ones(len(candidates))
        limit = min(self.n_inducing + spare, len(candidates))
        return greedy_variance(
            kernel, candidates, ones, limit, tol=_UNEXPLAINED_TOL, enough=enough, least=least
        )


def restrict(Z, kept, picked):
    """Return inducing inputs ``Z[picked]``, and those pairs of ``kept`` that are left."""
    place = np.full(len(Z), -1)
    place[picked] = np.arange(len(picked))
    new = place[kept[:, 0]]
    return Z[picked], np.column_stack([new, kept[:, 1]])[new >= 0]


def _pairs(candidates, picked, n_old):
    new = np.flatnonzero(picked < n_old)
    return candidates[picked], np.column_stack([new, picked[new]])
