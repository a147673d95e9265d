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

from ..._core import _linalg as la
from ..._linalg import pivoted_cholesky, product
from ...factors.gradients import BlockGradient, GradientSums, pull_back
from ...gp.posterior import Posterior
from .signed_roots import SignedRoot


@dataclass(frozen=True)
class OldPosterior:
    """The factor r(a) of a posterior, one Gaussian factor for each of its H.

    The posterior has its prior, at the old kernel.
    """

    posterior: Posterior
    constant: float

    @classmethod
    def of(cls, posterior):
        """Return the factor of a `Posterior`, or one for each of the outputs that mix functions."""
        outputs = posterior.of_each_output
        return cls(outputs, -posterior.log_evidence())

    @property
    def prior(self):
        return self.posterior.prior

    def tempered(self, share):
        """Raise the factor to the power ``share``: below 1 the past fades."""
        if share == 1.0:
            return self
        return OldPosterior(self.posterior.scaled(share), share * self.constant)

    def information(self, c):
        """Return H (m, m) and h (m, t) of the factor number c."""
        precision, own = self.posterior.by_precision[c]
        return precision.H, np.ascontiguousarray(self.posterior.h[:, own])

    @cached_property
    def roots(self):
        """`SignedRoot` of each factor."""
        return [SignedRoot.of(*self.information(c)) for c in range(len(self.posterior.H))]


class Projection:
    """Old inducing values given the new ones.

    Parameters
    ----------
    prior : Prior
        Of the new inducing values.
    old : Prior
        Of the old ones, at the old kernel.
    kept : ndarray of int, shape (n_kept, 2)
        Pairs (new, old) of inducing inputs that are the same variable, moved or not.

    Attributes
    ----------
    A : ndarray of shape (m, m_old)
        inv(L) K(Z, Z_old).
    held, stay : ndarray of int, shape (n_fixed,)
        Of the pairs, those that have not moved.
    rest : ndarray of int
        Old ones besides these.
    loses : bool
        Whether b leaves something of a unexplained.
    """

    def __init__(self, prior, old, kept):
        self.prior, self.old = prior, old
        self.same = prior is old
        Z, Z_old, new, gone = prior.Z, old.Z, kept[:, 0], kept[:, 1]
        # what has not moved is known exactly
        fixed = (Z[new] == Z_old[gone]).all(axis=1)
        self.held, self.stay = new[fixed], gone[fixed]
        stays = np.zeros(len(Z_old), dtype=bool)
        stays[self.stay] = True
        self.rest = np.flatnonzero(~stays)
        self.loses = not self.same and len(self.rest) > 0
        self.Z_rest = np.ascontiguousarray(Z_old[self.rest])
        if self.same:
            self.A = np.ascontiguousarray(prior.L.T)
            self.A_rest = np.ascontiguousarray(self.A[:, self.rest])
            return
        self.A_rest = np.empty((len(Z), 0))
        if self.loses:
            self.A_rest = prior.kernel.block(Z, self.Z_rest)
            self.A_rest[new[~fixed], np.searchsorted(self.rest, gone[~fixed])] += prior.delta
            la.trmm(prior.L_inv, self.A_rest)
        self.A = np.empty((len(Z), len(Z_old)))
        self.A[:, self.stay] = prior.L.T[:, self.held]
        self.A[:, self.rest] = self.A_rest

    @cached_property
    def W(self):
        """A in old whitened coordinates: W = inv(L) K(Z, Z_old) inv(L_old)^T."""
        if self.same:
            return np.eye(len(self.old.Z))
        W = self.A.copy()
        la.trmm_right(W, self.old.L_inv, True)
        return W

    @cached_property
    def loss_root(self):
        """F of V = F F^T in old whitened coordinates: rounding cannot make V indefinite."""
        A, m_old = self.A_rest, len(self.old.Z)
        if not self.loses:
            return np.zeros((m_old, 1))
        part = self.prior.kernel.gram(self.Z_rest)
        part.flat[:: len(part) + 1] += self.prior.delta
        la.gemm(A, A, part, True, False, -1.0, 1.0)
        F = np.zeros((m_old, len(part)))
        L, order = pivoted_cholesky(part)
        F[self.rest[order], : L.shape[1]] = L
        la.trmm(self.old.L_inv, F)
        return F

    @cached_property
    def loss(self):
        """V in old whitened coordinates: the part of a that b leaves unexplained."""
        return product(self.loss_root, self.loss_root, trans_b=True)

    def cotangents(self, in_W, in_loss):
        """Return cotangents of A and K(Z_old, Z_old) from those of W, overwritten, and of V.

        The latter is that at the inducing inputs that do not stay; ``in_loss`` is symmetric.
        """
        la.trmm_right(in_W, self.old.L_inv, False)
        if not self.loses:
            return in_W, np.zeros((len(self.rest),) * 2)
        L_inv = np.ascontiguousarray(self.old.L_inv[:, self.rest])
        K = product(product(L_inv, in_loss, trans_a=True), L_inv)
        la.symmetrize(K)
        in_W[:, self.rest] -= 2.0 * product(self.A_rest, K)
        return in_W, K

    def pull_back(self, gradient, with_inputs):
        """Carry cotangents to kernel and inducing inputs, as `factors.gradients.pull_back`.

        Columns of A that stay are rows of L. Their inducing inputs are to be held: what is returned
        for them is not all of their gradient.
        """
        prior, through_L = self.prior, product(self.A, gradient.A, trans_b=True)
        if not len(self.rest):
            theta = np.zeros_like(prior.kernel.theta)
            return GradientSums(gradient.value, theta, 0.0, 0.0, -through_L)
        A = np.ascontiguousarray(gradient.A[:, self.rest])
        la.gemm(self.A_rest, A, through_L, False, True, -1.0, 1.0)
        sums = pull_back(prior, self.Z_rest, self.A_rest, gradient._replace(A=A), with_inputs)
        la.axpy(-1.0, through_L, sums.AAt)
        return sums


class OutputProjection:
    """`Projection` of a scaled function, such as an output that mixes latent functions.

    The projection is that of each latent function; the variance is what the function's is times
    theirs: the sum of squares of its weights.
    """

    def __init__(self, projection, variance):
        self.one, self.variance = projection, variance
        self.same, self.loses, self.W = projection.same, projection.loses, projection.W

    @cached_property
    def loss_root(self):
        return np.sqrt(self.variance) * self.one.loss_root

    @cached_property
    def loss(self):
        return self.variance * self.one.loss

    def cotangents(self, in_W, in_loss):
        """Return cotangents as `Projection` does."""
        return self.one.cotangents(in_W, self.variance * in_loss)


class OldPosteriorFactor:
    """A factor of the old posterior seen from new inducing values.

    Its methods are those of `factors.block_factors.DiagonalFactor`. c is the number of the factor,
    and alpha a power in [0, 1].
    """

    def __init__(self, projection, old, c, alpha):
        self.projection, self.alpha = projection, alpha
        self.old_H, self.old_h = old.information(c)
        self._old, self._c = old, c
        self._is_whole = alpha == 0.0 or not projection.loses

    @cached_property
    def _inner(self):
        """The root of H, divided by G = S + alpha R V R^T."""
        root = self._old.roots[self._c]
        return root.divided(product(root.R, self.projection.loss_root), self.alpha)

    @cached_property
    def H(self):
        """(I + alpha H V)^-1 H."""
        return self.old_H if self._is_whole else self._inner.information()

    @cached_property
    def _WH(self):
        return product(self.projection.W, self.H)

    @cached_property
    def h(self):
        """(I + alpha H V)^-1 h, as R^T inv(G) S g: h less what it loses would cancel."""
        return self.old_h if self._is_whole else self._inner.shift()

    @cached_property
    def constant(self):
        """The loss of the factor to V."""
        if not self.projection.loses:
            return 0.0
        t, F = self.old_h.shape[1], self.projection.loss_root
        if self.alpha == 0.0:
            return -0.5 * t * la.dot(self.old_H, self.projection.loss)
        log_det = self._inner.log_det
        lost = product(F, self.h, trans_a=True)
        gain = float(np.vdot(product(F, self.old_h, trans_a=True), lost))
        return 0.5 * self.alpha * gain - 0.5 * t * log_det / self.alpha

    def add_to(self, H, h):
        """Add the information about the new inducing values; returns the constant."""
        if self.projection.same:
            H += self.H
            h += self.h
        else:
            part = product(self._WH, self.projection.W, trans_b=True)
            la.symmetrize(part)
            H += part
            h += product(self.projection.W, self.h)
        return self.constant

    def gradient(self, mean, covariance):
        """Return E_q[log factor], v ~ N(mean, covariance), and derivatives in A, K(Z_old, Z_old).

        The derivatives are with respect to the new kernel: the factor itself is fixed.
        """
        value, in_W, in_loss = self.expectation(mean, covariance)
        return BlockGradient(value, *self.projection.cotangents(in_W, in_loss), 0.0)

    def expectation(self, mean, covariance):
        """Return E_q[log factor], and derivatives in W and V, in old whitened coordinates."""
        W, t = self.projection.W, self.old_h.shape[1]
        Wm = product(W, mean, trans_a=True)  # (m_old, t)
        HWm = product(self.H, Wm)
        CWH = product(covariance, self._WH)  # (m, m_old)
        value = self.constant + float(np.vdot(Wm, self.h)) - 0.5 * float(np.vdot(Wm, HWm))
        value -= 0.5 * t * la.dot(W, CWH)
        w = self.h - HWm
        in_W = product(mean, w, trans_b=True)  # (m, m_old)
        la.axpy(-t, CWH, in_W)
        in_loss = -0.5 * t * self.H
        if self.alpha > 0.0:
            in_loss += 0.5 * self.alpha * product(w, w, trans_b=True)
            la.gemm(self._WH, CWH, in_loss, True, False, 0.5 * self.alpha * t, 1.0)
            la.symmetrize(in_loss)
        return value, in_W, in_loss


def old_posterior_gradient(projection, factors, q, with_inputs=True):
    """Compute derivatives of the expected log factors in kernel and new inducing inputs.

    q has as many H.
    """
    parts = [
        factor.gradient(np.ascontiguousarray(q.v_mean[:, own]), precision.covariance)
        for factor, (precision, own) in zip(factors, q.by_precision, strict=True)
    ]
    value, A, K_XX = (sum(some) for some in list(zip(*parts, strict=True))[:3])
    return projection.pull_back(BlockGradient(value, A, K_XX, 0.0), with_inputs)
