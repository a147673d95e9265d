"""q(u) of several latent functions that observations mix: f = W g (docs/theory.md, section 16).

The Q latent functions have one kernel and one Z, and are independent before any data. Rows that
observe some of the outputs couple them, so that H is (Q m, Q m), latent function by latent
function. With D the noise variances and Phi_p the sum of a a^T over the rows of output p,
H = sum_p (W_p W_p^T / D_p) x Phi_p, a Kronecker product.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._linalg import product
from .posterior import Posterior, Precision, with_caches_of
from .prior import Prior


class MixedPosterior:
    """Interface of q(u) of mixed latent functions, in either form.

    A subclass has ``prior`` (a `Prior`, that of each latent function), ``mixing`` (t, Q), ``h`` (Q,
    m), ``v_mean`` (m, Q) and ``log_det``, log |I + H|. With S = (I + H)^-1, of which S_qr is a part
    of shape (m, m), it has ``covariance_sum(C)``, sum C_qr S_qr, ``covariance_dots(Phi)``, <S_qr,
    Phi> for all q and r, and ``drawn(normal)``, draws of N(0, S), shape (m, Q, n), from standard
    normal numbers of shape (Q m, n).
    """

    @property
    def n_latent(self):
        return self.mixing.shape[1]

    @property
    def inducing_values(self):
        """Prior covariance (m, m) and posterior means (m, Q) of u."""
        return self.prior.K, product(self.prior.L, self.v_mean)

    @cached_property
    def coefficients(self):
        """The means of latent functions at x are K(x, Z) times these; shape (m, Q)."""
        return product(self.prior.L_inv, self.v_mean, trans_a=True)

    def log_evidence(self, constant=0.0):
        """Return the log of the integral of p(u) times the data's factor; see `Posterior`."""
        return 0.5 * float(np.vdot(self.h.T, self.v_mean) - self.log_det) + constant

    def kl(self):
        """Return KL(q(u) || p(u)) in nats."""
        trace = float(np.trace(self.covariance_sum(np.eye(self.n_latent))))
        squares = float(np.vdot(self.v_mean, self.v_mean))
        return 0.5 * (trace + squares - self.v_mean.size + self.log_det)

    def information_sum(self, C):
        """Sum C_qr times the derivative of the bound in H_qr, -(S_qr + V_q V_r^T) / 2, (m, m)."""
        V = self.v_mean
        return -0.5 * (self.covariance_sum(C) + product(V @ C, V, trans_b=True))

    def information_dots(self, Phi):
        """Return products of the derivatives in H_qr with Phi, for all q and r, (Q, Q)."""
        V = self.v_mean
        return -0.5 * (self.covariance_dots(Phi) + product(V, product(Phi, V), trans_a=True))

    def expected_log_factor(self, q):
        """Compute E of h^T v - v^T H v / 2 under another posterior; see `Posterior`."""
        H, V = self.coupled.H, np.ascontiguousarray(q.v_mean.T)  # latent function by function
        total = float(np.vdot(self.h, V) - 0.5 * np.vdot(V, (H @ V.ravel()).reshape(V.shape)))
        return total - 0.5 * float(np.vdot(H, q.covariance.reshape(H.shape)))

    def gram_cotangent(self, C):
        """Return the bound's derivative in a sum of a a^T of outputs with this C, trace included.

        C (Q, Q) is the sum of W_p W_p^T / D_p.
        """
        total = self.information_sum(C)
        total.flat[:: len(total) + 1] += 0.5 * np.trace(C)
        return total

    def fits(self, cross):
        """Return products of the sums of a y^T with the latent functions' means, (t, Q)."""
        return product(cross, self.v_mean, trans_a=True)

    def towards(self, target, rho, scale=1.0):
        """Take one natural-gradient step; see `Posterior.towards`."""
        return self.scaled(1.0 - rho).joined(target.scaled(rho * scale))

    # ---- Predictions

    def prior_variance(self, X):
        """Return what the variances of the outputs are before any data, (n, t)."""
        return self.prior.kernel.diag(X)[:, None] * (self.mixing**2).sum(axis=1)

    def latent_mean(self, X):
        """Return the means of the latent functions, shape (n, Q)."""
        block = self.prior.kernel.block(self.prior.Z, X)
        return product(block, self.coefficients, trans_a=True)

    def mean(self, X):
        """Return the means of the outputs, shape (n, t)."""
        return self.latent_mean(X) @ self.mixing.T

    def moments(self, X):
        """Return means (n, t) of the outputs, and their covariances (n, t, t) at each row."""
        W = self.mixing
        return self.mean(X), W @ self.latent_covariances(X) @ W.T

    def mean_variance(self, X):
        """Return means and variances of the outputs, both (n, t)."""
        mean, covariance = self.moments(X)
        return mean, np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 0.0)

    def full_covariance(self, X):
        """Return means (n, t), and covariances (n, n, t, t) of all outputs at all rows."""
        W, n = self.mixing, len(X)
        covariance = W @ self._latent_joint(X) @ W.T
        whole = covariance.transpose(0, 2, 1, 3).reshape(n * len(W), -1)
        whole = 0.5 * (whole + whole.T)
        covariance = whole.reshape(n, len(W), n, len(W)).transpose(0, 2, 1, 3)
        return self.mean(X), covariance

    def mean_covariance(self, X):
        """Return means (n, t) and joint covariances (n, n, t), each output by itself."""
        mean, covariance = self.full_covariance(X)
        return mean, np.diagonal(covariance, axis1=2, axis2=3).copy()


@dataclass(frozen=True)
class CoregionalisedPosterior(MixedPosterior):
    """q(u) of all latent functions together, ready to predict the outputs.

    Parameters
    ----------
    prior : Prior
        Of each latent function.
    H : ndarray of shape (Q m, Q m)
    h : ndarray of shape (Q, m)
    mixing : ndarray of shape (t, Q)
        W.
    of_each_output : Posterior or None
        What the data say about each output by itself, if that is kept: with an H for each output,
        of its function with weight 1 of a latent function.
    """

    prior: Prior
    H: np.ndarray
    h: np.ndarray
    mixing: np.ndarray
    of_each_output: Posterior | None = None

    def without_caches(self):
        """Return the same with nothing that can be computed again, as it is saved."""
        prior, own = self.prior.without_caches(), self.of_each_output
        own = None if own is None else replace(own, prior=prior)
        return replace(self, prior=prior, of_each_output=own)

    @classmethod
    def from_outputs(cls, outputs, mixing):
        """Return the posterior that mixes what is known of each output (docs/theory.md, eq. 81).

        An observation is of one output, so that this does not depend on the mixing.
        """
        parts = zip(mixing, outputs.H, strict=True)
        H = sum(np.kron(np.outer(weights, weights), one) for weights, one in parts)
        h = np.ascontiguousarray((outputs.h @ mixing).T)
        return cls(outputs.prior, H, h, mixing, outputs)

    @classmethod
    def from_sums(cls, prior, sums, patterns, mixing, noise_variance):
        """Return the optimum for Gaussian noise."""
        scaled = mixing / noise_variance[:, None]
        H = sum(
            np.kron(mixing[observed].T @ scaled[observed], gram)
            for observed, gram in zip(patterns, sums.gram, strict=True)
        )
        return cls(prior, H, np.ascontiguousarray((sums.cross @ scaled).T), mixing)

    @cached_property
    def precision(self):
        return Precision(self.H)

    @cached_property
    def v_mean(self):
        """Means of v, shape (m, Q)."""
        V = self.precision.solve(self.h.reshape(-1, 1)).reshape(self.n_latent, -1)
        return np.ascontiguousarray(V.T)

    @property
    def log_det(self):
        return self.precision.log_det

    @cached_property
    def covariance(self):
        """Covariances of v, shape (Q, m, Q, m)."""
        m = self.h.shape[1]
        return self.precision.covariance.reshape(self.n_latent, m, self.n_latent, m)

    def covariance_sum(self, C):
        return np.einsum("qr,qirj->ij", C, self.covariance)

    def covariance_dots(self, Phi):
        return np.einsum("qirj,ij->qr", self.covariance, Phi)

    def drawn(self, normal):
        draws = product(self.precision.L_inv, normal, trans_a=True)
        return draws.reshape(self.n_latent, -1, normal.shape[1]).transpose(1, 0, 2)

    def warm_cache(self):
        """Compute once what every prediction needs."""
        return self.coefficients, self.covariance, self.prior.L_inv

    # ---- Other posteriors made from this one

    @property
    def coupled(self):
        """Itself; see `DecoupledPosterior`."""
        return self

    def _replaced(self, prior, H, h):
        return CoregionalisedPosterior(prior, H, h, self.mixing)

    def seen_by(self, prior):
        """Predict by a prior of the same u; see `Posterior.seen_by`."""
        names = ("precision", "v_mean", "coefficients", "covariance")
        return with_caches_of(self, self._replaced(prior, self.H, self.h), names)

    def joined(self, other):
        """Add the information of both."""
        other = other.coupled
        return self._replaced(self.prior, self.H + other.H, self.h + other.h)

    def scaled(self, factor):
        """Multiply the information of the data by a factor."""
        return self._replaced(self.prior, factor * self.H, factor * self.h)

    def padded(self, prior):
        """Append inducing inputs of which nothing is known yet."""
        Q, m = self.h.shape
        more = len(prior.Z) - m
        H = np.pad(self.H.reshape(Q, m, Q, m), ((0, 0), (0, more), (0, 0), (0, more)))
        size = Q * len(prior.Z)
        return self._replaced(prior, H.reshape(size, size), np.pad(self.h, ((0, 0), (0, more))))

    def restricted(self, picked):
        prior, W = self.prior.restricted(picked)
        whole = np.kron(np.eye(self.n_latent), W)
        H = product(product(whole, self.H), whole, trans_b=True)
        h = product(np.ascontiguousarray(self.h), W, trans_b=True)
        return self._replaced(prior, 0.5 * (H + H.T), h)

    # ---- Predictions

    def latent_covariances(self, X):
        """Return covariances of the latent functions at each row, (n, Q, Q)."""
        A = self.prior.whitened(X)
        unexplained = self.prior.unexplained(X, A)
        C = np.empty((len(X), self.n_latent, self.n_latent))
        for q in range(self.n_latent):
            for r in range(q + 1):
                SA = product(np.ascontiguousarray(self.covariance[q, :, r]), A)
                C[:, q, r] = C[:, r, q] = np.einsum("in,in->n", SA, A)
        return C + unexplained[:, None, None] * np.eye(self.n_latent)

    def _latent_joint(self, X):
        """Return covariances of the latent functions at all rows, (n, n, Q, Q)."""
        A, Q = self.prior.whitened(X), self.n_latent
        unexplained = self.prior.kernel.gram(X) - product(A, A, trans_a=True)
        np.fill_diagonal(unexplained, np.maximum(np.diagonal(unexplained), 0.0))
        covariance = unexplained[:, :, None, None] * np.eye(Q)
        for q in range(Q):
            for r in range(Q):
                SA = product(np.ascontiguousarray(self.covariance[q, :, r]), A)
                covariance[:, :, q, r] += product(A, SA, trans_a=True)
        return covariance
