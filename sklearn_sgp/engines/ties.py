"""The prior of what is learned: it ties what few rows cannot tell apart."""

from dataclasses import dataclass

import numpy as np

from ..kernels._length_scales import scale_places
from ..kernels.categories._node import category_slots
from ..optimize.parameters import TiedLengthScales
from ..optimize.priors import CategoryPlaces, Product, TiedCategories


@dataclass(frozen=True)
class Ties:
    """Say how far length scales of a default kernel scatter about one that all may share.

    ``precision`` is that of their logarithms; with ``has_tails`` Cauchy's density takes the place
    of the normal one.
    """

    precision: float
    has_tails: bool = False


# Precision of the prior that ties length scales. Pure noise, 50 rows of 500 columns: 90 % intervals
# of a local model hold 0.57 of new rows with 1, 0.88 with 4 and with 16.
TIES = Ties(4.0)
# Where users say that there is no noise the prior has the tails of Cauchy's density: a normal one
# forbids a column that says nothing, whose length scale is a hundred times the others, at a price
# of 95 nats. Fifty runs of the borehole function, three of whose eight columns matter: errors of
# 0.038 deviations without tails, 0.017 with them, 0.013 without any prior. With noise tails cost
# 500 rows of pumadyn32nm and of energy 0.12 and 0.18 nats a row (three draws).
# So it has for blocks without near rows, where a normal one costs what few columns explain with
# little noise. 73 made tables of 15 to 300 rows, thirty kinds, FITC and PITC: bands of 90 % that
# hold less than 75 % in 14 without a prior, 4 with a normal one, 6 with tails; log densities (a
# difference counts .5 at most) +.02 and +.06, -.37 to +1.75 with tails, -2.5 to +1.6 without.
TIES_WITH_TAILS = Ties(4.0, has_tails=True)
# For streams of labels. With this precision a first batch of few rows that sees no signal, as 19
# rows of nine columns, holds the function at 0 for all that follow (-.35 -> -1.08 nats). Sixty rows
# of 30 columns, two and three classes, four draws in one batch and in six: -1.00 without, -.72 with
# this, -.82 with a quarter; three draws of nine columns: -.01, -.03 and +.32.
LOOSE_TIES = Ties(1.0)
# Precisions of the prior of categories: of the logarithms of b, of the entries of F, of the scale.
# With 1 for F stations of `plot_categories` have RMSE 0.265 and 0.245 (two draws), with 4 0.246 and
# 0.242; on three other draws of 100 to 300 categories the log density gains up to 0.01.
_CATEGORY_TIES = (4.0, 4.0, 1.0)


def prior_of(choices, expression, spread):
    """Return the prior that ties what is learned of categories, and length scales, or None.

    A prior of the user's of length scales takes the place of the latter. The expression is the
    compiled kernel; ``spread`` has standard deviations of the columns, 0 for a column of one value.
    """
    factors, places = [], tuple(CategoryPlaces(*slots) for slots in category_slots(expression))
    if places:
        factors.append(TiedCategories(places, _CATEGORY_TIES))
    has_own = "length_scale" in (choices.kernel_priors or {})
    if choices.kernel is None and choices.ties_length_scales and not has_own:
        numbers = np.delete(spread, choices.columns.categorical)
        ties = choices.ties
        has_tails = ties.has_tails or choices.expects_no_noise
        factors.append(_tied(expression, numbers, ties.precision, has_tails))
    if len(factors) > 1:
        return Product(tuple(factors))
    return factors[0] if factors else None


def _tied(expression, spread, precision, has_tails):
    """Return the prior that ties length scales of columns that vary, where each has its own."""
    places = [place for place in scale_places(expression) if len(place) == len(spread)]
    log_std, varies = np.log(np.where(spread > 0.0, spread, 1.0)), np.flatnonzero(spread)
    return TiedLengthScales(log_std, tuple(places), precision, varies, has_tails)
