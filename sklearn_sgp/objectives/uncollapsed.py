"""The uncollapsed bound of Hensman et al. (2013) and all its derivatives, from some of the rows.

For b rows a step takes about 5 b m^2 + 6 m^3 flops in whitened coordinates and 3 b m^2 + 8 m^3 in
direct ones (docs/theory.md, eqs. 12 to 16).
"""

from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .._core._memory import empty
from .._linalg import product
from ..factors.gradients import Gradient, noise_gradient


class MinibatchTerms(NamedTuple):
    """An unbiased estimate of the bound, its gradient, and the natural-gradient target.

    ``target`` is the q(u) that the batch alone would ask for, in the coordinates of the current
    one.
    """

    value: float
    gradient: Gradient
    target: object


def minibatch_bound(q, likelihood, noise_variance, rows, scale, *, with_inputs=True):
    """Estimate of the uncollapsed bound from some rows, with every derivative.

    Parameters
    ----------
    q : Whitened or Direct
        Current q(u); the gradient holds its (H, h) fixed.
    likelihood : Likelihood
        Conjugate.
    noise_variance : float
    rows : Rows
        The minibatch.
    scale : float
        What its weights are multiplied by to stand for all rows.
    with_inputs : bool
        Whether the gradient in Z is wanted.

    Returns
    -------
    terms : MinibatchTerms
    """
    kernel, Z = q.prior.kernel, q.prior.Z
    A = q.block(rows.X)  # (m, n)
    mean = product(A, q.coefficients, trans_a=True)  # (n, t)
    MA = product(q.covariance_change, A)
    variance = kernel.diag(rows.X)
    la.column_dots(A, MA, variance)
    expected = likelihood.expected_log_density(
        rows.targets, mean, np.maximum(variance, 0.0), noise_variance
    )

    weight = np.full(len(rows), scale) if rows.weight is None else scale * rows.weight
    t = mean.shape[1]
    g = np.ascontiguousarray(expected.d_mean * weight[:, None])  # (n, t)
    # one H serves all outputs: it takes the mean of their site precisions
    gamma = (expected.d_variance * weight[:, None]).sum(axis=1)  # (n,)
    G = _weighted_gram(A, gamma)
    Ag = product(A, g)
    site = 2.0 * gamma[:, None] / t
    target_h = product(A, np.ascontiguousarray(g - site * mean))

    MA *= 2.0 * gamma
    la.gemm(q.coefficients, g, MA, False, True, 1.0, 1.0)  # cotangent of A
    theta, grad_Z = kernel.block_vjp(Z, rows.X, q.kernel_cotangent(MA), with_inputs)
    theta_K, Z_K = kernel.gram_vjp(Z, q.gram_cotangent(G, Ag), with_inputs)
    gradient = Gradient(
        theta=theta + theta_K + kernel.diag_vjp(rows.X, gamma),
        log_noise=noise_gradient(noise_variance, weight @ expected.d_log_noise),
        Z=0.0 if grad_Z is None else grad_Z + Z_K,
    )
    value = float(np.dot(weight, expected.value)) - q.kl()
    G *= -2.0 / t
    return MinibatchTerms(value, gradient, type(q).from_information(q.prior, G, target_h))


def _weighted_gram(A, gamma):
    """A diag(gamma) A^T for gamma <= 0."""
    G = empty((len(A), len(A)))
    weighted = np.multiply(A, np.sqrt(np.maximum(-gamma, 0.0)), out=empty(A.shape))
    la.syrk(weighted, G, -1.0)
    la.mirror(G)
    return G
