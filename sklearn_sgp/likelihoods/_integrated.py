"""Predictions of likelihoods that are integrals over the function, by quadrature (docs/theory.md,
section 10): densities, tails, quantiles, moments."""

import numpy as np
from scipy.special import ndtri

from ._base import Likelihood
from ._own_parameter import OwnParameter, RegressionOffset
from ._quadrature import gaussian_expectations

# Smaller variances change no density, and their reciprocals are numbers.
_LEAST_VARIANCE = 1e-20
# Polynomials of a covariance: its part of degree k has a factor of a correlation to the power k.
# Of the inverse logit's variance these lack 2e-8 at a deviation of 2, 5e-6 at 3, 4e-4 at 5.
_DEGREES = 40
_HERMITE_NODES = np.arange(-60, 61) * 0.15
# Steps of a search for quantiles, and their last one.
_MOST_STEPS, _LAST_STEP, _LARGEST_DEVIATE = 200, 1e-12, 38.0


class Integrated(OwnParameter, RegressionOffset, Likelihood):
    """Base of likelihoods of numbers whose predictions have no closed form.

    A subclass has ``log_density`` and, with parameters that are those of one output:

    ``_possible(y)``
        A mask of the targets that can be.
    ``_impossible``
        What the others are told in an error.
    ``_given(f)``
        Mean and variance of y given offset and function.
    ``_tail(above, y, f)``
        P(Y > y) or P(Y <= y) given them.
    ``_place(y, own)``
        Width and center of these as functions of f; see `gaussian_expectations`.
    ``_at(u)``, ``_guess(mean, variance, deviate)``, ``_ends``
        y as an increasing function of a number on which quantiles are looked for, where this may be
        at a level, how far it is from there, and the range of these numbers.
    ``_drawn(f, rng)``
        Observations for offset and function.
    """

    identity_mean = False

    def check_targets(self, y):
        """Refuse targets that cannot be, by a ValueError."""
        bad = y[~self._possible(y)]
        if len(bad):
            raise ValueError(f"{self._impossible} Got {len(bad)} other values such as {bad[0]:g}.")

    def initialized(self, y, weight):
        """Check the parameters, and take those that are left open from the targets."""
        return self._with_offset(y, weight)._with_own(y.shape[1])

    def _each(self, mean, variance, *more):
        """Yield the likelihood of each output, and its column of each array with the offset."""
        mean, variance, *more = np.broadcast_arrays(mean, variance, *more)
        for c in range(mean.shape[1]):
            one = self.for_output(c)
            center = mean[:, c] + np.ravel(one._offset)[0]
            yield one, center, variance[:, c], *(part[:, c] for part in more)

    def _columns(self, function, *arrays):
        """Return arrays with a column for what a function returns of each output."""
        results = zip(*(function(*parts) for parts in self._each(*arrays)), strict=True)
        return tuple(np.stack(result, axis=1) for result in results)

    # ---- Predictions

    def moments(self, mean, variance, noise_variance=None):
        """Return mean and variance of y, (n, t)."""
        return self._columns(lambda one, m, v: one._moments(m, v), mean, variance)

    def _moments(self, mean, variance):
        middle = self._given(mean)[0]  # squares about it keep their digits

        def terms(f, rows):
            first, second = self._given(f)
            away = first - middle[rows, None]
            return away, away**2, second

        away, square, own = gaussian_expectations(terms, mean, variance)
        return middle + away, np.maximum(square - away**2, 0.0) + own

    def covariance(self, mean, covariance, noise_variance=None):
        """Return mean (n, t) and joint covariance (n, n, t) of y, from those of f."""
        n, t = mean.shape
        variance = np.array(np.moveaxis(np.diagonal(covariance), -1, 0))
        first, second = self.moments(mean, np.broadcast_to(variance, mean.shape))
        joint = np.empty((n, n, t))
        for c, (one, center, v) in enumerate(self._each(mean, variance)):
            joint[:, :, c] = one._joint(center, v, covariance[:, :, min(c, variance.shape[1] - 1)])
        joint[np.diag_indices(n)] = second
        return first, joint

    def _joint(self, mean, variance, covariance):
        """Return covariances of means given f, by orthogonal polynomials of f (Mehler's series)."""
        sd = np.sqrt(np.maximum(variance, _LEAST_VARIANCE))
        correlation = np.clip(covariance / np.outer(sd, sd), -1.0, 1.0)
        weight = np.exp(-0.5 * _HERMITE_NODES**2)
        weight /= weight.sum()
        values = self._given(mean[:, None] + sd[:, None] * _HERMITE_NODES)[0] * weight
        joint, power = np.zeros_like(correlation), np.ones_like(correlation)
        before, polynomial = np.zeros_like(_HERMITE_NODES), np.ones_like(_HERMITE_NODES)
        for k in range(1, _DEGREES + 1):
            # of unit norm: sqrt(k) p_k = x p_(k-1) - sqrt(k - 1) p_(k-2)
            after = (_HERMITE_NODES * polynomial - np.sqrt(k - 1.0) * before) / np.sqrt(k)
            before, polynomial = polynomial, after
            power *= correlation
            coefficient = values @ polynomial
            joint += power * np.outer(coefficient, coefficient)
        return joint

    def log_predictive_density(self, y, mean, variance, noise_variance=None):
        """Return log p(y), summed over outputs, (n,); -inf for a target that cannot be."""
        possible, log_p = self._possible(y), np.zeros(len(y))
        for c, (one, center, v) in enumerate(self._each(mean, variance)):
            # a target that can be, in the place of others
            column = np.where(possible[:, c], y[:, c], one._at(np.zeros(1)))[:, None]
            v = np.maximum(v, _LEAST_VARIANCE)
            center = center - np.ravel(one._offset)[0]
            log_p += one.tilted_moments(column, center, v, np.ones(len(v))).log_integral
        return np.where(possible.all(axis=1), log_p, -np.inf)

    def cdf(self, y, mean, variance, noise_variance=None):
        """Return P(Y <= y), (n, t)."""
        return self._tails(False, y, mean, variance)

    def sf(self, y, mean, variance, noise_variance=None):
        """Return P(Y > y), (n, t)."""
        return self._tails(True, y, mean, variance)

    def _tails(self, above, y, mean, variance):
        def tail(one, center, v, column):
            return (one._predicted_tail(above, column, center, v),)

        return self._columns(tail, mean, variance, y)[0]

    def _predicted_tail(self, above, y, mean, variance):
        (p,) = gaussian_expectations(
            lambda f, rows: (self._tail(above, y[rows, None], f),), mean, variance, *self._place(y)
        )
        return p

    def quantiles(self, mean, variance, noise_variance, levels):
        """Return quantiles of y, (n, t, n_levels)."""

        def of_output(one, center, v):
            each = [np.repeat(part, len(levels)) for part in (center, v)]
            return (one._quantiles(*each, np.tile(levels, len(center))).reshape(-1, len(levels)),)

        return self._columns(of_output, mean, variance)[0]

    def _quantiles(self, mean, variance, level):
        deviate = ndtri(level)

        def excess(u, rows):
            below = self._predicted_tail(False, self._at(u), mean[rows], variance[rows])
            found = ndtri(np.clip(below, 0.0, 1.0))
            return np.clip(found, -_LARGEST_DEVIATE, _LARGEST_DEVIATE) - deviate[rows]

        guess, step = self._guess(mean, variance, deviate)
        return self._at(self._rounded(increasing_roots(excess, guess, step, *self._ends)))

    @staticmethod
    def _rounded(u):
        return u

    def draw(self, f, noise_variance, rng):
        """Draw observations for latent values of shape (n, t, k)."""
        each = [self.for_output(c) for c in range(f.shape[1])]
        return np.stack(
            [one._drawn(f[:, c] + np.ravel(one._offset)[0], rng) for c, one in enumerate(each)],
            axis=1,
        )


def increasing_roots(function, guess, step, least, largest):
    """Return where increasing functions are zero, (n,), or the ends of the range if nowhere.

    Parameters
    ----------
    function : callable
        ``function(u, rows)`` returns values at u (k,) for these rows.
    guess, step : ndarray of shape (n,)
        Where the search begins, and how far it goes at first.
    least, largest : float
    """
    guess = np.clip(guess, least, largest)
    low, high = np.clip(guess - step, least, largest), np.clip(guess + step, least, largest)
    everything = np.arange(len(guess))
    below, above = function(low, everything), function(high, everything)
    for end, value, sign, limit in ((low, below, -1.0, least), (high, above, 1.0, largest)):
        reach = step.copy()
        rows = np.flatnonzero(sign * value < 0.0)
        while len(rows):
            reach[rows] *= 2.0
            end[rows] = np.clip(end[rows] + sign * reach[rows], least, largest)
            value[rows] = function(end[rows], rows)
            rows = rows[(sign * value[rows] < 0.0) & (end[rows] != limit)]
    for trial in range(_MOST_STEPS):
        wide = high - low > _LAST_STEP * (1.0 + np.abs(low))
        rows = np.flatnonzero(wide & (below < 0.0) & (above > 0.0))
        if not len(rows):
            break
        lo, hi, a, b = low[rows], high[rows], below[rows], above[rows]
        at = 0.5 * (lo + hi)
        if trial % 3:  # the middle where that of a straight line does not halve the gap
            line = lo - a * (hi - lo) / (b - a)
            # a little further than the root of the line, so that it is bracketed
            line += (line - at) * -1e-3
            at = np.clip(line, lo, hi)
        value = function(at, rows)
        is_low = value < 0.0
        low[rows], below[rows] = np.where(is_low, at, lo), np.where(is_low, value, a)
        high[rows], above[rows] = np.where(is_low, hi, at), np.where(is_low, b, value)
    nearest = np.where(np.abs(below) < np.abs(above), low, high)
    return np.where(above <= 0.0, high, np.where(below >= 0.0, low, nearest))
