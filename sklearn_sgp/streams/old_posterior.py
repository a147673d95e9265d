"""What a stream keeps of the rows that are gone: one more block (docs/theory.md, eqs. 38 to 41).

The old posterior over old inducing values, divided by their old prior, is a Gaussian factor
r(a) = exp(h^T v - v^T H v / 2 + constant), v = inv(L_old) a. It is fixed from then on. Under a new
kernel and new inducing inputs it meets the new inducing values b as a block of rows would: through
A = inv(L) K(Z, Z_old), and through what b leaves unexplained of a,

    V = K(Z_old, Z_old) - A^T A.

Jitter is part of the model: each inducing value is the function plus its own small noise, which an
inducing input that is kept takes along. Where nothing changed, A and V then change nothing.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from .._core import _linalg as la
from ..factors.block_sums import evidence
from ..factors.block_factors import BlockGradient, pull_back
from .._linalg import cholesky, copy_of, pivoted_cholesky, product, sandwich, triangular_inverse
from ..gp.posterior import Prior


@dataclass(frozen=True)
class Factor:
    """exp(h^T v - v^T H v / 2), for each column of h.

    Parameters
    ----------
    H : ndarray of shape (m, m)
        Positive semidefinite.
    h : ndarray of shape (m, t)
    """

    H: np.ndarray
    h: np.ndarray

    @cached_property
    def root(self):
        """R and g with R^T R = H, which may be singular, and R^T g = h."""
        L, order = pivoted_cholesky(self.H)
        R, rank = np.zeros(L.shape[::-1]), L.shape[1]
        R[:, order] = L.T
        return R, solve_triangular(L[:rank], self.h[order[:rank]], lower=True)

    def scaled(self, share):
        return Factor(share * self.H, share * self.h)


@dataclass(frozen=True)
class Carried:
    """The factor r(a) of a posterior.

    Parameters
    ----------
    prior : posterior.Prior
        The old one.
    factors : tuple of Factor
        One where outputs share H, else one for each latent function.
    constant : float
    """

    prior: Prior
    factors: tuple
    constant: float

    @classmethod
    def of(cls, posterior):
        """From a `posterior.Posterior` or `latents.Latents`."""
        posteriors = posterior.posteriors
        constant = -sum(evidence(part, 0.0) for part in posteriors)
        factors = tuple(Factor(part.H, part.h) for part in posteriors)
        return cls(posterior.prior, factors, constant)

    def tempered(self, share):
        """The factor to some power: what is remembered of it."""
        if share == 1.0:
            return self
        factors = tuple(factor.scaled(share) for factor in self.factors)
        return Carried(self.prior, factors, share * self.constant)


class Link:
    """Old inducing values given the new ones.

    Parameters
    ----------
    prior : posterior.Prior
        Of the new inducing values.
    old : posterior.Prior
        Of the old ones, at the old kernel.
    kept : ndarray of int, shape (n_kept, 2)
        Pairs (new, old) of inducing inputs that are the same variable, moved or not.
    """

    def __init__(self, prior, old, kept):
        self.prior, self.old = prior, old
        self.same = prior is old
        self.moved = np.zeros(len(old.Z), dtype=bool)
        if self.same:
            self.A = np.ascontiguousarray(prior.L.T)
            return
        Z, Z_old, new, gone = prior.Z, old.Z, kept[:, 0], kept[:, 1]
        self.A = prior.kernel.block(Z, Z_old)
        self.A[new, gone] += prior.delta
        la.trmm(prior.L_inv, self.A)
        # what has not moved is known exactly
        fixed = (Z[new] == Z_old[gone]).all(axis=1)
        self.A[:, gone[fixed]] = prior.L.T[:, new[fixed]]
        self.moved[:] = True
        self.moved[gone[fixed]] = False

    @cached_property
    def B(self):
        """A in old whitened coordinates: W = inv(L) K(Z, Z_old) inv(L_old)^T."""
        if self.same:
            return np.eye(len(self.old.Z))
        B = self.A.copy()
        la.trmm_right(B, self.old.L_inv, True)
        return B

    @cached_property
    def root(self):
        """F of V = F F^T in old whitened coordinates: rounding cannot make V indefinite."""
        moved = self.moved
        if not moved.any():
            return np.zeros((len(moved), 1))
        A = np.ascontiguousarray(self.A[:, moved])
        part = self.prior.kernel.gram(np.ascontiguousarray(self.old.Z[moved]))
        part.flat[:: len(part) + 1] += self.prior.delta
        la.gemm(A, A, part, True, False, -1.0, 1.0)
        F = np.zeros((len(moved), len(part)))
        L, order = pivoted_cholesky(part)
        F[np.flatnonzero(moved)[order], : L.shape[1]] = L
        la.trmm(self.old.L_inv, F)
        return F

    @cached_property
    def V(self):
        """V in old whitened coordinates."""
        return product(self.root, self.root, trans_b=True)


class CarriedBlock:
    """An old factor seen from new inducing values; interface as of blocks.RowBlock.

    Parameters
    ----------
    link : Link
    factor : Factor
    alpha : float
        Power in [0, 1].
    """

    def __init__(self, link, factor, alpha):
        self.link, self.factor, self.alpha = link, factor, alpha

    @cached_property
    def _inner(self):
        """Factor C of G = I + alpha R V R^T, and inv(C) R and inv(C) g."""
        R, g = self.factor.root
        N = product(R, self.link.root)
        G = product(N, N, trans_b=True)
        G *= self.alpha
        G.flat[:: len(G) + 1] += 1.0
        C = cholesky(G)
        C_inv, S, s = triangular_inverse(C), copy_of(R), copy_of(g)
        la.trmm(C_inv, S)
        la.trmm(C_inv, s)
        return C, S, s

    @cached_property
    def H(self):
        """(I + alpha H V)^-1 H."""
        if self.alpha == 0.0:
            return self.factor.H
        S = self._inner[1]
        return product(S, S, trans_a=True)

    @cached_property
    def _BH(self):
        return product(self.link.B, self.H)

    @cached_property
    def h(self):
        """(I + alpha H V)^-1 h, as R^T inv(G) g: h less what it loses would cancel."""
        if self.alpha == 0.0:
            return self.factor.h
        _, S, s = self._inner
        return product(S, s, trans_a=True)

    @cached_property
    def constant(self):
        """What the factor loses to V."""
        t, F = self.factor.h.shape[1], self.link.root
        if self.alpha == 0.0:
            return -0.5 * t * la.dot(self.factor.H, self.link.V)
        log_det = 2.0 * float(np.log(np.diagonal(self._inner[0])).sum())
        lost = product(F, self.h, trans_a=True)
        gain = float(np.vdot(product(F, self.factor.h, trans_a=True), lost))
        return 0.5 * self.alpha * gain - 0.5 * t * log_det / self.alpha

    def add_to(self, H, h):
        """Add the information about the new inducing values; returns the constant."""
        if self.link.same:
            H += self.H
            h += self.h
        else:
            part = product(self._BH, self.link.B, trans_b=True)
            la.symmetrize(part)
            H += part
            h += product(self.link.B, self.h)
        return self.constant

    def gradient(self, mean, covariance):
        """E_q[log factor] for v ~ N(mean, covariance) and its derivatives in A and K(Z_old, Z_old).

        The derivatives are with respect to the new kernel: the factor itself is fixed.
        """
        link, t = self.link, self.factor.h.shape[1]
        R_old = link.old.L_inv
        Bm = product(link.B, mean, trans_a=True)
        HBm = product(self.H, Bm)
        CBH = product(covariance, self._BH)
        value = self.constant + float(np.vdot(Bm, self.h)) - 0.5 * float(np.vdot(Bm, HBm))
        value -= 0.5 * t * la.dot(link.B, CBH)
        w = self.h - HBm
        B_bar = product(mean, w, trans_b=True)
        la.axpy(-t, CBH, B_bar)
        gamma = -0.5 * t * self.H
        if self.alpha > 0.0:
            gamma += 0.5 * self.alpha * product(w, w, trans_b=True)
            la.gemm(self._BH, CBH, gamma, True, False, 0.5 * self.alpha * t, 1.0)
            la.symmetrize(gamma)
        gamma = sandwich(R_old, gamma, trans=True)
        la.symmetrize(gamma)
        la.trmm_right(B_bar, R_old, False)
        la.gemm(link.A, gamma, B_bar, False, False, -2.0, 1.0)
        return BlockGradient(value, B_bar, gamma, 0.0)


def carried_gradient(link, blocks, means, covariances, with_inputs=True):
    """Derivatives of the expected log factors in kernel and new inducing inputs.

    Parameters
    ----------
    link : Link
    blocks : list of CarriedBlock
    means, covariances : list of ndarray
        Of v, for each block.
    with_inputs : bool

    Returns
    -------
    pulled : blocks.PulledBack
    """
    parts = [
        block.gradient(mean, covariance)
        for block, mean, covariance in zip(blocks, means, covariances, strict=True)
    ]
    value, A, K_XX = (sum(some) for some in list(zip(*parts, strict=True))[:3])
    total = BlockGradient(value, A, K_XX, 0.0)
    return pull_back(link.prior, link.old.Z, link.A, total, with_inputs)
