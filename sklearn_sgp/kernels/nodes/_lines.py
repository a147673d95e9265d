"""The node of straight lines through a center."""

import numpy as np

from ..._linalg import product
from ._leaves import ScaledLeaf

# Length scales beyond which a row counts as there: squares are finite. Fits refuse such rows.
_MOST_SCALES = 1e76


class Lines(ScaledLeaf):
    """variance * <(x - center) / length_scale, (z - center) / length_scale>."""

    differentiable_inputs = True
    name, kernel_name = "lines", "Linear"

    def __init__(self, center, length_scale):
        self.center, self.length_scale = center, length_scale

    def scaled(self, p, X):
        """Return centred inputs in units of the length scales, (n, d)."""
        centred = np.ascontiguousarray(X, dtype=np.float64) - self.center
        with np.errstate(over="ignore"):
            np.divide(centred, p[self.length_scale], out=centred)
        return np.clip(centred, -_MOST_SCALES, _MOST_SCALES, out=centred)

    def entries(self, p, X):
        """Return vectors as those of `Linear`, without an offset."""
        return np.column_stack([np.zeros(len(X)), self.scaled(p, X)])

    def block(self, p, Z, X, direct=False):
        return self.variance(p) * product(self.scaled(p, Z), self.scaled(p, X), trans_b=True)

    def diag(self, p, X):
        return self.variance(p) * (self.scaled(p, X) ** 2).sum(axis=1)

    def slope_block(self, p, Z, X, column):
        slopes = self.variance(p) * self.scaled(p, Z)[:, column, None] / self._scale(p, column)
        return np.repeat(slopes, len(X), axis=1)

    def slopes_at(self, p, X, along):
        variance, along = self.variance(p), along / p[self.length_scale]
        slope = variance * (self.scaled(p, X) @ along)
        return self.diag(p, X), slope, np.full(len(X), variance * (along @ along))

    def _scale(self, p, column):
        return np.broadcast_to(p[self.length_scale], len(self.center))[column]

    def _add(self, grad, products):
        """Add the gradients from sums of dF / dK times variance x z, one for each column."""
        grad[list(self.amplitudes)] += products.sum()
        target = grad[self.length_scale]
        target -= 2.0 * (products if target.size == len(products) else products.sum())

    def diag_vjp(self, p, X, g, grad):
        self._add(grad, self.variance(p) * (g @ self.scaled(p, X) ** 2))

    def block_vjp(self, p, Z, X, G, grad, grad_Z, direct=False):
        of_inputs = self.variance(p) * product(np.ascontiguousarray(G), self.scaled(p, X))  # (m, d)
        self._add(grad, (of_inputs * self.scaled(p, Z)).sum(axis=0))
        if grad_Z is not None:
            grad_Z += of_inputs / p[self.length_scale]
