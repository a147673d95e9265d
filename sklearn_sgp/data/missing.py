"""Missing values among numeric columns of X: filled from the others, and told to the kernel.

A value that is missing becomes the one that the known columns of its row make expected, and a
column that holds 1 where another one has no value stands behind all others. Whatever learns and
predicts sees a table without gaps, and a length scale says how much a gap tells.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .._sampling import fixed_index
from .checks import LARGEST
from .rows import in_parts

# Rows that relations of columns are learned from, and rounds of that. 15 draws of five tables of
# 1,000 rows, 5 to 50 % missing: nats a row with up to 60 rounds are the same to 0.01.
SAMPLE_ROWS, _ROUNDS = 2048, 20
# Most columns whose relations are learned: they are a matrix, which is saved with a model.
_MOST_RELATED = 64
# Rows that one stands for which lacks what none lacked before. Five tables, 1,000 rows to learn
# from, 10 and 30 % missing in later ones: 8, 16 and 32 have the same nats a row to 0.01.
_LEAST_ALTERNATIVES = 8
# Rows that tell how a column varies which had one value at first, as where a stream began with one
# row: as many as a stream has before it goes on from what it has learned.
_ROWS_OF_A_RANGE = 25.0


class Sketch(NamedTuple):
    """Some rows, and what is counted among all of a part.

    Attributes
    ----------
    sample : ndarray of shape (m, d)
    weight : ndarray of shape (m,)
        Of these rows, each of which stands for others.
    lacking : ndarray of shape (d,)
        Number of rows that lack each column.
    n_rows : int
        Those that count.
    """

    sample: np.ndarray
    weight: np.ndarray
    lacking: np.ndarray
    n_rows: int

    @classmethod
    def of(cls, X, weight=None, size=SAMPLE_ROWS):
        """Look at rows (n, d) of weights (n,), or None for 1.

        A sample has ``size`` rows of positive weight at most, and as many more that have a value in
        columns of which these have none.
        """
        counted = np.arange(len(X)) if weight is None else np.flatnonzero(weight > 0.0)
        index = counted[fixed_index(len(counted), size)]
        stands_for = np.full(len(index), len(counted) / max(len(index), 1))
        lacking, n_rows = np.zeros(X.shape[1], dtype=np.int64), len(X)
        if len(X) and np.isnan(X.max()):
            known = ~np.isnan(np.asarray(X))[counted]
            lacking, n_rows = (~known).sum(axis=0), len(known)
            is_rare = known.any(axis=0) & np.isnan(X[index]).all(axis=0)
            more = counted[known[:, is_rare].any(axis=1)]
            some = more[fixed_index(len(more), size)]
            index = np.append(index, some)
            stands_for = np.append(stands_for, np.full(len(some), len(more) / max(len(some), 1)))
        of_sample = stands_for if weight is None else weight[index] * stands_for
        return cls(np.asarray(X[index], dtype=np.float64), of_sample, lacking, n_rows)


class NoMissing:
    """No value of X may be missing; attributes as those of `MissingValues`."""

    columns = ()
    allowed = False

    def learned(self, X, sample_weight=None, categorical=()):
        """Return itself."""
        return self

    def learned_from(self, sketches, categorical=()):
        """Return itself."""
        return self

    def extended(self, X, sample_weight=None):
        """Return itself."""
        return self

    def filled(self, X):
        """Return X as it is."""
        return X


@dataclass(frozen=True)
class MissingValues:
    """Fills what is missing, as the rows of a first batch say.

    Parameters
    ----------
    columns : tuple of int
        Columns of which some of these rows had no value.
    mean, std : ndarray of shape (d,)
        Of the columns.
    limits : ndarray of shape (d, 2)
        Smallest and largest values.
    precision : ndarray of shape (d, d) or None
        Inverse correlations of the columns; None for unrelated ones.
    count : ndarray of shape (d,) or None
        Of rows that say how columns vary: 1 of those that had one value, 0 of those that had none,
        inf where a first batch says it; None is 0 of both.
    """

    columns: tuple = ()
    mean: np.ndarray | None = None
    std: np.ndarray | None = None
    limits: np.ndarray | None = None
    precision: np.ndarray | None = field(default=None)
    count: np.ndarray | None = None

    allowed = True

    def learned(self, X, sample_weight=None, categorical=()):
        """Return what rows of positive weight say.

        Parameters
        ----------
        X : array of shape (n, d)
            Numbers, NaN where one is missing.
        sample_weight : array-like of shape (n,) or None
            Not checked yet: of no effect where it is not valid.
        categorical : sequence of int
            Columns of categories, which are not missing.
        """
        weight = _valid_weight(X, sample_weight)
        return self.learned_from([Sketch.of(X, weight)], categorical)

    def learned_from(self, sketches, categorical=()):
        """Return what the rows of some parts say; see `learned`."""
        samples, weights, lacking, n_rows = zip(*sketches, strict=True)
        sample, weight, lacking = np.concatenate(samples), np.concatenate(weights), sum(lacking)
        columns = tuple(np.flatnonzero((lacking > 0) & (lacking < sum(n_rows))).tolist())
        if not weight.any():  # all of them may be of weight zero in a sample
            weight = np.ones(len(sample))
        mean, std, limits = _moments(sample, weight)
        precision = None
        if sample.shape[1] <= _MOST_RELATED:
            scaled = (sample - mean) / std
            scaled[:, list(categorical)] = 0.0  # codes have no order
            shift, precision = _learned_relations(scaled, weight)
            mean = mean + std * shift
        is_known = (~np.isnan(sample) & (weight > 0.0)[:, None]).any(axis=0)
        count = np.where(_vary(limits), np.inf, is_known)
        return MissingValues(columns, mean, std, limits, precision, count)

    def extended(self, X, sample_weight=None):
        """Return the same with what later rows (n, d) say of columns that had one value, or none.

        Until enough of them tell how these vary: a row that comes alone does not. Relations to
        other columns are not learned any more.
        """
        count = np.where(_vary(self.limits), np.inf, 0.0) if self.count is None else self.count
        own = np.flatnonzero(count < _ROWS_OF_A_RANGE)
        if not len(own):
            return self
        weight = _valid_weight(X, sample_weight)
        weight = np.ones(len(X)) if weight is None else weight
        some = np.asarray(X, dtype=np.float64)[:, own]
        more = (~np.isnan(some) * weight[:, None]).sum(axis=0)
        before = count[own], self.mean[own], self.std[own], self.limits[own]
        told = _joined_moments(before, (more, *_moments(some, weight)))
        own, told = own[more > 0.0], [part[more > 0.0] for part in told]
        parts = [part.copy() for part in (count, self.mean, self.std, self.limits)]
        for part, new in zip(parts, told, strict=True):
            part[own] = new
        precision = None if self.precision is None else self.precision.copy()
        if precision is not None:
            precision[own] = precision[:, own] = 0.0
            precision[own, own] = 1.0
        count, mean, std, limits = parts
        return replace(self, mean=mean, std=std, limits=limits, precision=precision, count=count)

    def filled(self, X):
        """Return X without gaps, and behind it for each of ``columns`` whether it is missing."""
        X = np.array(X)
        is_missing = np.isnan(X)
        for rows, gap in _groups(is_missing):
            X[np.ix_(rows, gap)] = self._expected(X[rows], gap)
        tells = is_missing[:, list(self.columns)].astype(X.dtype)
        return np.concatenate([X, tells], axis=1)

    def unforeseen(self, X):
        """Return a mask (n, d) of missing values in columns that had all of theirs; or None."""
        is_missing = np.isnan(X)
        is_missing[:, list(self.columns)] = False
        is_missing[:, ~_vary(self.limits)] = False  # nothing else is known of these
        return is_missing if is_missing.any() else None

    def alternatives(self, X, unforeseen):
        """Yield rows, and what they may be where nothing says that values are missing.

        Parameters
        ----------
        X : ndarray of shape (n, d + k)
            Filled.
        unforeseen : ndarray of shape (n, d)

        Yields
        ------
        rows : ndarray of shape (m,)
        points : ndarray of shape (m, s, d + k)
            Equally likely ones, with the conditional moments of what is missing.
        """
        d = unforeseen.shape[1]
        is_missing = unforeseen.copy()
        is_missing[:, list(self.columns)] = X[:, d:] > 0.0
        for group, gap in _groups(is_missing):
            for part, own in _groups(unforeseen[group]):
                rows = group[part]
                scatter, own = self._scatter(gap, own), np.flatnonzero(own)
                points = np.repeat(X[rows, None], len(scatter), axis=1)
                likely = points[..., own] + scatter
                points[..., own] = np.clip(likely, *self.limits[own].T)
                yield rows, points

    def _scatter(self, gap, own):
        """Return differences (s, k) of columns from what is expected where ``gap`` is missing.

        They are the same whatever the order of the columns: those whose means are lower in their
        range come first.
        """
        covariance = np.eye(int(own.sum()))
        if self.precision is not None:
            inner = own[gap]
            covariance = np.linalg.inv(self.precision[np.ix_(gap, gap)])[np.ix_(inner, inner)]
        low, high = self.limits[own].T
        order = np.argsort((self.mean[own] - low) / (high - low), kind="stable")
        root = np.linalg.cholesky(covariance[np.ix_(order, order)])
        scatter = _normal_points(len(order)) @ root.T
        return scatter[:, np.argsort(order)] * self.std[own]

    def _expected(self, X, gap):
        """Return what is expected in columns that some rows all lack, (n, k)."""
        if self.precision is None:
            return np.broadcast_to(self.mean[gap], (len(X), int(gap.sum())))
        scaled = (X[:, ~gap] - self.mean[~gap]) / self.std[~gap]
        expected = _given_others(self.precision, gap, scaled)
        # beyond what was ever seen relations of columns say nothing
        return np.clip(self.mean[gap] + self.std[gap] * expected, *self.limits[gap].T)


NO_MISSING, MAY_MISS = NoMissing(), MissingValues()


def _normal_points(k):
    """Return points (s, k) with the mean and the covariance of k standard normal variables."""
    half = max(_LEAST_ALTERNATIVES // 2, k)
    left, _, right = np.linalg.svd(
        np.random.RandomState(0).standard_normal((half, k)), full_matrices=False
    )
    points = np.sqrt(half) * left @ right
    return np.concatenate([points, -points])


def _valid_weight(X, sample_weight):
    """Return weights as an array; None where they are not valid, or all alike."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight)
    if weight.shape != X.shape[:1] or weight.dtype.kind not in "biuf":
        return None
    weight = weight.astype(np.float64)
    is_valid = (weight >= 0.0).all() and (weight <= LARGEST).all() and (weight > 0.0).any()
    return weight if is_valid else None


def _moments(X, weight):
    """Return means, deviations, least and largest of what is known of columns; 0 of nothing."""
    known = ~np.isnan(X) & (weight > 0.0)[:, None]
    count = np.where(known, weight[:, None], 0.0)
    total = np.maximum(count.sum(axis=0), np.finfo(float).tiny)
    low = np.where(known, X, np.inf).min(axis=0)
    high = np.where(known, X, -np.inf).max(axis=0)
    is_empty = ~known.any(axis=0)
    low[is_empty] = high[is_empty] = 0.0
    size = np.maximum(np.maximum(-low, high), np.finfo(float).tiny)
    scaled = np.where(known, X, 0.0) / size  # squares of large numbers overflow
    mean = (count * scaled).sum(axis=0) / total
    variance = (count * (scaled - mean) ** 2).sum(axis=0) / total
    std = size * np.sqrt(variance)
    limits = np.column_stack([low, high])
    return np.clip(size * mean, low, high), np.where(std > 0.0, std, 1.0), limits


def _joined_moments(before, after):
    """Return counts, means, deviations, and least and largest values of rows and later ones.

    Rows before of which a column had one value count as one.
    """
    (n, mean, std, limits), (more, later, scatter, others) = before, after
    share = more / np.maximum(n + more, np.finfo(float).tiny)
    std, scatter = (
        np.where(_vary(each), own, 0.0) for each, own in ((limits, std), (others, scatter))
    )
    apart = np.sqrt(share * (1.0 - share)) * (later - mean)
    std = np.hypot(np.hypot(np.sqrt(1.0 - share) * std, np.sqrt(share) * scatter), apart)
    low = np.where(n > 0.0, np.minimum(limits[:, 0], others[:, 0]), others[:, 0])
    high = np.where(n > 0.0, np.maximum(limits[:, 1], others[:, 1]), others[:, 1])
    mean = np.clip(mean + share * (later - mean), low, high)
    n, limits = np.where(low < high, n + more, 1.0), np.column_stack([low, high])
    return n, mean, np.where(std > 0.0, std, 1.0), limits


def _vary(limits):
    """Return which columns have more than one value, (d,)."""
    return np.ptp(limits, axis=1) > 0.0


def _learned_relations(Z, weight):
    """Return mean and precision of a normal distribution of rows that lack some values.

    Expectation maximisation, from independent columns. As much is known before of unrelated ones as
    so many rows tell as there are columns. The columns of Z have mean 0 and variance 1, as far as
    they are known.
    """
    d, total, is_missing = Z.shape[1], weight.sum(), np.isnan(Z)
    groups, Z = list(_groups(is_missing)), np.where(is_missing, 0.0, Z)
    mean, precision = np.zeros(d), np.eye(d)
    for _ in range(_ROUNDS if groups else 1):
        spread = np.zeros((d, d))
        for rows, gap in groups:
            known = Z[np.ix_(rows, ~gap)] - mean[~gap]
            Z[np.ix_(rows, gap)] = mean[gap] + _given_others(precision, gap, known)
            places = np.ix_(gap, gap)
            spread[places] += weight[rows].sum() * np.linalg.inv(precision[places])
        mean = weight @ Z / total
        centred = Z - mean
        scatter = (centred.T * weight) @ centred + spread
        precision = np.linalg.inv((scatter + d * np.eye(d)) / (total + d))
    return mean, precision


def _given_others(precision, gap, known):
    """Return conditional means of some columns (n, k) given the others, in standard units."""
    places = np.flatnonzero(gap), np.flatnonzero(~gap)
    own = cho_factor(precision[np.ix_(places[0], places[0])])
    return -cho_solve(own, precision[np.ix_(*places)] @ known.T).T


def _groups(is_missing):
    """Yield rows that lack the same columns, and a mask of these."""
    rows = np.flatnonzero(is_missing.any(axis=1))
    if not len(rows):
        return
    # bits: sorting rows of 20 booleans takes 15 times as long
    _, first, group = np.unique(_keys(is_missing[rows]), return_index=True, return_inverse=True)
    gaps, group = is_missing[rows[first]], group.ravel()
    order = np.argsort(group, kind="stable")
    yield from zip(in_parts(rows[order], np.bincount(group)), gaps, strict=True)


def _keys(is_missing):
    """Return for each row of a mask a number, or bytes, that other rows have where they are equal.

    They are in the order of the rows.
    """
    bits = np.packbits(is_missing, axis=1)
    size = -bits.shape[1] % 8
    bits = np.ascontiguousarray(np.pad(bits, ((0, 0), (0, size))))
    return bits.view(">u8")[:, 0] if bits.shape[1] == 8 else bits.view(f"V{bits.shape[1]}")[:, 0]
