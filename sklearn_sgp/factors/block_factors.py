"""Gaussian factors of blocks of rows on u, for every model (docs/theory.md, eqs. 18 to 30).

Each model is a choice of the part of Δ = K_BB - Q_BB that a block keeps, the residual, and of the
power alpha:

    R_B = noise / weight + alpha Δ        t_B(u) = N(y_B; K_Bu inv(K_uu) u, R_B) exp(-c_B)

All in whitened coordinates: A = inv(L) K(Z, X_B), shape (m, n), so that the mean is A^T v.
"""

from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._core import _linalg as la
from .._core._memory import empty
from .._linalg import (
    NotPositiveDefiniteError,
    cholesky,
    copy_of,
    inverse_from_cholesky,
    product,
    transposed,
)
from .class_noise import ClassTerms
from .gradients import BlockGradient

LOG_2PI = float(np.log(2.0 * np.pi))


class SingularBlockError(NotPositiveDefiniteError, ValueError):
    """The covariance of the rows of a block, given u, is not positive definite with its noise."""


def repetition_constant(weight, noise_variance, counts):
    """Return what weights of rows that belong together add to -log t (docs/theory.md, eq. 19).

    ``counts`` are numbers of observations: the weights, unless these are precisions as well.
    """
    powers = float((counts - 1.0).sum()) * (LOG_2PI + np.log(noise_variance))
    return 0.5 * (powers + float(np.log(weight).sum()))


def repetition_slope(counts):
    """Return the derivative of `repetition_constant` in the logarithm of the noise variance."""
    return 0.5 * float((counts - 1.0).sum())


def singular_block(noise_variance, weight):
    """Return the message for a covariance of a block that is not positive definite.

    ``weight`` is that of its rows.
    """
    largest = float(weight.max())
    return (
        f"The covariance of the {len(weight)} rows of a block, given the inducing inputs, "
        "must be positive definite with the noise of the rows. Got one that is not: the noise "
        f"variance of a row is {noise_variance / largest:.1e} of scaled targets, with weights up "
        f"to {largest:.1e}, which is less than rounding. Lower the largest sample_weight, raise "
        "noise_variance and its bounds, or take a model of independent rows such as 'fitc'."
    )


@contextmanager
def naming_block(noise_variance, weight):
    """Name a block's rows where a covariance is not positive definite; a context.

    Its rows have the weights (n,).
    """
    try:
        yield
    except NotPositiveDefiniteError as error:
        raise SingularBlockError(singular_block(noise_variance, weight)) from error


def residual_cholesky(At, K, weight, noise_variance, alpha):
    """Factorise R_B, in the place of K: its lower Cholesky factor.

    Parameters
    ----------
    At : ndarray of shape (n, m)
    K : ndarray of shape (n, n)
        K(X_B, X_B); is overwritten.
    alpha : float
        Above 0.
    """
    la.syrk(At, K, -alpha, alpha)
    K.flat[:: len(K) + 1] += noise_variance / weight
    with naming_block(noise_variance, weight):
        return cholesky(K, overwrite=True)


@dataclass(frozen=True)
class Model:
    """The part of the prior variance that a block keeps of what inducing inputs leave unexplained.

    Parameters
    ----------
    residual : {"none", "diagonal", "full", "conditioned"}
        Which part of Δ; "conditioned" is all of it, of a group and of the rows that it is
        conditioned on.
    alpha : float
        Power in [0, 1]: 0 is the variational limit, 1 the exact marginal of the block.
    """

    residual: str
    alpha: float = 1.0
    shares_classes = True  # one factor may serve the regressions of all classes
    has_gradient = True  # in kernel, noise and inducing inputs
    leaves_out = True  # what a row says beside others is known

    @property
    def power(self):
        """Power with which the residual is kept, 0 where none is."""
        return 0.0 if self.residual == "none" else self.alpha

    @property
    def conditioned(self):
        """True if pieces are groups that are conditioned on other rows."""
        return self.residual == "conditioned"

    @property
    def dense(self):
        """True if the rows of a block belong together."""
        return self.residual in ("full", "conditioned") and self.alpha > 0.0

    @property
    def becomes_exact(self):
        """True if it is the exact process, in closed form, where all rows are inducing inputs."""
        return not self.dense

    @property
    def components(self):
        """Models and their weights as a `Mixture` has them: this one alone."""
        return ((self, 1.0),)

    def factor(self, A, y, weight, counts, K, noise_variance):
        """Return the factor of rows that no others are conditioned on.

        Parameters
        ----------
        weight, counts : ndarray of shape (n,)
            Precisions times numbers of observations, and the latter.
        K : ndarray of shape (n, n) or (n,)
            Prior covariance, which is overwritten, of a dense model; else variances.

        Returns
        -------
        factor : DiagonalFactor or DenseFactor
        """
        if self.dense:
            return DenseFactor(A, y, weight, K, noise_variance, self, counts)
        return DiagonalFactor(A, y, counts, K, noise_variance, self, weight / counts)


@dataclass(frozen=True)
class Mixture:
    """Models whose log factors are added with weights (Hoang et al., remark 2).

    No component is there twice; one is dense at most, and beside it one that is conditioned.
    """

    components: tuple

    @property
    def conditioned(self):
        return any(model.conditioned for model, _ in self.components)

    @property
    def dense(self):
        return any(model.dense for model, _ in self.components)

    @property
    def shares_classes(self):
        return all(model.shares_classes for model, _ in self.components)

    @property
    def has_gradient(self):
        return all(model.has_gradient for model, _ in self.components)

    @property
    def leaves_out(self):
        return all(model.leaves_out for model, _ in self.components)

    @property
    def becomes_exact(self):
        """True if all models are, and rows count once: weights are powers of the factors."""
        counts_once = np.isclose(sum(share for _, share in self.components), 1.0)
        return bool(counts_once) and all(model.becomes_exact for model, _ in self.components)


def _penalty(x, alpha):
    """Compute log(1 + alpha x) (1 - alpha) / (2 alpha), which is x / 2 in the limit alpha -> 0."""
    if alpha == 0.0:
        return 0.5 * x
    return (1.0 - alpha) / (2.0 * alpha) * np.log1p(alpha * x)


class DiagonalFactor:
    """A block whose rows are independent given u: SoR, DTC, VFE, FITC, row Power-EP.

    Parameters
    ----------
    weight : ndarray of shape (n,)
        Numbers of observations.
    prior_variance : ndarray of shape (n,)
        k(x, x).
    precision : ndarray of shape (n,) or float
        The noise variance of each row is divided by its own.
    """

    def __init__(self, A, y, weight, prior_variance, noise_variance, model, precision=1.0):
        self.A, self.y, self.weight, self.precision = A, y, weight, precision
        self.s2, self.alpha = noise_variance / precision, model.alpha
        self.keeps = model.residual != "none"
        self.residual = np.zeros(len(y))
        if self.keeps:
            self.residual += prior_variance
            la.column_dots(A, A, self.residual, -1.0)
            np.maximum(self.residual, 0.0, out=self.residual)

    @cached_property
    def R(self):
        return self.s2 + self.alpha * self.residual

    def add_to(self, H, h):
        """Add the information; returns the constant."""
        t, scale = self.y.shape[1], self.weight / self.R
        root = np.sqrt(scale)
        la.syrk(np.multiply(self.A, root, out=empty(self.A.shape)), H, 1.0, 1.0)
        la.gemm(self.A, np.ascontiguousarray(scale[:, None] * self.y), h, False, False, 1.0, 1.0)
        quadratic = float(np.vdot(scale[:, None] * self.y, self.y))
        return -0.5 * quadratic - t * self._normaliser()

    def class_terms(self, class_noise):
        """Return the terms of classes, if this factor has the noise of classes that no row has."""
        ratio = np.exp(class_noise.log_ratio)
        member = copy(self)  # with the noise of each row in the regression of its class
        member.s2, member.precision = self.s2 * ratio, self.precision / ratio
        member.__dict__.pop("R", None)  # of the noise before
        root = np.sqrt(self.weight * (1.0 / member.R - 1.0 / self.R))[:, None]
        P, p, more = transposed(self.A), class_noise.column(self.y), member._normaliser()
        return [ClassTerms(root * P, root * p, class_noise.number, more - self._normaliser())]

    def _normaliser(self):
        each = 0.5 * (LOG_2PI + np.log(self.R * self.precision))
        each += _penalty(self.residual / self.s2, self.alpha)
        return float(self.weight @ each)

    def gradient(self, mean, covariance):
        """Compute E_q[log t_B] for v ~ N(mean, covariance) and its derivatives (theory, eq. 28)."""
        A, R, w, t = self.A, self.R, self.weight, self.y.shape[1]
        error = self.y - product(A, mean, trans_a=True)
        CA = product(covariance, A)
        variance = np.zeros(len(w))
        la.column_dots(A, CA, variance)
        squares = (error * error).sum(axis=1) + t * variance
        value = -0.5 * float((w / R) @ squares) - t * self._normaliser()
        gamma = 0.5 * w * (self.alpha * squares / R - t) / R if self.keeps else np.zeros(len(w))
        A_bar = product(mean, np.ascontiguousarray((w / R)[:, None] * error), trans_b=True)
        CA *= -t * w / R
        A_bar += CA
        A_bar -= np.multiply(A, 2.0 * gamma, out=CA)
        log_noise = 0.5 * float((self.s2 * w / R) @ (squares / R - t))
        if self.keeps:
            log_noise += 0.5 * t * (1.0 - self.alpha) * float((w / R) @ self.residual)
        return BlockGradient(value, A_bar, gamma if self.keeps else None, log_noise)


class DenseFactor:
    """A block whose rows keep their covariance given u: PITC, PIC, block Power-EP.

    Parameters
    ----------
    prior_covariance : ndarray of shape (n, n)
        K(X_B, X_B); is overwritten.
    model : Model
        ``alpha`` above 0.
    counts : ndarray of shape (n,) or None
        Numbers of observations, where the weights are precisions as well.
    """

    def __init__(self, A, y, weight, prior_covariance, noise_variance, model, counts=None):
        self.A, self.y, self.weight = A, y, weight
        self.counts = weight if counts is None else counts
        self.s2, self.alpha, self._At = noise_variance, model.alpha, transposed(A)
        self.C = residual_cholesky(self._At, prior_covariance, weight, noise_variance, model.alpha)

    @cached_property
    def whitened(self):
        """inv(C) A^T (n, m) and inv(C) y (n, t)."""
        At, y = self._At, copy_of(self.y)
        la.trsm(self.C, At)
        la.trsm(self.C, y)
        return At, y

    def add_to(self, H, h):
        At, y = self.whitened
        la.syrk(At, H, 1.0, 1.0, True)
        la.gemm(At, y, h, True, False, 1.0, 1.0)
        return -0.5 * float(np.vdot(y, y)) - self.y.shape[1] * self._normaliser()

    def _normaliser(self):
        half_log_det = float(np.log(np.diagonal(self.C)).sum())
        w, n = self.weight, len(self.weight)
        noise = float(np.log(self.s2 / w).sum())
        penalty = 0.0
        if self.alpha < 1.0:
            penalty = (1.0 - self.alpha) / self.alpha * (half_log_det - 0.5 * noise)
        repetitions = repetition_constant(w, self.s2, self.counts)
        return half_log_det + 0.5 * n * LOG_2PI + penalty + repetitions

    def class_terms(self, class_noise):
        terms = ClassTerms.of_covariance(self.C, self._At, self.y, class_noise)
        of_noise = 0.5 * float(class_noise.log_ratio.sum())
        return [terms._replace(normaliser=(terms.normaliser - of_noise) / self.alpha)]

    def gradient(self, mean, covariance):
        """Compute E_q[log t_B] for v ~ N(mean, covariance) and its derivatives (theory, eq. 29)."""
        A, t, n = self.A, self.y.shape[1], len(self.weight)
        W = inverse_from_cholesky(self.C)
        error = self.y - product(A, mean, trans_a=True)
        w = product(W, error)
        AW = product(A, W)
        CAW = product(covariance, AW)
        Y = product(AW, CAW, trans_a=True)
        trace = la.dot(A, CAW)  # of Y R
        value = -0.5 * float(np.vdot(error, w)) - 0.5 * t * trace - t * self._normaliser()
        gamma = np.multiply(-0.5 * t, W, out=empty(W.shape))
        la.axpy(0.5 * self.alpha * t, Y, gamma)
        la.gemm(w, w, gamma, False, True, 0.5 * self.alpha, 1.0)
        la.symmetrize(gamma)
        A_bar = product(mean, w, trans_b=True)
        la.axpy(-t, CAW, A_bar)
        la.gemm(A, gamma, A_bar, False, False, -2.0, 1.0)
        diagonal = (w * w).sum(axis=1) + t * (np.diagonal(Y) - np.diagonal(W))
        noise = 0.5 * float((diagonal / self.weight).sum())
        if self.alpha < 1.0:
            left = n - self.s2 * float((np.diagonal(W) / self.weight).sum())
            noise += 0.5 * t * (1.0 - self.alpha) / self.alpha * left / self.s2
        log_noise = self.s2 * noise - t * repetition_slope(self.counts)
        return BlockGradient(value, A_bar, gamma, log_noise)


class MixtureFactor:
    """The factors of a mixture's models on the same rows.

    Parameters
    ----------
    parts : list of (float, DiagonalFactor, DenseFactor, OwnFactor or ConditionedFactor)
    """

    def __init__(self, parts):
        self.parts = parts

    @property
    def A(self):
        return self.parts[0][1].A

    def add_to(self, H, h):
        constant = 0.0
        for share, block in self.parts:
            part_H, part_h = np.zeros_like(H), np.zeros_like(h)
            constant += share * block.add_to(part_H, part_h)
            la.axpy(share, part_H, H)
            h += share * part_h
        return constant

    def class_terms(self, class_noise):
        """Return those of each model, to its power."""
        return [
            terms.times(share)
            for share, block in self.parts
            for terms in block.class_terms(class_noise)
        ]

    def gradient(self, mean, covariance):
        """Return the weighted sum of those of each model."""
        gradients = [(share, block.gradient(mean, covariance)) for share, block in self.parts]
        return BlockGradient(
            sum(share * g.value for share, g in gradients),
            np.ascontiguousarray(sum(share * g.A for share, g in gradients)),
            _sum_of_K([(share, g.K_XX) for share, g in gradients if g.K_XX is not None]),
            sum(share * g.log_noise for share, g in gradients),
        )


def _sum_of_K(parts):
    """Sum weighted cotangents of K(X, X): of groups, all of it or its diagonal."""
    if any(isinstance(part, list) for _, part in parts):
        return [(index, share * K_bar) for share, part in parts for index, K_bar in part]
    if any(part.ndim == 2 for _, part in parts):
        parts = [(share, np.diag(part) if part.ndim == 1 else part) for share, part in parts]
    return sum(share * part for share, part in parts) if parts else None
