"""Log densities of parameters that a bound alone would follow too far."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class CategoryPlaces:
    """Places of the parameters of categories of one kernel among its free parameters.

    Parameters
    ----------
    diagonal : ndarray of int, shape (C,) or (0,)
        Of the logarithms of b; empty where b is fixed.
    factor : ndarray of int, shape (C, rank) or (0, rank)
        Of F.
    fixed_variance : float
        Mean of b where it is fixed, else 0.
    """

    diagonal: np.ndarray
    factor: np.ndarray
    fixed_variance: float = 0.0


@dataclass(frozen=True)
class TiedCategories:
    """Log density of what is learned of categories, which scatters about its mean over categories.

    A category of few rows has as many parameters as one of many: it stays near the mean of all,
    which is also what a category is taken for that was not seen before. The rows of F scatter in
    units of the standard deviation of the kernel. The mean variance is near 1, as a constant beside
    the kernel may be anything: without that, entries of F drift to their bounds, and learning from
    60 categories took twice as many iterations.

    Parameters
    ----------
    places : tuple of CategoryPlaces
    precisions : tuple of float
        Inverse squared scatters of the logarithms of b, of the entries of F in these units, and of
        the logarithm of the mean variance.
    """

    places: tuple
    precisions: tuple

    def for_scaled_inputs(self, log_scale):
        """Return the same, as categories have no units."""
        return self

    def weighted(self, share):
        """Return the same density to the power ``share``."""
        return replace(self, precisions=tuple(share * one for one in self.precisions))

    def __call__(self, theta):
        """Return the value, up to a constant, and the gradient."""
        value, gradient = 0.0, np.zeros_like(theta)
        of_diagonal, of_factor, of_scale = self.precisions
        for place in self.places:
            if len(place.diagonal):
                away = theta[place.diagonal] - theta[place.diagonal].mean()
                gradient[place.diagonal] -= of_diagonal * away
                value -= 0.5 * of_diagonal * float(away @ away)
            if len(place.factor):
                value += _scatter(theta, place, of_factor, of_scale, gradient)
        return value, gradient


def _scatter(theta, place, precision, of_scale, gradient):
    """Return the log density of F and of the mean variance; add to the gradient."""
    F, b = theta[place.factor], np.exp(theta[place.diagonal])
    count, away = len(F), F - F.mean(axis=0)
    variance = float(np.vdot(F, F) + b.sum()) / count + place.fixed_variance
    value = -0.5 * precision * float(np.vdot(away, away)) / variance
    slope = -(value + of_scale * np.log(variance)) / (count * variance)  # in count * variance
    gradient[place.factor] += 2.0 * slope * F - precision * away / variance
    gradient[place.diagonal] += slope * b
    return value - 0.5 * of_scale * np.log(variance) ** 2


@dataclass(frozen=True)
class Product:
    """Log density of parameters to which several priors apply.

    Each factor is as `TiedCategories`.
    """

    factors: tuple[Callable, ...]

    def for_scaled_inputs(self, log_scale):
        """Return the same density of parameters where columns have these units, (d,)."""
        return replace(
            self, factors=tuple(one.for_scaled_inputs(log_scale) for one in self.factors)
        )

    def weighted(self, share):
        """Return the same density to the power ``share``."""
        return replace(self, factors=tuple(one.weighted(share) for one in self.factors))

    def __call__(self, theta):
        values, gradients = zip(*(factor(theta) for factor in self.factors), strict=True)
        return sum(values), sum(gradients)
