"""Counts: Poisson with a logarithmic link."""

from itertools import count as count_up

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc, gammaincc, gammaln, ndtr, ndtri, wrightomega

from ._base import ExpectedLogDensity, Likelihood
from ._own_parameter import RegressionOffset, log_mean_exp
from ._quadrature import gaussian_expectations

_N_NODES = 160
_NEGLIGIBLE_DROP = 40.0  # exp of minus it is
_SMALLEST_VARIANCE = 1e-200  # smaller ones change no density, and their logarithm may not exist
# Predicted rates and variances end here, where squares of rates and sums are finite, and a standard
# deviation is positive.
LARGEST_LOG_RATE, SMALLEST_LOG_RATE = 300.0, -600.0
LARGEST_LOG_VARIANCE = 700.0
_LARGEST_DRAWN = 1e15  # larger rates are drawn from a normal distribution
# Counts from which on densities are by a series, tails by one, and tails normal in log rate.
_MANY = 16.0
_SERIES_FROM, _NORMAL_FROM = 1e10, 1e20
# Where P(Y <= count) falls with f, and how steeply, in units of (1 + count)^(-1/2).
TAIL_CENTER, TAIL_WIDTH = 1.8, 0.54
_DIGITS = 1e-11


class Poisson(RegressionOffset, Likelihood):
    """Counts with mean exp(offset + f).

    Parameters
    ----------
    offset : float, ndarray of shape (t,) or None, default=None
        Prior mean of the logarithm of the rate, one number for all target columns or one for each.
        None: the estimator takes the logarithm of the mean count; outside of an estimator 0.
    """

    identity_mean = False
    wider = "negative_binomial"

    def __init__(self, offset: ArrayLike | None = None) -> None:
        self.offset = offset

    def check_targets(self, y):
        """Refuse targets that are not counts, by a ValueError."""
        bad = y[~are_counts(y)]
        if len(bad):
            raise ValueError(
                "y must hold counts, 0, 1, 2 and so on, with likelihood='poisson'. Got "
                f"{len(bad)} other values such as {bad[0]:g}: numbers take 'gaussian' or "
                "'student_t'."
            )

    def initialized(self, y, weight):
        """Check the offset, or take the logarithm of the mean count."""
        return self._with_offset(y, weight)

    @staticmethod
    def _offset_of(mean, total):
        # half a count keeps the logarithm finite if all counts are zero
        return np.log((mean * total + 0.5) / total)

    _mean_of = staticmethod(log_mean_exp)

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        """Return E[log Poisson(y; exp f)] for f ~ N(mean, variance), in closed form."""
        with np.errstate(over="ignore"):  # a value of -inf: the optimiser rejects such a trial
            rate = np.exp(self._offset + mean + 0.5 * variance)
        value = y * (self._offset + mean) - rate - gammaln(y + 1.0)
        return ExpectedLogDensity(value.sum(axis=1), y - rate, -0.5 * rate, np.zeros(len(y)))

    def log_density(self, y, f, noise_variance=None):
        """Return log P(y) given latent values, for one output."""
        log_rate = self._offset + f
        with np.errstate(over="ignore"):
            if y.max(initial=0.0) >= _MANY:
                return _log_pmf(y, log_rate)
            return y * log_rate - np.exp(log_rate) - gammaln(y + 1.0)

    def log_predictive_density(self, y, mean, variance, noise_variance=None):
        """Return log P(y), summed over outputs, shape (n,).

        A target that is not a count has probability zero, log P(y) = -inf, as in `scipy.stats`.
        """
        possible = are_counts(y)
        y = np.where(possible, y, 0.0)
        mean = self._offset + mean
        variance = np.maximum(variance, _SMALLEST_VARIANCE)
        log_p = _log_predictive_density(y, mean, variance)
        return np.where(possible, log_p, -np.inf).sum(axis=1)

    def moments(self, mean, variance, noise_variance=None):
        """Return mean and variance of y, (n, t), positive floats even if the true ones are none."""
        log_rate = self._log_rate(mean, variance)
        rate = np.exp(log_rate)
        return rate, rate + rate_covariance(variance, 2.0 * log_rate, rate**2)

    def covariance(self, mean, covariance, noise_variance=None):
        """Return mean (n, t) and joint covariance (n, n, t) of y, from those of f."""
        variance = np.moveaxis(np.diagonal(covariance), -1, 0)
        log_rate = self._log_rate(mean, variance)
        rate = np.exp(log_rate)
        log_product = log_rate[:, None] + log_rate[None, :]
        joint = rate_covariance(covariance, log_product, rate[:, None] * rate[None, :])
        joint[np.diag_indices(len(mean))] += rate
        return rate, joint

    def _log_rate(self, mean, variance):
        """Return log E[exp(offset + f)]."""
        log_rate = self._offset + mean + 0.5 * variance
        return np.clip(log_rate, SMALLEST_LOG_RATE, LARGEST_LOG_RATE)

    def cdf(self, y, mean, variance, noise_variance=None):
        """Return P(Y <= y), shape (n, t)."""
        return np.where(y < 0, 0.0, self._probability(False, y, mean, variance))

    def sf(self, y, mean, variance, noise_variance=None):
        """Return P(Y > y), shape (n, t)."""
        return np.where(y < 0, 1.0, self._probability(True, y, mean, variance))

    def _probability(self, above, y, mean, variance):
        count = np.floor(np.maximum(y, 0.0)).ravel()
        center = (self._offset + mean).ravel()
        return _probability(above, count, center, variance.ravel()).reshape(y.shape)

    def quantiles(self, mean, variance, noise_variance, levels):
        """Return the smallest counts k with P(y <= k) >= level, shape (n, t, n_levels)."""
        mean = self._offset + mean
        center, v = (np.repeat(part.ravel(), len(levels)) for part in (mean, variance))
        level = np.tile(levels, mean.size)
        return _quantiles(center, v, level).reshape(*mean.shape, len(levels))

    def draw(self, f, noise_variance, rng):
        """Draw observations for latent values of any shape."""
        offset = np.reshape(self._offset, (-1, *[1] * (f.ndim - 2)))
        return drawn_counts(np.exp(np.minimum(offset + f, LARGEST_LOG_RATE)), rng)


def drawn_counts(rate, rng):
    """Draw counts at these rates."""
    large = rate > _LARGEST_DRAWN
    counts = rng.poisson(np.where(large, 0.0, rate)).astype(np.float64)
    counts[large] = rate[large] + np.sqrt(rate[large]) * rng.standard_normal(large.sum())
    return np.rint(counts)


def _log_predictive_density(y, mean, variance):
    """Return log P(y) of each target, by quadrature about the mode of the integrand.

    With f = mode + x the integrand is its value at the mode times exp(-drop),
    drop = rate (exp x - 1 - x) + x^2 / (2 variance), rate = exp mode.
    """
    # y - exp f = (f - mean) / variance at the mode, and omega is variance exp f there
    omega = wrightomega(mean + variance * y + np.log(variance))
    from_omega = np.log(np.maximum(omega, 1.0)) - np.log(variance)
    away = np.where(omega > 1.0, from_omega - mean, variance * y - omega)  # mode - mean
    mode = np.where(omega > 1.0, from_omega, mean + away)
    rate = np.exp(mode)
    left, right = _ends(rate, variance)
    # nodes are dense where exp(-rate exp x) falls
    scale = 1.5 * np.minimum(1.0, 1.0 / np.sqrt(rate + 1.0 / variance))
    dense = np.clip(1.8 - mode, 0.0, right)
    ends = (np.arcsinh((end - dense) / scale) for end in (-left, right))
    t = np.linspace(*ends, _N_NODES)
    x = dense + scale * np.sinh(t)
    drop = rate * (np.expm1(x) - x) + 0.5 * x**2 / variance
    integral = (np.exp(-drop) * np.cosh(t)).sum(axis=0) * (t[1] - t[0]) * scale
    there = _log_pmf(y, mode) - 0.5 * away**2 / variance
    return there + np.log(integral) - 0.5 * np.log(2.0 * np.pi * variance)


def _ends(rate, variance):
    """Return distances left and right of the mode at which drop exceeds _NEGLIGIBLE_DROP."""
    widest = np.sqrt(2.0 * _NEGLIGIBLE_DROP * variance)
    ratio = _NEGLIGIBLE_DROP / np.maximum(rate, 1e-300)
    left = np.where(ratio < 0.5, 2.0 * np.sqrt(ratio), 1.0 + ratio)
    right = np.minimum(np.sqrt(2.0 * ratio), 1.0 + np.log1p(ratio))
    return np.minimum(left, widest), np.minimum(right, widest)


def _log_pmf(y, log_rate):
    """Return the log probability of counts, large ones with all digits (Loader 2000)."""
    count = np.maximum(y, _MANY)
    error = np.log(count) - log_rate
    with np.errstate(over="ignore"):
        stirling = (1.0 - (1.0 / 30.0 - 1.0 / (105.0 * count**2)) / count**2) / (12.0 * count)
        many = -count * (np.expm1(-error) + error) - stirling - 0.5 * np.log(2.0 * np.pi * count)
        few = y * log_rate - np.exp(log_rate) - gammaln(y + 1.0)
    return np.where(y < _MANY, few, many)


def _quantiles(center, variance, level):
    """Return the smallest counts k with P(y <= k) >= level, all arrays of shape (n,).

    A large count has 11 digits. The deviate ndtri(P(y <= k)) is nearly linear in log k, with the
    slope of a lognormal rate: steps follow it, and every third one is a bisection.
    """
    low, high = _brackets(center, variance, np.minimum(level, 1.0 - level))
    deviate = ndtri(level)
    at = center + np.sqrt(variance) * deviate
    for trial in count_up(1):
        gap = np.maximum(1.0, np.floor(_DIGITS * high))
        rows = np.flatnonzero(high - low > gap)
        if not len(rows):
            return high
        lo, hi, gap = low[rows], high[rows], gap[rows]
        guess = np.sqrt((lo + 1.0) * (hi + 1.0)) - 1.0
        if trial % 3:
            guess = np.exp(np.minimum(at[rows], LARGEST_LOG_VARIANCE))
        count = np.floor(np.clip(guess, lo + 0.5 * (gap + 1.0), hi - 0.5 * (gap + 1.0)))
        below = _probability(False, count, center[rows], variance[rows])
        enough = below >= level[rows]
        high[rows[enough]], low[rows[~enough]] = count[enough], count[~enough]
        step = (deviate[rows] - np.clip(ndtri(below), -40.0, 40.0)) * np.sqrt(
            variance[rows] + 1.0 / (count + 1.0)
        )
        # a little further than the root, so that it is bracketed
        at[rows] = np.log1p(count) + step + np.where(enough, -0.5, 0.5) * _DIGITS


def _brackets(center, variance, tail):
    """Bracket the quantiles at levels ``tail`` and 1 - tail; the lower count is none of them."""
    # At a level p < 1/2 let a be the quantile of f at p / 2 and b that of counts of rate exp a.
    # y < b implies f < a or a count below b of larger rate, so it has probability p at most.
    half = 0.5 * tail
    edge = np.sqrt(variance) * ndtri(half)
    low, high = (np.exp(np.minimum(center + sign * edge, LARGEST_LOG_RATE)) for sign in (1, -1))
    # Chebyshev's inequality for counts of a given rate
    low = np.maximum(np.floor(low - np.sqrt(low) / np.sqrt(half)) - 1.0, -1.0)
    return low, np.ceil(high + np.sqrt(high) / np.sqrt(half)) + 1.0


def _probability(above, count, log_rate, variance):
    """Return P(Y > count) or P(Y <= count), (n,), for rates exp f, f ~ N(log_rate, variance)."""
    edge, width = np.log1p(count), 1.0 / np.sqrt(1.0 + count)
    p = ndtr((1 if above else -1) * (log_rate - edge) / np.sqrt(variance + width**2))
    rows = np.flatnonzero(count < _NORMAL_FROM)
    if len(rows):
        shape, edge, width = 1.0 + count[rows], edge[rows], width[rows]
        # the tail falls from 1 to 0 over a distance in f of the size of the width
        (p[rows],) = gaussian_expectations(
            lambda f, k: (_tail(above, shape[k, None], f, f - edge[k, None]),),
            log_rate[rows],
            variance[rows],
            TAIL_WIDTH * width,
            edge + TAIL_CENTER * width,
        )
    return p


def _tail(above, shape, f, error):
    """Return P(Y > count) or P(Y <= count) for rates exp f, by count + 1 and f - log(count + 1)."""
    p = np.where((error > 0) == above, 1.0, 0.0)
    # the smaller one is at most exp of minus this (Chernoff), and below 1e-150 nothing counts
    with np.errstate(over="ignore"):
        unsure = shape * (np.expm1(np.minimum(error, 700.0)) - error) < 350.0
    few = unsure & (shape < _SERIES_FROM)
    a, x = np.broadcast_to(shape, f.shape)[few], np.exp(f[few])
    p[few] = gammainc(a, x) if above else gammaincc(a, x)
    many = unsure & (shape >= _SERIES_FROM)
    if many.any():
        # two terms of Temme's (1979) expansion are enough, to 1e-10
        a, error = np.broadcast_to(shape, f.shape)[many], error[many]
        eta = error * np.sqrt(a * (1.0 + error / 3.0 + error**2 / 12.0))
        second = np.exp(-0.5 * eta**2) / (3.0 * np.sqrt(2.0 * np.pi * a))
        p[many] = ndtr(eta) + second if above else ndtr(-eta) - second
    return p


def are_counts(y):
    return (y >= 0) & (y == np.floor(y))


def rate_covariance(covariance, log_product, product):
    """Return cov(exp f, exp f') = expm1(covariance) * product, product = E[exp f] E[exp f'].

    Large covariances are taken in the logarithm, where expm1 is exp to rounding.
    """
    far = np.exp(np.minimum(covariance + log_product, LARGEST_LOG_VARIANCE))
    return np.where(covariance > 100.0, far, np.expm1(np.minimum(covariance, 100.0)) * product)
