"""Expectations of a squared exponential under Gaussian inputs, in closed form."""

from typing import NamedTuple

import numpy as np

from .._core import _latents
from .._core._memory import empty
from .packed import packed_size, unpack


class Cotangents(NamedTuple):
    """Derivatives of a function in the expectations of a chunk of rows.

    ``psi2`` has one row where all rows share it. An entry off the diagonal stands for both of the
    equal entries of the matrix, and is the derivative in one of them.
    """

    psi0: np.ndarray  # (n,)
    psi1: np.ndarray  # (n, m)
    psi2: np.ndarray  # (n or 1, packed)


class SquaredExponential:
    """Computes expectations of a squared exponential with any length scales.

    Parameters
    ----------
    Z : ndarray of shape (m, Q)
    node : Stationary
        The kernel's node, or its squared exponential where that is a term of a sum.
    """

    def __init__(self, kernel, Z, node):
        self.kernel, self.Z, self.node = kernel, Z, node
        self.kappa = self.node.variance(kernel.values)
        scales = self.node.scales(kernel.values)
        self.scales = np.ascontiguousarray(np.broadcast_to(scales, Z.shape[1:]), dtype=np.float64)
        self.Zt = np.ascontiguousarray((Z - self.node.center).T)
        i, j = np.tril_indices(len(Z))
        self.D = np.zeros(len(i))
        for z, scale in zip(self.Zt, self.scales, strict=True):
            self.D += (0.5 * (z[i] - z[j]) / scale) ** 2

    def _arguments(self, mean, variance):
        mean = np.ascontiguousarray(mean - self.node.center)
        return mean, np.ascontiguousarray(variance), self.Zt, self.scales, self.kappa, self.D

    def rows(self, mean, variance):
        """Return psi0, psi1 and psi2 of rows; see `expectations`."""
        n, m = len(mean), len(self.Z)
        psi1, psi2 = empty((n, m)), empty((n, packed_size(m)))
        _latents.expectations(*self._arguments(mean, variance), psi1, psi2)
        return np.full(n, self.kappa), psi1, psi2

    def new_sums(self):
        """Make room for the cotangents of theta and Z."""
        Q, m = self.Zt.shape
        return [np.zeros((Q, m)), np.zeros(Q), np.zeros(packed_size(m)), np.zeros(3)]

    def reverse(self, mean, variance, cotangents, sums=None):
        """Carry cotangents back to rows: their sums with expectations (n,), mean, variance (n, Q).

        ``sums`` of `new_sums` get those of theta and Z; None leaves them out.
        """
        n, Q = mean.shape
        value, mean_, variance_ = np.empty(n), np.empty((n, Q)), np.empty((n, Q))
        Zt_, scale_, V, totals = (None, np.zeros(Q), None, np.zeros(3)) if sums is None else sums
        _latents.expectations_vjp(
            *self._arguments(mean, variance),
            cotangents.psi1,
            cotangents.psi2,
            value,
            mean_,
            variance_,
            Zt_,
            scale_,
            V,
            totals[:2],
        )
        totals[2] += cotangents.psi0.sum()
        value += self.kappa * cotangents.psi0
        return value, mean_, variance_

    def gradients(self, sums):
        """Return cotangents of theta (n_theta,) and Z (m, Q) from sums."""
        Zt_, scale_, V, totals = sums
        V = unpack(V, len(self.Z))  # (m, m)
        rows = V.sum(axis=1)
        grad_Z, grad_scale = Zt_.T.copy(), scale_.copy()
        for q, (z, scale) in enumerate(zip(self.Zt, self.scales, strict=True)):
            Vz = V @ z
            grad_Z[:, q] -= (rows * z - Vz) / scale**2
            grad_scale[q] += (rows @ (z * z) - z @ Vz) / scale**3
        p, node = self.kernel.values, self.node
        grad = np.zeros_like(p)
        # psi0 is kappa, psi1 is linear in it, psi2 quadratic
        grad[list(node.amplitudes)] += totals[0] + 2.0 * totals[1] + self.kappa * totals[2]
        in_logs = grad_scale * self.scales
        target = grad[node.length_scale]
        target += in_logs if target.size == len(in_logs) else in_logs.sum()
        return grad[self.kernel.expression.free], grad_Z
