"""Several classes: softmax over independent latent functions (docs/theory.md, section 10).

With x_c = exp(s + f_c) and P_c(s) the product of E[exp(-x_j)] over the other classes,

    E[log sum exp f] = integral of exp(-exp s) - E[exp(-x_c)] P_c(s) ds,
    E[p_c] = integral of E[x_c exp(-x_c)] P_c(s) ds,
    E[p_c - p_c^2] = integral of E[x_c exp(-x_c)] (-P_c'(s)) ds,

one-dimensional and exact. Each expectation on the right is a function of s + mean_c and variance_c
alone, and sklearn_sgp/_core/softmax.c computes it on a lattice of s.
"""

from copy import copy

import numpy as np

from .._core._softmax import softmax_rows
from ._base import ExpectedLogDensity, Likelihood
from ._classes import check_class_offset, log_frequencies, log_probability
from ._softmax_tables import FIRST, STEP, lattice

# Largest step of the rule, in units of (sum 1 / sd_c^2)^(-1/2), the smoothness of the integrand.
_SMOOTH_STEP = 0.9
# Tables grow with the widest sd. With a wider one a row is shrunk to it: the softmax of functions
# so wide is their maximum, which knows no scale, to a share of sd^-2.
_WIDEST = 1e4


class Softmax(Likelihood):
    """p(y = c | f) = exp(offset_c + f_c) / sum exp(offset + f), c from 0.

    Parameters
    ----------
    offset : ndarray of shape (C,), float or None, default=None
        Prior means of the arguments of the softmax. One number for all classes changes nothing.
        None: the estimator takes the logarithms of the frequencies of the classes, by weight,
        relative to the largest; outside of an estimator 0.
    """

    # A natural-gradient step uses the curvature of each class alone, and the curvature of all
    # classes together is between one and two times that. At both ends a step of 2/3 leaves a third
    # of the error; full steps oscillate.
    natural_step = 2.0 / 3.0
    # A mean common to all classes changes only the divergence, which is least if that mean is zero.
    # Steps class by class would find this slowly.
    shift_invariant = True

    def __init__(self, offset=None):
        self.offset = offset

    def for_classes(self, weight):
        """This instance, its offset checked, or one with the offset of the classes' frequencies.

        Parameters
        ----------
        weight : ndarray of shape (C,)
            Total weight of the rows of each class.

        Returns
        -------
        likelihood : Likelihood
        """
        if self.offset is not None:
            check_class_offset(self, weight.shape)
            return self
        return copy(self).set_params(offset=log_frequencies(weight))

    @property
    def _offset(self):
        return 0.0 if self.offset is None else np.asarray(self.offset, dtype=np.float64)

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        """E[log p_y] for f_c ~ N(mean_c, variance_c), and its derivatives.

        Parameters
        ----------
        y : ndarray of shape (n, 1)
            Number of the class, 0 to C - 1.
        mean, variance : ndarray of shape (n, C)
        noise_variance : ignored

        Returns
        -------
        expected : ExpectedLogDensity
        """
        mean = self._offset + mean
        log_sum, p, p2 = softmax_moments(mean, variance)
        rows, label = np.arange(len(mean)), y[:, 0].astype(np.intp)
        d_mean = -p
        d_mean[rows, label] += 1.0
        d_variance = -0.5 * np.maximum(p - p2, 0.0)
        return ExpectedLogDensity(
            mean[rows, label] - log_sum, d_mean, d_variance, np.zeros(len(mean))
        )

    def probabilities(self, mean, variance):
        """E[p_c], shape (n, C), rows summing to 1."""
        p = softmax_moments(self._offset + mean, variance)[1]
        return p / p.sum(axis=1, keepdims=True)

    def log_predictive_density(self, y, mean, variance, noise_variance=None):
        """log P(y), shape (n,)."""
        return log_probability(self.probabilities(mean, variance), y)


def softmax_moments(mean, variance):
    """E[log sum exp f] (n,), E[p] and E[p^2] (n, C) for independent f_c ~ N(mean_c, variance_c).

    Rows with a mean or a variance that is not finite are NaN.
    """
    n, C = mean.shape
    top = mean.max(axis=1)
    sd = np.where(np.isfinite(variance), np.sqrt(variance), np.nan)
    shrink = np.minimum(1.0, _WIDEST / np.maximum(sd.max(axis=1), 1.0))
    shifted = np.ascontiguousarray((mean - top[:, None]) * shrink[:, None])
    sd = np.ascontiguousarray(sd * shrink[:, None])
    # The spectrum of a product of functions, each smoothed by its sd_c, has at most the variance
    # sum 1 / sd_c^2.
    bounded = np.where(np.isnan(sd), 1.0, np.maximum(sd, 1e-6))
    smooth = _SMOOTH_STEP / np.sqrt((1.0 / bounded**2).sum(axis=1))
    # The step is never longer than that of the table of the narrowest class.
    longest = np.minimum(smooth / STEP, bounded.min(axis=1) / FIRST)
    doublings = np.floor(np.log2(np.maximum(longest, 1.0))).astype(int)
    log_sum, p, p2 = np.empty(n), np.empty((n, C)), np.empty((n, C))
    for power in np.unique(doublings):
        rows = np.flatnonzero(doublings == power)
        widest = bounded[rows].max() / FIRST
        n_levels = max(2 + int(np.floor(np.log2(widest))), int(power) + 2)
        at = lattice(int(power), n_levels)
        softmax_rows(shifted, sd, rows, at, log_sum, p, p2)
    # p (1 - p) is that of functions within a distance of 1: the wider they are, the fewer
    return log_sum / shrink + top, p, p - (p - p2) * shrink[:, None]
