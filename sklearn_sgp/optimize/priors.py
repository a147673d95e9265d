"""Log densities of parameters that a bound alone would follow too far."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TiedCategories:
    """Log density of what is learned of categories, which scatters about its mean over categories.

    A category of few rows has as many parameters as one of many: it stays near the mean of all,
    which is also what a category is taken for that was not seen before. Values are those of
    `kernels.categories`.

    Parameters
    ----------
    places : tuple of (ndarray of int, ndarray of int)
        Where the logarithms of b, shape (C,) or (0,), and F, shape (C, rank) or (0, rank), are in
        theta.
    precisions : pair of float
        Inverse squared scatters of the logarithms of b, and of the entries of F.
    """

    places: tuple
    precisions: tuple

    def __call__(self, theta):
        """Value, up to a constant, and gradient."""
        value, gradient = 0.0, np.zeros_like(theta)
        for pair in self.places:
            for place, precision in zip(pair, self.precisions, strict=True):
                if len(place):
                    away = theta[place] - theta[place].mean(axis=0)
                    gradient[place] = -precision * away
                    value -= 0.5 * precision * float(np.vdot(away, away))
        return value, gradient


@dataclass(frozen=True)
class Product:
    """Log density of parameters to which several priors apply.

    Parameters
    ----------
    factors : tuple of callable
        Each as `TiedCategories`.
    """

    factors: tuple[Callable, ...]

    def __call__(self, theta):
        """Value, up to a constant, and gradient."""
        values, gradients = zip(*(factor(theta) for factor in self.factors), strict=True)
        return sum(values), sum(gradients)
