"""A factor of predictive deviations that depends on the input, from left-out rows.

A stationary kernel gives its functions the same variance everywhere, so that bands are too wide
where the process is calm and too narrow where it is not, whatever the noise. With c(x) > 0 the
process f -> m + c (f - m) about the predictive mean m, and noise whose deviation is c times as
large, keep the mean and have the right width (docs/theory.md, section 13).
"""

from dataclasses import dataclass, replace

import numpy as np

from ..engines.fitted import Fitted

# Bounds: deviations that are wrong by more than ten times have another cause, such as targets
# that are an exact function of the inputs.
MOST_TIMES = 10.0
_LOG_SQUARE = -2.0 * np.log(MOST_TIMES), 2.0 * np.log(MOST_TIMES)


@dataclass(frozen=True)
class VarianceScale:
    """Scale predictive variances, noise included, by a function c(x)^2 of the input.

    Parameters
    ----------
    log_constant : ndarray of shape (k,)
        Constant part of log c^2: one that all outputs share, k = 1, or one of each.
    function : Fitted or None
        Gaussian process of the rest of log c^2.
    gain : float
        In nats a row, on rows that it was not learned from.
    range : (float, float)
        Smallest and largest c at these rows.
    ceiling : float or ndarray of shape (k,)
        Largest value of the function that the rows it was learned from bear out.
    error : float or ndarray of shape (k,)
        Standard error of the constant; infinite for outputs whose c is 1, with a ceiling of 0.
    widening : float or ndarray of shape (t,)
        Added to log c^2 after all else: bands that held too few rows, of each output.
    """

    log_constant: np.ndarray
    function: Fitted | None = None
    gain: float = 0.0
    range: tuple = (1.0, 1.0)
    ceiling: object = np.inf
    error: object = 0.0
    widening: float | np.ndarray = 0.0

    def log_square(self, X, n_jobs):
        """Return log c^2, (n, k), or (n, t) once bands of outputs were widened."""
        learned, variance = self._moments(X, n_jobs)
        certain = np.minimum(learned + np.sqrt(variance + np.square(self.error)), 0.0)
        return np.clip(np.maximum(learned, certain) + self.widening, *_LOG_SQUARE)

    def learned(self, X, n_jobs):
        """Return log c^2 as rows ask for it, certain or not, (n, k)."""
        return np.clip(self._moments(X, n_jobs)[0], *_LOG_SQUARE)

    def widened(self, factor):
        """Return the same with deviations larger by a factor, or by one for each output."""
        (low, high), log_square = self.range, 2.0 * np.log(factor)
        log_square = log_square if np.ndim(log_square) else float(log_square)
        ends = float(np.min(factor)) * low, float(np.max(factor)) * high
        return replace(self, widening=self.widening + log_square, range=ends)

    def _moments(self, X, n_jobs):
        """Return mean and variance of log c^2, (n, k), the error of the constant apart."""
        constant = np.tile(self.log_constant, (len(X), 1))
        if self.function is None:
            return constant, np.zeros(constant.shape)
        mean, variance = self.function.moments_at(X, n_jobs)
        return constant + np.minimum(mean, self.ceiling), variance

    def without_caches(self):
        """Return the same with nothing that can be computed again, as it is saved."""
        function = None if self.function is None else self.function.without_caches()
        return replace(self, function=function)

    def fading(self, share):
        """Count the errors so far as a share."""
        if self.function is None:
            return self
        return replace(self, function=self.function.with_information(share))

    def at(self, X, n_jobs):
        """Return c, the factor of deviations, (n, k)."""
        return np.exp(0.5 * self.log_square(X, n_jobs))
