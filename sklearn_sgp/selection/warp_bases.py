"""What may be done to targets before a warp is learned: nothing, or the power of positive ones.

A base maps targets t, about their centre in units of their scatter, to others of the same kind, so
that what is learned on top of it begins as that of any targets. The logarithm and the square root
have no parameters, and where the process of log y is right it is found as it is.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import norm

from ..data.continued_warps import Identity, Warp
from ..data.positive_warps import Composed, PositiveWarp, Power
from ..data.warps import TanhSum

# Powers of positive targets, but for targets whose largest is less than so many times the smallest:
# their logarithm differs from a line by less than 6 % of its range.
POWERS, _LEAST_RATIO = (0.5, 0.0), 2.0
# The interval of a positive target that was rounded ends above such a share of it.
_LEAST_END = 0.25
_USUAL = norm.ppf(0.9) - norm.ppf(0.1)


def center_and_spread(y):
    """Return median and standard deviation, the latter by quantiles that few far targets move."""
    low, center, high = np.quantile(y, [0.1, 0.5, 0.9])
    spread = (high - low) / _USUAL
    return float(center), float(spread) if spread > 0.0 else float(y.std())


def bases_of(y):
    """Return the bases for targets (n,), the simplest first."""
    if y.min() <= 0.0 or y.max() < _LEAST_RATIO * y.min():
        return [LineBase(*center_and_spread(y))]
    return [PowerBase.of(y, power) for power in (1.0, *POWERS)]


@dataclass(frozen=True)
class LineBase:
    """Targets as they are, (y - center) / spread."""

    center: float
    spread: float

    name = "as they are"

    def value(self, t):
        """Return t."""
        return t

    def log_slope(self, t):
        """Return zeros."""
        return np.zeros(np.shape(t))

    def low_end(self, t, low):
        """Return the lower end of the interval of a target."""
        return low

    def warp(self, psi, low, high):
        """Return the `Warp` of all numbers with learned parameters, None for the base alone."""
        if psi is None:
            return Identity()
        return Warp(TanhSum(psi, self.center, self.spread), low, high)


@dataclass(frozen=True)
class PowerBase:
    """A power of positive targets y = center + spread t, itself centred and scaled.

    Parameters
    ----------
    power : Power
    center, spread : float
        Of y.
    of_center, of_spread : float
        Of the power's values.
    """

    power: Power
    center: float
    spread: float
    of_center: float
    of_spread: float

    @classmethod
    def of(cls, y, exponent):
        """Return the base of targets (n,)."""
        center, spread = center_and_spread(y)
        power = Power(exponent, float(np.log(center)))
        return cls(power, center, spread, *center_and_spread(power.value(np.log(y))))

    @property
    def name(self):
        """The power in words."""
        return {1.0: "as they are", 0.5: "square root", 0.0: "logarithm"}[self.power.power]

    @property
    def is_line(self):
        """True for the targets as they are."""
        return self.power.power == 1.0

    @cached_property
    def _least(self):
        """The least t of a positive target."""
        return np.nextafter(-self.center / self.spread, np.inf)

    def value(self, t):
        """Compute the values, of any shape."""
        return (self.power.value(self._log(t)) - self.of_center) / self.of_spread

    def log_slope(self, t):
        """Compute the logarithms of the slopes in t."""
        u = self._log(t)
        return self.power.log_slope(u) - u + np.log(self.spread / self.of_spread)

    def _log(self, t):
        return np.log(self.center + self.spread * np.maximum(t, self._least))

    def low_end(self, t, low):
        """Return the lower end of the interval of a target: of a positive one."""
        least = (_LEAST_END * (self.center + self.spread * t) - self.center) / self.spread
        return np.maximum(low, least)

    def warp(self, psi, low, high):
        """Return the warp of all numbers with learned parameters, None for the base alone."""
        if psi is None and self.is_line:
            return Identity()
        shape = self.power
        if psi is not None:
            shape = Composed(self.power, TanhSum(psi, self.of_center, self.of_spread))
        return PositiveWarp(Warp(shape, float(np.log(low)), float(np.log(high))))
