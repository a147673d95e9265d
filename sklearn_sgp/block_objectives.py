"""Evidence of the models whose factors belong to blocks of rows, and its gradient.

Two maps over blocks and a little algebra in m x m matrices between them (Gal et al. 2014): forward
for (H, h) and the constant, backward for the gradient at the optimal q(u), which by the envelope
theorem is that of log Z (docs/theory.md, eq. 27). A task gets its blocks, the kernel and m x m
matrices, and returns sums.
"""

from typing import NamedTuple

import numpy as np

from ._core import _linalg as la
from .blocks import gram_cotangent, make_block, pull_back
from .linalg import NotPositiveDefiniteError
from .objectives import Gradient
from .parallel import group_bounds, map_groups
from .posterior import Posterior, Prior


class FactorSums(NamedTuple):
    """Sums over blocks: H (m, m), h (m, t), and what the evidence has besides them."""

    H: np.ndarray
    h: np.ndarray
    constant: float

    def scaled(self, factor):
        """The sums if every block came ``factor`` times."""
        return FactorSums(*(factor * part for part in self))


class FactorGradient(NamedTuple):
    """Sums over blocks of E_q[log t_B] and its derivatives; ``Z`` is 0.0 where not asked for."""

    value: float
    theta: np.ndarray
    log_noise: float
    Z: np.ndarray


def _groups(blocks):
    """Runs of blocks, as many whatever the number of jobs, so that sums repeat."""
    return [blocks[slice(*bounds)] for bounds in group_bounds(len(blocks), 1)]


def _sum_group(prior, blocks, noise_variance, model):
    m, t = len(prior.Z), blocks[0].y.shape[1]
    H, h, constant = np.zeros((m, m)), np.zeros((m, t)), 0.0
    for rows in blocks:
        constant += make_block(prior, rows, noise_variance, model).add_to(H, h)
    return H, h, constant


def factor_sums(prior, blocks, noise_variance, model, n_jobs=None):
    """Information of all blocks.

    Parameters
    ----------
    prior : posterior.Prior
    blocks : list of rows.Rows
        Of positive weight, none empty.
    noise_variance : float
    model : blocks.Model
    n_jobs : int or None

    Returns
    -------
    sums : FactorSums
    """
    prior.L_inv  # noqa: B018  (once, not in every task)
    tasks = [(prior, group, noise_variance, model) for group in _groups(blocks)]
    parts = map_groups(_sum_group, tasks, n_jobs)
    H, h, constant = parts[0]
    for part in parts[1:]:
        la.axpy(1.0, part[0], H)
        h += part[1]
        constant += part[2]
    la.mirror(H)
    return FactorSums(H, h, constant)


def evidence(posterior, constant):
    """log Z, the model's own log marginal, at the optimal q(u) (docs/theory.md, eq. 2)."""
    t = posterior.h.shape[1]
    fit = float(np.vdot(posterior.h, posterior.v_mean))
    return constant + 0.5 * (fit - t * posterior.log_det_B)


def _gradient_group(prior, blocks, noise_variance, model, mean, covariance, with_inputs):
    m = len(prior.Z)
    AAt, value, theta, log_noise, grad_Z = np.zeros((m, m)), 0.0, 0.0, 0.0, 0.0
    for rows in blocks:
        block = make_block(prior, rows, noise_variance, model)
        gradient = block.gradient(mean, covariance)
        value += gradient.value
        log_noise += gradient.log_noise
        theta_part, Z_part, AAt_part = pull_back(prior, rows.X, block.A, gradient, with_inputs)
        theta = theta + theta_part
        la.axpy(1.0, AAt_part, AAt)
        if Z_part is not None:
            grad_Z = grad_Z + Z_part
    return value, theta, log_noise, grad_Z, AAt


def factor_gradient(
    prior, blocks, noise_variance, model, mean, covariance, *, with_inputs=True, n_jobs=None
):
    """Sum of E_q[log t_B] for q = N(mean, covariance) in whitened coordinates, and derivatives.

    Parameters
    ----------
    prior, blocks, noise_variance, model, n_jobs
        As in `factor_sums`.
    mean : ndarray of shape (m, t)
    covariance : ndarray of shape (m, m)
    with_inputs : bool
        Whether the gradient in Z is wanted.

    Returns
    -------
    gradient : FactorGradient
        With q held in whitened coordinates.
    """
    prior.L_inv  # noqa: B018  (once, not in every task)
    shared = (noise_variance, model, mean, covariance, with_inputs)
    parts = map_groups(
        _gradient_group, [(prior, group, *shared) for group in _groups(blocks)], n_jobs
    )
    value, theta, log_noise, grad_Z, AAt = (sum(some) for some in zip(*parts, strict=True))
    theta_K, Z_K = prior.kernel.gram_vjp(prior.Z, gram_cotangent(prior, AAt), with_inputs)
    return FactorGradient(value, theta + theta_K, log_noise, grad_Z + (0.0 if Z_K is None else Z_K))


def block_evidence(parameters, blocks, delta, model, *, copies=1.0, with_inputs=True, n_jobs=None):
    """log Z of a model and its gradient, by two passes over the blocks.

    Parameters
    ----------
    parameters : learning.Parameters
    blocks : list of rows.Rows
    delta : float
        Jitter in units of the kernel.
    model : blocks.Model
    copies : float
        How many blocks each of these stands for.
    with_inputs : bool
    n_jobs : int or None

    Returns
    -------
    value : float
        Of all the blocks stood for.
    gradient : objectives.Gradient

    Raises
    ------
    NotPositiveDefiniteError
        If a covariance does not factorise, or the value is not finite.
    """
    prior = Prior.build(parameters.kernel, parameters.Z, delta)
    s2 = parameters.noise_variance
    sums = factor_sums(prior, blocks, s2, model, n_jobs).scaled(copies)
    posterior = Posterior(prior, sums.H, sums.h)
    value = evidence(posterior, sums.constant)
    if not np.isfinite(value):
        raise NotPositiveDefiniteError("the evidence is not finite")
    gradient = factor_gradient(
        prior,
        blocks,
        s2,
        model,
        posterior.v_mean,
        posterior.B_inv,
        with_inputs=with_inputs,
        n_jobs=n_jobs,
    )
    return value, Gradient(gradient.theta, gradient.log_noise, gradient.Z).scaled(copies)
