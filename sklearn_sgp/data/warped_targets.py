"""Targets that are warped: made more normal before they are centred and scaled."""

from dataclasses import dataclass, replace

import numpy as np

from .continued_warps import Within
from .scaling import GRID
from .targets import Targets, added, target_columns
from .warped_moments import warped_covariance, warped_mean_variance, warped_means_within

# Width of the interval that a lowest target stands for, in deviations of the targets. Where many
# are zero, the noise among them is not known to vanish: with 0 a positive target there had log
# densities of -3,000 and less. 400 rows, five kinds of tables with 17 to 59 % zeros, four draws
# each: -1.06 nats a row, -1.55 with 0, and better for each kind.
_LOWEST_WIDTH = 1.0


def fit_warped(y, near, weight, warps, ndim=2):
    """Centre and scale warped targets, by those ``near``; parameters as in `Targets.fit`."""
    if all(warp.is_identity for warp in warps):
        return Targets.fit(near, weight, True, ndim)
    scaled = Targets.fit(_of_each(warps, "__call__", near), weight, True, ndim)
    warped = WarpedTargets(ndim, scaled.mean, scaled.scale, warps, grid=GRID)
    return warped.of_rows(y, weight)


@dataclass(frozen=True)
class WarpedTargets(Targets):
    """Targets that a monotone function makes more normal before they are centred and scaled.

    Parameters
    ----------
    warps : tuple
        For each output a monotone function, with ``log_slope``, ``inverse`` and ``near_inverse``;
        see `continued_warps`.
    slopes : tuple of float
        Weighted sum of the logarithms of the warps' slopes over the rows that objectives count,
        and the sum of the weights.
    mean_warps : tuple
        What means are taken of: the warps, or these with inverses that are cut. Variances are of
        the warps themselves, about the means of these: what is drawn is not cut either.
    """

    warps: tuple
    slopes: tuple = (0.0, 1.0)
    mean_warps: tuple = ()

    keeps_means = False

    def __post_init__(self):
        if not self.mean_warps:
            object.__setattr__(self, "mean_warps", self.warps)

    def with_means_within(self, y, is_cut):
        """Cut what means are taken of to the range of targets (n, t), in some outputs or all."""
        parts = zip(self.warps, self._within(y), np.broadcast_to(is_cut, y.shape[1]), strict=True)
        return replace(self, mean_warps=tuple(cut if one else warp for warp, cut, one in parts))

    def _within(self, y):
        return [Within(*each) for each in zip(self.warps, y.min(0), y.max(0), strict=True)]

    def means_within(self, y, likelihood, mean, variance, noise):
        """Return means of observations as they are, and cut to the range of y; both (n, t)."""
        return warped_means_within(self, self._within(y), likelihood, mean, variance, noise)

    @property
    def lowest(self):
        return np.array([warp.lowest for warp in self.warps])

    def not_below_lowest(self, values):
        return np.maximum(values, self.squeezed(self.lowest))

    def widths(self, rows):
        """Return widths, (n, t), or 0; the lowest target stands for all that is not above it."""
        widths, has_lowest = super().widths(rows), np.isfinite(self.lowest)
        if not has_lowest.any():
            return widths
        lowest = self.scaled(np.where(has_lowest, self.lowest, 1.0)[None])
        is_lowest = has_lowest & (rows.targets <= lowest + GRID)
        return np.where(is_lowest, np.maximum(widths, _LOWEST_WIDTH), widths)

    def warped(self, y):
        return _of_each(self.warps, "__call__", y)

    def unwarped(self, values):
        return _of_each(self.warps, "inverse", values)

    def log_slope(self, y):
        return super().log_slope(y) + _of_each(self.warps, "log_slope", y)

    def of_rows(self, y, weight):
        y = target_columns(y)
        weight = np.ones(len(y)) if weight is None else weight
        slopes = _of_each(self.warps, "log_slope", y).sum(axis=1)
        return replace(self, slopes=(float(weight @ slopes), float(weight.sum())))

    def joined(self, y, weight):
        sums = added(self.slopes, self.of_rows(y, weight).slopes)
        y = y if weight is None else y[weight > 0.0]
        each = zip(self.mean_warps, y.T, strict=True)
        of_all = (one.widened(own) if isinstance(one, Within) else one for one, own in each)
        return replace(self, slopes=sums, mean_warps=tuple(of_all))

    @property
    def log_scale(self):
        """The mean over the rows that objectives count."""
        return super().log_scale - self.slopes[0] / self.slopes[1]

    def moments(self, likelihood, mean, variance, noise):
        both = warped_mean_variance(self, likelihood, mean, variance, noise)
        return tuple(self.squeezed(part) for part in both)

    def mean_std(self, likelihood, mean, variance, noise):
        mean, variance = self.moments(likelihood, mean, variance, noise)
        return mean, np.sqrt(variance)

    def covariance(self, likelihood, mean, covariance, noise):
        both = warped_covariance(self, likelihood, mean, covariance, noise)
        return tuple(self.squeezed(part) for part in both)


def _of_each(warps, method, columns):
    """Call a method of each output's warp on its column."""
    parts = zip(warps, np.moveaxis(columns, 1, 0), strict=True)
    return np.stack([getattr(warp, method)(part) for warp, part in parts], axis=1)
