"""Length scales in a common proportion: one number for all columns, in units of their spread."""

from dataclasses import replace

import numpy as np

from ..data.column_order import are_constant
from ..data.column_spread import near_ends
from ..kernels._length_scales import scale_places
from .fingerprints import structure

# The proportion of the columns' ranges is tried if it differs by more than this, the standard
# deviation of the logarithms. That is 0.11 to 0.18 for cancer, pendigits and oil_flow, 0.39 for
# elec2 and 0.31 for digits, which have -0.036 nats by ranges, -0.042 by spreads (three draws of
# AnytimeSGPClassifier); five draws by SVGPClassifier have .003 to .011 more with both than by
# spreads alone, and 4 % more CPU time.
_OTHER_PROPORTION = 0.2
# Rows that tell it.
_SPREAD_ROWS = 10_000
# Fourth moment of a normal column of standard deviation 1.
_NORMAL = 3.0


def with_proportions(starts, rows, spread, choices, previous):
    """Let classes have length scales in the proportion of the columns' spreads.

    One number then tells all of them, whatever the units of the columns are. Some have a length
    scale for each column as well, and first, since short fits take the first start without a
    comparison. An earlier fit has chosen, and so has a user who has priors of them.

    Parameters
    ----------
    starts : list of Start
        With default kernels.
    spread : ndarray of shape (d,)
        Standard deviations of the columns; 0 for a column of one value.
    previous : Fitted or None
    """
    if not choices.kernel_set.in_proportion or choices.kernel_priors:
        return starts
    spread = np.delete(spread, choices.columns.categorical)
    varies, std = spread > 0.0, np.where(spread > 0.0, spread, 1.0)
    if np.count_nonzero(varies) < 2:
        return starts
    relative = _relative(column_spreads(rows), std, choices)
    if previous is not None and same_structure(starts[0].kernel, previous):
        is_known = previous.start.in_proportion
        return [_in_proportion(start) if is_known else start for start in starts]
    in_proportion = [relative]
    if choices.kernel_set.tries_ranges and choices.learns:
        of_ranges = _relative(column_ranges(rows), std, choices)
        if np.std((of_ranges - relative)[varies]) > _OTHER_PROPORTION:
            in_proportion.append(of_ranges)
    if choices.kernel_set.tries_own_scales:
        more = [_in_proportion(starts[0], each) for each in in_proportion if choices.learns]
        return [starts[0], *more, *starts[1:]]
    result = [_in_proportion(start, relative) for start in starts]
    if result[0].in_proportion:
        result += [_in_proportion(starts[0], each) for each in in_proportion[1:]]
    return result


def _relative(spreads, std, choices):
    return np.log(np.delete(spreads, choices.columns.categorical) / std)


def _in_proportion(start, relative=0.0):
    """Return a start whose length scales are learned in a common proportion.

    That is where one part of its kernel has any: beside a rough part each column has its own.
    """
    places = scale_places(start.parameters.expression)
    if len(places) != 1 or len(places[0]) < 2 or not start.space.learns("theta"):
        return start
    theta = start.parameters.theta.copy()
    theta[places[0]] += relative
    space = start.space.with_group("theta", shared=places[0])
    return replace(start, parameters=start.parameters.with_values(theta=theta), space=space)


def with_own_scales(starts):
    """Return those of some starts that are in proportion, with a length scale for each column."""
    return [
        replace(start, space=start.space.with_group("theta", shared=()))
        for start in starts
        if start.in_proportion
    ]


def same_structure(kernel, previous):
    return structure(kernel) == structure(previous.parameters.kernel.sklearn_kernel)


def column_spreads(rows):
    """Return the root of the fourth moment of each column, (d,); 1 for a constant column.

    It is the standard deviation where columns are normal. A pixel that is black but for a few rows
    has a small standard deviation, and one over it makes much of these rows: digits of 64 pixels
    have -0.072 nats with length scales in the proportion of standard deviations, -0.052 with that
    of fourth moments, -0.050 with that of ranges, which one far row decides. Seven tables of other
    columns differ by less than they do between draws of the rows.
    """
    X, weight = _sample(rows)
    away = np.abs(X - np.average(X, axis=0, weights=weight))
    largest = away.max(axis=0)
    constant = are_constant(largest, np.abs(X).max(axis=0))
    away /= np.where(constant, np.inf, largest)
    fourth = np.average(away**4, axis=0, weights=weight)
    return np.where(constant, 1.0, largest * (fourth / _NORMAL) ** 0.25)


def column_ranges(rows):
    """Return largest less smallest value of each column, (d,); 1 for a constant column."""
    X, weight = _sample(rows)
    ranges = np.ptp(X if weight is None else X[weight > 0.0], axis=0)
    return np.where(are_constant(ranges, np.abs(X).max(axis=0)), 1.0, ranges)


def _sample(rows):
    """Return inputs and weights of the rows that tell it, the latter None for equal ones."""
    sample = rows.fixed_subset(_SPREAD_ROWS)
    weight = sample.observations
    if weight is not None and not weight.any():
        weight = None
    X, ends = np.asarray(sample.X, dtype=np.float64), near_ends(sample.X, weight)
    return X if ends is None else np.clip(X, *ends), weight
