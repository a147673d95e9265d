"""Student-t noise as Gaussian noise whose precision differs from row to row.

A t distribution is a mixture of normal ones (docs/theory.md, section 13):

    t(y; f, nu, s2) = integral of N(y; f, s2 / tau) Gamma(tau; nu/2, nu/2) over tau

Given what is expected of the squared errors, q(tau) and its part of the bound have a closed form.
Outputs are independent: each has a tau in every row, and degrees of freedom of its own where these
are learned.
"""

from copy import copy
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp, stdtrit

from ..._minimize import minimize_lbfgs
from ..._sampling import fixed_index
from .._row_precision import NoiseUpdate, RowPrecision
from ._mixtures import of_each

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

    ``df`` is a number, one for each output, or None to learn it, for each output. An instance with
    numbers that were learned goes on learning them; a clone does not.
    """

    allows_outliers = True
    _learned = False  # True in instances whose number was learned

    def initialized(self, y, weight):
        """Check the parameters, and return this instance, or one that learns df of each output."""
        t = y.shape[1]
        if not (self.df is None or _is_valid(self.df, t)):
            each = f", one for each of {t} outputs" if t > 1 else ""
            raise ValueError(
                f"The 'df' parameter of {type(self).__name__} must be a finite number above 2{each}"
                f", or None to learn it. Got {self.df!r}."
            )
        likelihood = super().initialized(y, weight)
        if t == 1:
            return likelihood.for_output(0)
        return likelihood._with_df(self._df * np.ones(t)) if self._learns else likelihood

    def for_output(self, output):
        """Return the noise of one output."""
        return self._copied(float(self._df[output])) if self._df_differ else self

    @property
    def row_precision(self):
        """Each row and output has a precision, whose distribution has one parameter."""
        n_parameters = np.size(self._df) if self._learns else 0
        return RowPrecision(self.updated, has_tails=True, n_parameters=n_parameters)

    def updated(self, squares, weight, *, learns, n_scales):
        """Return E tau of each row and output, and the degrees of freedom; see `RowPrecision`."""
        learns_df, t = learns and self._learns, squares.shape[1]
        options = {"learns_df": learns_df, "learns_scale": n_scales > 0}
        groups = [slice(0, t)] if n_scales == 1 else [slice(c, c + 1) for c in range(t)]
        df = np.broadcast_to(self._df, t)
        parts = [best_tails(squares[:, own], weight, df[own], **options) for own in groups]
        found, scale, precision, constant = zip(*parts, strict=True)
        likelihood = self._with_df(np.concatenate(found)) if self._learns else self
        scale = scale[0] if len(scale) == 1 else np.array(scale)
        return NoiseUpdate(likelihood, scale, np.hstack(precision), sum(constant))

    @property
    def _learns(self):
        return self.df is None or self._learned

    @property
    def _df(self):
        """A number, or those of the outputs, (t,)."""
        if self.df is None:
            return _START_DF
        return np.asarray(self.df, dtype=np.float64) if np.ndim(self.df) else self.df

    @property
    def _df_differ(self):
        return np.ndim(self.df) > 0

    def _with_df(self, df):
        """Return a copy with numbers (k,) that are learned further; one is that of all outputs."""
        likelihood = self._copied(float(df[0]) if len(df) == 1 else df)
        likelihood._learned = True
        return likelihood

    def _copied(self, df):
        return copy(self).set_params(df=df)

    def _variance(self, squared_scale):
        return squared_scale * self._df / (self._df - 2.0)

    def _drawn(self, shape, rng):
        """Draw noise of unit scale, (n, t, k)."""
        return rng.standard_t(self._df[:, None] if self._df_differ else self._df, shape)

    def _of_each(self, noise, shape):
        parts = super()._of_each(noise, shape)
        return (*parts, of_each(self._df, shape)) if self._df_differ else parts

    def _tail(self, tail, noise):
        return stdtrit(noise[-1] if self._df_differ else self._df, tail)

    def _alike(self, noise):
        """Yield entries with the same degrees of freedom, their likelihood and noise."""
        if not self._df_differ:
            yield from super()._alike(noise)
            return
        *noise, df = noise
        for one in np.unique(df):
            at = np.flatnonzero(df == one)
            yield at, self._copied(one), tuple(part[at] for part in noise)

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


def _is_valid(df, t):
    """Return True for a finite number above 2, and for one for each of t outputs."""
    if isinstance(df, Real):
        return bool(2.0 < df < np.inf)
    try:
        df = np.asarray(df, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return df.shape == (t,) and bool(((df > 2.0) & (df < np.inf)).all())


class Tails(NamedTuple):
    """Degrees of freedom (k,), and scale, E tau (n, k) and constant of their `NoiseUpdate`."""

    df: np.ndarray
    scale: float
    precision: np.ndarray
    constant: float


def best_tails(squares, weight, df, *, learns_df, learns_scale):
    """Maximise the bound in degrees of freedom, scale and q(tau) together.

    Parameters
    ----------
    squares : ndarray of shape (n, k)
        E[(y - f)^2] / s2 of outputs with one scale.
    weight : ndarray of shape (n,)
        Numbers of observations.
    df : ndarray of shape (k,)
        At the start.
    learns_df, learns_scale : bool
    """
    index, k = fixed_index(len(squares), _DF_SAMPLE), len(df)
    sample, sample_weight = squares[index], weight[index]

    def loss(free):
        *log_df, log_scale = free
        each = zip((sample / np.exp(log_scale)).T, log_df, strict=True)
        value = sum(_log_density(column, 2.0 + np.exp(one)) for column, one in each)
        return -np.average(value - 0.5 * k * log_scale, weights=sample_weight)

    log_df = np.log(np.maximum(df - 2.0, 1e-300))
    start = [*(np.clip(log_df, *LOG_DF) if learns_df else log_df), 0.0]
    bounds = [LOG_DF if learns_df else (one, one) for one in log_df]
    bounds.append(_LOG_SCALE if learns_scale else (0.0, 0.0))
    if learns_df or learns_scale:
        start = minimize_lbfgs(loss, start, bounds=bounds).x
    if learns_df:
        df = 2.0 + np.exp(start[:-1])
    scale = float(np.exp(start[-1])) if learns_scale else 1.0
    each = [_tails(*one, weight) for one in zip((squares / scale).T, df, strict=True)]
    precision, constant = zip(*each, strict=True)
    return Tails(df, scale, np.column_stack(precision), sum(constant))


def _tails(squares, df, weight):
    """Return E tau (n,) of an output, and the constant."""
    precision = (df + 1.0) / (df + squares)
    constant = _log_density(squares, df) + 0.5 * precision * squares
    return precision, float(np.dot(weight, constant))


def _log_density(squares, df):
    """Return log E[tau^(1/2) exp(-tau squares / 2)] for tau ~ Gamma(df/2, df/2)."""
    x = 0.5 * df
    if x < _LARGE:
        constant = gammaln(x + 0.5) - gammaln(x) - 0.5 * np.log(x)
    else:
        constant = -0.125 / x
    return constant - (x + 0.5) * np.log1p(squares / df)
