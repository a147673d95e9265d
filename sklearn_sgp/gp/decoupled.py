"""q(u) of mixed latent functions where all outputs are observed in the same rows.

Then H = C x Phi with C = sum_p W_p W_p^T / D_p. The eigenvectors U of C turn the latent functions
into others that the data do not couple, with an H of size m each (docs/theory.md, eq. 80).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._linalg import product
from .multi_output import CoregionalisedPosterior, MixedPosterior
from .posterior import Posterior, with_caches_of


@dataclass(frozen=True)
class DecoupledPosterior(MixedPosterior):
    """q(u) of all latent functions, which a rotation decouples.

    Parameters
    ----------
    turned : Posterior
        Of the functions U^T g, each with its H.
    rotation : ndarray of shape (Q, Q)
        U.
    mixing : ndarray of shape (t, Q)
        W.
    """

    turned: Posterior
    rotation: np.ndarray
    mixing: np.ndarray

    @classmethod
    def from_sums(cls, prior, sums, patterns, mixing, noise_variance):
        """Return the optimum for Gaussian noise; parameters as in `CoregionalisedPosterior`."""
        (observed,) = patterns
        scaled = mixing[observed] / noise_variance[observed, None]
        value, rotation = np.linalg.eigh(mixing[observed].T @ scaled)
        H = tuple(max(one, 0.0) * sums.gram[0] for one in value)
        h = np.ascontiguousarray(sums.cross[:, observed] @ scaled @ rotation)
        return cls(Posterior(prior, H, h), rotation, mixing)

    @property
    def prior(self):
        return self.turned.prior

    @property
    def h(self):
        """Information vectors of the latent functions, shape (Q, m)."""
        return self.rotation @ self.turned.h.T

    @cached_property
    def v_mean(self):
        return np.ascontiguousarray(self.turned.v_mean @ self.rotation.T)

    @property
    def log_det(self):
        return sum(precision.log_det for precision in self.turned.precisions)

    def covariance_sum(self, C):
        weights = np.einsum("qu,qr,ru->u", self.rotation, C, self.rotation)
        parts = zip(weights, self.turned.precisions, strict=True)
        return sum(weight * precision.covariance for weight, precision in parts)

    def covariance_dots(self, Phi):
        dots = [np.vdot(precision.covariance, Phi) for precision in self.turned.precisions]
        return (self.rotation * dots) @ self.rotation.T

    def drawn(self, normal):
        m, n_samples = len(self.prior.Z), normal.shape[1]
        normal = normal.reshape(self.n_latent, m, n_samples)
        parts = zip(self.turned.precisions, normal, strict=True)
        turned = [product(one.L_inv, values, trans_a=True) for one, values in parts]
        return np.einsum("qu,umn->mqn", self.rotation, turned)

    def without_caches(self):
        """Return the same with nothing that can be computed again, as it is saved."""
        return self._replaced(self.turned.without_caches())

    def warm_cache(self):
        return self.coefficients, self.turned.warm_cache(), self.prior.L_inv

    # ---- Other posteriors made from this one

    @property
    def coupled(self):
        """The same in the general form."""
        Q, m = self.n_latent, len(self.prior.Z)
        H = np.einsum("qu,ru,uij->qirj", self.rotation, self.rotation, np.stack(self.turned.H))
        return CoregionalisedPosterior(self.prior, H.reshape(Q * m, Q * m), self.h, self.mixing)

    def _replaced(self, turned):
        return DecoupledPosterior(turned, self.rotation, self.mixing)

    def joined(self, other):
        """Add the information of both; decoupled where the same rotation decouples both."""
        is_decoupled = isinstance(other, DecoupledPosterior)
        if not (is_decoupled and np.array_equal(self.rotation, other.rotation)):
            return self.coupled.joined(other)
        return self._replaced(self.turned.joined(other.turned))

    def seen_by(self, prior):
        other = self._replaced(self.turned.seen_by(prior))
        return with_caches_of(self, other, ("v_mean", "coefficients"))

    def scaled(self, factor):
        return self._replaced(self.turned.scaled(factor))

    def padded(self, prior):
        return self._replaced(self.turned.padded(prior))

    def restricted(self, picked):
        return self._replaced(self.turned.restricted(picked))

    # ---- Predictions

    def latent_covariances(self, X):
        _, variance = self.turned.mean_variance(X)
        return np.einsum("qu,nu,ru->nqr", self.rotation, variance, self.rotation)

    def _latent_joint(self, X):
        _, covariance = self.turned.mean_covariance(X)
        return np.einsum("qu,nmu,ru->nmqr", self.rotation, covariance, self.rotation)
