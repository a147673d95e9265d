"""Targets and class labels: how they are encoded for a model, and how results come back."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .checks import FARTHEST, check_labels_present, check_size, not_sortable


class Encoded(NamedTuple):
    """The rows of a first batch, with what encodes the targets of later ones.

    Parameters
    ----------
    X : array of shape (n, d)
    y : ndarray of shape (n, t)
        Encoded and warped, not scaled.
    weight : ndarray of shape (n,) or None
    targets : Targets or ClassLabels
    likelihood : Likelihood
    n_samples : int
        Rows of positive weight, before repeated ones were merged.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    targets: object
    likelihood: object
    n_samples: int


def count_samples(X, weight):
    """Number of rows of positive weight."""
    return len(X) if weight is None else int(np.count_nonzero(weight))


def read_only_copy(array):
    """A copy for the user that cannot be written to, so that nobody takes it for the model's own.

    Parameters
    ----------
    array : ndarray

    Returns
    -------
    copy : ndarray
    """
    array = array.copy()
    array.setflags(write=False)
    return array


@dataclass(frozen=True)
class Targets:
    """Centre and scale of the targets of a regressor, after warps if there are any.

    Parameters
    ----------
    ndim : int
        Of y as the user gave it: 1 or 2.
    mean, scale : ndarray of shape (t,)
        Targets are learned as ``(warp(y) - mean) / scale``.
    warps : tuple or None
        For each output a monotone function, with ``log_slope``, ``inverse`` and ``near_inverse``;
        None where nothing is warped. See `sklearn_sgp.warps`.
    slopes : tuple of float
        Sum over the rows that objectives count of the logarithms of the warps' slopes, weighted,
        and the sum of the weights.
    observed : tuple of (ndarray of shape (t,), float) or None
        Weights of the rows in which each output was observed, and of all rows, where targets that
        are NaN were not; None where they may not be NaN.
    """

    ndim: int
    mean: np.ndarray
    scale: np.ndarray
    warps: tuple | None = None
    slopes: tuple = (0.0, 1.0)
    observed: tuple | None = None

    @classmethod
    def fit(cls, y, weight, normalize_y, ndim=2):
        """Centre and scale from the first rows.

        Parameters
        ----------
        y : ndarray of shape (n, t)
        weight : ndarray of shape (n,) or None
        normalize_y : bool or tuple of (mean, scale)
        ndim : int

        Returns
        -------
        targets : Targets

        Raises
        ------
        ValueError
            If ``normalize_y`` is not what it must be.
        """
        t = y.shape[1]
        if isinstance(normalize_y, tuple):
            return cls(ndim, *_given_scaling(y, normalize_y))
        if not normalize_y:
            return cls(ndim, np.zeros(t), np.ones(t))
        mean = np.average(y, axis=0, weights=weight)
        variance = np.average((y - mean) ** 2, axis=0, weights=weight)
        return cls(ndim, mean, _usable_scale(variance, np.abs(y).max(axis=0)))

    @classmethod
    def fit_moments(cls, moments, normalize_y):
        """The same from sums over the rows, where these are not at hand.

        Parameters
        ----------
        moments : object
            With ``mean``, ``variance`` and ``largest``, each of shape (t,), and ``ndim``.
        normalize_y : bool or tuple of (mean, scale)

        Returns
        -------
        targets : Targets
        """
        if normalize_y is True:
            scale = _usable_scale(moments.variance, moments.largest)
            return cls(moments.ndim, moments.mean, scale)
        extremes = np.stack([-moments.largest, moments.largest])
        return cls.fit(extremes, None, normalize_y, moments.ndim)

    @classmethod
    def fit_warped(cls, y, near, weight, warps, ndim=2):
        """Centre and scale of warped targets, from those ``near``; parameters as in `fit`."""
        if all(warp.is_identity for warp in warps):
            return cls.fit(near, weight, True, ndim)
        blank = cls(ndim, np.zeros(y.shape[1]), np.ones(y.shape[1]), warps)
        scaled = cls.fit(blank.warped(near), weight, True, ndim)
        return replace(scaled, warps=warps).of_rows(y, weight)

    @classmethod
    def fit_observed(cls, y, weight, normalize_y, ndim=2):
        """Centre and scale of targets of which some are NaN; parameters as in `fit`."""
        if isinstance(normalize_y, tuple):
            mean, scale = _given_scaling(y, normalize_y)
        else:
            parts = []
            for column in y.T:
                seen = ~np.isnan(column)
                own = None if weight is None else weight[seen]
                parts.append(cls.fit(column[seen, None], own, normalize_y))
            mean, scale = np.array([(one.mean[0], one.scale[0]) for one in parts]).T
        return cls(ndim, mean, scale, observed=_observed(y, weight))

    def moved(self, means):
        """With means that are further by these, (t,), in units of the targets as scaled."""
        return replace(self, mean=self.mean + self.scale * means)

    def with_scale_of_constants(self, y):
        """With the size of a target that has not varied yet as its scale.

        One value says nothing about how much a stream will vary, but its size has the right unit.
        """
        size = np.nanmax(np.abs(y), axis=0)  # each output was observed at least once
        constant = np.nanmax(y, axis=0) == np.nanmin(y, axis=0)
        scale = np.where(constant & (size > 0.0), size, self.scale)
        return replace(self, scale=scale)

    def columns(self, y):
        """Targets of a later batch as columns (n, t), or a ValueError where they do not fit."""
        if y.ndim != self.ndim or (y.ndim == 2 and y.shape[1] != len(self.mean)):
            shape = "(n_samples,)" if self.ndim == 1 else f"(n_samples, {self.n_outputs})"
            raise ValueError(
                f"y must have shape {shape}, as in the first batch. Got shape {y.shape}."
            )
        return target_columns(y) if self.observed is None else observed_columns(y)

    def encode(self, y):
        """Targets of a later batch as columns (n, t), warped, or a ValueError."""
        return self.warped(self.columns(y))

    def warped(self, y):
        """Columns (n, t) as they are scaled."""
        return y if self.warps is None else self._of_each("__call__", y)

    def scaled(self, y):
        """Columns (n, t) as they are learned."""
        return (self.warped(y) - self.mean) / self.scale

    def in_units(self, scaled):
        """Columns (n, t) in units of y, of what was learned."""
        warped = scaled * self.scale + self.mean
        return warped if self.warps is None else self._of_each("inverse", warped)

    def log_slope(self, y):
        """Logarithm of the slope of `scaled`, (n, t), or (t,) where that is the same for all y."""
        linear = -np.log(self.scale)
        return linear if self.warps is None else linear + self._of_each("log_slope", y)

    def _of_each(self, method, columns):
        """What a method of each output's warp returns for its column."""
        parts = zip(self.warps, np.moveaxis(columns, 1, 0), strict=True)
        return np.stack([getattr(warp, method)(part) for warp, part in parts], axis=1)

    def of_rows(self, y, weight):
        """With the slopes at these rows only, of targets as `columns` takes them."""
        if self.observed is not None:
            return replace(self, observed=_observed(y.reshape(len(y), -1), weight))
        if self.warps is None:
            return self
        y = target_columns(y)
        weight = np.ones(len(y)) if weight is None else weight
        slopes = self._of_each("log_slope", y).sum(axis=1)
        return replace(self, slopes=(float(weight @ slopes), float(weight.sum())))

    def joined(self, y, weight):
        """With the slopes at these rows besides those before; the same targets."""
        if self.observed is not None:
            more = _observed(y, weight)
            both = tuple(old + new for old, new in zip(self.observed, more, strict=True))
            return replace(self, observed=both)
        if self.warps is None:
            return self
        more = self.of_rows(y, weight).slopes
        both = tuple(old + new for old, new in zip(self.slopes, more, strict=True))
        return replace(self, slopes=both)

    def is_informative(self, rows):
        """Whether rows can say anything about the kernel."""
        return True

    @property
    def n_outputs(self):
        return len(self.mean)

    @property
    def log_scale(self):
        """What a log density of a scaled row has more than that of a row in its own units.

        With warps it is the mean over the rows that objectives count.
        """
        if self.observed is not None:
            count, total = self.observed
            return float(np.log(self.scale) @ count) / total
        linear = float(np.log(self.scale).sum())
        return linear if self.warps is None else linear - self.slopes[0] / self.slopes[1]

    @property
    def attributes(self):
        """``y_mean_`` and ``y_scale_``, copies: numbers where y has one axis."""
        if self.ndim == 1:
            return {"y_mean_": float(self.mean[0]), "y_scale_": float(self.scale[0])}
        return {"y_mean_": read_only_copy(self.mean), "y_scale_": read_only_copy(self.scale)}

    def each_output(self, value):
        """A number where y has one axis, else one for each output, shape (t,), read-only."""
        if self.ndim == 1:
            return float(value)
        return read_only_copy(np.broadcast_to(value, self.mean.shape))

    def mean_in_units(self, mean):
        """Scaled means (n, t) in units of y, and of its shape; with warps these are no means."""
        return self.squeezed(self.in_units(mean))

    def samples_in_units(self, samples):
        """Scaled values (n, t, k) in units of y; (n, k) where y has one axis."""
        values = samples * self.scale[:, None] + self.mean[:, None]
        values = values if self.warps is None else self._of_each("inverse", values)
        return values[:, 0] if self.ndim == 1 else values

    def squeezed(self, values):
        """Without the last axis, that of the outputs, where y has one axis."""
        return values[..., 0] if self.ndim == 1 else values


def target_columns(y):
    """Targets as float64 columns (n, t)."""
    y = y.reshape(len(y), -1).astype(np.float64, copy=False)
    check_size("y", y)
    return y


def observed_columns(y):
    """Targets as float64 columns (n, t), NaN where they were not observed."""
    y = y.reshape(len(y), -1).astype(np.float64, copy=False)
    check_size("y", np.append(y[~np.isnan(y)], 0.0))
    return y


def _usable_scale(variance, largest):
    """Standard deviations; 1 where they are rounding errors of values of that size."""
    scale, rounding = np.sqrt(variance), 10 * np.finfo(np.float64).eps * largest
    return np.where(scale > rounding, scale, 1.0)


def _observed(y, weight):
    """Weights of the rows in which each output was observed, (t,), and of all rows."""
    weight = np.ones(len(y)) if weight is None else weight
    return weight @ ~np.isnan(y), float(weight.sum())


def _given_scaling(y, normalize_y):
    """The two entries of ``normalize_y``, or a ValueError."""
    try:
        mean, scale = (
            np.broadcast_to(np.asarray(v, dtype=np.float64), y.shape[1:]).copy()
            for v in normalize_y
        )
        valid = np.isfinite(mean).all() and np.isfinite(scale).all() and (scale > 0).all()
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ValueError(
            "The 'normalize_y' parameter must be a bool, 'yeo-johnson', 'warped', or a pair of a "
            "finite mean and a positive scale, numbers or one for each of the "
            f"{y.shape[1]} outputs. Got {normalize_y!r}."
        )
    if (np.abs(y - mean) > FARTHEST * scale).any():
        raise ValueError(
            f"The scale of the 'normalize_y' parameter must leave targets of at most {FARTHEST:g} "
            f"in size. Got {normalize_y!r}."
        )
    return mean, scale


@dataclass(frozen=True)
class ClassLabels:
    """Classes of a classifier, and their codes.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Sorted labels.
    likelihood : Likelihood
        Says how it has classes: as -1 and 1, or as numbers from 0.
    """

    classes: np.ndarray
    likelihood: object

    mean, scale, log_scale = np.zeros(1), np.ones(1), 0.0  # nothing is scaled

    def of_rows(self, y, weight):
        """The same: nothing is warped."""
        return self

    def is_informative(self, rows):
        """Whether rows can say anything about the kernel.

        Labels that are all the same are best explained by a function that never changes.
        """
        return bool(np.ptp(rows.y) > 0.0)

    @property
    def n_outputs(self):
        return len(self.classes)

    @property
    def attributes(self):
        return {"classes_": self.classes.copy()}

    def positions(self, y):
        """Position of each label in the classes, or a ValueError."""
        try:
            unknown = np.setdiff1d(y, self.classes)
        except TypeError as error:
            check_labels_present("y", y)
            raise ValueError(not_sortable("y", y)) from error
        if len(unknown):
            raise ValueError(
                f"y must hold labels among the classes {self.classes.tolist()}. Got also "
                f"{unknown.tolist()}: name all classes in the first call of partial_fit."
            )
        return np.searchsorted(self.classes, y)

    def encode(self, y):
        """Labels as the likelihood has them, shape (n, 1)."""
        return self.likelihood.codes(self.positions(y))

    def check_same(self, classes):
        """Refuse ``classes`` of a later batch that differ from those of the first."""
        if classes is not None and not np.array_equal(np.unique(classes), self.classes):
            raise ValueError(
                f"classes must be as in the first call, {self.classes.tolist()}. Got "
                f"{np.unique(classes).tolist()}."
            )
