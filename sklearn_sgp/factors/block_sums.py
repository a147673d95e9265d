"""Sums over blocks of rows: their information about u, and the gradient of their log factors.

Two passes over blocks and a little algebra in m x m matrices between them (Gal et al. 2014). A task
gets its blocks, the kernel and m x m matrices, and returns sums of that size.
"""

from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from ..gp.posterior import Posterior
from .block_factors import block_factor
from .gradients import GradientSums, pull_back
from .passes import Pieces, each_made


class BlockSums(NamedTuple):
    """The information of blocks as a `Posterior`, and what the evidence has besides."""

    posterior: Posterior
    constant: float

    def scaled(self, factor):
        """The sums if every block came ``factor`` times."""
        if factor == 1.0:
            return self
        return BlockSums(self.posterior.scaled(factor), factor * self.constant)

    def joined(self, other):
        """The sums over the blocks of both."""
        return BlockSums(self.posterior.joined(other.posterior), self.constant + other.constant)


def pieces_of_blocks(blocks, m, model, n_jobs=None):
    """Blocks for two passes, of which the first may keep its factors.

    Parameters
    ----------
    blocks : list of Rows
        Of positive weight, none empty.
    m : int
        Number of inducing inputs.
    model : Model or Mixture
    n_jobs : int or None

    Returns
    -------
    pieces : passes.Pieces
    """
    size = sum(len(rows) * (2 * m + model.n_dense * len(rows)) for rows in blocks)
    return Pieces(blocks, size, n_jobs)


def block_sums(prior, pieces, noise_variance, model):
    """Information of all blocks.

    Parameters
    ----------
    prior : Prior
    pieces : passes.Pieces
        A piece is a block.
    noise_variance : float
    model : Model or Mixture

    Returns
    -------
    sums : BlockSums
    """
    prior.warm_cache()
    (H, h, constant), *parts = pieces.map(_sum_group, prior, noise_variance, model)
    for part in parts:
        la.axpy(1.0, part[0], H)
        h += part[1]
        constant += part[2]
    la.mirror(H)
    return BlockSums(Posterior(prior, (H,), h), constant)


def _sum_group(group, kept, prior, noise_variance, model):
    m, t = len(prior.Z), group[0].y.shape[1]
    H, h, constant = np.zeros((m, m)), np.zeros((m, t)), 0.0
    for _, factor in _factors(group, kept, prior, noise_variance, model):
        constant += factor.add_to(H, h)
    return H, h, constant


def _factors(group, kept, prior, noise_variance, model):
    return each_made(group, kept, lambda rows: block_factor(prior, rows, noise_variance, model))


def block_gradient_sums(q, pieces, noise_variance, model, *, with_inputs=True):
    """Sum of E_q[log t_B] and its derivatives, q held in whitened coordinates.

    Parameters
    ----------
    q : Posterior
        With one H.
    pieces, noise_variance, model
        As in `block_sums`, whose factors the pieces may have kept.
    with_inputs : bool
        Whether the gradient in Z is wanted.

    Returns
    -------
    sums : GradientSums
    """
    q.prior.warm_cache()
    mean, covariance = q.v_mean, q.precisions[0].covariance  # (m, t), (m, m)
    return GradientSums.total(
        pieces.map(_gradient_group, q.prior, noise_variance, model, mean, covariance, with_inputs)
    )


def _gradient_group(group, kept, prior, noise_variance, model, mean, covariance, with_inputs):
    return GradientSums.total(
        pull_back(prior, rows.X, factor.A, factor.gradient(mean, covariance), with_inputs)
        for rows, factor in _factors(group, kept, prior, noise_variance, model)
    )
