"""Student-t noise: a few large errors do not move the function."""

from copy import copy
from numbers import Real

import numpy as np
from scipy.special import digamma, gammaln, ndtri, stdtr, stdtrit

from ._base import ExpectedLogDensity, Likelihood
from ._quadrature import gaussian_expectations

_BISECTIONS = 40
_START_DF = 4.0


class StudentT(Likelihood):
    """y = f + s e, where e has a t distribution and s^2 is the noise variance of the estimator.

    If df is learned, its parameter is ``theta = log(df - 2)``, from 4 on, with 2.05 <= df <= 1000.

    Parameters
    ----------
    df : float or None, default=4.0
        Degrees of freedom, above 2 so that y has a variance. None: learned with the kernel.

    Examples
    --------
    >>> from sklearn_sgp.likelihoods import StudentT
    >>> StudentT(df=3.0)
    StudentT(df=3.0)
    """

    has_noise = True
    scales_targets = True
    _learned = False  # True in instances with a number that came from `with_theta`

    def __init__(self, df=4.0):
        self.df = df

    def initialized(self, y, weight):
        """This instance, its df checked."""
        if self.df is None:
            return self
        if not (isinstance(self.df, Real) and 2.0 < self.df < np.inf):
            raise ValueError(
                "The 'df' parameter of StudentT must be a finite number above 2, or None to learn "
                f"it. Got {self.df!r}."
            )
        return self

    @property
    def theta(self):
        """log(df - 2) if df is learned, shape (1,); otherwise empty."""
        return np.array([np.log(self._df - 2.0)]) if self._learns else np.empty(0)

    @property
    def theta_bounds(self):
        """Bounds of `theta`, shape (1, 2) or (0, 2)."""
        return np.log([[0.05, 998.0]]) if self._learns else np.empty((0, 2))

    def with_theta(self, theta):
        """Student-t noise with df = 2 + exp(theta), to be learned further."""
        if not self._learns:
            return self
        made = copy(self).set_params(df=2.0 + float(np.exp(theta[0])))
        made._learned = True
        return made

    @property
    def _learns(self):
        return self.df is None or self._learned

    @property
    def _df(self):
        return _START_DF if self.df is None else self.df

    def _terms(self, error, noise_variance):
        """log density, its first and second derivative in f, and that in log noise variance."""
        df = self._df
        scaled = df * noise_variance
        square = error * error
        base = scaled + square
        constant = gammaln(0.5 * (df + 1)) - gammaln(0.5 * df)
        constant -= 0.5 * np.log(np.pi * scaled)
        half = 0.5 * (df + 1.0)
        log_p = constant - half * np.log1p(square / scaled)
        slope = 2.0 * half * error / base
        curvature = 2.0 * half * (square - scaled) / base**2
        return log_p, slope, curvature, half * square / base - 0.5

    def _theta_term(self, error, noise_variance):
        """Derivative of the log density in theta = log(df - 2)."""
        df = self._df
        scaled = df * noise_variance
        square = error * error
        constant = digamma(0.5 * (df + 1.0)) - digamma(0.5 * df) - 1.0 / df
        tail = (df + 1.0) / df * square / (scaled + square) - np.log1p(square / scaled)
        return 0.5 * (df - 2.0) * (constant + tail)  # d df / d theta = df - 2

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
            ``d_variance`` can be positive, as the density is not log-concave. ``d_theta`` is
            None if df is not learned.
        """
        flat = y.ravel()

        def terms(f, rows):
            error = flat[rows, None] - f
            found = self._terms(error, noise_variance)
            return (*found, self._theta_term(error, noise_variance)) if self._learns else found

        found = gaussian_expectations(
            terms, mean.ravel(), variance.ravel(), self._width(noise_variance)
        )
        value, slope, curvature, noise, *theta = (part.reshape(y.shape) for part in found)
        return ExpectedLogDensity(
            value.sum(axis=1),
            slope,
            0.5 * curvature,
            noise.sum(axis=1),
            theta[0].sum(axis=1)[:, None] if theta else None,
        )

    def _width(self, noise_variance):
        return np.sqrt(self._df * noise_variance) / 2.8

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
        return noise_variance * self._df / (self._df - 2.0)

    def covariance(self, mean, covariance, noise_variance):
        """Mean (n, t) and joint covariance (n, n, t) of y; overwrites the covariance of f."""
        covariance[np.diag_indices(len(mean))] += self._spread(noise_variance)
        return mean, covariance

    def quantiles(self, mean, variance, noise_variance, levels):
        """Quantiles of y, shape (n, t, n_levels), by bisection of the distribution function."""
        scale, width = np.sqrt(noise_variance), self._width(noise_variance)
        center, v = (np.repeat(part.ravel(), len(levels)) for part in (mean, variance))
        level = np.tile(levels, mean.size)
        # At a level p < 1/2 let a and b be the quantiles of f and of the noise at p / 2. y < a + b
        # implies f < a or noise < b, so it has probability p at most; and so for p > 1/2.
        half = 0.5 * np.minimum(level, 1.0 - level)
        reach = np.sqrt(v) * np.abs(ndtri(half)) + scale * np.abs(stdtrit(self._df, half))
        low, high = center - reach, center + reach
        for _ in range(_BISECTIONS):
            x = 0.5 * (low + high)
            (cdf,) = gaussian_expectations(
                lambda f, rows, x=x: (stdtr(self._df, (x[rows, None] - f) / scale),),
                center,
                v,
                width,
            )
            below = cdf < level
            low, high = np.where(below, x, low), np.where(below, high, x)
        return (0.5 * (low + high)).reshape(*mean.shape, len(levels))

    def draw(self, f, noise_variance, rng):
        """Observations for latent values of any shape."""
        return f + np.sqrt(noise_variance) * rng.standard_t(self._df, f.shape)
