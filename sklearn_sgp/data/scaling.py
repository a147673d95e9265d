"""Centre and scale of targets: as the user gave them, or from their moments."""

import numpy as np

from .checks import FARTHEST

# Targets in units of their own scatter are rounded to multiples of this, so that they are the same
# numbers in every unit of y. Learning may amplify rounding, as with FITC, which has many optima:
# between y and 1000 y - 5e4 predictions of 240 rows differed by 0.1 to 3 deviations, and now by
# 1e-12. Two roundings of one target differ by some 1e-14, so that one in 20,000 falls apart.
GRID = 2.0**-32


def unit_of(largest):
    """Return powers of two, of the size of what is largest: squares in such units are numbers.

    Those of targets of 1e-200 are zero. What is divided by a power of two keeps its digits.
    """
    return np.ldexp(1.0, np.frexp(np.maximum(largest, np.finfo(np.float64).tiny))[1])


def mean_scale(y, weight):
    """Return weighted mean and standard deviation of columns (n, t), each (t,)."""
    largest = np.abs(y).max(axis=0)
    unit = unit_of(largest)
    y = y / unit
    mean = np.average(y, axis=0, weights=weight)
    variance = np.average((y - mean) ** 2, axis=0, weights=weight)
    return unit * mean, usable_scale(variance, unit, largest)


def usable_scale(variance, unit, largest):
    """Return standard deviations; 1 where they are rounding errors of values of that size.

    Variances are in squares of a unit.
    """
    scale, rounding = unit * np.sqrt(variance), 10 * np.finfo(np.float64).eps * largest
    return np.where(scale > rounding, scale, 1.0)


def given_scaling(y, normalize_y):
    """Return the two entries of ``normalize_y``, each (t,), or raise a ValueError."""
    try:
        mean, scale = (
            np.broadcast_to(np.asarray(v, dtype=np.float64), y.shape[1:]).copy()
            for v in normalize_y
        )
        valid = np.isfinite(mean).all() and np.isfinite(scale).all() and (scale > 0).all()
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ValueError(
            "The 'normalize_y' parameter must be a bool, 'yeo-johnson', 'warped', or a pair of a "
            "finite mean and a positive scale, numbers or one for each of the "
            f"{y.shape[1]} outputs. Got {normalize_y!r}."
        )
    if (np.abs(y - mean) > FARTHEST * scale).any():
        raise ValueError(
            f"The scale of the 'normalize_y' parameter must leave targets of at most {FARTHEST:g} "
            f"in size. Got {normalize_y!r}."
        )
    return mean, scale
