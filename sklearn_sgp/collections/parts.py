"""What workers do with their part of the rows: check it, sum it up, hand out rows of it."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..data.checks import check_array, check_size
from ..data.columns_apart import as_labels, check_labels
from ..data.label_checks import check_classes_of
from ..data.missing import NO_MISSING
from ..data.resolution import TOLD_ROWS
from ..data.rows import drop_zero_weight, make_rows
from ..data.running_moments import joined_moments
from ..data.scaling import unit_of, usable_scale
from ..data.targets import target_columns


@dataclass(frozen=True)
class RawPart:
    """Inputs, targets and weights of the rows of positive weight in one partition.

    Targets are numbers in their own units, or labels; ``labels``, (n,) or None, are those of
    blocks.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    labels: np.ndarray | None = None

    def __len__(self):
        return len(self.X)


def checked_part(X, y, weight, labels, n_features, check_y, allows_missing):
    """Validate one partition as `fit` validates rows in memory; return a `RawPart`.

    Parameters
    ----------
    X, y, weight, labels : array-like, dataframe or None
    check_y : NumbersCheck or LabelsCheck
        ``check_y(y)`` returns targets or labels as an array, or raises a ValueError, as
        ``check_y.of_rows(y)`` does for those of rows of positive weight.
    allows_missing : bool
        Whether numbers of X may be NaN.
    """
    finite = "allow-nan" if allows_missing else True
    options = {"order": None, "ensure_min_samples": 0, "ensure_all_finite": finite}
    X = check_array(X, dtype=[np.float64, np.float32], **options)
    if X.shape[1] != n_features:
        raise ValueError(
            f"X must have {n_features} columns in each partition. Got {X.shape[1]} in one."
        )
    y = np.empty(0) if not len(X) else check_y(np.asarray(y))
    weight = None if weight is None else _checked_weight(weight)
    labels = check_labels(as_labels(labels), np.size(labels))
    for name, part in (("y", y), ("sample_weight", weight), ("blocks", labels)):
        if part is not None and len(part) != len(X):
            raise ValueError(
                f"{name} must have the rows of X in each of its partitions. Got a partition of "
                f"{len(part)} rows, and {len(X)} of X: call compute_chunk_sizes() on the arrays, "
                f"or make {name} from the same dataframe as X."
            )
    known = X[~np.isnan(X)] if len(X) and np.isnan(X.max()) else X
    if known.size:
        check_size("X", known)
    part = RawPart(*drop_zero_weight(X, y, weight, labels))
    if len(part):
        check_y.of_rows(part.y)
    return part


def _checked_weight(weight):
    weight = np.ravel(np.asarray(weight, dtype=np.float64))
    if len(weight):
        if not (np.isfinite(weight).all() and weight.min() >= 0.0):
            raise ValueError(
                "sample_weight must hold finite numbers that are not negative. Got "
                f"{weight[~(weight >= 0.0) | np.isinf(weight)][0]:g}."
            )
        check_size("sample_weight", weight)
    return weight


class NumbersCheck(NamedTuple):
    """Checks targets of a regression: finite numbers, of a kind that the likelihood knows."""

    likelihood: object

    def __call__(self, y):
        """Return checked numbers."""
        y = check_array(y, ensure_2d=False, dtype="numeric", input_name="y")
        target_columns(y)
        return y

    def of_rows(self, y):
        """Refuse targets of rows that count."""
        self.likelihood.check_targets(target_columns(y))


class LabelsCheck(NamedTuple):
    """Checks labels of a classification."""

    def __call__(self, y):
        """Return checked labels."""
        y = np.ravel(y) if y.ndim == 2 and y.shape[1] == 1 else y
        y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
        if y.ndim != 1:
            raise ValueError(f"y must have one label for each row. Got shape {y.shape}.")
        check_classes_of(y)
        return y

    def of_rows(self, y):
        """Refuse nothing: a label is a label."""


class Moments(NamedTuple):
    """Sums over the targets of rows, which join to those of more rows.

    Attributes
    ----------
    count : int
    weight : float
    mean, squares : ndarray of shape (t,)
        Weighted mean, and weighted sum of squared differences from it, in units of ``unit``.
    largest : ndarray of shape (t,)
        Largest absolute values.
    ndim : int
        Of y.
    unit : ndarray of shape (t,)
        Numbers of the size of the targets; see `unit_of`.
    """

    count: int
    weight: float
    mean: np.ndarray
    squares: np.ndarray
    largest: np.ndarray
    ndim: int
    unit: np.ndarray

    n_targets = TOLD_ROWS  # to look at besides, of all parts

    @classmethod
    def of(cls, part):
        """Sum up a `RawPart`; None if it has no rows."""
        if not len(part):
            return None
        y = target_columns(part.y)
        weight = float(len(y) if part.weight is None else part.weight.sum())
        largest = np.abs(y).max(axis=0)
        unit = unit_of(largest)
        mean = np.average(y / unit, axis=0, weights=part.weight)
        squares = weight * np.average((y / unit - mean) ** 2, axis=0, weights=part.weight)
        return cls(len(y), weight, unit * mean, squares, largest, part.y.ndim, unit)

    @property
    def scale(self):
        """Standard deviations, (t,)."""
        return usable_scale(self.squares / self.weight, self.unit, self.largest)

    def joined(self, other):
        """Add the sums of other rows."""
        *sums, unit = joined_moments(self, other)
        largest = np.maximum(self.largest, other.largest)
        return Moments(self.count + other.count, *sums, largest, self.ndim, unit)


class LabelCounts(NamedTuple):
    """Number of rows, and the weight of those with each label."""

    count: int
    weight: float
    labels: np.ndarray
    weights: np.ndarray

    n_targets = 0

    @classmethod
    def of(cls, part):
        """Sum up a `RawPart`; None if it has no rows."""
        if not len(part):
            return None
        labels, place = np.unique(part.y, return_inverse=True)
        weights = np.bincount(place, part.weight, len(labels)).astype(np.float64)
        return cls(len(part), float(weights.sum()), labels, weights)

    def joined(self, other):
        """Add the counts of other rows."""
        both = np.concatenate([self.labels, other.labels])
        labels, place = np.unique(both, return_inverse=True)
        weights = np.bincount(place, np.concatenate([self.weights, other.weights]), len(labels))
        return LabelCounts(self.count + other.count, self.weight + other.weight, labels, weights)


class Scaled(NamedTuple):
    """Makes `Rows` of a part, for a regression."""

    targets: object
    factors: None = None

    def __call__(self, part):
        y = self.targets.encode(part.y) if len(part) else np.empty((0, self.targets.n_outputs))
        return make_rows(part.X, y, part.weight, self.targets, part.labels)


class Coded(NamedTuple):
    """Makes `Rows` of a part, for a classification; with a factor of each class's weight."""

    targets: object
    factors: np.ndarray | None

    def __call__(self, part):
        place = self.targets.positions(part.y) if len(part) else np.empty(0, dtype=np.intp)
        weight = part.weight
        if self.factors is not None:
            weight = self.factors[place] * (1.0 if weight is None else weight)
        y = self.targets.codes(place)
        return make_rows(part.X, y, weight, self.targets, part.labels)


class Loaded(NamedTuple):
    """Makes `Rows` of a worker's part: checked, then encoded."""

    n_features: int
    check_y: object
    encode: object = None
    missing: object = NO_MISSING

    def checked(self, X, y, weight, labels=None):
        """Return the part as it is, with values that may be missing."""
        allowed = self.missing.allowed
        return checked_part(X, y, weight, labels, self.n_features, self.check_y, allowed)

    def __call__(self, X, y, weight, labels=None):
        part = self.checked(X, y, weight, labels)
        part = replace(part, X=self.missing.filled(part.X))
        return part if self.encode is None else self.encode(part)


def taken(rows, index):
    """Copy rows of a worker."""
    part = rows.select(index)
    owned = {
        name: None if getattr(part, name) is None else np.array(getattr(part, name))
        for name in ("X", "y", "weight", "labels")
    }
    return replace(part, **owned)
