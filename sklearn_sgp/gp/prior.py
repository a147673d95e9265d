"""p(u) at the inducing inputs, and the one place that decides its jitter (docs/theory.md, eq. 3).

Whitened, u = L v with L L^T = K(Z, Z) + delta I, so that the prior of v is N(0, I). The jitter
delta is part of the model. It is constant while an optimiser runs. Between runs it may climb a
ladder, tenfold at each rung.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._core import _linalg as la
from .._linalg import (
    NotPositiveDefiniteError,
    cholesky,
    copy_of,
    inverse_from_cholesky,
    sandwich,
    triangular_inverse,
)
from .._warnings import warn_caller
from ..kernels import BoundKernel

MAX_JITTER = 1e-3
# No line search follows the last factorisation, so it first tries less jitter by this factor. That
# brings Z = X with noise 1e-3 within 1e-6 of the exact GP (7e-5 with a factor of 1e-3; with 1e-7
# rounding costs as much again).
_FINAL_JITTER_SHARE = 1e-5


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
    jitter : float or None
        The same jitter relative to the mean of diag K(Z, Z), where the ladder chose it.
    """

    kernel: BoundKernel
    Z: np.ndarray
    delta: float
    K: np.ndarray
    L: np.ndarray
    jitter: float | None = None

    @classmethod
    def build(cls, kernel, Z, delta, jitter=None):
        """Factorise, or raise NotPositiveDefiniteError."""
        K = kernel.gram(Z)
        K.flat[:: len(K) + 1] += delta
        return cls(kernel, Z, delta, K, cholesky(K), jitter)

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

    def warm_cache(self):
        """Compute once what parallel tasks would otherwise each compute."""
        return self.L_inv

    def whitened(self, X):
        """A = L^-1 K(Z, X), shape (m, n).

        A product with the explicit inverse is faster than a solve (5.5 against 7.2 us a row for
        m = 500) and was measured as accurate, at condition 6e12 and noise 1e-6 of the variance.
        """
        A = self.kernel.block(self.Z, X)  # (m, n)
        la.trmm(self.L_inv, A)
        return A

    def gram_cotangent(self, AAt):
        """Cotangent of K(Z, Z) from that of A, times A^T, summed over blocks (theory, eq. 30).

        Parameters
        ----------
        AAt : ndarray of shape (m, m)

        Returns
        -------
        cotangent : ndarray of shape (m, m)
            Symmetric.
        """
        inner = copy_of(AAt)
        inner.flat[:: len(inner) + 1] *= 0.5
        la.clear_upper(inner)
        inner = sandwich(self.L_inv, inner, trans=True)
        la.symmetrize(inner, -1.0)
        return inner


def projection(old, new):
    """inv(L) K(Z, Z_old) inv(L_old)^T (m, m_old): from whitened old inducing values to new ones."""
    W = new.kernel.block(new.Z, old.Z)
    if np.array_equal(new.Z, old.Z):
        W.flat[:: len(W) + 1] += new.delta  # the same inducing values, jitter included
    la.trmm(new.L_inv, W)
    la.trmm_right(W, old.L_inv, True)
    return W


# ---- The jitter policy


def factorise_with_jitter(kernel, Z, jitter):
    """Prior with the smallest jitter of the ladder ``jitter * 10^k`` with which K(Z, Z) factorises.

    Parameters
    ----------
    kernel : BoundKernel
    Z : ndarray of shape (m, d)
    jitter : float
        First rung, relative to the mean of diag K(Z, Z).

    Returns
    -------
    prior : Prior

    Raises
    ------
    SingularCovarianceError
        A ValueError: not even ``MAX_JITTER`` helps. Names cause and cure.
    """
    scale, rung = float(kernel.diag(Z).mean()), jitter
    while True:
        try:
            return Prior.build(kernel, Z, rung * scale, rung)
        except NotPositiveDefiniteError:
            if not np.isfinite(scale) or rung >= MAX_JITTER:
                raise SingularCovarianceError(_ladder_message(kernel, Z, jitter)) from None
            rung = min(max(10.0 * rung, 1e-12), MAX_JITTER)


def factorise_finally(kernel, Z, jitter):
    """Prior of the posterior that is kept: less jitter where possible, a warning where more.

    Parameters and errors are those of `factorise_with_jitter`.
    """
    prior = factorise_with_jitter(kernel, Z, _FINAL_JITTER_SHARE * jitter)
    warn_about_jitter(prior.jitter, jitter)
    return prior


def factorise_larger(prior, Z, jitter):
    """Prior at more inducing inputs, with the jitter of the old ones if that is enough.

    Parameters
    ----------
    prior : Prior
    Z : ndarray of shape (m, d)
        The old inducing inputs first.
    jitter : float
        Relative jitter in use: the first rung where the old jitter is not enough.

    Returns
    -------
    prior : Prior
    """
    try:
        # zeros appended to H and h are exact only if the old inducing inputs keep their jitter
        return Prior.build(prior.kernel, Z, prior.delta, jitter)
    except NotPositiveDefiniteError:
        larger = factorise_with_jitter(prior.kernel, Z, jitter)
        warn_about_jitter(larger.jitter, jitter)
        return larger


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
