"""Student-t noise: a few large errors do not move the function."""

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammaln

from .._base import ExpectedLogDensity
from .._quadrature import gaussian_expectations
from ._heavy_tails import LOG_DF, HeavyTails
from ._heteroscedastic import HeteroscedasticStudentT
from ._mixtures import NormalMixture, of_each, with_noise


class StudentT(HeavyTails, NormalMixture):
    """y = f + s e, where e has a t distribution and s^2 is the noise variance of the estimator.

    Errors of several outputs are independent: that one output of a row is far off says nothing of
    the others, in learning as in predictions. If df is learned, each output has its own, with the
    parameter ``theta = log(df - 2)``, from 4 on, and 2.05 <= df <= 1000.

    Parameters
    ----------
    df : float, array-like of shape (n_outputs,) or None, default=4.0
        Degrees of freedom, above 2 so that y has a variance: of all outputs, or of each. None:
        learned with the kernel, for each output.

    Examples
    --------
    >>> from sklearn_sgp.likelihoods import StudentT
    >>> StudentT(df=3.0)
    StudentT(df=3.0)
    """

    has_noise = True
    scales_targets = True

    def __init__(self, df: ArrayLike | None = 4.0) -> None:
        self.df = df

    @property
    def row_precision(self):
        """Each row and output has one; where noise depends on the input, too, df is the same."""
        varying = partial(HeteroscedasticStudentT, self.df)
        return replace(super().row_precision, varying=varying)

    @property
    def theta(self):
        """log(df - 2) if df is learned, shape (1,), or (t,) of several outputs; otherwise empty."""
        return np.log(np.ravel(self._df) - 2.0) if self._learns else np.empty(0)

    @property
    def theta_bounds(self):
        """Bounds of `theta`, shape (k, 2)."""
        return np.tile(LOG_DF, (len(self.theta), 1))

    def with_theta(self, theta):
        """Return Student-t noise with df = 2 + exp(theta), to be learned further."""
        return self._with_df(2.0 + np.exp(theta)) if self._learns else self

    @staticmethod
    def _terms(error, noise_variance, df):
        """Return log density, two derivatives in f, and that in the log noise variance."""
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

    @staticmethod
    def _theta_term(error, noise_variance, df):
        """Return the derivative of the log density in theta = log(df - 2)."""
        scaled = df * noise_variance
        square = error * error
        constant = digamma(0.5 * (df + 1.0)) - digamma(0.5 * df) - 1.0 / df
        tail = (df + 1.0) / df * square / (scaled + square) - np.log1p(square / scaled)
        return 0.5 * (df - 2.0) * (constant + tail)  # d df / d theta = df - 2

    def expected_log_density(self, y, mean, variance, noise_variance):
        """Return E[log t(y; f, df, s)] for f ~ N(mean, variance), and its derivatives.

        ``d_variance`` can be positive, as the density is not log-concave.
        """
        flat, noise, learns = y.ravel(), of_each(noise_variance, y.shape), self._learns
        df = of_each(self._df, y.shape) if self._df_differ else self._df

        def terms(f, rows):
            own = df[rows, None] if self._df_differ else df
            at = flat[rows, None] - f, noise[rows, None], own
            return self._terms(*at) + ((self._theta_term(*at),) if learns else ())

        # the density has its singularities at y, sqrt(df) s above and below the real axis
        width = np.sqrt(df * noise) / 2.8
        expected = gaussian_expectations(terms, mean.ravel(), variance.ravel(), width, flat)
        value, slope, curvature, by_noise, *theta = (part.reshape(y.shape) for part in expected)
        by_theta = theta[0] if learns else None
        if learns and not self._df_differ:
            by_theta = by_theta.sum(axis=1, keepdims=True)
        return ExpectedLogDensity(value.sum(axis=1), slope, 0.5 * curvature, by_noise, by_theta)

    def _components(self, noise, furthest):
        of_tails, log_weights = self._mixture(furthest)
        return lambda rows: noise[0][rows, None] * of_tails, log_weights

    def _widest(self, noise):
        return noise[0]

    def moments(self, mean, variance, noise_variance):
        """Return mean and variance of y, shape (n, t)."""
        return mean, variance + self._variance(noise_variance)

    def covariance(self, mean, covariance, noise_variance):
        """Return mean (n, t) and covariance (n, n, t) of y; overwrites the covariance of f."""
        return mean, with_noise(covariance, self._variance(noise_variance))

    def draw(self, f, noise_variance, rng):
        """Draw observations for latent values of shape (n, t, k)."""
        return f + np.reshape(np.sqrt(noise_variance), (-1, 1)) * self._drawn(f.shape, rng)
