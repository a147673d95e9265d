"""Evidence of the models whose factors belong to blocks of rows, and its gradient.

Two maps over blocks and a little algebra in m x m matrices between them (Gal et al. 2014): forward
for (H, h) and the constant, backward for the gradient at the optimal q(u), which by the envelope
theorem is that of log Z (docs/theory.md, eq. 27). A task gets its blocks, the kernel and m x m
matrices, and returns sums.
"""

from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .block_factors import PulledBack, make_block, pull_back
from .row_sums import each_store, empty_stores
from .._linalg import NotPositiveDefiniteError
from .._parallel import group_bounds, map_groups
from ..gp.posterior import Posterior, Prior


class FactorSums(NamedTuple):
    """Sums over blocks: H (m, m), h (m, t), and what the evidence has besides them."""

    H: np.ndarray
    h: np.ndarray
    constant: float

    def scaled(self, factor):
        """The sums if every block came ``factor`` times."""
        return FactorSums(*(factor * part for part in self))


def _groups(blocks):
    """Runs of blocks, as many whatever the number of jobs, so that sums repeat."""
    return [blocks[slice(*bounds)] for bounds in group_bounds(len(blocks), 1)]


def factor_store(m, blocks, model):
    """A list for each group in which the forward map may leave its factors to the backward one.

    None where they would be large, or workers are other processes.
    """
    size = sum(len(rows) * (2 * m + model.n_whole * len(rows)) for rows in blocks)
    return empty_stores(len(_groups(blocks)), size)


def _sum_group(prior, blocks, noise_variance, model, made):
    m, t = len(prior.Z), blocks[0].y.shape[1]
    H, h, constant = np.zeros((m, m)), np.zeros((m, t)), 0.0
    for rows in blocks:
        block = make_block(prior, rows, noise_variance, model)
        constant += block.add_to(H, h)
        if made is not None:
            made.append(block)
    return H, h, constant


def factor_sums(prior, blocks, noise_variance, model, n_jobs=None, store=None):
    """Information of all blocks.

    Parameters
    ----------
    prior : posterior.Prior
    blocks : list of rows.Rows
        Of positive weight, none empty.
    noise_variance : float
    model : blocks.Model
    n_jobs : int or None
    store : list or None
        From `factor_store`; is filled.

    Returns
    -------
    sums : FactorSums
    """
    prior.L_inv  # noqa: B018  (once, not in every task)
    groups = _groups(blocks)
    tasks = [
        (prior, group, noise_variance, model, made)
        for group, made in zip(groups, each_store(store, groups), strict=True)
    ]
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


def _pull_back_group(*task):
    return PulledBack.total(_pulled_back(*task))


def _pulled_back(prior, blocks, made, noise_variance, model, mean, covariance, with_inputs):
    for i, rows in enumerate(blocks):
        block = made[i] if made else make_block(prior, rows, noise_variance, model)
        gradient = block.gradient(mean, covariance)
        yield pull_back(prior, rows.X, block.A, gradient, with_inputs)


def factor_gradient(
    prior,
    blocks,
    noise_variance,
    model,
    mean,
    covariance,
    *,
    with_inputs=True,
    n_jobs=None,
    store=None,
):
    """Sum of E_q[log t_B] for q = N(mean, covariance) in whitened coordinates, and derivatives.

    Parameters
    ----------
    prior, blocks, noise_variance, model, n_jobs
        As in `factor_sums`, which may have filled the ``store``.
    mean : ndarray of shape (m, t)
    covariance : ndarray of shape (m, m)
    with_inputs : bool
        Whether the gradient in Z is wanted.

    Returns
    -------
    pulled : blocks.PulledBack
        Its gradient is that with q held in whitened coordinates.
    """
    prior.L_inv  # noqa: B018  (once, not in every task)
    shared, groups = (noise_variance, model, mean, covariance, with_inputs), _groups(blocks)
    tasks = [
        (prior, group, made, *shared)
        for group, made in zip(groups, each_store(store, groups), strict=True)
    ]
    return PulledBack.total(map_groups(_pull_back_group, tasks, n_jobs))


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
    store = factor_store(len(prior.Z), blocks, model)
    sums = factor_sums(prior, blocks, s2, model, n_jobs, store).scaled(copies)
    posterior = Posterior(prior, sums.H, sums.h)
    value = evidence(posterior, sums.constant)
    if not np.isfinite(value):
        raise NotPositiveDefiniteError("the evidence is not finite")
    pulled = factor_gradient(
        prior,
        blocks,
        s2,
        model,
        posterior.v_mean,
        posterior.B_inv,
        with_inputs=with_inputs,
        n_jobs=n_jobs,
        store=store,
    )
    return value, pulled.gradient(prior, with_inputs).scaled(copies)
