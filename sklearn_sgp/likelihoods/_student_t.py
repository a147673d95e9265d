"""Student-t noise: a few large errors do not move the function."""

import numpy as np
from scipy.special import gammaln, ndtri, stdtr, stdtrit

from ._base import ExpectedLogDensity
from ._quadrature import gaussian_expectations

_BISECTIONS = 40


class StudentT:
    """y = f + s e, e with a t distribution: scale s^2 is the noise variance of the estimators.

    Parameters
    ----------
    df : float, default=4.0
        Degrees of freedom, above 2 so that y has a variance.

    Examples
    --------
    >>> from sklearn_sgp.likelihoods import StudentT
    >>> StudentT(df=3.0)
    StudentT(df=3.0)
    """

    n_noise = 1
    natural_step = 1.0
    shift_invariant = False

    def __init__(self, df=4.0):
        self.df = df

    def __repr__(self):
        return f"StudentT(df={self.df!r})"

    def _terms(self, error, noise_variance):
        """log density, first and second derivative in f, derivative in log noise variance."""
        scaled = self.df * noise_variance
        square = error * error
        base = scaled + square
        constant = gammaln(0.5 * (self.df + 1)) - gammaln(0.5 * self.df)
        constant -= 0.5 * np.log(np.pi * scaled)
        half = 0.5 * (self.df + 1.0)
        log_p = constant - half * np.log1p(square / scaled)
        slope = 2.0 * half * error / base
        curvature = 2.0 * half * (square - scaled) / base**2
        return log_p, slope, curvature, half * square / base - 0.5

    def expected_log_density(self, y, mean, variance, noise_variance):
        """E[log t(y; f, df, s)] for f ~ N(mean, variance), and its derivatives.

        Parameters
        ----------
        y, mean, variance : ndarray of shape (n, t)
        noise_variance : float
            s^2.

        Returns
        -------
        expected : ExpectedLogDensity
            ``d_variance`` can be positive, as the density is not log-concave.
        """
        flat = y.ravel()
        found = gaussian_expectations(
            lambda f, rows: self._terms(flat[rows, None] - f, noise_variance),
            mean.ravel(),
            variance.ravel(),
            self._width(noise_variance),
        )
        value, slope, curvature, noise = (part.reshape(y.shape) for part in found)
        return ExpectedLogDensity(value.sum(axis=1), slope, 0.5 * curvature, noise.sum(axis=1))

    def _width(self, noise_variance):
        return np.sqrt(self.df * noise_variance) / 2.8

    def log_predictive_density(self, y, mean, variance, noise_variance):
        """log p(y), summed over outputs, shape (n,)."""
        flat = y.ravel()
        (density,) = gaussian_expectations(
            lambda f, rows: (np.exp(self._terms(flat[rows, None] - f, noise_variance)[0]),),
            mean.ravel(),
            variance.ravel(),
            self._width(noise_variance),
        )
        return np.log(density).reshape(y.shape).sum(axis=1)

    def moments(self, mean, variance, noise_variance):
        """Mean and variance of y, shape (n, t)."""
        return mean, variance + self._spread(noise_variance)

    def _spread(self, noise_variance):
        return noise_variance * self.df / (self.df - 2.0)

    def covariance(self, mean, covariance, noise_variance):
        """Mean (n, t) and joint covariance (n, n, t) of y, from those of f; changes the latter."""
        covariance[np.diag_indices(len(mean))] += self._spread(noise_variance)
        return mean, covariance

    def quantiles(self, mean, variance, noise_variance, levels):
        """Quantiles of y, shape (n, t, n_levels), by bisection of the distribution function."""
        scale, width = np.sqrt(noise_variance), self._width(noise_variance)
        center, v = (np.repeat(part.ravel(), len(levels)) for part in (mean, variance))
        level = np.tile(levels, mean.size)
        # y is beyond x only if f or the noise is beyond half of it
        half = 0.5 * np.minimum(level, 1.0 - level)
        reach = np.sqrt(v) * np.abs(ndtri(half)) + scale * np.abs(stdtrit(self.df, half))
        low, high = center - reach, center + reach
        for _ in range(_BISECTIONS):
            x = 0.5 * (low + high)
            (cdf,) = gaussian_expectations(
                lambda f, rows, x=x: (stdtr(self.df, (x[rows, None] - f) / scale),),
                center,
                v,
                width,
            )
            below = cdf < level
            low, high = np.where(below, x, low), np.where(below, high, x)
        return (0.5 * (low + high)).reshape(*mean.shape, len(levels))

    def draw(self, f, noise_variance, rng):
        """Observations for latent values of any shape."""
        return f + np.sqrt(noise_variance) * rng.standard_t(self.df, f.shape)
