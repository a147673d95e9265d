"""q(u) in two sets of coordinates, and what both objectives ask of it.

*Whitened*, the data part is (H, h) and blocks are A = L^-1 K(Z, X). *Direct*, it is (L H L^T, L h)
and blocks are K(Z, X) as they are, which saves two products of m^2 flops a row but loses digits
when K(Z, Z) is badly conditioned (docs/theory.md, eq. 16). Written with the two names below the
formulas of the objectives are the same in both:

    coefficients c        latent means are A^T c
    covariance_change M   latent variances are k(x, x) plus the column sums of A * (M A)

A gradient in kernel and Z holds the data part fixed, in the coordinates it is in. All outputs share
one H in both; `Separate` holds several of them.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._core import _linalg as la
from .._core._memory import empty
from .._linalg import cholesky, copy_of, inverse_from_cholesky, product, sandwich
from ..data.rows import outputs_by_noise
from .posterior import Posterior
from .prior import Prior

# Largest share of an information that rounding may take in direct coordinates: of its value, and
# where its gradient is wanted, in which two factors of K(Z, Z)^-1 amplify the rounding (at 1e-4,
# entries of the gradient in Z were off by 24 where the whitened form was off by 1e-5).
DIRECT_LIMIT = 1e-3
DIRECT_GRADIENT_LIMIT = 1e-7
_LARGEST_VARIANCE_ROWS = 1000


def information_bound(kernel, rows, noise_variance):
    """Return a value that the trace of H, hence its largest eigenvalue, can hardly exceed.

    tr H <= sum w k(x, x) / noise; the largest of 1,000 k(x, x) stands for all, and the least
    noise and the largest sum of the weights, precisions included, for all outputs.
    """
    sample = rows.fixed_subset(_LARGEST_VARIANCE_ROWS).X
    # rows that live elsewhere have no precisions, and know their total weight
    weight = rows.total_weight if rows.counts is None else float(rows.weight.sum(axis=0).max())
    return float(kernel.diag(sample).max()) * weight / float(np.min(noise_variance))


def rounding_amplification(prior, rows, noise_variance):
    """Return the share of H's largest eigenvalue that rounding may take when direct (eq. 16)."""
    information = information_bound(prior.kernel, rows, noise_variance)
    return np.finfo(float).eps * prior.condition * information


def choose_coordinates(rows, prior, noise_variance, limit=DIRECT_LIMIT):
    """Return `Direct` where rounding leaves it safe, else `Whitened`."""
    return Direct if rounding_amplification(prior, rows, noise_variance) < limit else Whitened


class _Coordinates:
    """Formulas that are the same in both coordinates."""

    @property
    def outputs(self):
        """The parts with one H each: this one."""
        return (self,)

    def information_cotangent(self):
        """Return dF/dH, F = t (tr H - log |I + H|) / 2 + h^T (I + H)^-1 h / 2 (eq. 11)."""
        c, M = self.coefficients, self.covariance_change  # (m, t), (m, m)
        cotangent = np.multiply(-0.5 * c.shape[1], M, out=empty(M.shape))
        la.gemm(c, c, cotangent, False, True, -0.5, 1.0)
        return cotangent

    @property
    def quadratic(self):
        """h^T (I + H)^-1 h, summed over outputs."""
        return float(np.vdot(self.h, self.coefficients))

    @classmethod
    def from_sums(cls, prior, gram, cross, noise_variance):
        """Return the optimum for Gaussian noise from sums of products of blocks.

        With a noise variance for each output, shape (t,), it is a `Separate`, and ``gram`` may be
        that of each, (t, m, m).
        """
        if np.ndim(noise_variance):
            return Separate(
                tuple(
                    cls.from_sums(
                        prior,
                        gram if gram.ndim == 2 else gram[columns.start],
                        np.ascontiguousarray(cross[:, columns]),
                        s2,
                    )
                    for columns, s2 in outputs_by_noise(noise_variance)
                )
            )
        H = np.divide(gram, noise_variance, out=empty(gram.shape))
        return cls.from_information(prior, H, cross / noise_variance)


@dataclass(frozen=True)
class Whitened(_Coordinates):
    """q(u) as its `Posterior` has it."""

    posterior: Posterior

    whitens = True  # blocks are inv(L) K(Z, X)

    @classmethod
    def from_information(cls, prior, H, h):
        return cls(Posterior(prior, (H,), h))

    @classmethod
    def from_posterior(cls, posterior):
        return cls(posterior)

    prior = property(lambda self: self.posterior.prior)
    H = property(lambda self: self.posterior.H[0])
    h = property(lambda self: self.posterior.h)
    coefficients = property(lambda self: self.posterior.v_mean)
    covariance_change = property(lambda self: self.posterior.precisions[0].covariance_change)
    log_det = property(lambda self: self.posterior.precisions[0].log_det)

    @property
    def block_factor(self):
        """Factor by which blocks K(Z, X) are multiplied."""
        return self.prior.L_inv

    @property
    def trace_H(self):
        """tr H: the share of the rows' prior variance over noise that Z explains."""
        return float(np.trace(self.H))

    def towards(self, target, rho):
        """Take one natural-gradient step; see `Posterior.towards`."""
        return Whitened(self.posterior.towards(target.posterior, rho))

    def under(self, prior):
        return Whitened(self.posterior.under(prior))

    def block(self, X):
        return self.prior.whitened(X)

    def kernel_cotangent(self, A_cotangent):
        """Turn the cotangent of the block into that of K(Z, X), in its place."""
        la.trmm(self.prior.L_inv, A_cotangent, True)
        return A_cotangent

    def kl(self):
        return self.posterior.kl()

    def collapsed_gram_cotangent(self, information_cotangent):
        """Return the cotangent of K(Z, Z) in the collapsed bound (docs/theory.md, eq. 11)."""
        inner = copy_of(information_cotangent)
        la.axpy(-0.5 * self.h.shape[1], self.H, inner)
        return sandwich(self.prior.L_inv, inner, trans=True)

    def gram_cotangent(self, G, Ag):
        """Return the cotangent of K(Z, Z) in the uncollapsed bound (docs/theory.md, eq. 13).

        ``G`` (m, m) is A diag(gamma) A^T and ``Ag`` (m, t) is A g.
        """
        AAt = product(self.coefficients, Ag, trans_b=True)  # cotangent of A, times A^T
        la.gemm(self.covariance_change, G, AAt, False, False, 2.0, 1.0)
        return self.prior.gram_cotangent(AAt)


@dataclass(frozen=True)
class Direct(_Coordinates):
    """q(u) held as L H L^T, with the letter H here, and L h.

    With K = K(Z, Z) and C = (K + H)^-1, q(u) has covariance K C K and mean K C h.
    """

    prior: Prior
    H: np.ndarray
    h: np.ndarray

    whitens = False
    block_factor = None  # blocks stay K(Z, X)

    @classmethod
    def from_information(cls, prior, H, h):
        return cls(prior, H, h)

    @classmethod
    def from_posterior(cls, posterior):
        L = posterior.prior.L
        return cls(posterior.prior, sandwich(L, posterior.H[0]), product(L, posterior.h))

    @cached_property
    def posterior(self):
        L_inv = self.prior.L_inv
        H = sandwich(L_inv, self.H)
        la.mirror(H)
        return Posterior(self.prior, (H,), product(L_inv, self.h))

    @cached_property
    def _factor(self):
        return cholesky(np.add(self.prior.K, self.H, out=empty(self.H.shape)))

    @cached_property
    def C(self):
        return inverse_from_cholesky(self._factor)

    @cached_property
    def coefficients(self):
        return product(self.C, self.h)

    @cached_property
    def covariance_change(self):
        """C - K^-1."""
        return np.subtract(self.C, self.prior.K_inv, out=empty(self.C.shape))

    @cached_property
    def log_det(self):
        """log |I + H| = log |K + L H L^T| - log |K|."""
        return 2.0 * float(np.log(np.diagonal(self._factor)).sum()) - self.prior.log_det

    @cached_property
    def trace_H(self):
        """tr H = tr K^-1 (L H L^T)."""
        return la.dot(self.prior.K_inv, self.H)

    def towards(self, target, rho):
        step = Posterior(self.prior, (self.H,), self.h).towards(
            Posterior(target.prior, (target.H,), target.h), rho
        )
        return Direct(self.prior, step.H[0], step.h)

    def under(self, prior):
        return Direct(prior, self.H, self.h)

    def block(self, X):
        return self.prior.kernel.block(self.prior.Z, X)

    def kernel_cotangent(self, A_cotangent):
        """Return the cotangent of K(Z, X), which is the block."""
        return A_cotangent

    def kl(self):
        """Return KL(q(u) || p(u)) in nats, summed over outputs."""
        K, a, (m, t) = self.prior.K, self.coefficients, self.h.shape
        return 0.5 * (t * (la.dot(self.C, K) - m + self.log_det) + float(np.vdot(a, product(K, a))))

    def collapsed_gram_cotangent(self, information_cotangent):
        K_inv = self.prior.K_inv
        half = product(K_inv, self.H)  # (m, m)
        cotangent = copy_of(information_cotangent)
        la.gemm(half, K_inv, cotangent, False, False, -0.5 * self.h.shape[1], 1.0)
        la.symmetrize(cotangent)
        return cotangent

    def gram_cotangent(self, G, Ag):
        """Return the cotangent of K(Z, Z), divergence included (docs/theory.md, eq. 14).

        With D = K^-1 - C: K^-1 G K^-1 - C G C is the symmetric part of D G (K^-1 + C), and the
        divergence's C K C / 2 - C + K^-1 / 2 = D K D / 2 = D H C / 2, because K D = H C.
        """
        K, C, a, t = self.prior.K, self.C, self.coefficients, self.h.shape[1]
        right = product(G, self.prior.K_inv)  # (m, m)
        shifted = copy_of(G)
        la.axpy(0.5 * t, self.H, shifted)
        la.gemm(shifted, C, right, False, False, 1.0, 1.0)
        inner = product(self.covariance_change, right)
        difference = product(C, Ag - product(K, a))  # (m, t)
        la.gemm(difference, a, inner, False, True, -1.0, -1.0)
        la.gemm(a, a, inner, False, True, -0.5, 1.0)
        la.symmetrize(inner)
        return inner


@dataclass(frozen=True)
class Separate:
    """q(u) of outputs with an H for each.

    Parameters
    ----------
    outputs : tuple of Whitened or of Direct
        With one H each, under one prior.
    """

    outputs: tuple

    @classmethod
    def from_posterior(cls, posterior):
        """Hold a posterior in whitened coordinates."""
        return cls(tuple(Whitened(one) for one in posterior.outputs))

    @cached_property
    def posterior(self):
        return Posterior.of_outputs([one.posterior for one in self.outputs])

    @property
    def block_factor(self):
        return self.outputs[0].block_factor
