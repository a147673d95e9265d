"""Counts: Poisson with a logarithmic link."""

from copy import copy

import numpy as np
from scipy.special import gammaincc, gammaln, logsumexp, wrightomega

from ._base import ExpectedLogDensity, Likelihood
from ._quadrature import gaussian_expectations

_HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)
_NODES = np.arange(-48, 49) / 6.0  # to 8 standard deviations on both sides of the mode
_SMALLEST_VARIANCE = 1e-200  # smaller ones change no density, and their logarithm may not exist
# Predicted rates and variances end here, where squares of rates and sums are finite.
_LARGEST_LOG_RATE = 300.0
_LARGEST_LOG_VARIANCE = 700.0


class Poisson(Likelihood):
    """Counts with mean exp(offset + f).

    Parameters
    ----------
    offset : float, ndarray of shape (t,) or None, default=None
        Prior mean of the logarithm of the rate, one number for all target columns or one for each.
        None: the estimator takes the logarithm of the mean count; outside of an estimator 0.
    """

    identity_mean = False

    def __init__(self, offset=None):
        self.offset = offset

    def check_targets(self, y):
        """Refuse targets that are not counts, by a ValueError."""
        bad = y[~_are_counts(y)]
        if len(bad):
            raise ValueError(
                "y must hold counts, 0, 1, 2 and so on, with likelihood='poisson'. Got "
                f"{len(bad)} other values such as {bad[0]:g}: numbers take 'gaussian' or "
                "'student_t'."
            )

    def initialized(self, y, weight):
        """This instance, its offset checked, or one with the logarithm of the mean count."""
        if self.offset is not None:
            self._check_offset(y.shape[1])
            return self
        total = len(y) if weight is None else weight.sum()
        # half a count keeps the logarithm finite if all counts are zero
        offset = np.log((np.average(y, axis=0, weights=weight) * total + 0.5) / total)
        return copy(self).set_params(offset=offset)

    def _check_offset(self, n_outputs):
        try:
            offset = np.asarray(self.offset, dtype=np.float64)
        except (TypeError, ValueError):
            offset = np.array(np.nan)
        if offset.shape not in ((), (1,), (n_outputs,)) or not np.isfinite(offset).all():
            raise ValueError(
                "The 'offset' parameter of Poisson must be a finite number, one for each of the "
                f"{n_outputs} columns of y, or None to take it from the counts. Got "
                f"{self.offset!r}."
            )

    @property
    def _offset(self):
        return 0.0 if self.offset is None else np.asarray(self.offset, dtype=np.float64)

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        """E[log Poisson(y; exp f)] for f ~ N(mean, variance), in closed form.

        Parameters
        ----------
        y, mean, variance : ndarray of shape (n, t)
        noise_variance : ignored

        Returns
        -------
        expected : ExpectedLogDensity
        """
        with np.errstate(over="ignore"):  # a value of -inf: the optimiser rejects such a trial
            rate = np.exp(self._offset + mean + 0.5 * variance)
        value = y * (self._offset + mean) - rate - gammaln(y + 1.0)
        return ExpectedLogDensity(value.sum(axis=1), y - rate, -0.5 * rate, np.zeros(len(y)))

    def log_predictive_density(self, y, mean, variance, noise_variance=None):
        """log P(y), summed over outputs, shape (n,): quadrature about the mode of the integrand.

        A target that is not a count has probability zero, log P(y) = -inf, as in `scipy.stats`.
        """
        possible = _are_counts(y)
        y = np.where(possible, y, 0.0)
        mean = self._offset + mean
        variance = np.maximum(variance, _SMALLEST_VARIANCE)
        sd = np.sqrt(variance)
        # With f = mean + sd z the integrand's logarithm is y f - exp f - z^2 / 2. Its mode solves
        # y - exp f = (f - mean) / variance, and omega is variance exp f there.
        omega = wrightomega(mean + variance * y + np.log(variance))
        mode = sd * y - omega / sd
        width = 1.0 / np.sqrt(1.0 + omega)
        z = mode[..., None] + width[..., None] * _NODES
        f = mean[..., None] + sd[..., None] * z
        with np.errstate(over="ignore", divide="ignore"):  # rates above the largest float
            log_integrand = y[..., None] * f - np.exp(f) - 0.5 * z**2
            integral = logsumexp(log_integrand, axis=-1)
            integral += np.log(width * (_NODES[1] - _NODES[0])) - _HALF_LOG_2PI
        return np.where(possible, integral - gammaln(y + 1.0), -np.inf).sum(axis=1)

    def moments(self, mean, variance, noise_variance=None):
        """Mean and variance of y, shape (n, t); finite even if the true ones exceed all floats."""
        log_rate = self._log_rate(mean, variance)
        rate = np.exp(log_rate)
        return rate, rate + _rate_covariance(variance, 2.0 * log_rate, rate**2)

    def covariance(self, mean, covariance, noise_variance=None):
        """Mean (n, t) and joint covariance (n, n, t) of y, from those of f."""
        variance = np.moveaxis(np.diagonal(covariance), -1, 0)
        log_rate = self._log_rate(mean, variance)
        rate = np.exp(log_rate)
        log_product = log_rate[:, None] + log_rate[None, :]
        found = _rate_covariance(covariance, log_product, rate[:, None] * rate[None, :])
        found[np.diag_indices(len(mean))] += rate
        return rate, found

    def _log_rate(self, mean, variance):
        """log E[exp(offset + f)]."""
        return np.minimum(self._offset + mean + 0.5 * variance, _LARGEST_LOG_RATE)

    def quantiles(self, mean, variance, noise_variance, levels):
        """Smallest counts k with P(y <= k) >= level, shape (n, t, n_levels)."""
        mean = self._offset + mean
        center, v = (np.repeat(part.ravel(), len(levels)) for part in (mean, variance))
        level = np.tile(levels, mean.size)
        rate = np.exp(center + 0.5 * v)
        spread = rate + np.expm1(v) * rate**2
        high = np.ceil(rate + np.sqrt(spread / (1.0 - level)) + 1.0)  # Cantelli's inequality
        low = np.full(len(high), -1.0)  # P(y <= -1) = 0
        width = 1.0 / np.sqrt(1.0 + high.max())
        while (high - low > 1.0).any():
            count = np.floor(0.5 * (low + high))
            (cdf,) = gaussian_expectations(
                lambda f, rows, count=count: (gammaincc(count[rows, None] + 1.0, np.exp(f)),),
                center,
                v,
                width,
            )
            enough = cdf >= level
            open_ = high - low > 1.0
            high = np.where(enough & open_, count, high)
            low = np.where(~enough & open_, count, low)
        return high.reshape(*mean.shape, len(levels))

    def draw(self, f, noise_variance, rng):
        """Observations for latent values of any shape."""
        offset = np.reshape(self._offset, (-1, *[1] * (f.ndim - 2)))
        return rng.poisson(np.exp(offset + f)).astype(np.float64)


def _are_counts(y):
    return (y >= 0) & (y == np.floor(y))


def _rate_covariance(covariance, log_product, product):
    """Covariance of exp f, exp f': expm1(covariance) * product, product = E[exp f] E[exp f'].

    Large covariances are taken in the logarithm, where expm1 is exp to rounding.
    """
    far = np.exp(np.minimum(covariance + log_product, _LARGEST_LOG_VARIANCE))
    return np.where(covariance > 100.0, far, np.expm1(np.minimum(covariance, 100.0)) * product)
