"""Classes in an order, such as grades: cumulative probit with learned thresholds."""

from copy import copy

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtri

from ._base import ExpectedLogDensity, Likelihood
from ._classes import log_frequencies
from ._quadrature import gaussian_expectations
from ._tilted import TiltedMoments

_HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)
# Of the first threshold, and of the logarithms of the distances to the next ones.
_FIRST_BOUNDS, _GAP_BOUNDS = (-1e3, 1e3), (np.log(1e-4), np.log(1e3))


class Ordinal(Likelihood):
    """p(class <= c) = Phi(threshold_c - f): one function, cut into classes by thresholds.

    The order of the classes is that of the sorted labels. Learned thresholds tell the width of a
    class that has rows, if a class below and one above have some, too. Any other class is as wide
    as the geometric mean of these.

    Parameters
    ----------
    thresholds : array-like of shape (n_classes - 1,) or None, default=None
        Increasing numbers, between which f and standard normal noise have a class. None learns
        them.
    """

    _learned = False  # True in instances whose thresholds were learned
    _absent = ()  # numbers of the classes of which there were no rows

    def __init__(self, thresholds: ArrayLike | None = None) -> None:
        self.thresholds = thresholds

    def for_classes(self, weight):
        """Check the thresholds, or begin to learn them from the frequencies of the classes."""
        if self.thresholds is not None:
            self._check(len(weight))
            return self
        is_present = weight > 0.0
        weight = np.where(is_present, weight, weight.max() * np.exp(log_frequencies(weight)))
        # half a row more of each class keeps them apart; about 0, a function of variance 1 and
        # noise of the same
        share = np.cumsum(weight + 0.5)[:-1] / (weight.sum() + 0.5 * len(weight))
        begun = self._with(np.sqrt(2.0) * ndtri(share))
        return begun if is_present.all() else begun._without(np.flatnonzero(~is_present))

    def after_labels(self, y):
        """Return the likelihood after later rows, (n, 1): classes that had none may have some."""
        still = np.setdiff1d(self._absent, y)
        return self if len(still) == len(self._absent) else self._without(still)

    def _without(self, absent):
        """Return the likelihood with no rows of some classes, by number."""
        result = copy(self)
        result._absent = tuple(absent.tolist())
        return result.with_theta(result.theta)

    def beside(self, known, weight):
        """Return the likelihood where known numbers (n,) are added to the function.

        Learned thresholds then begin farther by their mean.
        """
        if not self._learned:
            return self
        return self._with(self._cuts + np.average(known, weights=weight))

    def _check(self, n_classes):
        try:
            thresholds = np.asarray(self.thresholds, dtype=np.float64)
        except (TypeError, ValueError):
            thresholds = np.array(np.nan)
        is_right = thresholds.shape == (n_classes - 1,) and np.isfinite(thresholds).all()
        if not (is_right and (np.diff(thresholds) > 0.0).all()):
            raise ValueError(
                f"The 'thresholds' parameter of Ordinal must be {n_classes - 1} increasing finite "
                f"numbers for {n_classes} classes, or None to learn them. Got {self.thresholds!r}."
            )

    def _with(self, thresholds):
        result = copy(self).set_params(thresholds=thresholds)
        result._learned = True
        return result

    @property
    def _cuts(self):
        return np.asarray(self.thresholds, dtype=np.float64)

    @property
    def theta(self):
        """The first threshold, and logarithms of the distances between them."""
        if not self._learned:
            return np.empty(0)
        return np.append(self._cuts[0], np.log(np.diff(self._cuts)))

    @property
    def theta_bounds(self):
        """Bounds of these."""
        n = len(self.theta)
        return np.array([_FIRST_BOUNDS, *[_GAP_BOUNDS] * (n - 1)][:n]).reshape(n, 2)

    def with_theta(self, theta):
        """Return the likelihood with other thresholds.

        Distances of which no rows tell follow the others; with no others they stay.
        """
        if not len(theta):
            return self
        log_gaps = theta[1:]
        if self._absent:
            told = self._told_by_rows
            held = log_gaps[told].mean() if told.any() else self.theta[1:]
            log_gaps = np.where(told, log_gaps, held)
        return self._with(theta[0] + np.append(0.0, np.cumsum(np.exp(log_gaps))))

    @property
    def _told_by_rows(self):
        """Return a mask of the distances, (C - 2,), that rows within, below and above tell of."""
        is_present = np.ones(len(self._cuts) + 1, dtype=bool)
        is_present[list(self._absent)] = False
        below = np.logical_or.accumulate(is_present)[:-2]
        above = np.logical_or.accumulate(is_present[::-1])[::-1][2:]
        return is_present[1:-1] & below & above

    def n_latent(self, n_outputs):
        """Return 1: all classes have one function."""
        return 1

    # ---- Densities

    def _ends(self, y):
        """Return lower and upper threshold of classes by number."""
        cuts, place = np.concatenate([[-np.inf], self._cuts, [np.inf]]), y.astype(np.intp)
        return cuts[place], cuts[place + 1]

    def log_density(self, y, f, noise_variance=None):
        """Return log P(y) given latent values."""
        low, high = self._ends(y)
        return _log_between(low - f, high - f)

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        """Return E[log P(y)] for f ~ N(mean, variance), and its derivatives."""
        low, high = self._ends(y[:, 0])

        def terms(f, rows):
            return _derivatives(low[rows, None] - f, high[rows, None] - f)

        nearer = np.where(mean[:, 0] < 0.5 * (low + high), low, high)
        parts = gaussian_expectations(terms, mean[:, 0], variance[:, 0], center=nearer)
        value, slope, curvature, of_low, of_high = parts
        d_theta = (
            self._in_theta(y[:, 0].astype(np.intp), of_low, of_high) if self._learned else None
        )
        return ExpectedLogDensity(
            value, slope[:, None], 0.5 * curvature[:, None], np.zeros(len(y)), d_theta
        )

    def _in_theta(self, place, of_low, of_high):
        """Return derivatives in theta (n, k), from those in the two thresholds of each row."""
        cuts = self._cuts
        gaps = np.append(1.0, np.diff(cuts))
        number = np.arange(len(cuts))
        # threshold c has the first one and the distances up to its own
        reaches = (number[None, :] <= place[:, None]) * of_high[:, None] * gaps
        slopes = reaches + (number[None, :] <= place[:, None] - 1) * of_low[:, None] * gaps
        if self._absent:
            of_gaps, told = slopes[:, 1:], self._told_by_rows
            of_gaps[:, told] += of_gaps[:, ~told].sum(axis=1, keepdims=True) / max(told.sum(), 1)
            of_gaps[:, ~told] = 0.0
        return slopes

    def tilted_moments(self, y, mean, variance, power):
        """Return the moments, in closed form where the power is 1."""
        (low, high), sd = self._ends(y[:, 0]), np.sqrt(1.0 + variance)
        value, slope, curvature, *_ = _derivatives((low - mean) / sd, (high - mean) / sd)
        result = TiltedMoments(value, slope / sd, curvature / sd**2)
        return result.of_powers(super().tilted_moments, y, mean, variance, power)

    # ---- Predictions

    def probabilities(self, mean, variance):
        """Return P(class), (n, C)."""
        cuts = np.concatenate([[-np.inf], self._cuts, [np.inf]])
        ends = (cuts - mean) / np.sqrt(1.0 + variance)
        p = np.exp(_log_between(ends[:, :-1], ends[:, 1:]))
        return p / p.sum(axis=1, keepdims=True)

    def log_predictive_density(self, y, mean, variance, noise_variance=None):
        """Return log P(y) for f ~ N(mean, variance), (n,)."""
        (low, high), sd = self._ends(y.reshape(len(y))), np.sqrt(1.0 + variance[:, 0])
        return _log_between((low - mean[:, 0]) / sd, (high - mean[:, 0]) / sd)


def _log_between(low, high):
    """Return log(Phi(high) - Phi(low)), with the digits of either tail."""
    flips = low > 0.0
    low, high = np.where(flips, -high, low), np.where(flips, -low, high)
    most, less = log_ndtr(high), log_ndtr(low)
    return most + np.log(-np.expm1(np.minimum(less - most, -1e-300)))


def _derivatives(low, high):
    """Return log P between two ends, derivatives in f, twice, and in the ends.

    The ends are thresholds less f.
    """
    low, high = np.broadcast_arrays(low, high)
    value = _log_between(low, high)
    at = [np.exp(-0.5 * end**2 - _HALF_LOG_2PI - value) for end in (low, high)]
    slope = at[0] - at[1]
    moved = [
        np.where(np.isfinite(end), end, 0.0) * density
        for end, density in zip((low, high), at, strict=True)
    ]
    # log-concave, and less curved than a density of variance 1: far away digits cancel
    curvature = np.clip(moved[0] - moved[1] - slope**2, -1.0, 0.0)
    return value, slope, curvature, -at[0], at[1]
