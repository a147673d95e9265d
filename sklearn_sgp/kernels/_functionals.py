"""Covariances of the process with a linear functional of it at test inputs: a slope, a term.

Both answer what a `BoundKernel` is asked for in predictions: ``block(Z, X)``, covariances of f(Z)
with the functional at X, (m, n); ``blocks(X, near, groups)``, those of the functional at X with
f(near), group by group; and ``diag(X)``, variances of the functional, (n,).
"""

from dataclasses import dataclass

import numpy as np

from ._compiled import BoundKernel


@dataclass(frozen=True)
class SlopeKernel:
    """The slope of the process in a column of its input."""

    kernel: BoundKernel
    column: int

    def block(self, Z, X):
        """Return covariances of f(Z) with the slopes at X, (m, n)."""
        return self.kernel.slope_block(Z, X, self.column)

    def blocks(self, X, near, groups):
        """Return covariances of the slopes at X with f(near), the entries of all groups."""
        out = np.empty(groups.bounds[-1])
        for rows, columns, place in groups:
            out[place] = self.block(near[columns], X[rows]).T.ravel()
        return out

    def diag(self, X):
        """Return variances of the slopes, (n,), infinite where the process has none."""
        return self.kernel.slope_variance(X, self.column)


def check_slopes(kernel):
    """Refuse a `BoundKernel` of which a part has no known formula."""
    if not kernel.expression.differentiable_inputs:
        raise ValueError(
            "Slopes need kernels of scikit-learn or of this package, whose formulas are known. Got "
            f"{kernel.sklearn_kernel!r}: take differences of predict."
        )
