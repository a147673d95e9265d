"""q(u) in two sets of coordinates, and what both objectives ask of it.

*Whitened*, the data part is (H, h) and blocks are A = L^-1 K(Z, X). *Direct*, it is (L H L^T, L h)
and blocks are K(Z, X) as they are, which saves two products of m^2 flops a row but loses digits
when K(Z, Z) is badly conditioned (docs/theory.md, eq. 16). Written with the two names below the
formulas of the objectives are the same in both:

    coefficients c   latent means are A^T c
    middle M         latent variances are k(x, x) plus the column sums of A * (M A)

A gradient in kernel and Z holds the data part fixed, in the coordinates it is in.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._core import _linalg as la
from .._core._memory import empty
from .._linalg import cholesky, copy_of, inverse_from_cholesky, product, sandwich
from .posterior import Posterior, Prior


@dataclass(frozen=True)
class _State:
    """What is the same in both coordinates.

    Parameters
    ----------
    prior : Prior
    H : ndarray of shape (m, m)
    h : ndarray of shape (m, t)
    """

    prior: Prior
    H: np.ndarray
    h: np.ndarray

    @classmethod
    def from_sums(cls, prior, sums, noise_variance):
        """The optimum for Gaussian noise, from `factors.Sums` in the same form."""
        H = np.divide(sums.gram, noise_variance, out=empty(sums.gram.shape))
        return cls(prior, H, sums.cross / noise_variance)

    def information_cotangent(self):
        """Derivative in H of t (tr H - log |I + H|) / 2 + h^T (I + H)^-1 h / 2 (eq. 11)."""
        c = self.coefficients
        cotangent = np.multiply(-0.5 * c.shape[1], self.middle, out=empty(self.middle.shape))
        la.gemm(c, c, cotangent, False, True, -0.5, 1.0)
        return cotangent

    @property
    def fit(self):
        """h^T (I + H)^-1 h, summed over outputs."""
        return float(np.vdot(self.h, self.coefficients))


class WhitenedState(_State):
    """q(u) held as (H, h)."""

    @classmethod
    def hold(cls, posterior):
        return cls(posterior.prior, posterior.H, posterior.h)

    @cached_property
    def posterior(self):
        return Posterior(self.prior, self.H, self.h)

    @property
    def block_factor(self):
        """What blocks K(Z, X) are multiplied by."""
        return self.prior.L_inv

    @property
    def coefficients(self):
        return self.posterior.v_mean

    @cached_property
    def middle(self):
        """(I + H)^-1 - I."""
        M = copy_of(self.posterior.B_inv)
        M.flat[:: len(M) + 1] -= 1.0
        return M

    @property
    def log_det(self):
        """log |I + H|."""
        return self.posterior.log_det_B

    @property
    def explained(self):
        """tr H: the share of the rows' prior variance over noise that Z explains."""
        return float(np.trace(self.H))

    def block(self, X):
        return self.prior.whitened(X)

    def kernel_cotangent(self, A_cotangent):
        """Cotangent of K(Z, X), in place of that of the block."""
        la.trmm(self.prior.L_inv, A_cotangent, True)
        return A_cotangent

    def kl(self):
        return self.posterior.kl()

    def collapsed_gram_cotangent(self, information_cotangent):
        """Cotangent of K(Z, Z) in the collapsed bound (docs/theory.md, eq. 11)."""
        inner = copy_of(information_cotangent)
        la.axpy(-0.5 * self.h.shape[1], self.H, inner)
        return sandwich(self.prior.L_inv, inner, trans=True)

    def gram_cotangent(self, G, Ag):
        """Cotangent of K(Z, Z) in the uncollapsed bound (docs/theory.md, eq. 13).

        ``G`` is A diag(gamma) A^T and ``Ag`` A g.
        """
        AAt = product(self.coefficients, Ag, trans_b=True)  # cotangent of A, times A^T
        la.gemm(self.middle, G, AAt, False, False, 2.0, 1.0)
        AAt.flat[:: len(AAt) + 1] *= 0.5
        la.clear_upper(AAt)
        inner = sandwich(self.prior.L_inv, AAt, trans=True)
        la.symmetrize(inner, -1.0)
        return inner


class DirectState(_State):
    """q(u) held as L H L^T, with the letter H here, and L h.

    With K = K(Z, Z) and C = (K + H)^-1, q(u) has covariance K C K and mean K C h.
    """

    @classmethod
    def hold(cls, posterior):
        L = posterior.prior.L
        return cls(posterior.prior, sandwich(L, posterior.H), product(L, posterior.h))

    @cached_property
    def posterior(self):
        L_inv = self.prior.L_inv
        H = sandwich(L_inv, self.H)
        la.mirror(H)
        return Posterior(self.prior, H, product(L_inv, self.h))

    @cached_property
    def _factor(self):
        return cholesky(np.add(self.prior.K, self.H, out=empty(self.H.shape)))

    @cached_property
    def C(self):
        return inverse_from_cholesky(self._factor)

    block_factor = None

    @cached_property
    def coefficients(self):
        return product(self.C, self.h)

    @cached_property
    def middle(self):
        """C - K^-1."""
        return np.subtract(self.C, self.prior.K_inv, out=empty(self.C.shape))

    @cached_property
    def log_det(self):
        """log |I + H| = log |K + L H L^T| - log |K|."""
        return 2.0 * float(np.log(np.diagonal(self._factor)).sum()) - self.prior.log_det

    @cached_property
    def explained(self):
        """tr H = tr K^-1 (L H L^T)."""
        return la.dot(self.prior.K_inv, self.H)

    def block(self, X):
        return self.prior.kernel.block(self.prior.Z, X)

    def kernel_cotangent(self, A_cotangent):
        """Cotangent of K(Z, X): the block is K(Z, X)."""
        return A_cotangent

    def kl(self):
        """KL(q(u) || p(u)) in nats, summed over outputs."""
        K, a, (m, t) = self.prior.K, self.coefficients, self.h.shape
        return 0.5 * (t * (la.dot(self.C, K) - m + self.log_det) + float(np.vdot(a, product(K, a))))

    def collapsed_gram_cotangent(self, information_cotangent):
        """Cotangent of K(Z, Z) in the collapsed bound (docs/theory.md, eq. 11)."""
        K_inv = self.prior.K_inv
        half = product(K_inv, self.H)
        cotangent = copy_of(information_cotangent)
        la.gemm(half, K_inv, cotangent, False, False, -0.5 * self.h.shape[1], 1.0)
        la.symmetrize(cotangent)
        return cotangent

    def gram_cotangent(self, G, Ag):
        """Cotangent of K(Z, Z), that of the divergence included (docs/theory.md, eq. 14).

        With D = K^-1 - C: K^-1 G K^-1 - C G C is the symmetric part of D G (K^-1 + C), and the
        divergence's C K C / 2 - C + K^-1 / 2 = D K D / 2 = D H C / 2, because K D = H C.
        """
        K, C, a, t = self.prior.K, self.C, self.coefficients, self.h.shape[1]
        right = product(G, self.prior.K_inv)
        shifted = copy_of(G)
        la.axpy(0.5 * t, self.H, shifted)
        la.gemm(shifted, C, right, False, False, 1.0, 1.0)
        inner = product(self.middle, right)
        spread = product(C, Ag - product(K, a))
        la.gemm(spread, a, inner, False, True, -1.0, -1.0)
        la.gemm(a, a, inner, False, True, -0.5, 1.0)
        la.symmetrize(inner)
        return inner
