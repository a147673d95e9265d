"""q(u) of several latent functions that observations mix: f = W g (docs/theory.md, section 16).

The Q latent functions have one kernel and one Z, and are independent before any data. Rows that
observe some of the outputs couple them, so that H is (Q m, Q m), latent function by latent
function. With D the noise variances and Phi_p the sum of a a^T over the rows of output p,
H = sum_p (W_p W_p^T / D_p) x Phi_p, a Kronecker product.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._linalg import product
from .posterior import Precision
from .prior import Prior


@dataclass(frozen=True)
class CoregionalisedPosterior:
    """q(u) of all latent functions together, ready to predict the outputs.

    Parameters
    ----------
    prior : Prior
        Of each latent function.
    H : ndarray of shape (Q m, Q m)
    h : ndarray of shape (Q, m)
    mixing : ndarray of shape (t, Q)
        W.
    """

    prior: Prior
    H: np.ndarray
    h: np.ndarray
    mixing: np.ndarray

    @classmethod
    def from_sums(cls, prior, sums, patterns, mixing, noise_variance):
        """The optimum for Gaussian noise.

        Parameters
        ----------
        prior : Prior
        sums : factors.several_outputs.output_sums.OutputSums
        patterns : list of ndarray of int
        mixing : ndarray of shape (t, Q)
        noise_variance : ndarray of shape (t,)
        """
        scaled = mixing / noise_variance[:, None]
        H = sum(
            np.kron(mixing[own].T @ scaled[own], gram)
            for own, gram in zip(patterns, sums.gram, strict=True)
        )
        return cls(prior, H, np.ascontiguousarray((sums.cross @ scaled).T), mixing)

    @property
    def n_latent(self):
        return self.mixing.shape[1]

    @cached_property
    def precision(self):
        return Precision(self.H)

    @cached_property
    def v_mean(self):
        """Means of v, shape (m, Q)."""
        V = self.precision.solve(self.h.reshape(-1, 1)).reshape(self.n_latent, -1)
        return np.ascontiguousarray(V.T)

    @cached_property
    def coefficients(self):
        """The means of latent functions at x are K(x, Z) times these; shape (m, Q)."""
        return product(self.prior.L_inv, self.v_mean, trans_a=True)

    @cached_property
    def covariance(self):
        """Covariances of v, shape (Q, m, Q, m)."""
        m = self.h.shape[1]
        return self.precision.covariance.reshape(self.n_latent, m, self.n_latent, m)

    def warm_cache(self):
        """Compute once what every prediction needs."""
        return self.coefficients, self.covariance, self.prior.L_inv

    # ---- Other posteriors made from this one

    def _replaced(self, prior, H, h):
        return CoregionalisedPosterior(prior, H, h, self.mixing)

    def joined(self, other):
        """The information of both."""
        return self._replaced(self.prior, self.H + other.H, self.h + other.h)

    def scaled(self, factor):
        """The information of the data multiplied by a factor."""
        return self._replaced(self.prior, factor * self.H, factor * self.h)

    def towards(self, target, rho, scale=1.0):
        """One natural-gradient step, as `Posterior.towards`."""
        return self.scaled(1.0 - rho).joined(target.scaled(rho * scale))

    def padded(self, prior):
        """With inducing inputs appended, of which nothing is known yet."""
        Q, m = self.h.shape
        more = len(prior.Z) - m
        H = np.pad(self.H.reshape(Q, m, Q, m), ((0, 0), (0, more), (0, 0), (0, more)))
        size = Q * len(prior.Z)
        return self._replaced(prior, H.reshape(size, size), np.pad(self.h, ((0, 0), (0, more))))

    # ---- Predictions

    def mean(self, X):
        """Means of the outputs, shape (n, t)."""
        block = self.prior.kernel.block(self.prior.Z, X)
        return product(block, self.coefficients, trans_a=True) @ self.mixing.T

    def moments(self, X):
        """Means (n, t) of the outputs, and their covariances (n, t, t) at each row."""
        A, W = self.prior.whitened(X), self.mixing
        unexplained = np.maximum(self.prior.kernel.diag(X) - np.einsum("in,in->n", A, A), 0.0)
        C = np.empty((len(X), self.n_latent, self.n_latent))
        for q in range(self.n_latent):
            for r in range(q + 1):
                own = product(np.ascontiguousarray(self.covariance[q, :, r]), A)
                C[:, q, r] = C[:, r, q] = np.einsum("in,in->n", own, A)
        covariance = W @ C @ W.T + unexplained[:, None, None] * (W @ W.T)
        return product(A, self.v_mean, trans_a=True) @ W.T, covariance

    def mean_variance(self, X):
        """Means and variances of the outputs, both (n, t)."""
        mean, covariance = self.moments(X)
        return mean, np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 0.0)

    def full_covariance(self, X):
        """Means (n, t), and covariances (n, n, t, t) of all outputs at all rows."""
        A, W, n = self.prior.whitened(X), self.mixing, len(X)
        unexplained = self.prior.kernel.gram(X) - product(A, A, trans_a=True)
        covariance = unexplained[:, :, None, None] * (W @ W.T)
        for q in range(self.n_latent):
            for r in range(self.n_latent):
                own = product(np.ascontiguousarray(self.covariance[q, :, r]), A)
                own = product(A, own, trans_a=True)
                covariance += own[:, :, None, None] * np.outer(W[:, q], W[:, r])
        whole = covariance.transpose(0, 2, 1, 3).reshape(n * len(W), -1)
        whole = 0.5 * (whole + whole.T)
        covariance = whole.reshape(n, len(W), n, len(W)).transpose(0, 2, 1, 3)
        return product(A, self.v_mean, trans_a=True) @ W.T, covariance

    def mean_covariance(self, X):
        """Means (n, t) and joint covariances (n, n, t), each output by itself."""
        mean, covariance = self.full_covariance(X)
        return mean, np.diagonal(covariance, axis1=2, axis2=3).copy()
