"""A warp on all numbers: a shape on the range of the training targets, lines beyond it."""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.interpolate import CubicHermiteSpline

# Slopes of the lines, in units of the mean slope between smallest and largest target. That of a
# logarithm at the largest of targets that span nine decades is 0.05: a gentler line sends a value
# of one deviation beyond the data further off than any data ask for. The other bound keeps the
# inverse from being flat to rounding.
_SLOPES = (0.05, 1e6)
# Knots of an inverse: over the range, and about each bend to so many of its widths.
_RANGE_KNOTS, _BEND_KNOTS, _BEND_REACH = 257, 65, 8.0
_MOST_NEWTON_STEPS = 100


class Identity:
    """The warp of an output that is not warped."""

    is_identity = True
    lowest = -np.inf

    def __call__(self, y):
        """Return y as it is."""
        return y

    def log_slope(self, y):
        """Return zeros."""
        return np.zeros(np.shape(y))

    inverse = near_inverse = __call__
    end_slopes = (1.0, 1.0)


@dataclass(frozen=True)
class Within:
    """A warp for means: its inverse is cut to a range."""

    warp: object
    low: float
    high: float

    def cut(self, values):
        """Return values, those beyond the range at its ends."""
        return np.clip(values, self.low, self.high)

    def widened(self, y):
        """Return the same with a range that holds more targets, (n,), too."""
        return replace(self, low=y.min(initial=self.low), high=y.max(initial=self.high))


@dataclass(frozen=True)
class Warp:
    """A monotone function, strictly increasing and finite for all numbers.

    Parameters
    ----------
    shape : warps.Standardised or warps.TanhSum
    low, high : float
        Smallest and largest training target: beyond them the warp goes on as a straight line.
    """

    is_identity = False
    lowest = -np.inf  # target that there may be

    shape: object
    low: float
    high: float
    ends: np.ndarray = field(init=False)  # what low and high become, (2,)
    slopes: np.ndarray = field(init=False)  # of the two lines
    table: object = field(init=False)  # of the inverse, None where that has a closed form

    def __post_init__(self):
        edges = np.array([self.low, self.high])
        ends = self.shape.value(edges)
        mean_slope = (ends[1] - ends[0]) / (self.high - self.low)
        slopes = np.clip(np.exp(self.shape.log_slope(edges)), *(mean_slope * s for s in _SLOPES))
        has_inverse = hasattr(self.shape, "inverse")
        for name, value in (("ends", ends), ("slopes", slopes)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "table", None if has_inverse else self._table())

    def __call__(self, y):
        """Compute phi(y), of any shape."""
        y = np.asarray(y, dtype=np.float64)
        inside = self.shape.value(np.clip(y, self.low, self.high))
        below, above = np.minimum(y - self.low, 0.0), np.maximum(y - self.high, 0.0)
        return inside + self.slopes[0] * below + self.slopes[1] * above

    def log_slope(self, y):
        """Compute log phi'(y), of any shape."""
        inside = self.shape.log_slope(np.clip(y, self.low, self.high))
        below, above = np.log(self.slopes)
        return np.where(y < self.low, below, np.where(y > self.high, above, inside))

    @property
    def end_slopes(self):
        """Slopes of the inverse at its two ends."""
        return tuple(1.0 / self.slopes)

    def inverse(self, z):
        """Solve phi(y) = z for y, to rounding."""
        return self._continued(z, lambda inside: self._root(inside.ravel()).reshape(inside.shape))

    def near_inverse(self, z):
        """Solve to about eight digits, faster: for what means are taken of."""
        return self._continued(z, self._interpolated)

    def _continued(self, z, inverse):
        z = np.asarray(z, dtype=np.float64)
        low, high = self.ends
        below, above = np.minimum(z - low, 0.0), np.maximum(z - high, 0.0)
        inside = np.clip(inverse(np.clip(z, low, high)), self.low, self.high)
        return inside + below / self.slopes[0] + above / self.slopes[1]

    def _interpolated(self, z):
        return self.shape.inverse(z) if self.table is None else self.table(z)

    def _table(self):
        """Return a spline of the inverse through known values and slopes."""
        places, widths = self.shape.places
        about = np.sinh(np.linspace(-1.0, 1.0, _BEND_KNOTS) * np.arcsinh(_BEND_REACH))
        bends = (places[:, None] + widths[:, None] * about).ravel()
        over = np.linspace(self.low, self.high, _RANGE_KNOTS)
        y = np.unique(np.concatenate([over, bends[(bends > self.low) & (bends < self.high)]]))
        z = self.shape.value(y)
        apart = np.append(True, np.diff(z) > 1e-12 * (z[-1] - z[0]))
        y, z = y[apart], z[apart]
        return CubicHermiteSpline(z, y, np.exp(-self.shape.log_slope(y)))

    def _root(self, z):
        """Solve by Newton's method from the table, each root within its interval of the table."""
        if self.table is None:
            return self.shape.inverse(z)
        knots = self.table.x
        cell = np.clip(np.searchsorted(knots, z, side="right") - 1, 0, len(knots) - 2)
        values = np.append(self.table(knots[:-1]), self.high)
        low, high = values[cell], values[cell + 1]
        y, left = np.clip(self.table(z), low, high), np.arange(len(z))
        enough = 4.0 * np.finfo(np.float64).eps
        for _ in range(_MOST_NEWTON_STEPS):
            at = y[left]
            error = self.shape.value(at) - z[left]
            low[left], high[left] = (
                np.where(error < 0.0, at, low[left]),
                np.where(error > 0.0, at, high[left]),
            )
            step = at - error * np.exp(-self.shape.log_slope(at))
            middle = 0.5 * (low[left] + high[left])
            y[left] = np.where((step >= low[left]) & (step <= high[left]), step, middle)
            done = np.abs(y[left] - at) <= enough * np.maximum(np.abs(at), self.shape.spread)
            left = left[~done]
            if not len(left):
                break
        return y
