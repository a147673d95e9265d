"""A factor of predictive deviations that depends on the input, from left-out rows.

A stationary kernel gives its functions the same variance everywhere, so that bands are too wide
where the process is calm and too narrow where it is not, whatever the noise. With c(x) > 0 the
process f -> m + c (f - m) about the predictive mean m, and noise whose deviation is c times as
large, keep the mean and have the right width (docs/theory.md, section 13).
"""

from dataclasses import dataclass, replace

import numpy as np

from ..engines.base import Fitted

# Bounds: deviations that are wrong by more than ten times have another cause, such as targets
# that are an exact function of the inputs.
_LOG_SQUARE = -2.0 * np.log(10.0), 2.0 * np.log(10.0)


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
    """

    log_constant: np.ndarray
    function: Fitted | None = None
    gain: float = 0.0
    range: tuple = (1.0, 1.0)
    ceiling: object = np.inf

    def log_square(self, X, n_jobs):
        """Return log c^2, (n, k)."""
        log_square = np.tile(self.log_constant, (len(X), 1))
        if self.function is not None:
            log_square += np.minimum(self.function.moments_at(X, n_jobs)[0], self.ceiling)
        return np.clip(log_square, *_LOG_SQUARE)

    def without_caches(self):
        """Return the same with nothing that can be computed again, as it is saved."""
        function = None if self.function is None else self.function.without_caches()
        return replace(self, function=function)

    def fading(self, share):
        """Count the errors so far as a share."""
        if self.function is None:
            return self
        posterior = self.function.posterior.scaled(share)
        posterior.warm_cache()
        predictor = self.function.predictor.with_posterior(posterior)
        return replace(self, function=replace(self.function, predictor=predictor))

    def at(self, X, n_jobs):
        """Return c, the factor of deviations, (n, k)."""
        return np.exp(0.5 * self.log_square(X, n_jobs))

    def of_functions(self, functions, posterior):
        """Scale the deviations of functions that were drawn from a posterior."""
        return ScaledDraws(functions, posterior, self)


class ScaledDraws:
    """Callable on X (n, d), result (n, t, n_samples), as `gp.pathwise.PathwiseDraws`.

    Parameters
    ----------
    posterior : Posterior
        That they were drawn from.
    """

    def __init__(self, functions, posterior, scale):
        self.functions, self.posterior, self.scale = functions, posterior, scale

    @property
    def n_features(self):
        """Number of columns of X."""
        return self.functions.n_features

    def __call__(self, X):
        mean = self.posterior.mean(X)[:, :, None]
        return mean + self.scale.at(X, 1)[:, :, None] * (self.functions(X) - mean)
