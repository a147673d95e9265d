"""Rows that are inducing inputs already: whether all are, and what they come to at each of these.

Inducing inputs that contain every distinct row make the sparse model the exact process for any
kernel. Nothing is gained by moving them, and what is to be computed is that of the exact process.
"""

from dataclasses import dataclass

import numpy as np

# Rows that are looked up between two looks at whether one was missing.
_LOOKED_UP = 4096


def places_in(Z, X):
    """Return the places (n,) of the rows of X among those of Z, or None where one is missing.

    Rows are the same if all their numbers are; of equal rows of Z the first counts.
    """
    known = {}
    for place, row in enumerate(_signless(Z)):
        known.setdefault(row.tobytes(), place)
    places = np.empty(len(X), dtype=np.intp)
    for lo in range(0, len(X), _LOOKED_UP):
        for k, row in enumerate(_signless(X[lo : lo + _LOOKED_UP]), lo):
            place = known.get(row.tobytes())
            if place is None:
                return None
            places[k] = place
    return places


def are_rows(Z, X):
    """Return a mask (m,) of the rows of Z that are rows of X."""
    known = {row.tobytes() for row in _signless(X)}
    return np.array([row.tobytes() in known for row in _signless(Z)], dtype=bool)


def contains_rows(Z, rows):
    """Return whether every one of the `Rows`, all of positive weight, is a row of Z."""
    return not rows.live_elsewhere and places_in(Z, rows.X) is not None


def n_distinct(rows):
    """Count the `Rows` that differ from one another in inputs or targets."""
    return len({row.tobytes() for row in _signless(np.column_stack([rows.X, rows.y]))})


def _signless(X):
    """Return an array of float64 in which there is one zero only."""
    return np.ascontiguousarray(X, dtype=np.float64) + 0.0


@dataclass(frozen=True)
class DistinctRows:
    """Rows with Gaussian noise, those of equal inputs summed up.

    Parameters
    ----------
    X : ndarray of shape (k, d)
        Distinct inputs.
    places : ndarray of int, shape (k,)
        Of these among the inducing inputs.
    weight : ndarray of shape (k,) or (k, t)
        Sums of the weights, precisions included.
    means : ndarray of shape (k, t)
        Weighted means of the scaled targets.
    within : ndarray of shape (t,)
        Weighted sums of squared deviations from these means.
    count : float
        Number of observations.
    """

    X: np.ndarray
    places: np.ndarray
    weight: np.ndarray
    means: np.ndarray
    within: np.ndarray
    count: float

    @classmethod
    def of(cls, rows):
        """Sum up rows that are their own inducing inputs; see `within_inputs`."""
        return cls.within_inputs(rows.X, rows)

    @classmethod
    def within_inputs(cls, Z, rows):
        """Sum up rows that are all rows of Z; return None where one is not."""
        places = None if rows.live_elsewhere else places_in(Z, rows.X)
        if places is None:
            return None
        places, inverse = np.unique(places, return_inverse=True)
        weight, y = rows.weights[0], rows.targets
        each = np.broadcast_to(weight if weight.ndim == 2 else weight[:, None], y.shape)
        mass = group_sums(inverse, each)
        if not (mass > 0.0).all():
            return None
        means = group_sums(inverse, each * y) / mass
        within = (each * (y - means[inverse]) ** 2).sum(axis=0)
        mass = mass if weight.ndim == 2 else mass[:, 0]
        X = np.ascontiguousarray(Z[places], dtype=np.float64)
        return cls(X, places, mass, means, within, rows.total_weight)


def same_places(X):
    """Return numbers (n,), from 0 on, that are equal where rows of X are."""
    return np.unique(_signless(X), axis=0, return_inverse=True)[1].ravel()


def group_sums(inverse, values):
    """Return the sums of the columns of values over rows with equal inputs."""
    inverse = inverse.ravel()
    return np.column_stack([np.bincount(inverse, weights=column) for column in values.T])
