"""Length scales and variances of kernels: their values, their places among the parameters."""

from dataclasses import dataclass, replace

import numpy as np

from ._compile import compile_kernel
from ._white_noise import split_noise
from .categories._node import CategoricalNode, category_leaves
from .categories._units import units_of
from .nodes import Constant, Directions, Lines, Opaque, Product, Selection, Sum

_LARGEST_NEARNESS_SCALE = 100.0  # in standard deviations of a column


def input_scales(kernel, fallback):
    """Return the shortest length scale, (d,), on each column of the inputs.

    ``fallback``, (d,), stands for the columns on which the kernel has no length scale, 100 times as
    much for those that it does not see.
    """
    shortest = np.full(len(fallback), np.inf)
    unseen = np.full(len(fallback), _LARGEST_NEARNESS_SCALE)
    for leaf, columns in kernel.expression.leaves:
        unseen[columns] = 1.0
        if leaf.length_scale is not None:
            scales = kernel.values[leaf.length_scale]
            np.minimum.at(shortest, columns, np.broadcast_to(scales, columns.shape))
        for _, scales in _of_directions(leaf, kernel.values):
            np.minimum.at(shortest, columns, scales)
    return np.where(np.isfinite(shortest), shortest, unseen * fallback)


def nearness_scales(kernel, std):
    """Return the units of the distances by which near rows are found.

    Shortest length scales, at most 100 standard deviations: beyond those a column plays no role.
    Categories count as much as the terms that they are in have of the variance.
    """
    scales = np.minimum(input_scales(kernel, std), _LARGEST_NEARNESS_SCALE * std)
    return units_of(kernel, scales, by_variance=True)


def with_shorter_scales(expression, theta, share):
    """Multiply every free length scale by ``share``, in free log parameters."""
    return theta + np.log(share) * scale_mask(expression)


def has_lines(expression):
    """Return whether a part of the kernel is straight lines with length scales."""
    return any(isinstance(leaf, Lines) for leaf, _ in expression.leaves)


def scale_mask(expression):
    """Return a mask of the length scales among the free log parameters, (n_theta,)."""
    is_scale = np.zeros(len(expression.values), dtype=bool)
    for leaf, _ in expression.leaves:
        for one in _behind_directions(leaf):
            if one.length_scale is not None:
                is_scale[one.length_scale] = True
    return is_scale[expression.free]


def _behind_directions(leaf):
    """Return the leaves behind directions, also behind those inside; another leaf alone."""
    if not isinstance(leaf, Directions):
        return [leaf]
    return [last for one, _ in leaf.inner for last in _behind_directions(one)]


def scale_places(expression):
    """Return the places of each leaf's free length scales among the free log parameters."""
    places = []
    for leaf, _ in expression.leaves:
        if leaf.length_scale is not None:
            is_scale = np.zeros(len(expression.values), dtype=bool)
            is_scale[leaf.length_scale] = True
            places.append(np.flatnonzero(is_scale[expression.free]))
    return places


def n_scales_of(expression, which):
    """Count the free length scales that columns have for themselves.

    ``which`` are the columns.
    """
    measured = [columns for leaf, columns in expression.leaves if leaf.length_scale is not None]
    return sum(
        int(which[columns].sum())
        for place, columns in zip(scale_places(expression), measured, strict=True)
        if len(place) == len(columns)
    )


def scales_by_column(expression):
    """Return the places of each leaf's length scales, one for each column, and these columns.

    Returns
    -------
    pairs : list of (ndarray of int, ndarray of int)
        Places among the free log parameters. None where some part of the kernel depends on numbers
        in another way, or has other length scales.
    """
    measured = [(leaf, columns) for leaf, columns in expression.leaves if not leaf.holds_inputs]
    measured = [(leaf, columns) for leaf, columns in measured if not isinstance(leaf, Constant)]
    if any(leaf.length_scale is None for leaf, _ in measured):
        return None
    columns, places = [columns for _, columns in measured], scale_places(expression)
    if any(len(place) != len(own) for place, own in zip(places, columns, strict=True)):
        return None
    return list(zip(places, columns, strict=True))


def matern12_component(expression):
    """Return the places of the Matern-1/2 component's parameters; it is the second term of two.

    Returns
    -------
    variance : int
        Its place among the free log parameters.
    scales : ndarray of int
        Those of its length scales.

    None where the kernel is no such sum, or where one of these is not free.
    """
    node, free = expression.node, np.flatnonzero(expression.free)
    while isinstance(node, Selection):
        node = node.child
    places, constants = scale_places(expression), _constants(node, set(free))
    if not isinstance(node, Sum) or not len(places) == len(constants) == 2 or not len(places[1]):
        return None
    return int(np.searchsorted(free, constants[1])), places[1]


def units_of_theta(expression, spread):
    """Return the units in which optimisers see the free parameters: 1 for logarithms.

    Weights of a column in directions have the inverse of its spread, and weights of directions in
    others the inverse of what these spread with the weights that the expression begins with.
    ``spread``, (d,), is 0 for a column of one value, which counts as 1.
    """
    units, spread = np.ones(len(expression.values)), np.where(spread > 0.0, spread, 1.0)
    for leaf, columns in expression.leaves:
        _set_units(leaf, expression.values, spread[columns], units)
    return units[expression.free] if np.any(units[expression.free] != 1.0) else 1.0


def _set_units(leaf, values, spread, units):
    """Set the units of the weights of directions that see columns of the given spread."""
    if not isinstance(leaf, Directions):
        return
    units[leaf.slots] = np.tile(1.0 / spread, leaf.n_directions)
    seen = np.linalg.norm(leaf.matrix(values) * spread, axis=1)
    seen[seen == 0.0] = 1.0  # of weights that are all 0
    for one, rows in leaf.inner:
        _set_units(one, values, seen[rows], units)


def with_larger_variance(expression, theta, factor):
    """Multiply the kernel by ``factor`` as far as constants are free, in free log parameters."""
    return theta + np.log(factor) * variance_mask(expression)


def times_deviation(expression, theta, factor):
    """Multiply the deviations of all terms by ``factor``, as far as their parameters are free.

    A term without a free constant has its variance in F and b of its categories, and in what was
    learned of new ones.

    Returns
    -------
    expression : KernelExpression
    theta : ndarray of shape (n_theta,)
        Free log parameters.
    """
    theta = theta + 2.0 * np.log(factor) * variance_mask(expression)  # a square may overflow
    place, values = np.cumsum(expression.free) - 1, expression.values.copy()
    for leaf in _category_amplitudes(expression.node, expression.free):
        theta[place[leaf.diagonal]] += 2.0 * np.log(factor)
        theta[place[leaf.factor]] *= factor
        values[leaf.learned_variance] *= factor**2
    return replace(expression, values=values), theta


def _category_amplitudes(node, free):
    """Return free leaves over categories, one for each term of a sum without a free constant."""
    if isinstance(node, Sum | Selection):
        return [leaf for child in node.children for leaf in _category_amplitudes(child, free)]
    if isinstance(node, CategoricalNode):
        return [node] if free[node.diagonal].all() and free[node.factor].all() else []
    if not isinstance(node, Product) or _constants(node, set(np.flatnonzero(free))):
        return []
    children = sorted(node.children, key=_holds_sum)  # as in `_constants`
    found = (_category_amplitudes(child, free) for child in children)
    return next(filter(None, found), [])


def variance_mask(expression):
    """Return a mask of the variances of terms among the free log parameters, (n_theta,)."""
    mask = np.zeros(len(expression.values), dtype=bool)
    mask[_constants(expression.node, set(np.flatnonzero(expression.free)))] = True
    return mask[expression.free]


def variance_slots(expression):
    """Return the slots of the terms' first constants among all values, free or not."""
    return _constants(expression.node, set(range(len(expression.values))))


def _constants(node, free):
    """Return the slots of free constants, one for each term of a sum that has any."""
    if isinstance(node, Sum):
        return [slot for child in node.children for slot in _constants(child, free)]
    if isinstance(node, Product | Selection):
        # one that multiplies a whole sum comes before those in the sum
        children = sorted(node.children, key=_holds_sum)
        return next(filter(None, (_constants(child, free) for child in children)), [])
    if isinstance(node, Directions):
        return _constants(node.child, free)
    return [slot for slot in getattr(node, "amplitudes", ()) if slot in free][:1]


def _holds_sum(node):
    """Return whether a node is a sum, or has one beneath it."""
    if isinstance(node, Directions):
        return _holds_sum(node.child)
    return isinstance(node, Sum) or any(map(_holds_sum, getattr(node, "children", ())))


@dataclass(frozen=True)
class LengthScales:
    """Length scales of one part of a kernel.

    Parameters
    ----------
    part : str
        Name of the scikit-learn class of the part, such as "RBF".
    columns : ndarray of int, shape (n_columns,)
        Columns of the inputs that the part sees.
    values : ndarray of shape (1,) or (n_columns,)
        One length scale for all of these columns, or one for each. Where the part sees directions,
        what a column alone has to move for their distance to be one length scale.
    """

    part: str
    columns: np.ndarray
    values: np.ndarray


def length_scales(kernel, n_features):
    """Return `LengthScales` of every part of a kernel that has them, from left to right.

    Periodic kernels are left out, because their length scale does not belong to a distance between
    inputs.

    Parameters
    ----------
    kernel : Kernel
        A scikit-learn kernel. A kernel of a user's own is a part if it has ``length_scale``.
    n_features : int
        Number of columns of the inputs.
    """
    expression = compile_kernel(split_noise(kernel)[0], np.zeros(n_features))
    parts = []
    for leaf, columns in expression.leaves:
        if leaf.length_scale is not None:
            values = expression.values[leaf.length_scale]
            parts.append(LengthScales(leaf.kernel_name, columns, values))
        for one, scales in _of_directions(leaf, expression.values):
            parts.append(LengthScales(one.kernel_name, columns, scales))
        is_own = isinstance(leaf, Opaque) and hasattr(leaf.kernel, "length_scale")
        if is_own and not hasattr(leaf.kernel, "periodicity"):
            values = np.atleast_1d(np.asarray(leaf.kernel.length_scale, dtype=np.float64))
            parts.append(LengthScales(type(leaf.kernel).__name__, columns, values))
    return parts


def category_counts(kernel, n_features):
    """Return the number of categories of each column that a scikit-learn kernel takes as such."""
    expression = compile_kernel(split_noise(kernel)[0], np.zeros(n_features))
    return {
        int(column): len(leaf.covariance(expression.values).factor)
        for leaf, column in category_leaves(expression)
    }


def _of_directions(leaf, values):
    """Return leaves behind directions, and what each column moves for one length scale, (d,)."""
    metrics = leaf.metrics(values) if isinstance(leaf, Directions) else []
    with np.errstate(divide="ignore"):
        return [(one, 1.0 / np.linalg.norm(weights, axis=0)) for one, weights in metrics]
