"""Where kernels with categories begin, once a kernel of the numbers alone has learned."""

import numpy as np

from ...kernels.categories._node import category_leaves, category_slots
from ...kernels.nodes import leaves

# Variance of all levels together, beside what was learned without them, as a share of the noise;
# a constant that all categories of a column have is no level.
_LEVELS_VARIANCE = 0.1


def has_categories(start):
    """Return whether the kernel of a `Start` has a part over categories."""
    return bool(category_leaves(start.parameters.expression))


def begins_with_categories(of_numbers, result, starts):
    """Start kernels with categories whose numbers have a certain kernel.

    As they start, as functions of categories may have nothing in common; before these a sum with
    levels at what was learned without them.

    Parameters
    ----------
    of_numbers : Start
        With a default kernel of the numbers alone.
    result : Parameters
        What was learned with it.
    starts : list of Start
        With and without categories.

    Returns
    -------
    begins : list of (Start, Parameters)
    """
    own = _parts(of_numbers)
    starts = [start for start in starts if has_categories(start) and _parts(start) == own]
    sums = [start for start in starts if len(_places_of_numbers(start)) == len(result.theta)]
    begins = [(start, _with_small_levels(start, result)) for start in sums]
    return begins + [(start, start.parameters) for start in starts]


def _parts(start):
    """Return names and starting length scales of the parts that see numbers."""
    expression = start.parameters.expression
    every = leaves(expression.node, np.arange(expression.n_features))
    return [
        (leaf.name, expression.values[leaf.length_scale].tolist())
        for leaf, _ in every
        if leaf.length_scale is not None
    ]


def _places_of_numbers(start):
    """Return the places of free kernel parameters that are not of categories."""
    expression = start.parameters.expression
    slots = [slot.ravel() for pair in category_slots(expression) for slot in pair[:2]]
    return np.delete(np.arange(len(expression.theta)), np.concatenate(slots))


def _with_small_levels(start, result):
    """Start a sum with levels at what was learned without these."""
    theta, slots = start.parameters.theta.copy(), category_slots(start.parameters.expression)
    theta[_places_of_numbers(start)] = result.theta
    noise_variance = float(np.mean(result.noise_variance)) / start.units.middle
    variance = _LEVELS_VARIANCE * noise_variance / len(slots)
    for diagonal, _, _ in slots:
        theta[diagonal] = np.log(variance)
    values = {**result.values, "theta": theta}
    return start.space.clipped(start.parameters.with_values(**values))
