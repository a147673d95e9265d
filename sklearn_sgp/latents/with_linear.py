"""Expectations of a squared exponential plus linear and constant terms, in closed form.

The terms besides the squared exponential are alpha + beta <z, x>, an affine function of x. Under a
squared exponential times q(x), x has the mean x~ = (mu l^2 + z s) / (l^2 + s), which gives the
products of both (docs/theory.md, eq. 67).
"""

import numpy as np

from ..kernels.nodes import Constant, Linear, Stationary, Sum, leaves
from .packed import pack
from .squared_exponential import Cotangents, SquaredExponential


def parts_of(node, Q):
    """Return the squared exponential of a sum and its other leaves; None for other kernels."""

    def is_sum(one):
        return not one.children or (isinstance(one, Sum) and all(map(is_sum, one.children)))

    if not is_sum(node):
        return None
    every = [leaf for leaf, _ in leaves(node, np.arange(Q))]
    smooth = [leaf for leaf in every if isinstance(leaf, Stationary)]
    rest = [leaf for leaf in every if isinstance(leaf, Linear | Constant)]
    known = len(smooth) == 1 and smooth[0].name == "squared_exponential"
    return (smooth[0], rest) if known and len(rest) + 1 == len(every) else None


class WithLinear:
    """Computes expectations of a squared exponential plus `Linear` and `Constant` leaves.

    Parameters
    ----------
    Z : ndarray of shape (m, Q)
    smooth : Stationary
    rest : list of Linear or Constant
    """

    def __init__(self, kernel, Z, smooth, rest):
        self.kernel, self.Z, self.rest = kernel, Z, rest
        self.smooth = SquaredExponential(kernel, Z, smooth)
        p = kernel.values
        linear = [leaf for leaf in rest if isinstance(leaf, Linear)]
        self.beta = sum(leaf.variance(p) for leaf in linear)
        self.alpha = sum(leaf.variance(p) for leaf in rest if isinstance(leaf, Constant))
        self.alpha += sum(leaf.variance(p) * p[leaf.sigma_0] ** 2 for leaf in linear)
        self.phi = np.column_stack([np.full(len(Z), self.alpha), self.beta * Z])  # (m, 1 + Q)

    def _affine(self, mean, variance, psi1):
        """Return the affine mean (n, m), x~ (n, m, Q), and psi1 times (1, x~) (n, m, 1 + Q)."""
        squares = self.smooth.scales**2
        g = self.alpha + self.beta * np.einsum("nq,mq->nm", mean, self.Z)
        share = variance / (squares + variance)  # (n, Q)
        tilted = mean[:, None] + share[:, None] * (self.Z - mean[:, None])
        R = np.concatenate([psi1[:, :, None], psi1[:, :, None] * tilted], axis=2)
        return g, tilted, R

    def rows(self, mean, variance):
        """Return psi0, psi1 and psi2 of rows; see `expectations`."""
        psi0, psi1, psi2 = self.smooth.rows(mean, variance)
        g, _, R = self._affine(mean, variance, psi1)
        cross = np.matmul(R, self.phi.T)
        cross += 0.5 * g[:, :, None] * g[:, None, :]
        cross += 0.5 * self.beta**2 * np.einsum("nq,iq,jq->nij", variance, self.Z, self.Z)
        psi2 += pack(cross + cross.transpose(0, 2, 1))
        psi0 += self.alpha + self.beta * (mean**2 + variance).sum(axis=1)
        return psi0, psi1 + g, psi2

    def new_sums(self):
        """Make room for the cotangents of theta and Z."""
        return [*self.smooth.new_sums(), np.zeros(2), np.zeros(self.Z.shape)]

    def reverse(self, mean, variance, cotangents, sums=None):
        """Carry cotangents back; see `SquaredExponential.reverse`."""
        beta, Z, m = self.beta, self.Z, len(self.Z)
        psi1 = self.smooth.rows(mean, variance)[1]
        g, tilted, R = self._affine(mean, variance, psi1)
        G = np.zeros((len(cotangents.psi2), m, m))
        i, j = np.tril_indices(m)
        G[:, i, j] = G[:, j, i] = cotangents.psi2
        R_ = 2.0 * np.matmul(G, self.phi)  # (n or 1, m, 1 + Q)
        psi1_ = cotangents.psi1 + R_[:, :, 0] + (R_[:, :, 1:] * tilted).sum(axis=2)
        tilted_ = psi1[:, :, None] * R_[:, :, 1:]
        Gg = np.matmul(G, g[:, :, None])[:, :, 0]
        g_ = cotangents.psi1 + 2.0 * Gg
        GZ = np.matmul(G, Z)
        squares = np.einsum("nmq,mq->nq", GZ, Z) + np.zeros_like(mean)  # z_q^T G z_q
        smooth_sums = None if sums is None else sums[:-2]
        smooth = Cotangents(cotangents.psi0, np.ascontiguousarray(psi1_), cotangents.psi2)
        value, mean_, variance_ = self.smooth.reverse(mean, variance, smooth, smooth_sums)
        second = (mean**2 + variance).sum(axis=1)
        # what R adds to psi1_ is that of psi2's products, and already in the value
        value += cotangents.psi0 * (self.alpha + beta * second) + (cotangents.psi1 * g).sum(axis=1)
        value += (Gg * g).sum(axis=1) + beta**2 * (variance * squares).sum(axis=1)
        scale = self.smooth.scales
        wide = scale**2 + variance
        away = (tilted_ * (Z - mean[:, None])).sum(axis=1)  # (n, Q)
        mean_ += tilted_.sum(axis=1) * scale**2 / wide + beta * np.matmul(g_[:, None], Z)[:, 0]
        mean_ += 2.0 * beta * cotangents.psi0[:, None] * mean
        variance_ += away * scale**2 / wide**2 + beta**2 * squares
        variance_ += beta * cotangents.psi0[:, None]
        if sums is not None:
            phi_ = 2.0 * np.matmul(G, R).sum(axis=0)
            phi_[:, 0] += g_.sum(axis=0)
            phi_[:, 1:] += g_.T @ mean
            sums[1] -= (2.0 * scale * variance / wide**2 * away).sum(axis=0)
            sums[-2] += [cotangents.psi0.sum() + phi_[:, 0].sum(), cotangents.psi0 @ second]
            sums[-2][1] += (phi_[:, 1:] * Z).sum() + 2.0 * beta * (variance * squares).sum()
            sums[-1] += beta * phi_[:, 1:] + (tilted_ * (variance / wide)[:, None]).sum(axis=0)
            sums[-1] += 2.0 * beta**2 * (variance[:, None] * GZ).sum(axis=0)
        return value, mean_, variance_

    def gradients(self, sums):
        """Return cotangents of theta and Z from sums."""
        p, grad = self.kernel.values, np.zeros_like(self.kernel.values)
        alpha_, beta_ = sums[-2]
        for leaf in self.rest:
            variance = leaf.variance(p)
            amplitudes = list(leaf.amplitudes)
            if isinstance(leaf, Constant):
                grad[amplitudes] += alpha_ * variance
                continue
            offset = p[leaf.sigma_0] ** 2
            grad[amplitudes] += variance * (alpha_ * offset + beta_)
            grad[leaf.sigma_0] += 2.0 * variance * offset * alpha_
        theta, Z_ = self.smooth.gradients(sums[:-2])
        return theta + grad[self.kernel.expression.free], Z_ + sums[-1]
