"""Numbers of which some are known only to lie beyond a limit: Gaussian noise, censored."""

from copy import copy

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from ._base import ExpectedLogDensity, Likelihood
from ._bernoulli import log_normal_derivatives
from ._own_parameter import OwnParameter
from ._quadrature import gaussian_expectations
from ._tilted import TiltedMoments

# Share of a limit's size by which rounding moves a target that is at it. Targets that are learned
# from are multiples of 2^-24.
_AT_LIMIT = 1e-7
# Variances of targets as scaled that differ by less from 1 are those of normalised targets.
_NORMALISED = 0.01
_LOG_2PI = np.log(2.0 * np.pi)


class Censored(OwnParameter, Likelihood):
    """Numbers with Gaussian noise, of which those at or beyond a limit are known only to lie there.

    Predictions, draws and `cdf` are of the numbers themselves, as if there were no limits.

    Parameters
    ----------
    lower, upper : float, ndarray of shape (t,) or None, default=None
        Limits, in units of y, one for all target columns or one for each: targets up to the lower
        limit, or from the upper one on, lie somewhere there. None means none on this side. With
        both None, the smallest and the largest target are limits, where at least two rows have it.
    noise_variance : float, ndarray of shape (t,) or None, default=None
        In units of the targets as ``normalize_y`` has scaled them. None learns it, for each target
        column, within 1e-6 and 1e3 times the variance of the targets.
    units : pair of (center, scale) or None, default=None
        Centre and scale of the targets as scaled, (t,) each. The estimator sets them.
    """

    scales_targets = True
    takes_warps = False
    _own, _own_start, _own_bounds = "noise_variance", 0.1, (1e-6, 1e3)
    # Deviations of the targets, and variances of these as scaled, in which start and bounds are.
    _deviation, _unit = None, 1.0

    def __init__(
        self,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        noise_variance: ArrayLike | None = None,
        units: tuple | None = None,
    ) -> None:
        self.lower = lower
        self.upper = upper
        self.noise_variance = noise_variance
        self.units = units

    # ---- From targets

    @property
    def needs_all_targets(self):
        """True if the limits are ends of the targets."""
        return self.lower is None and self.upper is None

    def initialized(self, y, weight):
        """Check the limits, or take them from the targets."""
        t = y.shape[1]
        if self.lower is None and self.upper is None:
            low, high = _repeated_ends(y, weight)
            high = np.where(low == high, np.inf, high)  # one value is no two limits
            found = copy(self).set_params(lower=low, upper=high)
            return found._begun(y, weight)
        low, high = (_limit(self, name, t) for name in ("lower", "upper"))
        if not (low < high).all():
            raise ValueError(
                "The 'lower' limit of Censored must be below the 'upper' one. Got "
                f"{self.lower!r} and {self.upper!r}."
            )
        return self._begun(y, weight)

    def _begun(self, y, weight):
        begun = copy(self._with_own(y.shape[1]))
        begun._deviation = _deviations(y, weight)
        return begun

    def for_scaled_targets(self, center, scale):
        """Return the likelihood of targets as they are scaled."""
        scaled = copy(self).set_params(units=(np.array(center), np.array(scale)))
        if self._deviation is None or not self._learned:
            return scaled
        unit = (self._deviation / scale) ** 2
        scaled._unit = np.where(np.abs(unit - 1.0) < _NORMALISED, 1.0, unit)
        return scaled._copied(self._own_value / self._unit * scaled._unit, learned=True)

    @property
    def theta_bounds(self):
        """Bounds of what is learned, about the variance of the targets as scaled."""
        bounds = super().theta_bounds
        return bounds + np.log(np.broadcast_to(self._unit, len(bounds)))[:, None]

    def for_output(self, output):
        """Return the likelihood of one output."""
        one = super().for_output(output)
        own = {
            name: value if np.ndim(value) == 0 else _entry(value, output)
            for name, value in (("lower", self.lower), ("upper", self.upper))
        }
        if self.units is not None:
            own["units"] = tuple(np.array(_entry(part, output)) for part in self.units)
        result = copy(one).set_params(**own)
        result._learned, result._unit = one._learned, _entry(self._unit, output)
        return result

    @property
    def _ends(self):
        """Limits as scaled, of each output."""
        low = -np.inf if self.lower is None else np.asarray(self.lower, dtype=np.float64)
        high = np.inf if self.upper is None else np.asarray(self.upper, dtype=np.float64)
        center, scale = (0.0, 1.0) if self.units is None else self.units
        return (low - center) / scale, (high - center) / scale

    @property
    def _log_unit(self):
        # densities of targets as scaled are in units of this, probabilities of limits are not
        return 0.0 if self.units is None else np.log(self.units[1])

    def within_limits(self, f):
        """Return values of functions (n, t), those beyond a limit at the limit."""
        return np.clip(f, *self._ends)

    def are_numbers(self, y):
        """Return a mask of the targets that are not beyond a limit."""
        return self._sides(y)[1] == 0.0

    def _sides(self, y):
        """Return limits, and -1, 0 or 1 for targets beyond the lower one, between, or beyond."""
        low, high = self._ends
        below, above = (
            np.where(np.isfinite(end), _AT_LIMIT * (1.0 + np.abs(end)), 0.0) for end in (low, high)
        )
        side = np.where(y <= low + below, -1.0, np.where(y >= high - above, 1.0, 0.0))
        return np.where(side < 0.0, low, np.where(side > 0.0, high, 0.0)), side

    # ---- Densities

    def log_density(self, y, f, noise_variance=None):
        """Return log p(y) given latent values, for one output; of a limit the log probability."""
        limit, side = self._sides(y)
        return self._log_predicted(y, f, self._own_value, limit, side)

    def _log_predicted(self, y, mean, variance, limit, side):
        sd = np.sqrt(variance)
        inside = -0.5 * ((y - mean) ** 2 / variance + np.log(variance) + _LOG_2PI)
        beyond = log_ndtr(side * (mean - limit) / sd) + self._log_unit
        return np.where(side == 0.0, inside, beyond)

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        """Return E[log p(y)] for f ~ N(mean, variance), and its derivatives."""
        own, n_theta = np.broadcast_to(self._own_value, y.shape), len(self.theta)
        limit, side = self._sides(y)
        square = ((y - mean) ** 2 + variance) / own
        value = -0.5 * (square + np.log(own) + _LOG_2PI)
        d_mean, d_variance, of_log = (y - mean) / own, -0.5 / own, 0.5 * (square - 1.0)
        d_variance = d_variance.copy()
        at, unit = side != 0.0, np.broadcast_to(self._log_unit, y.shape)
        if at.any():
            side, sd = side[at], np.sqrt(own[at])

            def terms(z, rows):
                log_p, ratio, curvature = log_normal_derivatives(z)
                return log_p, ratio, curvature, z * ratio

            z, v = side * (mean[at] - limit[at]) / sd, np.broadcast_to(variance, y.shape)[at]
            log_p, ratio, curvature, product = gaussian_expectations(terms, z, v / sd**2)
            value[at], d_mean[at] = log_p + unit[at], side * ratio / sd
            d_variance[at], of_log[at] = 0.5 * curvature / sd**2, -0.5 * product
        d_theta = None
        if n_theta:
            d_theta = of_log if n_theta > 1 else of_log.sum(axis=1, keepdims=True)
        return ExpectedLogDensity(value.sum(axis=1), d_mean, d_variance, np.zeros(len(y)), d_theta)

    def tilted_moments(self, y, mean, variance, power):
        """Return the moments, in closed form but for targets at a limit whose power is not 1."""
        limit, side = (part[:, 0] for part in np.broadcast_arrays(*self._sides(y)))
        own, y_own = self._own_value, y[:, 0]
        total = variance + own / power
        log_integral = -0.5 * ((y_own - mean) ** 2 / total + np.log(total / own * own**power))
        log_integral -= 0.5 * (np.log(power) + power * _LOG_2PI)
        slope, curvature = (y_own - mean) / total, -1.0 / total
        result = TiltedMoments(log_integral, slope, curvature)
        rows = np.flatnonzero(side != 0.0)
        if len(rows):
            sd = np.sqrt(variance[rows] + own)
            log_p, ratio, bend = log_normal_derivatives(side[rows] * (mean - limit)[rows] / sd)
            parts = log_p + self._log_unit, side[rows] * ratio / sd, bend / sd**2
            for out, part in zip(result, parts, strict=True):
                out[rows] = part
        rows = rows[power[rows] != 1.0]
        if len(rows):
            parts = super().tilted_moments(y[rows], mean[rows], variance[rows], power[rows])
            for out, part in zip(result, parts, strict=True):
                out[rows] = part
        return result

    # ---- Predictions

    def moments(self, mean, variance, noise_variance=None):
        """Return mean and variance of y, (n, t)."""
        return mean, variance + self._own_value

    def components(self, variance, noise_variance=None):
        """Return a single normal distribution; see `Likelihood`."""
        total = (variance + self._own_value).ravel()
        return lambda entries: total[entries, None], np.zeros(1)

    def covariance(self, mean, covariance, noise_variance=None):
        """Return mean (n, t) and covariance (n, n, t) of y."""
        n, t = mean.shape
        joint = np.array(np.broadcast_to(covariance, (n, n, t)))
        joint[np.diag_indices(n)] += self._own_value
        return mean, joint

    def quantiles(self, mean, variance, noise_variance, levels):
        """Return quantiles of y, (n, t, n_levels)."""
        sd = np.broadcast_to(np.sqrt(variance + self._own_value), mean.shape)
        return mean[..., None] + sd[..., None] * ndtri(levels)

    def is_inside(self, y, mean, variance, noise_variance, share):
        """Return a mask of targets within intervals, or at a limit beyond which these reach."""
        levels = np.array([0.5 - 0.5 * share, 0.5 + 0.5 * share])
        low, high = np.moveaxis(self.quantiles(mean, variance, noise_variance, levels), 2, 0)
        side = self._sides(y)[1]
        return ((low <= y) | (side > 0.0)) & ((y <= high) | (side < 0.0))

    def log_predictive_density(self, y, mean, variance, noise_variance=None):
        """Return log p(y), summed over outputs, (n,); of a limit the log probability."""
        total = variance + self._own_value
        return self._log_predicted(y, mean, total, *self._sides(y)).sum(axis=1)

    def cdf(self, y, mean, variance, noise_variance=None):
        """Return P(Y <= y), (n, t)."""
        return ndtr((y - mean) / np.sqrt(variance + self._own_value))

    def sf(self, y, mean, variance, noise_variance=None):
        """Return P(Y > y), (n, t)."""
        return self.cdf(-y, -mean, variance)

    def draw(self, f, noise_variance, rng):
        """Draw observations for latent values of shape (n, t, k)."""
        return f + np.reshape(np.sqrt(self._own_value), (-1, 1)) * rng.standard_normal(f.shape)


def _limit(likelihood, name, n_outputs):
    """Return a limit of each output, (t,), or raise a ValueError."""
    value = getattr(likelihood, name)
    if value is None:
        return np.full(n_outputs, -np.inf if name == "lower" else np.inf)
    try:
        limit = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        limit = np.array(np.nan)
    if limit.shape not in ((), (1,), (n_outputs,)) or np.isnan(limit).any():
        raise ValueError(
            f"The '{name}' limit of Censored must be a number, one for each of the {n_outputs} "
            f"columns of y, or None for no limit. Got {value!r}."
        )
    return np.broadcast_to(limit, (n_outputs,))


def _repeated_ends(y, weight):
    """Return the smallest and the largest target of each output that two rows have, or infinity."""
    weight, ends = np.ones(len(y)) if weight is None else weight, []
    for extreme, none in ((np.nanmin(y, axis=0), -np.inf), (np.nanmax(y, axis=0), np.inf)):
        at = y == extreme  # one row of weight 2 is two
        is_repeated = (weight @ at > 1.0) | (np.count_nonzero(at[weight > 0.0], axis=0) > 1)
        ends.append(np.where(is_repeated, extreme, none))
    low, high = ends
    if not (np.isfinite(low) | np.isfinite(high)).all():
        low, high = np.nanmin(y), np.nanmax(y)
        raise ValueError(
            "likelihood='censored' takes the smallest or the largest target as a limit, which two "
            f"rows or more must have. Got targets from {low:g} to {high:g} with one row at each "
            "end: give the limit, as Censored(lower=0.5), or take 'gaussian'."
        )
    return low, high


def _deviations(y, weight):
    """Return the deviation of each output that was observed, (t,); 1 where targets are equal."""
    weight, seen = np.ones(len(y)) if weight is None else weight, ~np.isnan(y)
    size = np.max(np.where(seen, np.abs(y), 0.0), axis=0)
    size = np.where(size > 0.0, size, 1.0)  # squares of tiny targets are zero
    share = weight[:, None] / weight.max() * seen
    share = share / np.maximum(share.sum(axis=0), np.finfo(np.float64).tiny)
    values = np.where(seen, y, 0.0) / size
    squares = np.sum(share * (values - np.sum(share * values, axis=0)) ** 2, axis=0)
    return np.where(squares > 0.0, size * np.sqrt(squares), 1.0)


def _entry(values, output):
    values = np.ravel(values)
    return float(values[output if len(values) > 1 else 0])
