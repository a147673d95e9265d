"""p(u), q(u) in whitened information form, and what they predict (docs/theory.md, eqs. 3 to 8).

Whitened, u = L v with L L^T = K(Z, Z) + delta I, the prior of v is N(0, I) and the data enter as
two sums, H (m, m) and h (m, t): q(v) = N((I + H)^-1 h, (I + H)^-1). Eigenvalues of I + H are at
least 1, so its Cholesky factor always exists.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._core import _linalg as la
from .._warnings import warn_caller
from ..kernels import BoundKernel
from .._linalg import (
    NotPositiveDefiniteError,
    cholesky,
    copy_of,
    inverse_from_cholesky,
    product,
    triangular_inverse,
)

MAX_JITTER = 1e-3
# Largest share of an information that rounding may take in the direct form: of its value, and
# where its gradient is wanted, in which two factors of K(Z, Z)^-1 amplify the rounding (at 1e-4,
# entries of the gradient in Z were off by 24 where the whitened form was off by 1e-5).
DIRECT_LIMIT = 1e-3
DIRECT_GRADIENT_LIMIT = 1e-7


class SingularCovarianceError(NotPositiveDefiniteError, ValueError):
    """No jitter that is allowed makes the covariance of the inducing inputs positive definite."""


@dataclass(frozen=True)
class Prior:
    """p(u) at given inducing inputs, factorised.

    Parameters
    ----------
    kernel : BoundKernel
    Z : ndarray of shape (m, d)
        Inducing inputs.
    delta : float
        Jitter, in units of the kernel: K(Z, Z) + delta I is the model's covariance of u.
    K : ndarray of shape (m, m)
        K(Z, Z) + delta I.
    L : ndarray of shape (m, m)
        Its lower Cholesky factor.
    """

    kernel: BoundKernel
    Z: np.ndarray
    delta: float
    K: np.ndarray
    L: np.ndarray

    @classmethod
    def build(cls, kernel, Z, delta):
        """Factorise, or raise NotPositiveDefiniteError."""
        K = kernel.gram(Z)
        K.flat[:: len(K) + 1] += delta
        return cls(kernel, Z, delta, K, cholesky(K))

    @cached_property
    def L_inv(self):
        return triangular_inverse(self.L)

    @cached_property
    def K_inv(self):
        return inverse_from_cholesky(self.L)

    @cached_property
    def log_det(self):
        return 2.0 * float(np.log(np.diagonal(self.L)).sum())

    @cached_property
    def condition(self):
        """Estimated condition number of K in the 1-norm."""
        rcond = la.reciprocal_condition(self.L, float(np.abs(self.K).sum(axis=0).max()))
        return 1.0 / max(rcond, np.finfo(float).tiny)

    def whitened(self, X):
        """a = L^-1 K(Z, X), shape (m, n).

        A product with the explicit inverse is faster than a solve (5.5 against 7.2 us a row for
        m = 500) and was measured as accurate, at condition 6e12 and noise 1e-6 of the variance.
        """
        A = self.kernel.block(self.Z, X)
        la.trmm(self.L_inv, A)
        return A

    def direct_is_safe(self, information_bound, limit=DIRECT_LIMIT):
        """Whether sums may be formed from K(Z, X) itself.

        ``information_bound`` bounds the largest eigenvalue of H (docs/theory.md, eq. 16).
        """
        return np.finfo(float).eps * self.condition * information_bound < limit


def projection(old, new):
    """inv(L) K(Z, Z_old) inv(L_old)^T, from whitened old inducing values to new ones."""
    W = new.kernel.block(new.Z, old.Z)
    if np.array_equal(new.Z, old.Z):
        W.flat[:: len(W) + 1] += new.delta  # the same inducing values, jitter included
    la.trmm(new.L_inv, W)
    la.trmm_right(W, old.L_inv, True)
    return W


def jitter_scale(kernel, Z):
    """What a relative jitter of 1 means in units of the kernel: its mean variance at Z."""
    return float(kernel.diag(Z).mean())


def settle_jitter(kernel, Z, jitter):
    """Smallest jitter of the ladder ``jitter * 10^k`` with which K(Z, Z) factorises.

    Parameters
    ----------
    kernel : BoundKernel
    Z : ndarray of shape (m, d)
    jitter : float
        First rung, relative to the mean of diag K(Z, Z).

    Returns
    -------
    prior : Prior
    jitter : float
        The rung that held.

    Raises
    ------
    SingularCovarianceError
        A ValueError: not even ``MAX_JITTER`` helps. Names cause and cure.
    """
    scale, rung = jitter_scale(kernel, Z), jitter
    while True:
        try:
            return Prior.build(kernel, Z, rung * scale), rung
        except NotPositiveDefiniteError:
            if not np.isfinite(scale) or rung >= MAX_JITTER:
                raise SingularCovarianceError(_ladder_message(kernel, Z, jitter)) from None
            rung = min(max(10.0 * rung, 1e-12), MAX_JITTER)


def warn_about_jitter(jitter, start):
    """Say once per fit that the jitter had to be raised."""
    if jitter > start:
        warn_caller(
            f"The covariance of the inducing inputs needed a jitter of {jitter:.0e} of its mean "
            f"diagonal to be positive definite (jitter={start:.0e} was asked for). Nearly "
            "duplicated inducing inputs or very long length scales are the usual causes; fewer "
            "inducing inputs or a rougher kernel such as Matern avoid it.",
        )


def _ladder_message(kernel, Z, jitter):
    distinct = len(np.unique(Z, axis=0))
    return (
        f"The covariance of the {len(Z)} inducing inputs ({distinct} of them distinct) must be "
        f"positive definite, but its Cholesky factorisation failed with jitter from {jitter:.0e} "
        f"up to {MAX_JITTER:.0e} of its mean diagonal, with kernel {kernel.sklearn_kernel!r}. "
        "Remove duplicated inducing inputs, check the units of X against the length scales, or "
        "lower n_inducing."
    )


@dataclass(frozen=True)
class Posterior:
    """q(u) in whitened information form, ready to predict the latent function.

    Parameters
    ----------
    prior : Prior
    H : ndarray of shape (m, m)
        Information matrix of the data, positive semidefinite.
    h : ndarray of shape (m, t)
        Information vectors, one for each output.
    """

    prior: Prior
    H: np.ndarray
    h: np.ndarray

    @property
    def posteriors(self):
        """As of several latent functions."""
        return [self]

    @cached_property
    def LB(self):
        """Lower Cholesky factor of I + H."""
        B = copy_of(self.H)
        B.flat[:: len(B) + 1] += 1.0
        return cholesky(B)

    @cached_property
    def LB_inv(self):
        return triangular_inverse(self.LB)

    @cached_property
    def B_inv(self):
        """(I + H)^-1, the covariance of v."""
        return inverse_from_cholesky(self.LB)

    @cached_property
    def v_mean(self):
        """(I + H)^-1 h, shape (m, t), the mean of v."""
        V = np.array(self.h, order="C")
        la.trsm(self.LB, V)
        la.trsm(self.LB, V, True)
        return V

    @cached_property
    def coefficients(self):
        """L^-T (I + H)^-1 h: the mean at x is K(x, Z) times these; shape (m, t)."""
        coefficients = self.v_mean.copy()
        la.trsm(self.prior.L, coefficients, True)
        return coefficients

    @cached_property
    def log_det_B(self):
        return 2.0 * float(np.log(np.diagonal(self.LB)).sum())

    def scaled(self, factor):
        """The information of the data multiplied by a factor."""
        return Posterior(self.prior, factor * self.H, factor * self.h)

    def kl(self):
        """KL(q(u) || p(u)) in nats, summed over outputs."""
        (m, t), V = self.h.shape, self.v_mean
        trace = la.dot(self.LB_inv, self.LB_inv)  # of (I + H)^-1
        return 0.5 * (t * (trace - m + self.log_det_B) + float(np.vdot(V, V)))

    def prepare(self):
        """Compute once what every prediction needs."""
        return self.coefficients, self.LB_inv

    def mean(self, X):
        """Latent mean, shape (n, t); no variance is computed."""
        return product(self.prior.kernel.block(self.prior.Z, X), self.coefficients, trans_a=True)

    def mean_variance(self, X):
        """Latent mean (n, t) and variance (n,), shared by the outputs."""
        A = self.prior.whitened(X)
        mean = product(A, self.v_mean, trans_a=True)
        variance = self.prior.kernel.diag(X)
        la.column_dots(A, A, variance, -1.0)
        la.trmm(self.LB_inv, A)
        explained = np.zeros_like(variance)
        la.column_dots(A, A, explained)
        # k** - q** is never negative but for rounding
        return mean, np.maximum(variance, 0.0) + explained

    def mean_covariance(self, X):
        """Latent mean (n, t) and joint covariance (n, n), shared by the outputs."""
        A = self.prior.whitened(X)
        mean = product(A, self.v_mean, trans_a=True)
        covariance = self.prior.kernel.gram(X)
        la.gemm(A, A, covariance, True, False, -1.0, 1.0)
        np.fill_diagonal(covariance, np.maximum(np.diagonal(covariance), 0.0))
        la.trmm(self.LB_inv, A)
        la.gemm(A, A, covariance, True, False, 1.0, 1.0)
        return mean, 0.5 * (covariance + covariance.T)
