"""Student-t noise as Gaussian noise whose precision differs from row to row.

A t distribution is a mixture of normal ones (docs/theory.md, section 13):

    t(y; f, nu, s2) = integral of N(y; f, s2 / tau) Gamma(tau; nu/2, nu/2) over tau

Given what is expected of the squared errors, q(tau) and its part of the bound have a closed form.
The outputs of a row share its tau, so that their noise is a multivariate t distribution.
"""

from copy import copy
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp, stdtrit

from ..._sampling import fixed_index
from .._row_precision import NoiseUpdate, RowPrecision

# Where learning begins.
_START_DF = 4.0
# Bounds of what is learned: log(df - 2), and how much the noise variance changes in one update.
LOG_DF = (np.log(0.05), np.log(998.0))
_LOG_SCALE = (-5.0, 5.0)
# Rows from which degrees of freedom are learned.
_DF_SAMPLE = 50_000
# From here on differences of log-Gamma functions are by their series.
_LARGE = 1e6
_NEGLIGIBLE_WEIGHT = 32.0  # minus the logarithm of a weight in a mixture
_LARGEST_SHAPE = 1e10  # of a Gamma variable that is no number: above it the noise is Gaussian


class HeavyTails:
    """Mixin of likelihoods whose noise has a t distribution of ``df`` degrees of freedom.

    ``df`` is a number, or None to learn it. An instance with a number that was learned goes on
    learning it; a clone does not.
    """

    allows_outliers = True
    _learned = False  # True in instances whose number was learned

    def initialized(self, y, weight):
        """Check the parameters, and return this instance."""
        if not (self.df is None or (isinstance(self.df, Real) and 2.0 < self.df < np.inf)):
            raise ValueError(
                f"The 'df' parameter of {type(self).__name__} must be a finite number above 2, or "
                f"None to learn it. Got {self.df!r}."
            )
        return super().initialized(y, weight)

    @property
    def row_precision(self):
        """Each row has a precision, whose distribution has one parameter."""
        return RowPrecision(self.updated, has_tails=True, n_parameters=int(self._learns))

    def updated(self, squares, weight, n_outputs, *, learns, learns_scale):
        """Return E tau of each row, and the degrees of freedom; see `RowPrecision`."""
        learns_df = learns and self._learns
        tails = best_tails(
            squares, weight, n_outputs, self._df, learns_df=learns_df, learns_scale=learns_scale
        )
        likelihood = self._with_df(tails.df) if self._learns else self
        return NoiseUpdate(likelihood, tails.scale, tails.precision, tails.constant)

    @property
    def _learns(self):
        return self.df is None or self._learned

    @property
    def _df(self):
        return _START_DF if self.df is None else self.df

    def _with_df(self, df):
        """Return a copy with a number that is learned further."""
        likelihood = copy(self).set_params(df=df)
        likelihood._learned = True
        return likelihood

    def _variance(self, squared_scale):
        return squared_scale * self._df / (self._df - 2.0)

    def _tail(self, tail):
        return stdtrit(self._df, tail)

    def _mixture(self, furthest):
        """Return the noise as a mixture of Gaussians (docs/theory.md, section 10).

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
        ratio = _NEGLIGIBLE_WEIGHT / shape
        left = 2.0 * np.sqrt(ratio) if ratio < 0.5 else 1.0 + ratio
        left += 2.0 * np.log(np.hypot(1.0, furthest / np.sqrt(self._df)))
        right = min(np.sqrt(2.0 * ratio), 1.0 + np.log1p(ratio))
        step = 0.6 / np.sqrt(max(shape, 4.0))
        u = np.linspace(-left, right, int(np.ceil((left + right) / step)) + 1)
        log_weights = shape * (u - np.expm1(u))
        return np.exp(-u), log_weights - logsumexp(log_weights)


class Tails(NamedTuple):
    """Degrees of freedom, and scale, E tau and constant of the `NoiseUpdate` that they give."""

    df: float
    scale: float
    precision: np.ndarray
    constant: float


def best_tails(squares, weight, n_outputs, df, *, learns_df, learns_scale):
    """Maximise the bound in degrees of freedom, scale and q(tau) together.

    Parameters
    ----------
    squares : ndarray of shape (n,)
        E[(y - f)^2] / s2, summed over outputs.
    weight : ndarray of shape (n,)
        Numbers of observations.
    df : float
        At the start.
    learns_df, learns_scale : bool
    """
    index = fixed_index(len(squares), _DF_SAMPLE)
    sample, sample_weight = squares[index], weight[index]

    def loss(free):
        log_df, log_scale = free
        value = _log_density(sample / np.exp(log_scale), n_outputs, 2.0 + np.exp(log_df))
        return -np.average(value - 0.5 * n_outputs * log_scale, weights=sample_weight)

    log_df = float(np.log(max(df - 2.0, 1e-300)))
    start = [np.clip(log_df, *LOG_DF) if learns_df else log_df, 0.0]
    bounds = [LOG_DF if learns_df else (log_df,) * 2, _LOG_SCALE if learns_scale else (0.0, 0.0)]
    if learns_df or learns_scale:
        start = minimize(loss, start, method="L-BFGS-B", bounds=bounds).x
    if learns_df:
        df = 2.0 + float(np.exp(start[0]))
    scale = float(np.exp(start[1])) if learns_scale else 1.0
    return _tails(squares / scale, weight, n_outputs, df, scale)


def _tails(squares, weight, t, df, scale):
    precision = (df + t) / (df + squares)
    constant = _log_density(squares, t, df) + 0.5 * precision * squares
    return Tails(df, scale, precision, float(np.dot(weight, constant)))


def _log_density(squares, t, df):
    """Return log E[tau^(t/2) exp(-tau squares / 2)] for tau ~ Gamma(df/2, df/2)."""
    x, h = 0.5 * df, 0.5 * t
    if x < _LARGE:
        constant = gammaln(x + h) - gammaln(x) - h * np.log(x)
    else:
        constant = h * (h - 1.0) / (2.0 * x)
    return constant - (x + h) * np.log1p(squares / df)
