"""Student-t noise: a few large errors do not move the function."""

from copy import copy
from numbers import Real

import numpy as np
from scipy.special import digamma, gammaln, logsumexp, stdtrit

from .._base import ExpectedLogDensity, NoiseUpdate
from .._quadrature import gaussian_expectations
from ._heavy_tails import best_tails
from ._mixtures import NormalMixture, of_each

_START_DF = 4.0
_NEGLIGIBLE = 32.0  # a weight of exp(-32) in a mixture
_LARGEST_SHAPE = 1e10  # of a Gamma variable that is no number: above it the noise is Gaussian


class StudentT(NormalMixture):
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
    has_row_precision = True
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

    def updated(self, squares, weight, n_outputs, *, learns, learns_scale):
        """Precisions of the rows, and the degrees of freedom that go with them.

        Parameters
        ----------
        squares : ndarray of shape (n,)
            Expected squared errors in units of the noise variance, summed over outputs.
        weight : ndarray of shape (n,)
            Numbers of observations.
        n_outputs : int
            The outputs of a row share its precision.
        learns, learns_scale : bool
            Whether degrees of freedom left open, and the noise variance, are learned.

        Returns
        -------
        update : NoiseUpdate
        """
        learns_df = learns and self._learns
        tails = best_tails(
            squares, weight, n_outputs, self._df, learns_df=learns_df, learns_scale=learns_scale
        )
        made = self.with_theta([np.log(tails.df - 2.0)]) if learns_df else self
        return NoiseUpdate(made, tails.scale, tails.precision, tails.constant)

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
        noise_variance : float or ndarray of shape (t,)
            s^2.

        Returns
        -------
        expected : ExpectedLogDensity
            ``d_variance`` can be positive, as the density is not log-concave. ``d_theta`` is
            None if df is not learned.
        """
        flat, noise = y.ravel(), of_each(noise_variance, y.shape)

        def terms(f, rows):
            error, own = flat[rows, None] - f, noise[rows, None]
            found = self._terms(error, own)
            return (*found, self._theta_term(error, own)) if self._learns else found

        # the density has its singularities at y, sqrt(df) s above and below the real axis
        width = np.sqrt(self._df * noise) / 2.8
        found = gaussian_expectations(terms, mean.ravel(), variance.ravel(), width, flat)
        value, slope, curvature, by_noise, *theta = (part.reshape(y.shape) for part in found)
        return ExpectedLogDensity(
            value.sum(axis=1),
            slope,
            0.5 * curvature,
            by_noise,
            theta[0].sum(axis=1)[:, None] if theta else None,
        )

    def _of_each(self, noise_variance, shape):
        return (of_each(noise_variance, shape),)

    def _components(self, noise, furthest):
        spread, log_weights = self._mixture(furthest)
        return lambda rows: noise[0][rows, None] * spread, log_weights

    def _widest(self, noise):
        return noise[0]

    def _tail(self, tail):
        return stdtrit(self._df, tail)

    def _mixture(self, furthest):
        """The noise as a mixture of Gaussians (docs/theory.md, section 10).

        Parameters
        ----------
        furthest : float
            Largest error in units of s, up to which densities and tails keep their digits.

        Returns
        -------
        variances : ndarray of shape (k,)
            In units of s^2.
        log_weights : ndarray of shape (k,)
            Logarithms of their probabilities.
        """
        # the logarithm of a Gamma variable of mean 1, by the trapezoidal rule
        shape = min(0.5 * self._df, _LARGEST_SHAPE)
        ratio = _NEGLIGIBLE / shape
        left = 2.0 * np.sqrt(ratio) if ratio < 0.5 else 1.0 + ratio
        left += 2.0 * np.log(np.hypot(1.0, furthest / np.sqrt(self._df)))
        right = min(np.sqrt(2.0 * ratio), 1.0 + np.log1p(ratio))
        step = 0.6 / np.sqrt(max(shape, 4.0))
        u = np.linspace(-left, right, int(np.ceil((left + right) / step)) + 1)
        log_weights = shape * (u - np.expm1(u))
        return np.exp(-u), log_weights - logsumexp(log_weights)

    def moments(self, mean, variance, noise_variance):
        """Mean and variance of y, shape (n, t)."""
        return mean, variance + self._spread(noise_variance)

    def _spread(self, noise_variance):
        return noise_variance * self._df / (self._df - 2.0)

    def covariance(self, mean, covariance, noise_variance):
        """Mean (n, t) and joint covariance (n, n, t) of y; overwrites the covariance of f."""
        covariance[np.diag_indices(len(mean))] += self._spread(noise_variance)
        return mean, covariance

    def draw(self, f, noise_variance, rng):
        """Observations for latent values of shape (n, t, k)."""
        return f + np.reshape(np.sqrt(noise_variance), (-1, 1)) * rng.standard_t(self._df, f.shape)
