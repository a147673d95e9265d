"""Warps of targets that are positive: shapes of their logarithm, whose inverse is positive, too.

Beyond the data such a warp goes on as a line of the logarithm. So the ends of bands stay positive,
and the process of log y is among the warps, exactly. Targets of which some are 0 and none is less
have warps whose inverse is at least 0: an observation is max(h(z), 0), which is 0 as often as h(z)
is not above it.
"""

from dataclasses import dataclass, field

import numpy as np

# The line of the logarithm ends at so many times the smallest and the largest target: from there it
# is one of y, so that a later target of 0 has a value, and moments under heavy tails are finite.
# With 100 in the place of 3 the variance of Student-t noise was that of its furthest nodes.
_FURTHER = (1e-6, 3.0)


@dataclass(frozen=True)
class Power:
    """(r^power - 1) / power of r = y / exp(centre), as a function of u = log y.

    The power 0 is the logarithm itself, 0.5 the square root of y, 1 a line of y.
    """

    power: float
    centre: float

    def value(self, u):
        """Compute the values, of any shape."""
        away = u - self.centre
        return np.expm1(self.power * away) / self.power if self.power else away

    def log_slope(self, u):
        """Compute the logarithms of the slopes in u."""
        return self.power * (u - self.centre)

    def inverse(self, z):
        """Return the u with value z, for values that there are."""
        return self.centre + (np.log1p(self.power * z) / self.power if self.power else z)


@dataclass(frozen=True)
class Composed:
    """A sum of tanh of a power.

    ``shape`` is that of the values of the power.
    """

    power: Power
    shape: object

    def value(self, u):
        """Compute the values, of any shape."""
        return self.shape.value(self.power.value(u))

    def log_slope(self, u):
        """Compute the logarithms of the slopes in u."""
        return self.shape.log_slope(self.power.value(u)) + self.power.log_slope(u)

    @property
    def spread(self):
        """Size of u that matters."""
        return 1.0

    @property
    def places(self):
        """Places and widths of the bends in u, two arrays; those that no target can have not."""
        places, widths = self.shape.places
        there = self.power.power * places > -1.0
        u = self.power.inverse(places[there])
        return u, widths[there] * np.exp(-self.power.log_slope(u))


@dataclass(frozen=True)
class PositiveWarp:
    """A monotone function of the logarithm, finite for all numbers.

    ``of_log`` is the warp of log y.
    """

    is_identity = False
    lowest = -np.inf

    of_log: object
    edges: np.ndarray = field(init=False)  # the range of y in which the logarithm is taken
    ends: np.ndarray = field(init=False)  # its values there
    slopes: np.ndarray = field(init=False)  # of the lines beyond

    def __post_init__(self):
        logs = np.array([self.of_log.low, self.of_log.high]) + np.log(_FURTHER)
        edges, slopes = np.exp(logs), np.exp(self.of_log.log_slope(logs) - logs)
        parts = {"edges": edges, "ends": self.of_log(logs), "slopes": slopes}
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    def __call__(self, y):
        """Compute phi(y), of any shape."""
        y = np.asarray(y, dtype=np.float64)
        inside = np.clip(y, *self.edges)
        below, above = np.minimum(y - inside, 0.0), np.maximum(y - inside, 0.0)
        return self.of_log(np.log(inside)) + self.slopes[0] * below + self.slopes[1] * above

    def log_slope(self, y):
        """Compute log phi'(y), of any shape."""
        u = np.log(np.clip(y, *self.edges))
        return self.of_log.log_slope(u) - u

    @property
    def end_slopes(self):
        """Slopes of the inverse at its two ends."""
        return tuple(1.0 / self.slopes)

    def inverse(self, z):
        """Solve phi(y) = z for y, to rounding."""
        return self._continued(z, self.of_log.inverse)

    def near_inverse(self, z):
        """Solve to about eight digits, faster: for what means are taken of."""
        return self._continued(z, self.of_log.near_inverse)

    def _continued(self, z, inverse):
        z = np.asarray(z, dtype=np.float64)
        inside = np.clip(z, *self.ends)
        below, above = np.minimum(z - inside, 0.0), np.maximum(z - inside, 0.0)
        y = np.clip(np.exp(inverse(inside)), *self.edges)
        return y + below / self.slopes[0] + above / self.slopes[1]


@dataclass(frozen=True)
class FromZero:
    """A monotone function of numbers from 0 on, whose inverse is never below 0.

    Below 0 it is a steep line, so that a number there has no probability, and 0 all of it that the
    function itself has at 0 and below.

    Where no target is between 0 and an edge, 0 has nearly all that the function has up to there,
    too: numbers above 0 begin next to the edge. What 0 itself is learned as stays where it is.

    Parameters
    ----------
    of_shifted : PositiveWarp, continued_warps.Warp or Identity
        Of y + shift.
    steep : float
        Slope below 0.
    edge : float
        In units of y.
    rest : float
        Share of what is between 0 and the edge that numbers above 0 have.
    """

    is_identity = False
    lowest = 0.0

    of_shifted: object
    shift: float
    steep: float
    edge: float = 0.0
    rest: float = 1.0
    at_edge: float = field(default=0.0, init=False)  # the value there

    def __post_init__(self):
        at_edge = float(np.ravel(self.of_shifted(np.array([self.edge + self.shift])))[0])
        object.__setattr__(self, "at_edge", at_edge)

    def __call__(self, y):
        """Compute phi(y), of any shape."""
        y = np.asarray(y, dtype=np.float64)
        inside = self.of_shifted(np.maximum(y, 0.0) + self.shift)
        near = self.at_edge - self.rest * (self.at_edge - inside)
        inside = np.where((y > 0.0) & (y < self.edge), near, inside)
        return inside + self.steep * np.minimum(y, 0.0)

    def log_slope(self, y):
        """Compute log phi'(y), of any shape."""
        y = np.asarray(y, dtype=np.float64)
        inside = self.of_shifted.log_slope(np.maximum(y, 0.0) + self.shift)
        inside = np.where((y > 0.0) & (y < self.edge), np.log(self.rest) + inside, inside)
        return np.where(y < 0.0, np.log(self.steep), inside)

    @property
    def end_slopes(self):
        """Slopes of the inverse at its two ends."""
        return 0.0, self.of_shifted.end_slopes[1]

    def inverse(self, z):
        """Solve phi(y) = z for y, to rounding; 0 where that is below 0."""
        return np.maximum(self.of_shifted.inverse(self._apart(z)) - self.shift, 0.0)

    def near_inverse(self, z):
        """Solve to about eight digits, faster: for what means are taken of."""
        return np.maximum(self.of_shifted.near_inverse(self._apart(z)) - self.shift, 0.0)

    def _apart(self, z):
        """Return values as they are without an edge."""
        z = np.asarray(z, dtype=np.float64)
        return np.where(z < self.at_edge, self.at_edge - (self.at_edge - z) / self.rest, z)
