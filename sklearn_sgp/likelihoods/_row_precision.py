"""Noise that is Gaussian given a precision of each row states here what it is.

Student-t noise is Gaussian of variance s^2 / tau_n, heteroscedastic noise of variance s^2 exp(g_n).
Given these precisions, function and kernel are learned as with Gaussian noise; given the squared
errors, the precisions have a closed form (docs/theory.md, section 13).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class NoiseUpdate(NamedTuple):
    """Hold noise that suits squared errors, as `RowPrecision.updated` returns it.

    Parameters
    ----------
    likelihood : Likelihood
        With the parameters that were learned.
    scale : float or ndarray of shape (t,)
        Factor of the noise variances.
    precision : ndarray of shape (n, 1) or (n, t)
        Expected precision of each row, for all outputs or for each, in units of the common one.
    constant : float
        Difference of the bound from that of Gaussian noise with these precisions, whose normaliser
        lacks them.
    """

    likelihood: object
    scale: object
    precision: np.ndarray
    constant: float


class LogNoisePrior(NamedTuple):
    """Gaussian process prior of the log noise variance, besides its constant.

    Parameters
    ----------
    kernel : Kernel or None
        None means ``ConstantKernel() * RBF() + ConstantKernel() * Matern(nu=0.5)`` with
        a length scale for each column.
    n_inducing : int or None
        Largest number of inducing inputs. None means 100, or as many as the function has where
        those are fewer.
    """

    kernel: object = None
    n_inducing: int | None = None


@dataclass(frozen=True)
class RowPrecision:
    """State how the precisions of rows are found, as `Likelihood.row_precision`.

    Parameters
    ----------
    updated : callable
        ``updated(squares, weight, *, learns, n_scales)`` returns the `NoiseUpdate` that maximises
        the bound. ``squares`` (n, t) are expected squared errors in units of each row's noise
        variance; outputs are independent. ``weight`` (n,) are numbers of observations. ``learns``
        is True where parameters that are left open may move, ``n_scales`` the number of noise
        variances that may: none, 1 that all outputs share, or t, one of each.
    has_tails : bool, default=False
        Each row and output has a precision of its own, besides that of its input.
    n_parameters : int, default=0
        Number of parameters that `updated` learns.
    log_noise : LogNoisePrior or None, default=None
        For noise that varies with the input. The likelihood's methods for predictions then get a
        noise variance with ``log_mean``, ``log_variance`` and ``mean``, all (n, t).
    varying : callable or None, default=None
        ``varying()`` returns the same noise with a ``log_noise``. It predicts if the width of
        predictions depends on the input, although noise that is the same everywhere was chosen.
    """

    updated: Callable
    has_tails: bool = False
    n_parameters: int = 0
    log_noise: LogNoisePrior | None = None
    varying: Callable | None = None

    @property
    def varies(self):
        """True if the noise variance is a function of the input."""
        return self.log_noise is not None

    @property
    def differs(self):
        """True if precisions differ from row to row; those of `Gaussian` noise are all 1."""
        return self.has_tails or self.varies


@dataclass(frozen=True)
class NoiseChoice:
    """State which noise a fit chooses among, as `Likelihood.noise_choice`.

    Parameters
    ----------
    candidates : sequence of Likelihood
        Each has a ``row_precision``, the first is `Gaussian`.
    warps_targets : bool, default=False
        ``normalize_y=True`` means "warped".
    """

    candidates: Sequence
    warps_targets: bool = False

    @classmethod
    def of(cls, likelihood):
        """Return the choice of a likelihood, with itself or nothing to choose where it has none."""
        choice = getattr(likelihood, "noise_choice", None)  # it may have another base, or none
        if choice is None:
            is_noise = getattr(likelihood, "row_precision", None) is not None
            choice = cls([likelihood] if is_noise else [])
        return choice

    @property
    def may_vary(self):
        """True if a candidate varies with the input."""
        return any(one.row_precision.varies for one in self.candidates)


def equal_precisions(likelihood, squares, weight, *, learns, n_scales):
    """Update noise whose precisions are all 1."""
    scale = 1.0
    if n_scales:
        each = np.array([np.average(column, weights=weight) for column in squares.T])
        is_each = n_scales > 1 and each.min() > 0.0 and np.isfinite(each).all()
        scale = each if is_each else float(each.mean())
    return NoiseUpdate(likelihood, scale, np.ones((len(squares), 1)), 0.0)
