"""The collapsed bound of outputs that mix latent functions, and its gradient.

docs/theory.md, eqs. 63 to 65; in nats, for targets as scaled. Targets that are NaN are not there.
"""

from dataclasses import replace

import numpy as np

from .._linalg import NotPositiveDefiniteError, sandwich
from ..factors.gradients import Gradient, noise_gradient
from ..factors.multi_output import (
    OutputScalars,
    OutputSumsCotangent,
    output_sums,
    output_sums_gradient,
    outputs_by_rows,
)
from ..factors.passes import Pieces
from ..gp.decoupled import DecoupledPosterior
from ..gp.multi_output import CoregionalisedPosterior
from ..gp.prior import Prior


def noise_of_outputs(parameters):
    """Return the noise variance of each output over its share, shape (t,), if one serves all too.

    A target that counts a share says as much as one of so much more noise.
    """
    return np.broadcast_to(parameters.noise_variance, len(parameters.mixing)) / parameters.shares


def _of_constants(scalars, noise_variance):
    """Return what targets say whatever the functions are, times -2, in nats."""
    s2, shares = noise_variance, scalars.shares
    return (shares * scalars.count) @ np.log(2.0 * np.pi * s2 * shares) + (
        scalars.targets / s2
    ).sum()


def coregionalised_value(q, scalars, noise_variance):
    """Compute the bound, with q(u) at its optimum (docs/theory.md, eq. 64)."""
    s2 = noise_variance
    unexplained = float((q.mixing**2 / s2[:, None] * scalars.unexplained[:, None]).sum())
    return q.log_evidence(-0.5 * float(_of_constants(scalars, s2) + unexplained))


def coregionalised_estimate(q, sums, scalars, patterns, noise_variance, scale):
    """Estimate the bound of all rows at any q(u) from those of which each counts ``scale`` times.

    The expected log density is scaled, the divergence from the prior counts once (docs/theory.md,
    eq. 12).
    """
    W, scaled = q.mixing, q.mixing / noise_variance[:, None]
    constants = _of_constants(scalars, noise_variance)
    constants += float((W * scaled).sum(axis=1) @ scalars.unexplained)
    expected = float((q.fits(sums.cross) * scaled).sum()) - 0.5 * float(constants)
    for outputs, Phi in zip(patterns, sums.gram, strict=True):
        expected += float(np.vdot(W[outputs].T @ scaled[outputs], q.information_dots(Phi)))
    return scale * expected - q.kl()


def optimal_posterior(prior, sums, patterns, mixing, noise_variance):
    """Return the optimal q(u), decoupled where all outputs are observed in the same rows."""
    form = DecoupledPosterior if len(patterns) == 1 else CoregionalisedPosterior
    return form.from_sums(prior, sums, patterns, mixing, noise_variance)


def coregionalised_bound(parameters, rows, delta, *, patterns, with_inputs=True, n_jobs=None):
    """Compute the collapsed bound and its gradient, by two passes over the rows.

    Parameters
    ----------
    parameters : Parameters
        With "mixing", and with "means" where these are taken off the targets.
    delta : float
        Jitter in units of the kernel.
    patterns : list of ndarray of int
    with_inputs : bool
        Whether the gradient in Z is wanted.
    """
    kernel, Z = parameters.kernel, parameters.Z
    s2, W = noise_of_outputs(parameters), parameters.mixing
    rows = without_means(rows, parameters)
    prior = Prior.build(kernel, Z, delta)
    pieces = Pieces.of_rows(rows, len(Z), n_jobs)
    sums = output_sums(prior, pieces, patterns)
    q = optimal_posterior(prior, sums, patterns, W, s2)
    scalars = OutputScalars.of(rows, sums, patterns, parameters.shares)
    value = coregionalised_value(q, scalars, s2)
    if not np.isfinite(value):
        raise NotPositiveDefiniteError("the bound is not finite")
    cotangent, mixing, log_noise = sums_cotangent(q, sums, scalars, patterns, s2)
    theta, grad_Z = output_sums_gradient(
        prior, pieces, patterns, cotangent, with_inputs=with_inputs
    )
    theta_K, Z_K = kernel.gram_vjp(Z, _gram_cotangent(q, sums, patterns, s2), with_inputs)
    return value, Gradient(
        theta=theta + theta_K,
        log_noise=noise_gradient(parameters.noise_variance, log_noise),
        mixing=mixing,
        means=(sums.first - (W * q.fits(sums.level)).sum(axis=1)) / s2,
        Z=grad_Z + (0.0 if Z_K is None else Z_K),
    )


def without_means(rows, parameters):
    """Subtract the means of the outputs from the rows, where the parameters have any."""
    if not parameters.has_means:
        return rows
    return replace(rows, y_mean=rows.y_mean + rows.y_scale * parameters.means)


def sums_cotangent(q, sums, scalars, patterns, noise_variance):
    """Return cotangents of the sums at fixed L, and derivatives in W (t, Q) and in log noise (t,).

    They hold as well where q(u) has information besides that of the rows.
    """
    W, s2, Q = q.mixing, noise_variance, q.n_latent
    gram = np.empty_like(sums.gram)
    mixing, log_noise = np.empty_like(W), np.empty(len(W))
    for g, (outputs, Phi) in enumerate(zip(patterns, sums.gram, strict=True)):
        scaled = W[outputs] / s2[outputs, None]
        C = W[outputs].T @ scaled
        gram[g] = q.gram_cotangent(C)
        # of C, then of its parts W_p W_p^T / s2_p
        of_C = q.information_dots(Phi)
        of_C = np.broadcast_to(of_C, (len(outputs), Q, Q)).copy()
        of_C[:, np.arange(Q), np.arange(Q)] -= 0.5 * scalars.unexplained[outputs, None]
        mixing[outputs] = 2.0 * np.einsum("pqr,pr->pq", of_C, scaled)
        log_noise[outputs] = -np.einsum("pqr,pq,pr->p", of_C, W[outputs], scaled)
    fits = q.fits(sums.cross) / s2[:, None]  # (t, Q)
    mixing += fits
    log_noise = (
        log_noise - (W * fits).sum(axis=1) + 0.5 * (sums.targets / s2 - scalars.shares * sums.count)
    )
    cross = np.ascontiguousarray(q.v_mean @ (W / s2[:, None]).T)
    diagonal = (-0.5 * W**2 / s2[:, None]).sum(axis=1)
    return OutputSumsCotangent(gram, cross, diagonal), mixing, log_noise


def _gram_cotangent(q, sums, patterns, s2):
    """Return the cotangent of K(Z, Z), where q(u) has the information of the rows alone."""
    W, Q = q.mixing, q.n_latent
    inner = q.information_sum(np.eye(Q))
    inner.flat[:: len(inner) + 1] += 0.5 * Q
    for outputs, Phi in zip(patterns, sums.gram, strict=True):
        inner -= 0.5 * float((W[outputs] ** 2 / s2[outputs, None]).sum()) * Phi
    return sandwich(q.prior.L_inv, np.ascontiguousarray(0.5 * (inner + inner.T)), trans=True)


def optimal_coregionalised(prior, rows, mixing, noise_variance, n_jobs=None):
    """Return the optimal q(u) by one pass, its sums, and the patterns of outputs."""
    patterns = outputs_by_rows(rows.y)
    sums = output_sums(prior, Pieces.of_rows(rows, n_jobs=n_jobs), patterns)
    return optimal_posterior(prior, sums, patterns, mixing, noise_variance), sums, patterns
