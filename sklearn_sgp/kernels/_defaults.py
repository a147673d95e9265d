"""Kernels for data about which nothing is said: those among which a fit chooses by evidence."""

from functools import reduce
from operator import add, mul

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, Sum

from ._columns import Columns
from ._linear import Linear
from .categories._kernel import Categorical

LENGTH_SCALE_RANGE = np.array([1e-4, 1e4])  # in units of the inputs' standard deviations
# Starting variance of the Matern-1/2 component beside a smooth one of variance 1, with the same
# length scales and with shorter ones.
_ROUGH_VARIANCE, _SHORT_ROUGH_VARIANCE = 0.1, 0.5
# Shorter length scales of one more start for default kernels, as a share of the default ones.
SHORTER = 0.15
# Most columns with a length scale for each in kernels for classes: labels of 1,257 digits of 64
# pixels have -0.035 nats with one for all, -0.056 with one for each. The second kernel then has one
# for all, too: ionosphere, 34 columns, has an error of 4.1 % with it, 9.5 % without.
_MOST_ARD_COLUMNS = 32


def starting_length_scale(spread):
    """Return length scales with which typical rows are about 2 squared length scales apart.

    A column of one value puts no rows apart: it is no reason for longer ones. Inducing inputs are
    optimised in these units too: on kin40k that takes L-BFGS to a bound 125 nats higher in 60
    iterations than units of the standard deviations do.

    Parameters
    ----------
    spread : ndarray of shape (d,)
        Standard deviations of the columns; 0 for a column of one value.
    """
    return np.where(spread > 0.0, spread, 1.0) * np.sqrt(n_varying(spread))


def n_varying(spread):
    """Return the number of columns that vary, 1 where none does."""
    return max(int(np.count_nonzero(spread)), 1)


def default_kernels(spread, kernel_set):
    """Return the kernels among which a fit chooses by their evidence on some rows.

    A short fit takes the first kernel without a comparison. Kernels have a length scale for each
    column (ARD), which some sets learn in proportion (`engines.proportions`). A component of a sum
    may vanish, so that the sum includes the kernels of its components.

    Parameters
    ----------
    spread : ndarray of shape (d,)
        Standard deviations of the columns; 0 for a column of one value.
    kernel_set : str
        - "one": RBF. Nothing is compared.
        - "smooth": RBF; Matern-3/2; RBF + Matern-1/2. For sparse regression: inducing inputs follow
          smooth functions, and functions that are rough in few columns.
        - "local": RBF + Matern-1/2; Matern-3/2 + Matern-1/2; RBF + Matern-1/2 with shorter length
          scales. For regression by local models, which can follow functions rough in all columns.
        - "stream": RBF. For streams, which compare it with RBF and lines.
        - "proportional": RBF. For classes with nothing to compare.
        - "classes": RBF; then RBF + Matern-1/2, or Matern-3/2 where columns are many. For classes
          by local models.
        - "labels": RBF. For classes by inducing inputs.
        - "wide": RBF + Matern-1/2 with length scales sqrt(d) times as long. For log noise
          variances: where few inducing inputs explain little of the prior's variance in many
          columns, the bound is best at variance 0, and stays there. The rough part follows steps
          (noise times 10 within 1 % of the range, 3,000 rows: largest error of its deviation beyond
          that .45 instead of 1.22; ten fits of five tables within .002 nats).

    Returns
    -------
    kernels : list of Kernel
    """
    if kernel_set == "wide":
        share = np.sqrt(n_varying(spread))
        rough = scaled(Matern, spread, _ROUGH_VARIANCE, share, nu=0.5)
        return [scaled(RBF, spread, share=share) + rough]
    smooth = scaled(RBF, spread)
    if kernel_set in ("one", "stream", "proportional", "labels"):
        return [smooth]
    middle, rough = scaled(Matern, spread, nu=1.5), scaled(Matern, spread, _ROUGH_VARIANCE, nu=0.5)
    if kernel_set == "smooth":
        return [smooth, middle, smooth + rough]
    if kernel_set == "classes":
        return [smooth, smooth + rough if n_varying(spread) <= _MOST_ARD_COLUMNS else middle]
    short = scaled(Matern, spread, _SHORT_ROUGH_VARIANCE, SHORTER, nu=0.5)
    return [smooth + rough, middle + rough, smooth + short]


def line_kernels(spread, center, kernel_set):
    """Return kernels with straight lines in the place of the smooth part, for tables with a trend.

    Those of streams are beside it, with one variance: batches of few rows must learn it.

    Parameters
    ----------
    spread, center : ndarray of shape (d,)
        Standard deviations of the columns, 0 for a column of one value, and means.
    kernel_set : str
        As of `default_kernels`.

    Returns
    -------
    kernels : list of Kernel
        Lines alone come last; none where a set has no such kernels.
    """
    length_scale = starting_length_scale(spread)
    line = Linear(length_scale, center, length_scale[:, None] * LENGTH_SCALE_RANGE)
    if kernel_set == "stream":
        tied = Linear(length_scale, center, "fixed")
        return [scaled(RBF, spread) + ConstantKernel(1.0, (1e-4, 1e4)) * tied]
    rough = scaled(Matern, spread, _ROUGH_VARIANCE, nu=0.5)
    return {"smooth": [line], "local": [line + rough, line]}.get(kernel_set, [])


def scaled(make, spread, variance=1.0, share=1.0, **options):
    """Return a variance times a stationary kernel with ARD length scales, times ``share``."""
    length_scale = starting_length_scale(spread)
    bounds = length_scale[:, None] * LENGTH_SCALE_RANGE
    length_scale = share * length_scale
    if len(spread) == 1:
        length_scale, bounds = float(length_scale[0]), tuple(bounds[0])
    return ConstantKernel(variance, (1e-4, 1e4)) * make(length_scale, bounds, **options)


def with_categories(kernels_of, spread, categorical, numbers_first=False):
    """Return default kernels where some columns are categories.

    Each category has a random intercept, the last of the terms. The first kernel has one function
    of the other columns for all categories. With the next ones each category has a function of its
    own, summed over the columns of categories, and similar categories have similar functions; in
    the last ones each combination of categories has one. Where numbers have one kernel there is no
    choice: each category has its own function.

    Parameters
    ----------
    kernels_of : callable
        ``kernels_of(spread)``: default kernels of columns that are numbers.
    spread : ndarray of shape (d,)
        Standard deviations of all columns; 0 for a column of one value.
    categorical : tuple of int
        Columns of categories.
    numbers_first : bool
        Whether a fit chooses a kernel of the numbers alone before it looks at categories; see
        `engines.blocks.candidates`. All kernels of the numbers then come with intercepts, with
        functions of categories, with those of combinations, and last by themselves. Intercepts are
        then independent: densities of groups of rows, which all have the same intercepts, would
        make F these intercepts.

    Returns
    -------
    kernels : list of Kernel
    """
    if not categorical:
        return kernels_of(spread)
    intercept = Categorical(1, factor_bounds="fixed") if numbers_first else Categorical(1)
    intercepts, each, together = (
        reduce(operation, [Columns(kernel, [c]) for c in categorical])
        for operation, kernel in ((add, intercept), (add, Categorical(2)), (mul, Categorical(2)))
    )
    numbers, several = [c for c in range(len(spread)) if c not in categorical], len(categorical) > 1
    if not numbers:
        return [intercepts, together + intercepts] if several else [intercepts]
    plain = [Columns(kernel, numbers) for kernel in kernels_of(spread[numbers])]
    by_category = [_of_unit_variance(kernel) * each + intercepts for kernel in plain]
    if len(plain) == 1:
        return by_category
    combined = [_of_unit_variance(kernel) * together + intercepts for kernel in plain if several]
    if numbers_first:
        return [*(kernel + intercepts for kernel in plain), *by_category, *combined, *plain]
    return [plain[0] + intercepts, *by_category, *combined[:1]]


def for_targets_of_size(kernel, low, middle, high):
    """Return a default kernel, made for targets of mean square 1, for others.

    Parameters
    ----------
    low, middle, high : float
        Mean squares: the least of the outputs, one between, and the largest.
    """
    if isinstance(kernel, Sum):
        return Sum(
            *(for_targets_of_size(term, low, middle, high) for term in (kernel.k1, kernel.k2))
        )
    names = [h.name for h in kernel.hyperparameters if h.name.endswith("constant_value")]
    if not names:
        return ConstantKernel(middle, "fixed") * kernel
    before = kernel.get_params()
    changed = {name: middle * before[name] for name in names}
    for name in (f"{name}_bounds" for name in names):
        if not isinstance(before[name], str):
            least, most = before[name]
            changed[name] = (low * least, high * most)
    return clone(kernel).set_params(**changed)


def _of_unit_variance(kernel):
    """Fix the first constant of a default kernel, as what it is multiplied by has a scale.

    With a constant besides, learning went along the two of them and was not over after twice as
    many iterations.
    """
    name = next(h.name for h in kernel.hyperparameters if h.name.endswith("constant_value"))
    return clone(kernel).set_params(**{name: 1.0, f"{name}_bounds": "fixed"})
