"""Positive numbers and counts with mean exp(offset + f): what their likelihoods share."""

import numpy as np

from ._integrated import Integrated
from ._own_parameter import log_mean_exp
from ._poisson import LARGEST_LOG_RATE, LARGEST_LOG_VARIANCE, SMALLEST_LOG_RATE, rate_covariance


class LogLink(Integrated):
    """Base of likelihoods with mean exp(offset + f), and a variance that is linear in its square.

    A subclass has ``_of_mean`` and ``_of_square``, the factors of mean and square in the variance.
    """

    _mean_of = staticmethod(log_mean_exp)

    def _log_rate(self, mean, variance):
        return np.clip(mean + 0.5 * variance, SMALLEST_LOG_RATE, LARGEST_LOG_RATE)

    def _moments(self, mean, variance):
        log_rate = self._log_rate(mean, variance)
        rate = np.exp(log_rate)
        square = np.exp(np.minimum(2.0 * log_rate + variance, LARGEST_LOG_VARIANCE))
        own = self._of_mean * rate + self._of_square * square
        return rate, own + rate_covariance(variance, 2.0 * log_rate, rate**2)

    def _joint(self, mean, variance, covariance):
        log_rate = self._log_rate(mean, variance)
        rate = np.exp(log_rate)
        log_product = log_rate[:, None] + log_rate[None, :]
        return rate_covariance(covariance, log_product, np.outer(rate, rate))
