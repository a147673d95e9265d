"""Covariances of the process with a linear functional of it at test inputs: a slope, a term.

Both answer what a `BoundKernel` is asked for in predictions: ``block(Z, X)``, covariances of f(Z)
with the functional at X, (m, n); ``blocks(X, near, groups)``, those of the functional at X with
f(near), group by group; and ``diag(X)``, variances of the functional, (n,).
"""

from dataclasses import dataclass, replace

import numpy as np

from ._compiled import BoundKernel
from .nodes import Sum


@dataclass(frozen=True)
class SlopeKernel:
    """The slope of the process in a column of its input."""

    kernel: BoundKernel
    column: int

    def block(self, Z, X):
        """Return covariances of f(Z) with the slopes at X, (m, n)."""
        node, values = self.kernel.expression.node, self.kernel.values
        return node.slope_block(values, np.asarray(Z), np.asarray(X), self.column)

    def blocks(self, X, near, groups):
        """Return covariances of the slopes at X with f(near), the entries of all groups."""
        out = np.empty(groups.n_values)
        for rows, columns, place in groups:
            out[place] = self.block(near[columns], X[rows]).T.ravel()
        return out

    def diag(self, X):
        """Return variances of the slopes, (n,), infinite where the process has none."""
        node = self.kernel.expression.node
        return node.slopes_at(self.kernel.values, np.asarray(X), self.column)[2]


def check_slopes(kernel):
    """Refuse a `BoundKernel` of which a part has no known formula."""
    if not kernel.expression.differentiable_inputs:
        raise ValueError(
            "Slopes need kernels of scikit-learn or of this package, whose formulas are known. Got "
            f"{kernel.sklearn_kernel!r}: take differences of predict."
        )


def terms_of(kernel):
    """Return the terms of a kernel that is a sum, as kernels of the same inputs.

    Parameters
    ----------
    kernel : BoundKernel

    Returns
    -------
    terms : list of BoundKernel
        In the order of the sum; the kernel itself where it is none.
    """
    expression = kernel.expression
    nodes = _summands(expression.node)
    return [BoundKernel(replace(expression, node=node), kernel.values) for node in nodes]


def _summands(node):
    if isinstance(node, Sum):
        return [*_summands(node.left), *_summands(node.right)]
    return [node]
