"""Noise that is a mixture of normal distributions: densities, tails and quantiles of y."""

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from .._base import Likelihood
from .._quadrature import pieces

_BISECTIONS = 40


class NormalMixture(Likelihood):
    """The base of likelihoods whose noise is a mixture of normal distributions with mean zero.

    A subclass says which components there are, for noise in whatever shape it comes:

    ``_of_each(noise, shape)``
        A tuple of flat arrays, with an entry for each of an array of the shape (n, t).
    ``_components(noise, furthest)``
        From such a tuple, a function of row numbers that returns the variances of the components
        (k, n_nodes), and the logarithms of their probabilities (n_nodes,). Errors of up to
        ``furthest``, in standard deviations of `_widest`, keep their digits.
    ``_widest(noise)``
        Of such a tuple, variances with which the standard quantiles of `_tail` bound the noise's.
    ``_tail(tail)``
        Quantiles of noise of unit scale.
    """

    def components(self, variance, noise_variance):
        """The normal distributions whose mixture y - mean is.

        Parameters
        ----------
        variance : ndarray of shape (n, t)
            Of f.
        noise_variance : object
            As other methods take it.

        Returns
        -------
        variances : callable
            ``variances(entries)``: those of some of the n t entries, (k, n_components).
        log_weights : ndarray of shape (n_components,)
            Logarithms of their probabilities.
        """
        noise, flat = self._of_each(noise_variance, variance.shape), variance.ravel()
        of_noise, log_weights = self._components(noise, 0.0)
        return lambda entries: flat[entries, None] + of_noise(entries), log_weights

    def log_predictive_density(self, y, mean, variance, noise_variance):
        """log p(y), summed over outputs, shape (n,)."""
        noise = self._of_each(noise_variance, y.shape)
        found = self._mixed(_log_density, (y - mean).ravel(), _flat(variance, y.shape), noise)
        return found.reshape(y.shape).sum(axis=1)

    def cdf(self, y, mean, variance, noise_variance):
        """P(Y <= y), shape (n, t)."""
        noise = self._of_each(noise_variance, y.shape)
        found = self._mixed(_cdf, (y - mean).ravel(), _flat(variance, y.shape), noise)
        return found.reshape(y.shape)

    def sf(self, y, mean, variance, noise_variance):
        """P(Y > y), shape (n, t)."""
        return self.cdf(-y, -mean, variance, noise_variance)

    def quantiles(self, mean, variance, noise_variance, levels):
        """Quantiles of y, shape (n, t, n_levels), by bisection of the distribution function."""
        v = np.repeat(_flat(variance, mean.shape), len(levels))
        noise = self._of_each(noise_variance, mean.shape)
        noise = tuple(np.repeat(part, len(levels)) for part in noise)
        level = np.tile(levels, mean.size)
        # At a level p < 1/2 let a and b be the quantiles of f and of the noise at p / 2. y < a + b
        # implies f < a or noise < b, so it has probability p at most; and so for p > 1/2.
        tail = np.minimum(level, 1.0 - level)
        low = np.sqrt(v) * ndtri(0.5 * tail) + np.sqrt(self._widest(noise)) * self._tail(0.5 * tail)
        error = self._mixed(_tail_quantile, low, v, noise, tail)
        error *= np.where(level > 0.5, -1.0, 1.0)
        return mean[..., None] + error.reshape(*mean.shape, len(levels))

    def _mixed(self, function, error, variance, noise, *others):
        """``function(variances, log_weights, error, *others)``, shape (n,), piece by piece.

        The variances (k, n_nodes) are those of the normal distributions whose mixture f + noise is.
        """
        furthest = float((np.abs(error) / np.sqrt(self._widest(noise))).max(initial=0.0))
        variances, log_weights = self._components(noise, furthest)
        found = np.empty(len(error))
        for rows in pieces(np.arange(len(error)), len(log_weights)):
            total = variance[rows, None] + variances(rows)
            found[rows] = function(total, log_weights, *(part[rows] for part in (error, *others)))
        return found


def of_each(noise_variance, shape):
    """Noise variances of all entries of an array (n, t), flat."""
    return np.broadcast_to(noise_variance, shape).ravel()


def _flat(variance, shape):
    return np.broadcast_to(variance, shape).ravel()


def _log_density(variances, log_weights, error):
    log_p = log_weights - 0.5 * (np.log(2.0 * np.pi * variances) + error[:, None] ** 2 / variances)
    return logsumexp(log_p, axis=1)


def _cdf(variances, log_weights, error):
    return ndtr(error[:, None] / np.sqrt(variances)) @ np.exp(log_weights)


def _tail_quantile(variances, log_weights, low, tail):
    """Error whose distribution function is ``tail``, by bisection between ``low`` and 0."""
    sd, weight, high = np.sqrt(variances), np.exp(log_weights), np.zeros(len(low))
    for _ in range(_BISECTIONS):
        x = 0.5 * (low + high)
        below = ndtr(x[:, None] / sd) @ weight < tail
        low, high = np.where(below, x, low), np.where(below, high, x)
    return 0.5 * (low + high)
