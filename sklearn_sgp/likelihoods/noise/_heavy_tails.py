"""Student-t noise as Gaussian noise whose precision differs from row to row.

A t distribution is a mixture of normal ones (docs/theory.md, section 13):

    t(y; f, nu, s2) = integral of N(y; f, s2 / tau) Gamma(tau; nu/2, nu/2) over tau

Given what is expected of the squared errors, q(tau) and its part of the bound have a closed form.
The outputs of a row share its tau, so that their noise is a multivariate t distribution.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln

# Bounds of what is learned: log(df - 2), and how much the noise variance changes in one update.
_LOG_DF = (np.log(0.05), np.log(998.0))
_LOG_SCALE = (-5.0, 5.0)
# Rows from which degrees of freedom are learned.
_LARGEST_SAMPLE = 50_000
# From here on differences of log-Gamma functions are by their series.
_LARGE = 1e6


class Tails(NamedTuple):
    """q(tau) of all rows, for t distributions that suit some squared errors.

    Attributes
    ----------
    df : float
        Degrees of freedom.
    scale : float
        What the noise variances are multiplied by.
    precision : ndarray of shape (n,)
        E tau.
    constant : float
        What the bound has besides the Gaussian one with these precisions, whose normaliser does
        not have them.
    """

    df: float
    scale: float
    precision: np.ndarray
    constant: float


def best_tails(squares, weight, n_outputs, df, *, learns_df, learns_scale):
    """Degrees of freedom, scale and q(tau) that together maximise the bound.

    Parameters
    ----------
    squares : ndarray of shape (n,)
        E[(y - f)^2] / s2, summed over outputs.
    weight : ndarray of shape (n,)
        Numbers of observations.
    n_outputs : int
    df : float
        At the start.
    learns_df, learns_scale : bool

    Returns
    -------
    tails : Tails
    """
    step = -(-len(squares) // _LARGEST_SAMPLE)
    some, of_some = squares[::step], weight[::step]

    def loss(free):
        log_df, log_scale = free
        value = _log_density(some / np.exp(log_scale), n_outputs, 2.0 + np.exp(log_df))
        return -np.average(value - 0.5 * n_outputs * log_scale, weights=of_some)

    log_df = float(np.log(max(df - 2.0, 1e-300)))
    start = [np.clip(log_df, *_LOG_DF) if learns_df else log_df, 0.0]
    bounds = [_LOG_DF if learns_df else (log_df,) * 2, _LOG_SCALE if learns_scale else (0.0, 0.0)]
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
    """log of the integral of tau^(t/2) exp(-tau squares / 2) Gamma(tau; df/2, df/2) over tau."""
    x, h = 0.5 * df, 0.5 * t
    if x < _LARGE:
        constant = gammaln(x + h) - gammaln(x) - h * np.log(x)
    else:
        constant = h * (h - 1.0) / (2.0 * x)
    return constant - (x + h) * np.log1p(squares / df)
