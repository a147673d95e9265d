"""Sums over blocks of rows: their information about u, and the gradient of their log factors.

Two passes over blocks and a little algebra in m x m matrices between them (Gal et al. 2014). A task
gets its blocks, the kernel and m x m matrices, and returns sums of that size.
"""

from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from ..data.rows import outputs_by_noise
from ..gp.posterior import Posterior
from .gradients import BlockGradient, GradientSums, pull_back
from .passes import Pieces, computed
from .piece_factors import block_factors, class_factors


class BlockSums(NamedTuple):
    """The information of blocks as a `Posterior`, and what the evidence has besides."""

    posterior: Posterior
    constant: float

    def scaled(self, factor):
        """Return the sums if every block came ``factor`` times."""
        if factor == 1.0:
            return self
        return BlockSums(self.posterior.scaled(factor), factor * self.constant)

    def joined(self, other):
        """Add the sums over the blocks of both."""
        return BlockSums(self.posterior.joined(other.posterior), self.constant + other.constant)


def pieces_of_blocks(blocks, m, model, n_jobs=None, noise_variance=1.0):
    """Group blocks for two passes, of which the first may keep its factors: `passes.AnyPieces`.

    The blocks are of positive weight, none empty; ``m`` counts inducing inputs.
    """
    n_dense = np.size(noise_variance) * model.dense
    size = sum(len(rows) * (m + max(n_dense, 1) * m + n_dense * len(rows)) for rows in blocks)
    return Pieces(blocks, size, n_jobs)


def block_sums(prior, pieces, noise_variance, model):
    """Sum the information of all blocks.

    A piece is a block.

    Returns
    -------
    sums : BlockSums
        Its posterior has an H for each noise variance.
    """
    prior.warm_cache()
    (every_H, h, constant), *parts = pieces.map(_sum_group, prior, noise_variance, model)
    for part in parts:
        for H, more in zip(every_H, part[0], strict=True):
            la.axpy(1.0, more, H)
        h += part[1]
        constant += part[2]
    for H in every_H:
        la.mirror(H)
    return BlockSums(Posterior(prior, tuple(every_H), h), constant)


def _sum_group(group, kept, prior, noise_variance, model):
    # what is kept for a gradient is a factor of each class
    if kept is None and model.shares_classes and group[0].share_factors:
        return _sum_of_classes(group, prior, noise_variance, model)
    m, y, constant = len(prior.Z), group[0].y, 0.0
    outputs = [columns for columns, _ in outputs_by_noise(noise_variance)]
    every_H = [np.zeros((m, m)) for _ in outputs]
    every_h = [np.zeros((m, y[:, columns].shape[1])) for columns in outputs]
    for _, factors in _each_factors(group, kept, prior, noise_variance, model):
        for factor, H, h in zip(factors, every_H, every_h, strict=True):
            constant += factor.add_to(H, h)
    return every_H, np.hstack(every_h), constant


def _sum_of_classes(group, prior, noise_variance, model):
    """Sum where outputs are the regressions of classes."""
    (m, t), constant = (len(prior.Z), group[0].y.shape[1]), 0.0
    every_H, shared, h = [np.zeros((m, m)) for _ in range(t)], np.zeros((m, m)), np.zeros((m, t))
    for rows in group:
        factor, terms = class_factors(prior, rows, noise_variance, model)
        constant += factor.add_to(shared, h) + sum(more.add_to(every_H, h) for more in terms)
    for H in every_H:
        la.axpy(1.0, shared, H)
    return every_H, h, constant


def _each_factors(group, kept, prior, noise_variance, model):
    return computed(group, kept, lambda rows: block_factors(prior, rows, noise_variance, model))


def block_gradient_sums(q, pieces, noise_variance, model, *, with_inputs=True):
    """Sum of E_q[log t_B] and its derivatives, q held in whitened coordinates: `GradientSums`.

    Parameters
    ----------
    q : Posterior
        With an H for each noise variance.
    pieces, noise_variance, model
        As in `block_sums`, whose factors the pieces may have kept.
    with_inputs : bool
        Whether the gradient in Z is wanted.
    """
    q.prior.warm_cache()
    moments = [
        (np.ascontiguousarray(q.v_mean[:, columns]), precision.covariance)
        for precision, columns in q.by_precision
    ]
    return GradientSums.total(
        pieces.map(_gradient_group, q.prior, noise_variance, model, moments, with_inputs)
    )


def _gradient_group(group, kept, prior, noise_variance, model, moments, with_inputs):
    return GradientSums.total(
        pull_back(prior, rows.X, factors[0].A, _gradient(factors, moments), with_inputs)
        for rows, factors in _each_factors(group, kept, prior, noise_variance, model)
    )


def _gradient(factors, moments):
    parts = [factor.gradient(*of_one) for factor, of_one in zip(factors, moments, strict=True)]
    return BlockGradient.of_outputs(parts)
