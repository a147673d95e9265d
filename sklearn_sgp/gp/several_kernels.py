"""q(u) of mixed latent functions that have a kernel each (docs/theory.md, eq. 83)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._linalg import NotPositiveDefiniteError, product
from .jitter import factorise_with_jitter, rounding_error
from .multi_output import CoregionalisedPosterior
from .prior import Prior

# Largest relative jitter that rounding alone asks for.
_LARGEST_ROUNDING_JITTER = 1e-8


def priors_of_terms(prior, count):
    """Factorise the last terms of the kernel's outermost sum, each with a jitter of its own.

    Parameters
    ----------
    prior : Prior
        Of the sum, with the jitter that it needs. A term may need more.
    count : int

    Returns
    -------
    priors : tuple of Prior
        ``prior`` itself for ``count`` of 1.
    """
    if count == 1:
        return (prior,)
    jitter = prior.delta / float(np.mean(prior.kernel.diag(prior.Z)))
    return tuple(_sound(kernel, prior.Z, jitter) for kernel in prior.kernel.terms(count))


def _sound(kernel, Z, jitter):
    """Factorise with at least a jitter, and so much that rounding changes less than it does."""
    prior = factorise_with_jitter(kernel, Z, jitter)
    while rounding_error(prior) > prior.delta and 10.0 * prior.jitter <= _LARGEST_ROUNDING_JITTER:
        prior = factorise_with_jitter(kernel, Z, 10.0 * prior.jitter)
    return prior


@dataclass(frozen=True)
class PosteriorOfKernels(CoregionalisedPosterior):
    """q(u) of latent functions that share Z, not their kernel.

    Parameters
    ----------
    own_priors : tuple of Prior
        Of each latent function; ``prior`` is the first of them.
    """

    own_priors: tuple

    @property
    def priors(self):
        return self.own_priors

    @classmethod
    def from_sums(cls, priors, sums, patterns, mixing, noise_variance):
        """Return the optimum for Gaussian noise; parameters as those of the base."""
        scaled, m = mixing / noise_variance[:, None], len(priors[0].Z)
        H = sum(
            _in_parts(mixing[observed].T @ scaled[observed], m) * gram
            for observed, gram in zip(patterns, sums.gram, strict=True)
        )
        h = np.einsum("qip,pq->qi", sums.cross.reshape(len(priors), m, -1), scaled)
        return cls(priors[0], H, h, mixing, priors)

    @property
    def inducing_values(self):
        """Summed prior covariances (m, m) and posterior means (m, Q) of u."""
        parts = zip(self.priors, self.v_mean.T, strict=True)
        means = np.column_stack([prior.L @ v for prior, v in parts])
        return sum(prior.K for prior in self.priors), means

    @cached_property
    def coefficients(self):
        parts = zip(self.priors, self.v_mean.T, strict=True)
        return np.column_stack([prior.L_inv.T @ v for prior, v in parts])

    def warm_cache(self):
        return self.coefficients, self.covariance, [prior.L_inv for prior in self.priors]

    # ---- What the bound asks for

    def gram_cotangent(self, C):
        m, size = self.h.shape[1], self.h.size
        v = self.v_mean.T.reshape(-1, 1)
        inner = self.covariance.reshape(size, size) + product(v, v, trans_b=True)
        total = -0.5 * _in_parts(C, m) * inner
        total.flat[:: size + 1] += np.repeat(0.5 * np.diagonal(C), m)
        return total

    def information_dots(self, Phi):
        Q, m = self.h.shape
        parts = Phi.reshape(Q, m, Q, m)
        dots = np.einsum("qirj,qirj->qr", self.covariance, parts)
        return -0.5 * (dots + np.einsum("iq,qirj,jr->qr", self.v_mean, parts, self.v_mean))

    def cross_cotangent(self, scaled):
        cotangent = self.v_mean.T[:, :, None] * scaled.T[:, None, :]  # (Q, m, t)
        return np.ascontiguousarray(cotangent.reshape(-1, len(scaled)))

    def fits(self, cross):
        Q, m = self.h.shape
        return np.einsum("qip,iq->pq", cross.reshape(Q, m, -1), self.v_mean)

    # ---- Other posteriors made from this one

    def _replaced(self, prior, H, h):
        return PosteriorOfKernels(prior, H, h, self.mixing, self.priors)

    def padded(self, prior):
        Z = prior.Z
        priors = tuple(_larger(old, Z) for old in self.priors)
        grown = super().padded(priors[0])
        return PosteriorOfKernels(priors[0], grown.H, grown.h, self.mixing, priors)

    def restricted(self, picked):
        priors, maps = zip(*(prior.restricted(picked) for prior in self.priors), strict=True)
        Q, m = self.h.shape
        H, W = self.H.reshape(Q, m, Q, m), np.stack(maps)
        H = np.einsum("qki,qirj,rlj->qkrl", W, H, W, optimize=True)
        size = Q * len(picked)
        h = np.einsum("qki,qi->qk", W, self.h)
        H = H.reshape(size, size)
        return PosteriorOfKernels(priors[0], 0.5 * (H + H.T), h, self.mixing, priors)

    # ---- Predictions

    def mean(self, X):
        parts = zip(self.priors, self.coefficients.T, strict=True)
        blocks = [prior.kernel.block(prior.Z, X).T @ weights for prior, weights in parts]
        return np.column_stack(blocks) @ self.mixing.T

    def _latent_covariances(self, X):
        A = [prior.whitened(X) for prior in self.priors]
        C = np.empty((len(X), self.n_latent, self.n_latent))
        for q in range(self.n_latent):
            for r in range(q + 1):
                SA = product(np.ascontiguousarray(self.covariance[q, :, r]), A[r])
                C[:, q, r] = C[:, r, q] = np.einsum("in,in->n", A[q], SA)
            left = self.priors[q].kernel.diag(X) - np.einsum("in,in->n", A[q], A[q])
            C[:, q, q] += np.maximum(left, 0.0)
        return C

    def _latent_joint(self, X):
        A, Q = [prior.whitened(X) for prior in self.priors], self.n_latent
        covariance = np.empty((len(X), len(X), Q, Q))
        for q in range(Q):
            for r in range(Q):
                SA = product(np.ascontiguousarray(self.covariance[q, :, r]), A[r])
                covariance[:, :, q, r] = product(A[q], SA, trans_a=True)
            left = self.priors[q].kernel.gram(X) - product(A[q], A[q], trans_a=True)
            np.fill_diagonal(left, np.maximum(np.diagonal(left), 0.0))
            covariance[:, :, q, q] += left
        return covariance


def _in_parts(C, m):
    """Repeat each entry of C (Q, Q) on a part of shape (m, m)."""
    return np.kron(C, np.ones((m, m)))


def _larger(prior, Z):
    """Factorise at more inducing inputs, with the old jitter as long as that is enough."""
    try:
        return Prior.build(prior.kernel, Z, prior.delta, prior.jitter)
    except NotPositiveDefiniteError:
        return factorise_with_jitter(prior.kernel, Z, 10.0 * prior.jitter)
