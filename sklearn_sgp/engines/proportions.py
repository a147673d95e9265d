"""Length scales in a common proportion: one number for all columns, in units of their spread."""

from dataclasses import replace

import numpy as np

from ..data.spreads import column_ranges, column_spreads
from ..kernels._length_scales import scale_places
from .fingerprints import structure

# Sets of default kernels in which length scales may be learned so.
_PROPORTIONAL = ("labels", "classes", "proportional")
# "classes" try that of the columns' ranges, too, if it differs by more than this, the standard
# deviation of the logarithms. That is 0.11 to 0.18 for cancer, pendigits and oil_flow, 0.39 for
# elec2 and 0.31 for digits, which have -0.036 nats by ranges, -0.042 by spreads (three draws).
_OTHER_PROPORTION = 0.2


def with_proportions(starts, rows, std, choices, previous):
    """Let classes have length scales in the proportion of the columns' spreads.

    One number then tells all of them, whatever the units of the columns are. "labels" have a length
    scale for each column as well, and first, since short fits take the first start without a
    comparison. An earlier fit has chosen.

    Parameters
    ----------
    starts : list of Start
        With default kernels.
    std : ndarray of shape (d,)
        Standard deviations of the columns.
    choices : start.Choices
    previous : Fitted or None
    """
    if choices.kernel_set not in _PROPORTIONAL:
        return starts
    relative = _relative(column_spreads(rows), std, choices)
    if previous is not None and same_structure(starts[0].kernel, previous):
        is_known = previous.start.in_proportion
        return [_in_proportion(start) if is_known else start for start in starts]
    if choices.kernel_set == "labels":
        more = [_in_proportion(starts[0], relative)] if choices.learns else []
        return [starts[0], *more, *starts[1:]]
    result = [_in_proportion(start, relative) for start in starts]
    if choices.kernel_set == "classes" and choices.learns and result[0].in_proportion:
        of_ranges = _relative(column_ranges(rows), std, choices)
        if np.std(of_ranges - relative) > _OTHER_PROPORTION:
            result.append(_in_proportion(starts[0], of_ranges))
    return result


def _relative(spreads, std, choices):
    return np.log(np.delete(spreads / std, choices.columns.categorical))


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
