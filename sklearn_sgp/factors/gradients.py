"""Gradients of objectives, from the cotangents of one block up to the parameters' groups."""

from dataclasses import dataclass, field
from functools import reduce
from operator import iadd
from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .._linalg import product
from .passes import Additive


class Gradient(dict):
    """Derivatives of an objective by the names of `optimize.parameters`: its groups.

    Always "theta" (n_theta,) in the kernel's log parameters and "log_noise", a number or (t,);
    "Z" (m, d) or 0.0 where it was not asked for; "likelihood" where the likelihood has parameters.
    """

    def scaled(self, factor):
        """Return the gradient of ``factor`` times the objective."""
        return Gradient((name, factor * part) for name, part in self.items())


def noise_gradient(noise_variance, by_output):
    """Return the derivative in the log noise variance, from those of the outputs.

    ``by_output`` are derivatives if each output had a noise variance of its own, (t,) or a number.
    It has the shape of ``noise_variance``.
    """
    return by_output if np.ndim(noise_variance) else float(np.sum(by_output))


class BlockGradient(NamedTuple):
    """E_q[log t_B] and its derivatives, q held in v.

    ``A`` (m, n) is the cotangent of A, ``K_XX`` that of K(X, X) (n, n), of its diagonal (n,), None,
    or a list of rows and the cotangent of K at them, and ``log_noise`` a number or one for each
    output, shape (t,).
    """

    value: float
    A: np.ndarray
    K_XX: np.ndarray | list | None
    log_noise: float | np.ndarray

    @classmethod
    def of_outputs(cls, parts):
        """Add the gradients of outputs, each with a noise variance of its own."""
        if len(parts) == 1:
            return parts[0]
        K_XX = parts[0].K_XX
        if isinstance(K_XX, list):
            K_XX = [pair for part in parts for pair in part.K_XX]
        elif K_XX is not None:
            K_XX = sum(part.K_XX for part in parts)
        return cls(
            sum(part.value for part in parts),
            sum(part.A for part in parts),
            K_XX,
            np.array([part.log_noise for part in parts]),
        )


@dataclass
class GradientSums(Additive):
    """Gradient sums over blocks at fixed L, and the cotangent of L's part; they add up.

    ``Z`` is 0.0 where not asked for, ``AAt`` (m, m) the cotangent of A times A^T, and ``others``
    has the gradients of further groups by their names.
    """

    value: float
    theta: np.ndarray
    log_noise: float | np.ndarray
    Z: np.ndarray
    AAt: np.ndarray
    others: dict = field(default_factory=dict)

    def __iadd__(self, other):
        la.axpy(1.0, other.AAt, self.AAt)
        self.value += other.value
        self.theta = self.theta + other.theta
        self.log_noise = self.log_noise + other.log_noise
        self.Z = self.Z + other.Z
        for name, part in other.others.items():
            self.others[name] = self.others.get(name, 0.0) + part
        return self

    @classmethod
    def total(cls, parts):
        """Add gradients, into the first of them."""
        return reduce(iadd, parts)

    def gradient(self, prior, with_inputs=True):
        """Return the `Gradient` of the value, including what goes by way of L."""
        theta, Z = prior.kernel.gram_vjp(prior.Z, prior.gram_cotangent(self.AAt), with_inputs)
        return Gradient(
            theta=self.theta + theta,
            log_noise=self.log_noise,
            Z=self.Z + (0.0 if Z is None else Z),
            **self.others,
        )


def pull_back(prior, X, A, gradient, with_inputs=True):
    """Carry the cotangents of a block to kernel and inducing inputs, overwriting them.

    ``with_inputs`` says whether the gradient in Z is wanted.
    """
    kernel, AAt = prior.kernel, product(gradient.A, A, trans_b=True)
    la.trmm(prior.L_inv, gradient.A, True)
    theta, Z = kernel.block_vjp(prior.Z, X, gradient.A, with_inputs)
    if isinstance(gradient.K_XX, list):
        for index, K_bar in gradient.K_XX:
            theta = theta + kernel.gram_vjp(X[index], K_bar, False)[0]
    elif gradient.K_XX is not None:
        if gradient.K_XX.ndim == 1:
            theta = theta + kernel.diag_vjp(X, gradient.K_XX)
        else:
            theta = theta + kernel.gram_vjp(X, gradient.K_XX, False)[0]
    return GradientSums(gradient.value, theta, gradient.log_noise, 0.0 if Z is None else Z, AAt)
