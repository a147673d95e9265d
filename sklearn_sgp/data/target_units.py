"""Sizes of targets that are learned as they come, for starting values and default bounds."""

from typing import NamedTuple

import numpy as np

# Rows that show them where rows live elsewhere.
_ELSEWHERE_ROWS = 10_000


class TargetUnits(NamedTuple):
    """Mean squares of the scaled targets of each output, (t,), or 1 for all.

    ``square`` is about 0, the mean of the prior: what a function's variance is relative to;
    ``variance`` is about their means: what the noise variance is relative to.
    """

    square: object = 1.0
    variance: object = 1.0

    @classmethod
    def of(cls, rows):
        """Measure the targets of `Rows`; those that are NaN are not there."""
        if rows.live_elsewhere:
            rows = rows.fixed_subset(_ELSEWHERE_ROWS)
        y, weight = rows.targets, rows.weights[1]
        seen = ~np.isnan(y)
        weight = (weight * seen.T).T
        y, total = np.where(seen, y, 0.0), weight.sum(axis=0)
        square = (weight * y**2).sum(axis=0) / total
        mean = (weight * y).sum(axis=0) / total
        variance = (weight * (y - mean) ** 2).sum(axis=0) / total
        square = np.where(square > 0.0, square, 1.0)
        return cls(square, np.where(variance > 1e-24 * square, variance, square))

    @property
    def size(self):
        """Root mean squares, (t, 1), or 1."""
        return np.sqrt(self.square)[:, None] if np.ndim(self.square) else 1.0

    @property
    def bounds(self):
        """The least and the largest mean square."""
        return float(np.min(self.square)), float(np.max(self.square))

    @property
    def middle(self):
        """The geometric mean of these."""
        low, high = self.bounds
        return float(np.sqrt(low) * np.sqrt(high))


UNIT = TargetUnits()
