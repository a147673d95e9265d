"""Shapes of warps between the smallest and the largest training target.

A shape has ``value(y)`` and ``log_slope(y)``, and ``inverse(z)`` where that has a closed form.
"""

from dataclasses import dataclass

import numpy as np

# Terms of the learned shape, and parameters of each.
TERMS, EACH = 3, 3


@dataclass(frozen=True)
class YeoJohnson:
    """The power transformation of Yeo and Johnson (2000), for numbers of either sign.

    Parameters
    ----------
    power : float
        lambda: 1 is the identity, 0 the logarithm of 1 + y for positive y.
    """

    power: float

    def value(self, y):
        """phi(y), of any shape."""
        size = np.abs(y)
        with np.errstate(over="ignore"):  # on the side that is not taken
            positive, negative = _power(size, self.power), _power(size, 2.0 - self.power)
        return np.where(y >= 0.0, positive, -negative)

    def log_slope(self, y):
        """log phi'(y)."""
        return (self.power - 1.0) * np.sign(y) * np.log1p(np.abs(y))

    def inverse(self, z):
        """The y with phi(y) = z."""
        size = np.abs(z)
        positive, negative = _unpower(size, self.power), _unpower(size, 2.0 - self.power)
        return np.where(z >= 0.0, positive, -negative)


def _power(size, power):
    """((1 + y)^power - 1) / power, its limit log(1 + y) included."""
    log = np.log1p(size)
    return log if power == 0.0 else np.expm1(power * log) / power


def _unpower(size, power):
    """The inverse; beyond its range, where nobody asks, the largest number."""
    if power == 0.0:
        return np.expm1(np.minimum(size, 700.0))
    log = np.log1p(np.maximum(power * size, -1.0 + 1e-16)) / power
    return np.expm1(np.minimum(log, 700.0))


@dataclass(frozen=True)
class TanhSum:
    """t + sum_j b_j tanh(c_j (t + d_j)), b, c > 0, of t = (y - centre) / spread (Snelson et al.).

    A factor of t besides is no parameter, as what comes out is scaled to unit variance.

    Parameters
    ----------
    parameters : ndarray of shape (9,)
        log b, log c and d, three of each.
    centre, spread : float
    """

    parameters: np.ndarray
    centre: float
    spread: float

    def value(self, y):
        """phi(y), of any shape."""
        return self._of(y)[0]

    def log_slope(self, y):
        """log phi'(y)."""
        return self._of(y)[1] - np.log(self.spread)

    def _of(self, y):
        t = (np.asarray(y, dtype=np.float64) - self.centre) / self.spread
        value, slope = tanh_sum(t.ravel(), self.parameters)
        return value.reshape(t.shape), np.log(slope).reshape(t.shape)

    @property
    def places(self):
        """Places and widths of the bends, in units of y: two arrays of shape (3,)."""
        _, c, d = _split(self.parameters)
        return self.centre - self.spread * d, self.spread / c


def _split(parameters):
    log_b, log_c, d = np.reshape(parameters, (EACH, TERMS))
    return np.exp(log_b), np.exp(log_c), d


def tanh_sum(t, parameters):
    """Value and slope of t + sum_j b_j tanh(c_j (t + d_j)), each (n,)."""
    value, slope = t.copy(), np.ones_like(t)
    for b, c, d in zip(*_split(parameters), strict=True):
        bend = np.tanh(c * (t + d))
        value += b * bend
        slope += b * c * (1.0 - bend * bend)
    return value, slope


def tanh_sum_gradient(t, parameters):
    """Value and log slope, (n,), and their derivatives in the parameters, (n, 9)."""
    b, c, d = _split(parameters)
    u = t[:, None] + d
    bend = np.tanh(c * u)
    rest = 1.0 - bend * bend
    value = t + bend @ b
    slope = 1.0 + rest @ (b * c)
    of_value = np.hstack([b * bend, b * c * u * rest, b * c * rest])
    turned = -2.0 * b * c * c * bend * rest
    of_slope = np.hstack([b * c * rest, b * c * rest + turned * u, turned])
    return value, np.log(slope), of_value, of_slope / slope[:, None]
