"""Encodings: how targets of regressors are made those of a model, and how results come back."""

from dataclasses import dataclass, field, replace

import numpy as np

from .checks import check_size
from .resolution import resolutions
from .scaling import GRID, given_scaling, mean_scale


class Encoding:
    """The interface of what encodes targets or labels: made by a fit, kept by a model.

    These defaults move and count nothing.

    `Targets`, `WarpedTargets`, `ObservedTargets`, `ClassLabels` and `ClassTargets` are encodings.
    They are frozen: methods that change something return a changed copy.

    Attributes
    ----------
    mean, scale : ndarray of shape (t,)
        A model learns ``(encode(y) - mean) / scale``.
    grid : float
        What scaled targets are rounded to multiples of, 0 where they are not; see `scaling.GRID`.
    log_scale : float
        Difference of the log density of a row as learned and in the units of y.
    follows_rows : bool
        Whether mean and scale are those of rows, and not given.
    attributes : dict
        Public fitted attributes, copies.
    """

    log_scale = grid = 0.0
    follows_rows = False

    @property
    def n_outputs(self):
        return len(self.mean)

    def columns(self, y):
        """Check later targets, and return them as `joined` takes them."""
        return y

    def of_rows(self, y, weight):
        """Count the log-Jacobian of these rows alone, in the place of those so far."""
        return self

    def joined(self, y, weight):
        """Add the log-Jacobian of more rows, as `columns` returns them."""
        return self

    def after(self, rows):
        """Return the same after the `Rows` of a later batch."""
        return self

    def is_informative(self, rows):
        """Tell if rows can say anything about the kernel."""
        return True

    def widths(self, rows):
        """Return the widths of the intervals that targets of rows were rounded from, or 0."""
        return 0.0


def count_samples(X, weight):
    """Count the rows of positive weight."""
    return len(X) if weight is None else int(np.count_nonzero(weight))


def read_only_copy(array):
    """Copy an array for the user, read-only, so that nobody takes it for the model's own."""
    array = array.copy()
    array.setflags(write=False)
    return array


def _as_columns(y):
    """Return columns in C order, whose sums have the same rounding whatever y looks like."""
    return np.ascontiguousarray(y.reshape(len(y), -1), dtype=np.float64)


def target_columns(y):
    """Return targets as float64 columns (n, t)."""
    y = _as_columns(y)
    check_size("y", y)
    return y


def observed_columns(y):
    """Return targets as float64 columns (n, t), NaN where they were not observed."""
    y = _as_columns(y)
    check_size("y", np.append(y[~np.isnan(y)], 0.0))
    return y


@dataclass(frozen=True)
class Targets(Encoding):
    """Targets of a regressor that are centred and scaled.

    `fit`, `fit_moments`, `fit_warped` and `fit_observed` find centre and scale from first rows.

    Parameters
    ----------
    ndim : int
        Of y as the user gave it: 1 or 2.
    mean, scale : ndarray of shape (t,)
        Targets are learned as ``(warped(y) - mean) / scale``.
    grid : float
        See `Encoding`.
    resolution : ndarray of shape (t,) or float
        Steps that y was rounded to, 0 where it was not.
    """

    ndim: int
    mean: np.ndarray
    scale: np.ndarray
    grid: float = field(default=0.0, kw_only=True)
    resolution: object = field(default=0.0, kw_only=True)

    lowest = -np.inf  # target of each output that there may be
    keeps_means = True  # the mean of y is linear in that of the latent function
    follows_rows = property(lambda self: self.grid > 0.0)

    @classmethod
    def fit(cls, y, weight, normalize_y, ndim=2):
        """Centre and scale targets by the first rows.

        Parameters
        ----------
        normalize_y : bool or tuple of (mean, scale)
        ndim : int
        """
        t = y.shape[1]
        if isinstance(normalize_y, tuple):
            return cls(ndim, *given_scaling(y, normalize_y))
        if not normalize_y:
            return cls(ndim, np.zeros(t), np.ones(t))
        return cls(ndim, *mean_scale(y, weight), grid=GRID)

    @classmethod
    def fit_moments(cls, moments, normalize_y):
        """Centre and scale targets by sums over the rows, where these are not at hand.

        The moments have ``mean``, ``scale`` and ``largest``, each of shape (t,), and ``ndim``.
        """
        if normalize_y is True:
            return cls(moments.ndim, moments.mean, moments.scale, grid=GRID)
        extremes = np.stack([-moments.largest, moments.largest])
        return cls.fit(extremes, None, normalize_y, moments.ndim)

    @classmethod
    def fit_observed(cls, y, weight, normalize_y, ndim):
        """Centre and scale targets of which some are NaN; parameters as in `fit`."""
        if isinstance(normalize_y, tuple):
            mean, scale = given_scaling(y, normalize_y)
        else:
            parts = []
            for column in y.T:
                seen = ~np.isnan(column)
                weight_seen = None if weight is None else weight[seen]
                parts.append(cls.fit(column[seen, None], weight_seen, normalize_y))
            mean, scale = np.array([(one.mean[0], one.scale[0]) for one in parts]).T
        grid = GRID if normalize_y is True else 0.0
        return ObservedTargets(ndim, mean, scale, _observed(y, weight), grid=grid)

    def moved(self, means):
        """Add means, (t,), in units of the targets as scaled."""
        return replace(self, mean=self.mean + self.scale * means)

    def with_means_within(self, y, is_cut):
        """Return the same: no warp can bring the mean out of the range; see `warped_targets`."""
        return self

    def means_within(self, y, likelihood, mean, variance, noise):
        """Return the means of observations twice, (n, t); see `warped_targets`."""
        each = self.moments(likelihood, mean, variance, noise)[0].reshape(mean.shape)
        return [each, each]

    def with_resolution(self, y):
        """Find the steps that columns (n, t) were rounded to."""
        return replace(self, resolution=resolutions(y))

    def with_gaps(self):
        """Return the same for targets of which some were not observed."""
        one = np.ones(len(self.mean)), 1.0  # as `of_rows` counts, until it does
        return ObservedTargets(
            self.ndim, self.mean, self.scale, one, grid=self.grid, resolution=self.resolution
        )

    def with_moments(self, moments):
        """Take centre and scale from the `RunningMoments` of all rows so far."""
        mean, scale = moments.units(self.mean, self.scale)
        return replace(self, mean=mean, scale=scale)

    def with_scale_of_constants(self, y):
        """Take the size of a target that has not varied yet as its scale.

        One value says nothing about how much a stream will vary, but its size has the right unit.
        """
        size = np.nanmax(np.abs(y), axis=0)  # each output was observed at least once
        constant = np.nanmax(y, axis=0) == np.nanmin(y, axis=0)
        scale = np.where(constant & (size > 0.0), size, self.scale)
        return replace(self, scale=scale)

    # ---- From y to what is learned

    def columns(self, y):
        """Return targets of a later batch as columns (n, t), or raise a ValueError."""
        if y.ndim != self.ndim or (y.ndim == 2 and y.shape[1] != len(self.mean)):
            shape = "(n_samples,)" if self.ndim == 1 else f"(n_samples, {self.n_outputs})"
            raise ValueError(
                f"y must have shape {shape}, as in the first batch. Got shape {y.shape}."
            )
        return self._columns(y)

    _columns = staticmethod(target_columns)

    def encode(self, y):
        """Return targets of a later batch as columns (n, t), warped, or raise a ValueError."""
        return self.warped(self.columns(y))

    def warped(self, y):
        """Return columns (n, t) as they are scaled."""
        return y

    def scaled(self, y):
        """Return columns (n, t) as they are learned."""
        return (self.warped(y) - self.mean) / self.scale

    def scaled_variance(self, variance):
        """Return variances in units of y, (t,), for scaled targets."""
        return variance / self.scale / self.scale  # the square of a tiny scale is zero

    def log_slope(self, y):
        """Return the log slope of `scaled`, (n, t), or (t,) where it is the same for all y."""
        return -np.log(self.scale)

    @property
    def log_scale(self):
        return float(np.log(self.scale).sum())

    def cells(self, y, resolution):
        """Return the ends of the intervals that targets (n, t) were rounded from, as learned."""
        half = 0.5 * np.broadcast_to(resolution, y.shape)
        return self.scaled(y - half), self.scaled(y + half)

    def widths(self, rows):
        """Return the widths of the intervals that targets were rounded from, (n, t), or 0."""
        if rows.live_elsewhere or not np.any(self.resolution):  # noise by rows is of rows here
            return 0.0
        y, half = self.in_units(rows.targets), 0.5 * np.broadcast_to(self.resolution, rows.y.shape)
        return self.scaled(y + half) - self.scaled(np.maximum(y - half, self.lowest))

    # ---- And back

    def not_below_lowest(self, values):
        """Raise values, of the shape of y, to the lowest target that there may be."""
        return values

    def unwarped(self, values):
        """Undo `warped`, of values whose second axis are the outputs."""
        return values

    def in_units(self, scaled):
        """Return learned columns (n, t) in units of y."""
        return self.unwarped(scaled * self.scale + self.mean)

    def mean_in_units(self, mean):
        """Return scaled means (n, t) in the units and the shape of y; see `keeps_means`."""
        return self.squeezed(self.in_units(mean))

    def samples_in_units(self, samples):
        """Return scaled values (n, t, k) in units of y; (n, k) where y has one axis."""
        values = self.unwarped(samples * self.scale[:, None] + self.mean[:, None])
        return values[:, 0] if self.ndim == 1 else values

    def squeezed(self, values):
        """Drop the last axis, that of the outputs, where y has one axis."""
        return values[..., 0] if self.ndim == 1 else values

    @property
    def attributes(self):
        """``y_mean_``, ``y_scale_`` and ``resolution_``: numbers where y has one axis."""
        found = {"y_mean_": self.mean, "y_scale_": self.scale, "resolution_": self.resolution}
        return {name: self.each_output(value) for name, value in found.items()}

    def each_output(self, value):
        """Return a number where y has one axis, else one for each output, (t,), read-only."""
        if self.ndim == 1:
            return float(np.ravel(value)[0])
        return read_only_copy(np.broadcast_to(value, self.mean.shape))

    # ---- Predictions

    def moments(self, likelihood, mean, variance, noise):
        """Compute means and variances of observations, or of the function, of the shape of y.

        Parameters
        ----------
        likelihood : Likelihood or None
            None for the function.
        mean, variance : ndarray of shape (n, t)
            Of the latent function.
        noise : object
            As the likelihood takes it.
        """
        mean, variance = _with_noise(likelihood, mean, variance, noise)
        return self.mean_in_units(mean), self.squeezed(variance * self.scale**2)

    def mean_std(self, likelihood, mean, variance, noise):
        """Compute means and standard deviations; parameters as in `moments`."""
        mean, variance = _with_noise(likelihood, mean, variance, noise)
        std = np.broadcast_to(np.sqrt(variance) * self.scale, mean.shape).copy()
        return self.mean_in_units(mean), self.squeezed(std)

    def covariance(self, likelihood, mean, covariance, noise):
        """Compute means and joint covariances of observations, the latter (n, n) or (n, n, t).

        Parameters
        ----------
        likelihood : Likelihood or None
            None for the function.
        mean : ndarray of shape (n, t)
            Of the latent function.
        covariance : ndarray of shape (n, n, t) or (n, n, 1)
            It may be overwritten.
        noise : object
            As the likelihood takes it.
        """
        if likelihood is not None:
            mean, covariance = likelihood.covariance(mean, covariance, noise)
        return self.mean_in_units(mean), self.squeezed(covariance * self.scale**2)


@dataclass(frozen=True)
class ObservedTargets(Targets):
    """Targets of which those that are NaN were not observed.

    Parameters
    ----------
    observed : tuple of (ndarray of shape (t,), float)
        Weights of the rows in which each output was observed, and of all rows.
    """

    observed: tuple

    _columns = staticmethod(observed_columns)

    def of_rows(self, y, weight):
        return replace(self, observed=_observed(y.reshape(len(y), -1), weight))

    def joined(self, y, weight):
        return replace(self, observed=added(self.observed, _observed(y, weight)))

    @property
    def log_scale(self):
        """The mean over all rows, of the outputs that each of them has."""
        count, total = self.observed
        return float(np.log(self.scale) @ count) / total

    def with_means_of(self, before):
        """Take the means of an earlier fit, where it had as many outputs, and some missing too."""
        same = isinstance(before, ObservedTargets) and before.mean.shape == self.mean.shape
        return replace(self, mean=before.mean) if same else self


def added(sums, more):
    """Return sums over rows, with those of more rows."""
    return tuple(old + new for old, new in zip(sums, more, strict=True))


def _with_noise(likelihood, mean, variance, noise):
    """Return means and variances of observations; of the function without a likelihood."""
    return (mean, variance) if likelihood is None else likelihood.moments(mean, variance, noise)


def _observed(y, weight):
    """Sum the weights of the rows in which each output was observed, (t,), and of all rows."""
    weight = np.ones(len(y)) if weight is None else weight
    return weight @ ~np.isnan(y), float(weight.sum())
