"""Length scales of a compiled kernel, one for each column of the inputs."""

import numpy as np

from . import _nodes as nodes


def input_scales(kernel, fallback):
    """Shortest length scale on each column; ``fallback`` where no part of the kernel has one.

    Parameters
    ----------
    kernel : BoundKernel
    fallback : ndarray of shape (d,)

    Returns
    -------
    scales : ndarray of shape (d,)
    """
    shortest = np.full(len(fallback), np.inf)
    for columns, scales in _parts(kernel.expression.node, kernel.values, np.arange(len(fallback))):
        np.minimum.at(shortest, columns, np.broadcast_to(scales, columns.shape))
    return np.where(np.isfinite(shortest), shortest, fallback)


def _parts(node, values, columns):
    """Columns and length scales of every stationary leaf that has them."""
    if isinstance(node, nodes.Stationary):
        if node.length_scale is not None:
            yield columns, values[node.length_scale]
    elif isinstance(node, nodes.Sum | nodes.Product):
        yield from _parts(node.left, values, columns)
        yield from _parts(node.right, values, columns)
    elif isinstance(node, nodes.Selection):
        yield from _parts(node.child, values, columns[node.columns])
    elif isinstance(node, nodes.Power):
        yield from _parts(node.child, values, columns)


def with_shorter_scales(expression, theta, share):
    """Free log parameters with every free length scale multiplied by ``share``.

    Parameters
    ----------
    expression : KernelExpression
    theta : ndarray of shape (n_theta,)
    share : float

    Returns
    -------
    theta : ndarray of shape (n_theta,)
    """
    return theta + np.log(share) * scale_mask(expression)


def scale_mask(expression):
    """Which of the free log parameters are length scales."""
    is_scale = np.zeros(len(expression.values), dtype=bool)
    for leaf in _leaves(expression.node):
        if leaf.length_scale is not None:
            is_scale[leaf.length_scale] = True
    return is_scale[expression.free]


def _leaves(node):
    """Every stationary leaf."""
    if isinstance(node, nodes.Stationary):
        yield node
    elif isinstance(node, nodes.Sum | nodes.Product):
        yield from _leaves(node.left)
        yield from _leaves(node.right)
    elif isinstance(node, nodes.Selection | nodes.Power):
        yield from _leaves(node.child)
