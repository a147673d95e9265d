"""Kernels for data about which nothing is said: those among which a fit chooses by evidence."""

from functools import reduce
from operator import add, mul

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from ._columns import Columns
from .categories._kernel import Categorical

_LENGTH_SCALE_RANGE = np.array([1e-4, 1e4])  # in units of the inputs' standard deviations
# Of the rough part of a default kernel, at the start: as wide as the smooth one, or nearer.
_ROUGH_VARIANCE, _NEAR_VARIANCE = 0.1, 0.5
# Length scales of one more start for default kernels, as a share of the usual ones.
SHORTER = 0.15
# Columns, from which on classes have no length scale for each: labels of 1,257 digits of 64 pixels
# have -0.035 nats with one for all, -0.056 with one for each. A rough kernel then has one for all,
# too: ionosphere, 34 columns, has an error of 4.1 % with it, 9.5 % without.
_MOST_SCALES = 32


def starting_length_scale(std):
    """Length scales with which typical rows are about 2 squared length scales apart.

    Inducing inputs are optimised in these units too: on kin40k that takes L-BFGS to a bound 125
    nats higher in 60 iterations than units of ``std`` do.
    """
    return std * np.sqrt(len(std))


def default_kernels(std, tries):
    """Kernels among which a fit chooses by their evidence on some rows.

    Inducing inputs alone follow what is smooth, and what is rough in a few columns: "smooth". A
    model that uses near rows can have a part that is rough in all: "local". Either part of a sum
    may vanish, so that it includes the kernels of its parts. Classes have one length scale for all
    columns, in the units of X, or a rough part and one for each where these are few: "classes". For
    what inducing inputs alone follow, "labels", one for each comes first: nothing may be compared
    in short fits. The logarithm of a noise variance begins wide in many columns: where few inducing
    inputs explain little of the prior's variance, a bound is best without any, and stays there.

    Parameters
    ----------
    std : ndarray of shape (d,)
        Standard deviations of the columns.
    tries : {"one", "smooth", "local", "isotropic", "classes", "labels", "wide"}

    Returns
    -------
    kernels : list of Kernel
    """
    if tries == "wide":
        return [_scaled(RBF, std, share=np.sqrt(len(std)))]
    smooth = _scaled(RBF, std)
    if tries == "one":
        return [smooth]
    middle, rough = _scaled(Matern, std, nu=1.5), _scaled(Matern, std, _ROUGH_VARIANCE, nu=0.5)
    if tries == "smooth":
        return [smooth, middle, smooth + rough]
    if tries == "labels":
        return [smooth, _isotropic(RBF, std)]
    if tries == "isotropic":
        return [_isotropic(RBF, std)]
    if tries == "classes":
        few = len(std) <= _MOST_SCALES
        return [_isotropic(RBF, std), smooth + rough if few else _isotropic(Matern, std, nu=1.5)]
    near = _scaled(Matern, std, _NEAR_VARIANCE, SHORTER, nu=0.5)
    return [smooth + rough, middle + rough, smooth + near]


def _isotropic(make, std, **options):
    """A variance times a stationary kernel with one length scale for all columns."""
    length_scale = float(np.sqrt((starting_length_scale(std) ** 2).mean()))
    bounds = tuple(length_scale * _LENGTH_SCALE_RANGE)
    return ConstantKernel(1.0, (1e-4, 1e4)) * make(length_scale, bounds, **options)


def _scaled(make, std, variance=1.0, share=1.0, **options):
    """A variance times a stationary kernel with length scales of the columns, times a share."""
    length_scale = starting_length_scale(std)
    bounds = length_scale[:, None] * _LENGTH_SCALE_RANGE
    length_scale = share * length_scale
    if len(std) == 1:
        length_scale, bounds = float(length_scale[0]), tuple(bounds[0])
    return ConstantKernel(variance, (1e-4, 1e4)) * make(length_scale, bounds, **options)


def with_categories(kernels_of, std, categorical, numbers_first=False):
    """Default kernels where some columns are categories.

    Each category has a level of its own, the last of the terms. The first kernel has one function
    of the other columns for all categories. With the others each category has one of its own, the
    sum over the columns of categories, which it shares as much as categories are alike; at last so
    has each combination of categories. Where numbers have one kernel there
    is no choice: each category has its own function.

    Parameters
    ----------
    kernels_of : callable
        ``kernels_of(std)``: default kernels of columns that are numbers.
    std : ndarray of shape (d,)
        Standard deviations of all columns.
    categorical : tuple of int
        Columns of categories.
    numbers_first : bool
        Whether a fit chooses a kernel of the numbers alone before it looks at categories; see
        `blocks/starts`. All of these kernels are then there by themselves, too, and with levels,
        own functions, and functions of combinations. Levels are then independent: densities of
        groups of rows, which all have the same levels, would make F these levels.

    Returns
    -------
    kernels : list of Kernel
    """
    if not categorical:
        return kernels_of(std)
    level = Categorical(1, factor_bounds="fixed") if numbers_first else Categorical(1)
    levels, each, together = (
        reduce(operation, [Columns(kernel, [c]) for c in categorical])
        for operation, kernel in ((add, level), (add, Categorical(2)), (mul, Categorical(2)))
    )
    numbers, several = [c for c in range(len(std)) if c not in categorical], len(categorical) > 1
    if not numbers:
        return [levels, together + levels] if several else [levels]
    plain = [Columns(kernel, numbers) for kernel in kernels_of(std[numbers])]
    own = [_of_unit_variance(kernel) * each + levels for kernel in plain]
    if len(plain) == 1:
        return own
    combined = [_of_unit_variance(kernel) * together + levels for kernel in plain if several]
    if numbers_first:
        return [*(kernel + levels for kernel in plain), *own, *combined, *plain]
    return [plain[0] + levels, *own, *combined[:1]]


def _of_unit_variance(kernel):
    """A default kernel whose first constant is fixed, as what it is multiplied by has a scale.

    With a constant besides, learning went along the two of them and was not over after twice as
    many iterations.
    """
    name = next(h.name for h in kernel.hyperparameters if h.name.endswith("constant_value"))
    return clone(kernel).set_params(**{name: 1.0, f"{name}_bounds": "fixed"})
