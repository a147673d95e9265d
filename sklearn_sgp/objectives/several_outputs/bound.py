"""The collapsed bound of outputs that mix latent functions, and its gradient.

docs/theory.md, eqs. 63 to 65; in nats, for targets as scaled. Targets that are NaN are not there.
"""

import numpy as np

from ..._linalg import NotPositiveDefiniteError, sandwich
from ...factors.gradients import Gradient, noise_gradient
from ...factors.passes import Pieces
from ...factors.several_outputs.output_sums import (
    OutputScalars,
    OutputSumsCotangent,
    output_sums,
    output_sums_gradient,
    outputs_by_rows,
)
from ...gp.coregionalised import CoregionalisedPosterior
from ...gp.prior import Prior


def noise_of_outputs(parameters):
    """Noise variance of each output, shape (t,), also where one serves all."""
    return np.broadcast_to(parameters.noise_variance, len(parameters.mixing)).copy()


def coregionalised_value(q, scalars, noise_variance):
    """The bound, with q(u) at its optimum (docs/theory.md, eq. 64).

    Parameters
    ----------
    q : CoregionalisedPosterior
    scalars : OutputScalars
    noise_variance : ndarray of shape (t,)

    Returns
    -------
    value : float
    """
    s2 = noise_variance
    precision = (q.mixing**2).sum(axis=1) / s2
    fit = float(np.vdot(q.h.T, q.v_mean))
    constants = scalars.count @ np.log(2.0 * np.pi * s2) + (scalars.targets / s2).sum()
    return 0.5 * float(fit - q.precision.log_det - constants - precision @ scalars.unexplained)


def coregionalised_bound(parameters, rows, delta, *, patterns, with_inputs=True, n_jobs=None):
    """Collapsed bound and its gradient, by two passes over the rows.

    Parameters
    ----------
    parameters : Parameters
        With "mixing".
    rows : Rows
    delta : float
        Jitter in units of the kernel.
    patterns : list of ndarray of int
    with_inputs : bool
        Whether the gradient in Z is wanted.
    n_jobs : int or None

    Returns
    -------
    value : float
    gradient : Gradient

    Raises
    ------
    NotPositiveDefiniteError
        If K(Z, Z) does not factorise, or the value is not finite.
    """
    kernel, Z = parameters.kernel, parameters.Z
    s2, W = noise_of_outputs(parameters), parameters.mixing
    prior = Prior.build(kernel, Z, delta)
    pieces = Pieces.of_rows(rows, len(Z), n_jobs)
    sums = output_sums(kernel, Z, prior.L_inv, pieces, patterns)
    q = CoregionalisedPosterior.from_sums(prior, sums, patterns, W, s2)
    scalars = OutputScalars.of(rows, sums, patterns)
    value = coregionalised_value(q, scalars, s2)
    if not np.isfinite(value):
        raise NotPositiveDefiniteError("the bound is not finite")
    cotangent, K, mixing, log_noise = _cotangents(q, sums, scalars, patterns, s2)
    theta, grad_Z = output_sums_gradient(
        kernel, Z, prior.L_inv, pieces, patterns, cotangent, with_inputs=with_inputs
    )
    theta_K, Z_K = kernel.gram_vjp(Z, K, with_inputs)
    return value, Gradient(
        theta=theta + theta_K,
        log_noise=noise_gradient(parameters.noise_variance, log_noise),
        mixing=mixing,
        Z=grad_Z + (0.0 if Z_K is None else Z_K),
    )


def _cotangents(q, sums, scalars, patterns, s2):
    """Cotangents of the sums and of K(Z, Z), and derivatives in W and in log noise."""
    W, V, (Q, m) = q.mixing, q.v_mean, q.h.shape
    # of H, as (Q, m, Q, m)
    of_H = -0.5 * (q.covariance + np.einsum("iq,jr->qirj", V, V))
    gram = np.empty_like(sums.gram)
    mixing, own_noise = np.empty_like(W), np.empty(len(W))
    inner = np.einsum("qiqj->ij", of_H)
    inner.flat[:: m + 1] += 0.5 * Q
    for g, (own, Phi) in enumerate(zip(patterns, sums.gram, strict=True)):
        scaled = W[own] / s2[own, None]
        C = W[own].T @ scaled
        gram[g] = np.einsum("qr,qirj->ij", C, of_H)
        gram[g].flat[:: m + 1] += 0.5 * np.trace(C)
        inner -= 0.5 * np.trace(C) * Phi
        # of C, then of its parts W_p W_p^T / s2_p
        of_C = np.einsum("qirj,ij->qr", of_H, Phi)
        of_C = np.broadcast_to(of_C, (len(own), Q, Q)).copy()
        of_C[:, np.arange(Q), np.arange(Q)] -= 0.5 * scalars.unexplained[own, None]
        mixing[own] = 2.0 * np.einsum("pqr,pr->pq", of_C, scaled)
        own_noise[own] = -np.einsum("pqr,pq,pr->p", of_C, W[own], scaled)
    fits = (sums.cross.T @ V) / s2[:, None]  # (t, Q)
    mixing += fits
    log_noise = own_noise - (W * fits).sum(axis=1) + 0.5 * (sums.targets / s2 - sums.count)
    cross = V @ (W / s2[:, None]).T
    diagonal = -0.5 * (W**2).sum(axis=1) / s2
    K = sandwich(q.prior.L_inv, np.ascontiguousarray(0.5 * (inner + inner.T)), trans=True)
    return OutputSumsCotangent(gram, cross, diagonal), K, mixing, log_noise


def optimal_coregionalised(prior, rows, mixing, noise_variance, n_jobs=None):
    """The optimal q(u) by one pass, the sums that it is made of, and the patterns of outputs."""
    patterns = outputs_by_rows(rows.y)
    pieces = Pieces.of_rows(rows, n_jobs=n_jobs)
    sums = output_sums(prior.kernel, prior.Z, prior.L_inv, pieces, patterns)
    q = CoregionalisedPosterior.from_sums(prior, sums, patterns, mixing, noise_variance)
    return q, sums, patterns
