"""Mean and spread of targets that come in batches, whose rows are gone."""

from dataclasses import dataclass, replace

import numpy as np

from .rows import each_weight
from .scaling import unit_of, usable_scale


def joined_moments(one, other):
    """Return weight, mean, squares and unit of targets of both (Chan, Golub and LeVeque 1983).

    ``squares`` are sums about the mean, in units.
    """
    total = one.weight + other.weight
    share = other.weight / np.where(total > 0.0, total, 1.0)
    apart, unit = other.mean - one.mean, np.maximum(one.unit, other.unit)
    squares = sum(each.squares * (each.unit / unit) ** 2 for each in (one, other))
    squares = squares + one.weight * share * (apart / unit) ** 2
    return total, one.mean + share * apart, squares, unit


@dataclass(frozen=True)
class RunningMoments:
    """Weighted moments of all targets so far, of each output; targets that are NaN do not count.

    Joined batch by batch they are those of all rows at once.

    Parameters
    ----------
    weight, mean, squares : ndarray of shape (t,)
        Total weights, means, and weighted sums of squares about the means, in units.
    low, high : ndarray of shape (t,)
        Smallest and largest target.
    unit : ndarray of shape (t,), default=1.0
        A number of their size; see `unit_of`.
    """

    weight: np.ndarray
    mean: np.ndarray
    squares: np.ndarray
    low: np.ndarray
    high: np.ndarray
    unit: np.ndarray = 1.0

    @classmethod
    def of(cls, y, weight):
        """Measure targets (n, t) of rows with weights (n,), or None for 1.

        An output without any target has weight 0.
        """
        seen = ~np.isnan(y)
        weight = each_weight(weight, len(y))[:, None] * seen
        total = weight.sum(axis=0)
        low = np.where(seen, y, np.inf).min(axis=0)
        high = np.where(seen, y, -np.inf).max(axis=0)
        origin = np.where(total > 0.0, low, 0.0)
        unit = unit_of(np.where(total > 0.0, np.maximum(np.abs(low), np.abs(high)), 0.0))
        beyond = np.where(seen, y - origin, 0.0) / unit
        share = weight / np.where(total > 0.0, total, 1.0)
        more = (share * beyond).sum(axis=0)
        squares = (weight * (beyond - more) ** 2).sum(axis=0)
        return cls(total, origin + unit * more, squares, low, high, unit)

    def joined(self, other):
        """Add the targets of both."""
        total, mean, squares, unit = joined_moments(self, other)
        mean = np.where(self.weight > 0.0, mean, other.mean)
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return RunningMoments(total, mean, squares, low, high, unit)

    def tempered(self, share):
        """Count the targets so far as a share of their weight."""
        return replace(self, weight=share * self.weight, squares=share * self.squares)

    def moved(self, level):
        """Add a level, (t,), to the targets so far."""
        mean, low, high = (part + level for part in (self.mean, self.low, self.high))
        return replace(self, mean=mean, low=low, high=high)

    def units(self, mean, scale):
        """Return centre and scale of the targets, (t,) each; those given where there are none.

        The scale of a target that has not varied yet is its size, the one unit that it has.
        """
        known, size = self.weight > 0.0, np.maximum(np.abs(self.low), np.abs(self.high))
        constant = known & (self.low == self.high)
        variance = self.squares / np.where(known, self.weight, 1.0)
        found = usable_scale(variance, self.unit, np.where(known, size, 1.0))
        found = np.where(constant, np.where(size > 0.0, size, 1.0), found)
        return np.where(known, self.mean, mean), np.where(known, found, scale)
