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
from ..data.positive_warps import Composed, FromZero, PositiveWarp, Power
from ..data.warps import TanhSum

# Powers of positive targets, but for targets whose largest is less than so many times the smallest:
# their logarithm differs from a line by less than 6 % of its range.
POWERS, _LEAST_RATIO = (0.5, 0.0), 2.0
# The interval of a positive target that was rounded ends above such a share of it.
_LEAST_END = 0.25
# Amounts and counts are 0 in so many of the rows, and in so many rows, at least. They are tried as
# these powers of y + c, with c such a share of the median of what is positive, or the step of
# rounded targets. Logarithms of it put zeros far out: where 15 % of made incomes are 0 the pinball
# loss of their 95 % quantile was 1.2 to 2 times that of boosting (0.76 to 0.92 by square root).
_FROM_ZERO = (0.5,)
_LEAST_ZEROS, _FEWEST_ZEROS, _SHIFT = 0.01, 5, 0.1
# What is below such a share of the smallest positive target is 0, as if targets were rounded to it:
# none is there, and left-out zeros are predicted there. One of two more zeros than there are may be
# a number above 0 all the same. Rain, counts and claims, 300 rows each with 40 to 50 % zeros, two
# draws: Brier scores of "is 0" and nats a row are .24 and -2.22 with 0.1, .18 and -2.05 with 0.5,
# .17 and -1.97 with 0.75, .17 and -1.94 with 0.99, which has 0.13 too few zeros of the first.
_EDGE = 0.75
# Slope below 0, in mean slopes between 0 and the largest target: no number there has a probability.
_STEEP = 1e4
_AT_ZERO = 1e-9  # of what is 0, beside the centre
_USUAL = norm.ppf(0.9) - norm.ppf(0.1)


def center_and_spread(y):
    """Return median and standard deviation, the latter by quantiles that few far targets move."""
    low, center, high = np.quantile(y, [0.1, 0.5, 0.9])
    spread = (high - low) / _USUAL
    return float(center), float(spread) if spread > 0.0 else float(y.std())


def bases_of(y, step=0.0):
    """Return the bases for targets (n,), the simplest first.

    ``step`` is what targets were rounded to, 0 where they were not.
    """
    if are_from_zero(y):
        return _bases_from_zero(y, step)
    if y.min() <= 0.0 or y.max() < _LEAST_RATIO * y.min():
        return [LineBase(*center_and_spread(y))]
    return [PowerBase.of(y, power) for power in (1.0, *POWERS)]


def are_from_zero(y):
    """Return whether no target is below 0 and enough are 0: amounts and counts."""
    fewest = max(_LEAST_ZEROS * len(y), _FEWEST_ZEROS)
    return bool(y.min() == 0.0 < y.max() and np.count_nonzero(y == 0.0) >= fewest)


def _bases_from_zero(y, step):
    """Return targets as they are, and square roots of them and a shift: one of two."""
    shifts = {_SHIFT * float(np.median(y[y > 0.0]))} | ({float(step)} if step else set())
    inner = [(LineBase(*center_and_spread(y)), 0.0)]
    inner += [(PowerBase.of(y + c, power), c) for c in sorted(shifts) for power in _FROM_ZERO]
    edge, n_zeros = _EDGE * float(y[y > 0.0].min()), int(np.count_nonzero(y == 0.0))
    return [FromZeroBase(base, shift, edge, 1.0 / (n_zeros + 2.0)) for base, shift in inner]


class _WithoutAtom:
    """A base of targets none of which stands for others."""

    def is_atom(self, t):
        """Return where a target stands for all values below it, too: nowhere."""
        return np.zeros(np.shape(t), dtype=bool)

    @property
    def top_of_atom(self):
        """The value up to which a target stands for others: anything, as none does."""
        return np.zeros(1)


@dataclass(frozen=True)
class LineBase(_WithoutAtom):
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
class PowerBase(_WithoutAtom):
    """A power of positive targets y = center + spread t, itself centred and scaled.

    Parameters
    ----------
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


@dataclass(frozen=True)
class FromZeroBase:
    """A base of targets that are 0 or more, which predictions then are, too.

    Parameters
    ----------
    of_shifted : LineBase or PowerBase
        Of y + shift.
    edge : float
        Below which numbers are 0.
    rest : float
        Share of what is below the edge that is not 0.
    """

    of_shifted: object
    shift: float
    edge: float = 0.0
    rest: float = 1.0

    @property
    def name(self):
        """The base in words."""
        of = f" of y + {self.shift:.3g}" if self.shift else ""
        return f"{self.of_shifted.name}{of}, from 0 on"

    @property
    def center(self):
        """The centre of y."""
        return self.of_shifted.center - self.shift

    @property
    def spread(self):
        """The scatter of y."""
        return self.of_shifted.spread

    def value(self, t):
        """Compute the values, of any shape."""
        return self.of_shifted.value(t)

    def log_slope(self, t):
        """Compute the logarithms of the slopes in t."""
        return self.of_shifted.log_slope(t)

    def is_atom(self, t):
        """Return where a target stands for all values below it, too: at 0."""
        return self.center + self.spread * t <= _AT_ZERO * max(abs(self.center), self.spread)

    @property
    def top_of_atom(self):
        """The value up to which a target is 0."""
        return self.value(np.array([(self.edge - self.center) / self.spread]))

    def low_end(self, t, low):
        """Return the lower end of the interval of a target."""
        return self.of_shifted.low_end(t, low)

    def warp(self, psi, low, high):
        """Return the warp of all numbers with learned parameters, None for the base alone."""
        ends = np.array([low, high]) + self.shift
        warp = self.of_shifted.warp(psi, *ends)
        bottom, top = warp(ends)
        steep = float(_STEEP * (top - bottom) / (high - low))
        return FromZero(warp, self.shift, steep, self.edge, self.rest)
