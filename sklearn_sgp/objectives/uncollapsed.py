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
from ..factors.passes import Pieces
from ..factors.row_sums import RowSumsCotangent, each_gram, row_sums, row_sums_gradient
from ..gp.coordinates import Whitened


class MinibatchTerms(NamedTuple):
    """An unbiased estimate of the bound, its gradient, and the natural-gradient target.

    ``target`` is the q(u) that the batch alone would ask for, in the coordinates of the current
    one.
    """

    value: float
    gradient: Gradient
    target: object


def minibatch_bound(q, likelihood, noise_variance, rows, scale, *, with_inputs=True):
    """Estimate the uncollapsed bound from some rows, with every derivative: `MinibatchTerms`.

    Parameters
    ----------
    q : Whitened or Direct
        Current q(u); the gradient holds its (H, h) fixed.
    likelihood : Likelihood
        Conjugate.
    rows : Rows
        The minibatch.
    scale : float
        What its weights are multiplied by to stand for all rows.
    with_inputs : bool
        Whether the gradient in Z is wanted.
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

    weight, counts = (scale * each for each in rows.weights)
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
    # normalisers count observations, and a precision is a weight, but none of these
    uncounted = 0.5 * float(counts.sum() - weight.sum())
    normaliser = np.broadcast_to(np.log(2.0 * np.pi * np.asarray(noise_variance)), (t,))
    slope = noise_gradient(noise_variance, np.full(t, uncounted))
    gradient["log_noise"] = gradient["log_noise"] - slope
    value = float(np.dot(weight, expected.value)) - uncounted * normaliser.sum() - q.kl()
    G *= -2.0 / t
    return MinibatchTerms(value, gradient, type(q).from_information(q.prior, G, target_h))


def minibatch_of_outputs(q, noise_variance, rows, scale, *, with_inputs, n_jobs):
    """Estimate it for Gaussian noise with a variance for each output, from sums that all share.

    With q(v_t) = N(m_t, S_t) the expected squared errors of output t sum to

        sum w y_t^2 - 2 m_t^T b_t + m_t^T Phi m_t + sum w k(x, x) + <S_t - I, Phi>

    where Phi and b are the whitened sums of eq. 10.

    Parameters
    ----------
    q : Posterior
        With an H for each output; the gradient holds its (H, h) fixed.
    noise_variance : ndarray of shape (t,)
    rows, scale, with_inputs
        As in `minibatch_bound`.
    n_jobs : int or None

    Returns
    -------
    terms : MinibatchTerms
        The target is a `Posterior`.
    """
    prior, kernel, Z = q.prior, q.prior.kernel, q.prior.Z
    pieces = Pieces.of_rows(rows.weighted(scale), len(Z), n_jobs)
    sums = row_sums(kernel, Z, prior.L_inv, pieces)
    errors = _squares_of_outputs(q, sums) / noise_variance  # (t,)
    normaliser = sums.weight * np.log(2.0 * np.pi * noise_variance)

    cross, slopes = q.v_mean / noise_variance, _slopes_of_outputs(q, sums, noise_variance)
    AAt = product(cross, sums.cross, trans_b=True)  # cotangent of A, times A^T
    for slope, gram in zip(slopes, each_gram(sums.gram), strict=True):
        la.gemm(slope, gram, AAt, False, False, 2.0, 1.0)
    if np.ndim(sums.diagonal):
        cotangent = RowSumsCotangent(np.stack(slopes), cross, -0.5 / noise_variance)
    else:
        cotangent = RowSumsCotangent(slopes[0], cross, -0.5 * float((1.0 / noise_variance).sum()))
    theta, grad_Z = row_sums_gradient(
        kernel, Z, prior.L_inv, pieces, cotangent, with_inputs=with_inputs
    )
    theta_K, Z_K = kernel.gram_vjp(Z, prior.gram_cotangent(AAt), with_inputs)
    gradient = Gradient(
        theta=theta + theta_K,
        log_noise=0.5 * (errors - sums.weight),
        Z=grad_Z + (0.0 if Z_K is None else Z_K),
    )
    value = -0.5 * float((normaliser + errors).sum()) - q.kl()
    target = Whitened.from_sums(prior, sums.gram, sums.cross, noise_variance).posterior
    return MinibatchTerms(value, gradient, target)


def _squares_of_outputs(q, sums):
    """Return expected squared errors of each output, (t,)."""
    shared, grams, errors = sums.gram.ndim == 2, each_gram(sums.gram), []
    for c, precision in enumerate(q.precisions):
        gram, mean = grams[0 if shared else c], np.ascontiguousarray(q.v_mean[:, c : c + 1])
        diagonal = sums.diagonal if shared else sums.diagonal[c]
        fit = float(np.vdot(mean, product(gram, mean) - 2.0 * sums.cross[:, c : c + 1]))
        variance = diagonal + la.dot(precision.covariance_change, gram)
        errors.append(fit + max(variance, 0.0))
    return sums.targets + np.array(errors)


def _slopes_of_outputs(q, sums, noise_variance):
    """Return the bound's slopes in each matrix of sums, (m, m): of all outputs, or of each."""
    slopes = []
    for precision, mean, s2 in zip(q.precisions, q.v_mean.T, noise_variance, strict=True):
        slope = np.multiply.outer((-0.5 / s2) * mean, mean)
        la.axpy(-0.5 / s2, precision.covariance_change, slope)
        if slopes and sums.gram.ndim == 2:
            la.axpy(1.0, slope, slopes[0])
        else:
            slopes.append(slope)
    for slope in slopes:
        la.symmetrize(slope)
    return slopes


def _weighted_gram(A, gamma):
    """Compute A diag(gamma) A^T for gamma <= 0."""
    G = empty((len(A), len(A)))
    weighted = np.multiply(A, np.sqrt(np.maximum(-gamma, 0.0)), out=empty(A.shape))
    la.syrk(weighted, G, -1.0)
    la.mirror(G)
    return G
