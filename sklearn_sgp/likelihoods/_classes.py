"""What likelihoods of classes share: offsets, frequencies of classes, moments of a softmax."""

from numbers import Real

import numpy as np

from .._core._softmax import softmax_rows
from ._base import SMALLEST_PROBABILITY
from ._softmax_tables import FIRST, STEP, lattice

# Largest step of the rule, in units of (sum 1 / sd_c^2)^(-1/2), the smoothness of the integrand.
_SMOOTH_STEP = 0.9
# Tables grow with the widest sd. With a wider one a row is shrunk to it: the softmax of functions
# so wide is their maximum, which knows no scale, to a share of sd^-2.
_WIDEST = 1e4


def log_probability(probability, y):
    """Return log P(y), shape (n,), of probabilities (n, C) and classes by number (n, 1)."""
    p = probability[np.arange(len(y)), y[:, 0].astype(np.intp)]
    return np.log(np.maximum(p, SMALLEST_PROBABILITY))


class SoftmaxProbabilities:
    """Mixin of likelihoods whose functions are the arguments of a softmax."""

    @property
    def _offset(self):
        return 0.0 if self.offset is None else np.asarray(self.offset, dtype=np.float64)

    def probabilities(self, mean, variance):
        """Return E[softmax((offset + f) / temperature)], shape (n, C), rows summing to 1.

        Functions are independent, f_c ~ N(mean_c, variance_c).
        """
        temperature, mean = self.temperature, self._offset + mean
        p = softmax_moments(mean / temperature, variance / temperature**2)[1]
        return p / p.sum(axis=1, keepdims=True)

    def log_predictive_density(self, y, mean, variance, noise_variance=None):
        """Return log P(y), shape (n,)."""
        return log_probability(self.probabilities(mean, variance), y)


def log_frequencies(weight):
    """Return the logarithms of the classes' frequencies, (C,), relative to the largest one.

    A class without rows gets the mean of the others: a first batch that lacks a class is usually
    sorted, and says nothing about how rare the class is.

    Parameters
    ----------
    weight : ndarray of shape (C,)
        Total weight of the rows of each class; one at least is positive.

    Returns
    -------
    log_frequency : ndarray of shape (C,)
    """
    present = weight > 0.0
    log_weight = np.log(np.where(present, weight, 1.0))
    log_weight[~present] = log_weight[present].mean()
    return log_weight - log_weight.max()


def check_temperature(likelihood):
    """Refuse a temperature that is no positive number, by a ValueError."""
    temperature = likelihood.temperature
    is_real = isinstance(temperature, Real) and not isinstance(temperature, bool)
    if not (is_real and 0.0 < temperature < np.inf):
        raise ValueError(
            f"The 'temperature' parameter of {likelihood!r} must be a positive number. Got "
            f"{temperature!r}: 1.0 leaves probabilities as they are."
        )


def check_class_offset(likelihood, shape):
    """Refuse an offset that is not one finite number, or has not the given shape, by a ValueError.

    Parameters
    ----------
    likelihood : Likelihood
        Has the parameter ``offset``.
    shape : tuple
        Allowed besides that of one number.
    """
    try:
        offset = np.asarray(likelihood.offset, dtype=np.float64)
    except (TypeError, ValueError):
        offset = np.array(np.nan)
    if offset.shape not in ((), shape) or not np.isfinite(offset).all():
        each = f", {shape[0]} of them for the classes," if shape else ""
        raise ValueError(
            f"The 'offset' parameter of {type(likelihood).__name__} must be a finite number{each} "
            f"or None to take it from the frequencies of the classes. Got {likelihood.offset!r}."
        )


def softmax_moments(mean, variance):
    """Return E[log sum exp f] (n,), E[p] and E[p^2] (n, C) for independent normal f_c.

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
