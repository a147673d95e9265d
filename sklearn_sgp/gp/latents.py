"""q(u) of several latent functions that share kernel and inducing inputs, and what it predicts.

Each has its own data part (H_c, h_c), because its sites have their own precisions; the prior, its
factor and every kernel block are shared.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._core import _linalg as la
from .._linalg import copy_of, product
from .posterior import Prior
from .coordinates import WhitenedState


@dataclass(frozen=True)
class Latents:
    """q(u) of all latent functions.

    Parameters
    ----------
    prior : posterior.Prior
    H : tuple of ndarray of shape (m, m)
    h : ndarray of shape (m, C)
    """

    prior: Prior
    H: tuple
    h: np.ndarray

    @classmethod
    def at_prior(cls, prior, n_latent):
        m = len(prior.Z)
        return cls(prior, tuple(np.zeros((m, m)) for _ in range(n_latent)), np.zeros((m, n_latent)))

    @cached_property
    def states(self):
        return [
            WhitenedState(self.prior, H, np.ascontiguousarray(self.h[:, c : c + 1]))
            for c, H in enumerate(self.H)
        ]

    def towards(self, other, rho):
        """A step of the natural gradient: a convex combination, so that it stays definite."""
        H = tuple((1.0 - rho) * a + rho * b for a, b in zip(self.H, other.H, strict=True))
        return Latents(self.prior, H, (1.0 - rho) * self.h + rho * other.h)

    def joined(self, other):
        """Information of both."""
        H = tuple(a + b for a, b in zip(self.H, other.H, strict=True))
        return Latents(self.prior, H, self.h + other.h)

    def expectation(self, q):
        """E of the log factor exp(h^T v - v^T H v / 2) under some q(u), summed over functions."""
        total = 0.0
        for c, (H, posterior) in enumerate(zip(self.H, q.posteriors, strict=True)):
            mean = posterior.v_mean[:, 0]
            total += float(self.h[:, c] @ mean - 0.5 * (mean @ (H @ mean)))
            total -= 0.5 * la.dot(H, posterior.B_inv)
        return total

    def centred(self):
        """The same covariances, and means less their mean over the functions."""
        shift = self.v_mean.mean(axis=1)
        moved = [H @ shift + shift for H in self.H]
        return Latents(self.prior, self.H, self.h - np.column_stack(moved))

    def kl(self):
        return sum(state.kl() for state in self.states)

    def scaled(self, factor):
        """The information of the data multiplied by a factor."""
        return Latents(self.prior, tuple(factor * H for H in self.H), factor * self.h)

    @cached_property
    def posteriors(self):
        return [state.posterior for state in self.states]

    @cached_property
    def coefficients(self):
        """Means at x are K(x, Z) times these; shape (m, C)."""
        return np.hstack([posterior.coefficients for posterior in self.posteriors])

    @cached_property
    def v_mean(self):
        """Means of v, shape (m, C)."""
        return np.hstack([posterior.v_mean for posterior in self.posteriors])

    def prepare(self):
        """Compute once what every prediction needs."""
        return self.coefficients, [posterior.LB_inv for posterior in self.posteriors]

    def mean(self, X):
        """Latent means, shape (n, C)."""
        return product(self.prior.kernel.block(self.prior.Z, X), self.coefficients, trans_a=True)

    def mean_variance(self, X):
        """Latent means and variances, both (n, C)."""
        A = self.prior.whitened(X)
        mean, variance = product(A, self.v_mean, trans_a=True), np.empty((len(X), len(self.H)))
        unexplained = self.prior.kernel.diag(X)
        la.column_dots(A, A, unexplained, -1.0)
        np.maximum(unexplained, 0.0, out=unexplained)  # never negative but for rounding
        for c, posterior in enumerate(self.posteriors):
            root = A if c == len(self.H) - 1 else copy_of(A)
            la.trmm(posterior.LB_inv, root)
            own = unexplained.copy()
            la.column_dots(root, root, own)
            variance[:, c] = own
        return mean, variance

    def mean_covariance(self, X):
        """Latent means (n, C) and joint covariances (n, n, C)."""
        found = [posterior.mean_covariance(X) for posterior in self.posteriors]
        means, covariances = zip(*found, strict=True)
        return np.hstack(means), np.stack(covariances, axis=2)
