"""Kernels for data about which nothing is said: those among which a fit chooses by evidence."""

from collections.abc import Callable
from dataclasses import dataclass
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
    iterations than units of the standard deviations do. ``spread`` has the standard deviations of
    the columns; 0 for a column of one value.
    """
    return np.where(spread > 0.0, spread, 1.0) * np.sqrt(n_varying(spread))


def n_varying(spread):
    """Return the number of columns that vary, 1 where none does."""
    return max(int(np.count_nonzero(spread)), 1)


def _no_lines(spread, center):
    return []


@dataclass(frozen=True)
class KernelSet:
    """Kernels among which a fit chooses by their evidence on some rows, and how they are learned.

    A short fit takes the first kernel without a comparison. Kernels have a length scale for each
    column (ARD). A component of a sum may vanish, so that the sum includes the kernels of its
    components.

    Parameters
    ----------
    kernels_of : callable
        ``kernels_of(spread)``: a list of kernels, from the standard deviations of the columns, 0
        for a column of one value.
    with_lines : callable
        ``with_lines(spread, center)``: kernels with straight lines through the columns' means, for
        tables with a trend. Lines alone come last.
    lines_beside_levels : bool
        Whether there are such kernels where some columns are categories, too.
    of_near_rows : bool
        Whether the set is for models that know their near rows. A kernel of the numbers is then
        chosen before categories are looked at.
    in_proportion : bool
        Whether length scales may be learned in a common proportion (`engines.proportions`).
    tries_own_scales : bool
        Whether they are also learned each for itself, and first. That is for labels, which are
        first learned by regressions.
    tries_ranges : bool
        Whether the proportion may be that of the columns' ranges.
    """

    kernels_of: Callable
    with_lines: Callable = _no_lines
    lines_beside_levels: bool = False
    of_near_rows: bool = False
    in_proportion: bool = False
    tries_own_scales: bool = False
    tries_ranges: bool = False


def _smooth(spread):
    return [scaled(RBF, spread)]


def _rough(spread):
    return scaled(Matern, spread, _ROUGH_VARIANCE, nu=0.5)


def _middle(spread):
    return scaled(Matern, spread, nu=1.5)


def _smooth_or_middle(spread):
    smooth = scaled(RBF, spread)
    return [smooth, _middle(spread), smooth + _rough(spread)]


def _rough_in_all(spread):
    smooth, middle, rough = scaled(RBF, spread), _middle(spread), _rough(spread)
    short = scaled(Matern, spread, _SHORT_ROUGH_VARIANCE, SHORTER, nu=0.5)
    return [smooth + rough, middle + rough, smooth + short]


def _smooth_or_rough(spread):
    smooth = scaled(RBF, spread)
    if n_varying(spread) <= _MOST_ARD_COLUMNS:
        return [smooth, smooth + _rough(spread)]
    return [smooth, _middle(spread)]


def _longer(spread):
    share = np.sqrt(n_varying(spread))
    rough = scaled(Matern, spread, _ROUGH_VARIANCE, share, nu=0.5)
    return [scaled(RBF, spread, share=share) + rough]


def _line(spread, center):
    length_scale = starting_length_scale(spread)
    return Linear(length_scale, center, length_scale[:, None] * LENGTH_SCALE_RANGE)


def _line_alone(spread, center):
    return [_line(spread, center)]


def _line_for_smooth(spread, center):
    line = _line(spread, center)
    return [line + _rough(spread), line]


def _line_beside_smooth(spread, center):
    line = Linear(starting_length_scale(spread), center, "fixed")
    return [scaled(RBF, spread) + ConstantKernel(1.0, (1e-4, 1e4)) * line]


# What categories share with one another, F, is learned from so many rows of each, on average. With
# fewer F has as many numbers as there are rows, and explains each of these: of 15 made tables of
# 130 to 400 rows with 2 to 5 rows of each, whose categories have levels, functions or nothing, 13
# had 0.3 to 74 nats a row less by it and two 0.1 more; with 8 five had 0.1 to 0.5 less, with 12 one
# 0.1 less, two 0.1 more. Held for 20 rows of each, 18 tables whose categories have levels or slopes
# gain up to 0.16 nats a row, 9 whose categories have one of four functions lose 0.1 to 0.23, and in
# streams 0.6 to 0.8.
ROWS_FOR_FACTORS = 10.0

# Nothing is compared.
ONE = KernelSet(_smooth)
# Sparse regression: inducing inputs follow smooth functions, and functions rough in few columns.
SMOOTH = KernelSet(_smooth_or_middle, _line_alone, lines_beside_levels=True)
# Regression by local models, which can follow functions rough in all columns.
LOCAL = KernelSet(_rough_in_all, _line_for_smooth, lines_beside_levels=True, of_near_rows=True)
# Streams; lines have one variance beside the smooth part, as batches of few rows must learn it.
STREAM = KernelSet(_smooth, _line_beside_smooth)
# Classes with nothing to compare.
PROPORTIONAL = KernelSet(_smooth, in_proportion=True)
# Classes by local models; Matern-3/2 where columns are many.
CLASSES = KernelSet(_smooth_or_rough, of_near_rows=True, in_proportion=True, tries_ranges=True)
# Classes by inducing inputs.
LABELS = KernelSet(_smooth, in_proportion=True, tries_own_scales=True, tries_ranges=True)
# Log noise variances: length scales are sqrt(d) times as long. Where few inducing inputs explain
# little of the prior's variance in many columns, the bound is best at variance 0, and stays there.
# The rough part follows steps (noise times 10 within 1 % of the range, 3,000 rows: largest error of
# its deviation beyond that .45 instead of 1.22; ten fits of five tables within .002 nats).
WIDE = KernelSet(_longer)


def scaled(make, spread, variance=1.0, share=1.0, **options):
    """Return a variance times a stationary kernel with ARD length scales, times ``share``."""
    length_scale = starting_length_scale(spread)
    bounds = length_scale[:, None] * LENGTH_SCALE_RANGE
    length_scale = share * length_scale
    if len(spread) == 1:
        length_scale, bounds = float(length_scale[0]), tuple(bounds[0])
    return ConstantKernel(variance, (1e-4, 1e4)) * make(length_scale, bounds, **options)


def with_categories(kernels_of, spread, categorical, numbers_first=False, scarce=()):
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
        `engines.blocks.trials`. All kernels of the numbers then come with intercepts, with
        functions of categories, with those of combinations, and last by themselves. Intercepts are
        then independent: densities of groups of rows, which all have the same intercepts, would
        make F these intercepts.
    scarce : tuple of int
        Columns whose categories have few rows each, see `scarce_categories`: any two of them have
        functions that are as alike as any others', and independent intercepts.
    """
    if not categorical:
        return kernels_of(spread)
    intercepts = _intercepts(categorical, categorical if numbers_first else scarce)
    functions = [
        Columns(_alike_in_one_way() if c in scarce else Categorical(2), [c]) for c in categorical
    ]
    each, together = (reduce(operation, functions) for operation in (add, mul))
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


def lines_of(kernel_set, spread, center, categorical, scarce=()):
    """Return kernels with lines, beside a random intercept of each category where there are some.

    Parameters
    ----------
    spread, center : ndarray of shape (d,)
        Standard deviations and means of all columns.
    categorical, scarce : tuple of int
        Columns of categories; see `with_categories`.

    Returns
    -------
    kernels : list of Kernel
        Lines alone last; empty where there are none.
    """
    if not categorical:
        return kernel_set.with_lines(spread, center)
    numbers = [c for c in range(len(spread)) if c not in categorical]
    if not (numbers and kernel_set.lines_beside_levels):
        return []
    intercepts = _intercepts(categorical, categorical if kernel_set.of_near_rows else scarce)
    lines = kernel_set.with_lines(spread[numbers], center[numbers])
    return [Columns(kernel, numbers) + intercepts for kernel in lines]


def scarce_categories(columns, n_rows):
    """Return the columns whose categories have few rows each on average, a tuple.

    ``n_rows`` is how many rows there are, or what they weigh together.
    """
    pairs = zip(columns.categorical, columns.categories, strict=True)
    return tuple(c for c, values in pairs if n_rows < ROWS_FOR_FACTORS * len(values))


def _intercepts(categorical, independent):
    """Return the sum of a random intercept for each category of each column."""
    return reduce(
        add,
        (
            Columns(_alike_in_one_way() if c in independent else Categorical(1), [c])
            for c in categorical
        ),
    )


def _alike_in_one_way():
    """Return a kernel over categories, any two of which share as much as they do at the start."""
    return Categorical(1, factor_bounds="fixed")


def for_targets_of_size(kernel, low, middle, high):
    """Return a default kernel, made for targets of mean square 1, for others.

    The mean squares are the least of the outputs, one between, and the largest.
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
