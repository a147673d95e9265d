"""Objectives as functions of the sums, and their reverse mode in m x m matrices.

`collapsed_bound` is the bound of Titsias (2009) with q(u) at its optimum (docs/theory.md, eqs. 10
and 11); `minibatch_bound` that of Hensman et al. (2013) for any q(u) and any likelihood (eqs. 12
to 15). Both are in nats, for targets as scaled.
"""

from typing import NamedTuple

import numpy as np

from ._core import _linalg as la
from .factors import SumsCotangent, accumulate, pull_back
from .linalg import NotPositiveDefiniteError, product, sandwich
from .posterior import Posterior, Prior


class Gradient(NamedTuple):
    """Derivatives of an objective.

    ``theta`` (n_theta,) in the kernel's log parameters, ``log_noise`` a number, ``Z`` (m, d) or
    0.0 where it was not asked for.
    """

    theta: np.ndarray
    log_noise: float
    Z: np.ndarray


class CollapsedTerms(NamedTuple):
    """Value of the collapsed bound and the cotangents of what it was made from."""

    value: float
    posterior: Posterior
    sums: SumsCotangent
    K: np.ndarray
    log_noise: float


def _residual_information(posterior, n_outputs):
    """t (I - B^-1) - V V^T: twice the derivative of the bound in H (docs/theory.md, eq. 11)."""
    V = posterior.v_mean
    E = -n_outputs * posterior.B_inv
    la.gemm(V, V, E, False, True, -1.0, 1.0)
    E.flat[:: len(E) + 1] += n_outputs
    return E


def collapsed_value(prior, sums, noise_variance, posterior):
    """The bound itself (docs/theory.md, eq. 10); no cotangents."""
    t = posterior.h.shape[1]
    unexplained = sums.diagonal / noise_variance - float(np.trace(posterior.H))
    return 0.5 * (
        -t * sums.weight * np.log(2.0 * np.pi * noise_variance)
        - sums.targets / noise_variance
        - t * posterior.log_det_B
        + float(np.vdot(posterior.h, posterior.v_mean))
        - t * max(unexplained, 0.0)
    )


def collapsed_terms(prior, sums, noise_variance, *, whitened):
    """Value, optimal q(u) and cotangents of the collapsed bound.

    Parameters
    ----------
    prior : Prior
    sums : factors.Sums
        In the form that ``whitened`` says.
    noise_variance : float
    whitened : bool

    Returns
    -------
    terms : CollapsedTerms
    """
    s2 = noise_variance
    posterior = Posterior.from_sums(prior, sums, s2, whitened=whitened)
    t = posterior.h.shape[1]
    E = _residual_information(posterior, t)  # dF/dH = E / 2, dF/dh = V
    informed = float(np.vdot(E, posterior.H)) / 2.0 + float(np.vdot(posterior.v_mean, posterior.h))
    log_noise = 0.5 * (sums.targets / s2 + t * sums.diagonal / s2 - t * sums.weight) - informed
    K_cotangent = sandwich(prior.L_inv, E - t * posterior.H, trans=True) / 2.0
    if whitened:
        gram, cross = E / (2.0 * s2), posterior.v_mean / s2
    else:
        gram = sandwich(prior.L_inv, E, trans=True) / (2.0 * s2)
        cross = posterior.coefficients / s2
    return CollapsedTerms(
        collapsed_value(prior, sums, s2, posterior),
        posterior,
        SumsCotangent(gram, np.ascontiguousarray(cross), -0.5 * t / s2),
        K_cotangent,
        log_noise,
    )


def information_bound(kernel, rows, noise_variance):
    """What the trace of H, and with it its largest eigenvalue, can hardly exceed.

    tr H <= sum w k(x, x) / noise; the largest of about 1,000 k(x, x) stands for all.
    """
    sample = rows.X[:: max(1, len(rows) // 1000)]
    return float(kernel.diag(sample).max()) * rows.total_weight / noise_variance


def optimal_posterior(prior, rows, noise_variance, *, n_jobs=None):
    """One exact pass over all rows: the optimal q(u) and the bound there.

    Returns
    -------
    posterior : Posterior
    value : float
        The collapsed bound, in nats.
    """
    bound = information_bound(prior.kernel, rows, noise_variance)
    whitened = not prior.direct_is_safe(bound)
    sums = accumulate(
        prior.kernel, prior.Z, prior.L_inv if whitened else None, rows, n_jobs=n_jobs
    )
    posterior = Posterior.from_sums(prior, sums, noise_variance, whitened=whitened)
    return posterior, collapsed_value(prior, sums, noise_variance, posterior)


def collapsed_bound(parameters, rows, delta, *, with_inputs=True, n_jobs=None, whitened=None):
    """Collapsed bound and its gradient, by two passes over the rows.

    Parameters
    ----------
    parameters : learning.Parameters
        Kernel expression, theta, log noise variance and Z.
    rows : rows.Rows
    delta : float
        Jitter in units of the kernel.
    with_inputs : bool
        Whether the gradient in Z is wanted.
    n_jobs : int or None
    whitened : bool or None
        Which form to use; None decides by the condition number.

    Returns
    -------
    value : float
    gradient : Gradient

    Raises
    ------
    NotPositiveDefiniteError
        If K(Z, Z) does not factorise, or the value is not finite.
    """
    kernel, Z, s2 = parameters.kernel, parameters.Z, parameters.noise_variance
    prior = Prior.build(kernel, Z, delta)
    if whitened is None:
        whitened = not prior.direct_is_safe(information_bound(kernel, rows, s2))
    L_inv = prior.L_inv if whitened else None
    sums = accumulate(kernel, Z, L_inv, rows, n_jobs=n_jobs)
    terms = collapsed_terms(prior, sums, s2, whitened=whitened)
    if not np.isfinite(terms.value):
        raise NotPositiveDefiniteError("the bound is not finite")
    theta, grad_Z = pull_back(
        kernel, Z, L_inv, rows, terms.sums, with_inputs=with_inputs, n_jobs=n_jobs
    )
    theta_K, Z_K = kernel.gram_vjp(Z, terms.K, with_inputs)
    return terms.value, Gradient(
        theta + theta_K, terms.log_noise, grad_Z + (0.0 if Z_K is None else Z_K)
    )


class MinibatchTerms(NamedTuple):
    """An unbiased estimate of the bound, its gradient, and the natural-gradient target.

    ``target_H`` (m, m) and ``target_h`` (m, t) are the data part that the batch alone would ask
    for, in the coordinates of the form: whitened (H, h), or direct (L H L^T, L h).
    """

    value: float
    gradient: Gradient
    target_H: np.ndarray
    target_h: np.ndarray


def kl_divergence(posterior):
    """KL(q(u) || p(u)) in nats, summed over outputs."""
    t, m = posterior.h.shape[1], len(posterior.H)
    trace, log_det = float(np.trace(posterior.B_inv)), posterior.log_det_B
    return 0.5 * (t * (trace - m + log_det) + float(np.vdot(posterior.v_mean, posterior.v_mean)))


def minibatch_bound(
    posterior, likelihood, noise_variance, rows, scale, *, whitened, with_inputs=True
):
    """Estimate of the uncollapsed bound from some rows, with every derivative.

    Parameters
    ----------
    posterior : Posterior
        Current q(u). Its gradient holds (H, h) fixed in the whitened form (docs/theory.md, eq. 13)
        and (L H L^T, L h) in the direct form (eq. 14).
    likelihood : object
        See likelihoods.py.
    noise_variance : float
    rows : rows.Rows
        The minibatch.
    scale : float
        Total weight of all rows over that of the batch.
    whitened, with_inputs : bool

    Returns
    -------
    terms : MinibatchTerms
    """
    prior, kernel, Z = posterior.prior, posterior.prior.kernel, posterior.prior.Z
    A = prior.whitened(rows.X) if whitened else kernel.block(Z, rows.X)
    middle, coefficients = _moment_matrices(posterior, whitened)
    mean = product(A, coefficients, trans_a=True)
    MA = product(middle, A)
    variance = kernel.diag(rows.X)
    la.column_dots(A, MA, variance)
    y = rows.targets
    expected = likelihood.expected_log_density(y, mean, np.maximum(variance, 0.0), noise_variance)
    weight = scale * (np.ones(len(rows)) if rows.weight is None else rows.weight)

    t = y.shape[1]
    g = np.ascontiguousarray(expected.d_mean * weight[:, None])
    gamma = expected.d_variance * weight[:, None]
    # one H serves all outputs: it takes the mean of their site precisions
    gamma_sum = gamma.sum(axis=1)
    shared = gamma_sum[:, None] / t
    root = np.sqrt(np.maximum(-gamma_sum, 0.0))
    weighted = A * root
    G = np.zeros((len(Z), len(Z)))
    la.syrk(weighted, G, -1.0)  # A diag(gamma) A^T
    la.mirror(G)
    Ag = product(A, g)
    target_h = product(A, np.ascontiguousarray(g - 2.0 * shared * mean))

    MA *= 2.0 * gamma_sum
    la.gemm(coefficients, g, MA, False, True, 1.0, 1.0)  # cotangent of A
    K_cotangent = (_whitened_K if whitened else _direct_K)(posterior, coefficients, middle, G, Ag)
    if whitened:
        la.trmm(prior.L_inv, MA, True)
    theta, grad_Z = kernel.block_vjp(Z, rows.X, MA, with_inputs)
    theta_K, Z_K = kernel.gram_vjp(Z, K_cotangent, with_inputs)
    theta = theta + theta_K + kernel.diag_vjp(rows.X, gamma_sum)
    value = float(np.dot(weight, expected.value)) - kl_divergence(posterior)
    gradient = Gradient(
        theta,
        float(np.dot(weight, expected.d_log_noise)),
        0.0 if grad_Z is None else grad_Z + Z_K,
    )
    return MinibatchTerms(value, gradient, G * (-2.0 / t), target_h)


def _moment_matrices(posterior, whitened):
    """M and c with mean = A^T c and variance = k - q + ... = k + column sums of A * (M A)."""
    M = posterior.B_inv.copy()
    M.flat[:: len(M) + 1] -= 1.0
    if whitened:
        return M, posterior.v_mean
    return sandwich(posterior.prior.L_inv, M, trans=True), posterior.coefficients


def _whitened_K(posterior, V, M, G, Ag):
    """Cotangent of K(Z, Z) at fixed (H, h) (docs/theory.md, eq. 13)."""
    AAt = product(V, Ag, trans_b=True)  # cotangent of A, times A^T
    la.gemm(M, G, AAt, False, False, 2.0, 1.0)
    phi = np.tril(AAt)
    phi.flat[:: len(phi) + 1] *= 0.5
    inner = sandwich(posterior.prior.L_inv, phi, trans=True)
    return -0.5 * (inner + inner.T)


def _direct_K(posterior, a, M, G, Kg):
    """Cotangent of K(Z, Z), the divergence included, at fixed (L H L^T, L h) (eq. 14).

    With D = K^-1 - C = -M: K^-1 G K^-1 - C G C = sym(D G S), S = K^-1 + C, and the divergence's
    part C K C / 2 - C + K^-1 / 2 = D K D / 2, whitened L^-T (I - B^-1)^2 L^-1 / 2.
    """
    prior, t = posterior.prior, posterior.h.shape[1]
    L_inv, B_inv = prior.L_inv, posterior.B_inv
    G_white = sandwich(L_inv, G)
    D = -B_inv
    D.flat[:: len(D) + 1] += 1.0
    # whitened: D (G S + t D / 2) with S = I + B^-1
    right = 0.5 * t * D
    right += G_white
    la.gemm(G_white, B_inv, right, False, False, 1.0, 1.0)
    inner = product(D, right)
    residual = product(L_inv, Kg) - posterior.v_mean
    spread = product(B_inv, residual)
    la.gemm(spread, posterior.v_mean, inner, False, True, -1.0, 1.0)
    la.gemm(posterior.v_mean, posterior.v_mean, inner, False, True, -0.5, 1.0)
    K_cotangent = sandwich(L_inv, inner, trans=True)
    return 0.5 * (K_cotangent + K_cotangent.T)
