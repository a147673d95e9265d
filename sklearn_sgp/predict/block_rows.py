"""Training rows without their own factors, where these belong to blocks of rows (PITC).

With W the inverse of R_B, row n and the others of its block have the factors of these others times
one of its own, exp(-(W_nn / 2) ((W y)_n / W_nn - (A W)_n^T v / W_nn)^2), which is taken out again
(docs/theory.md, below eq. 85).
"""

from itertools import chain

import numpy as np

from .._core import _linalg as la
from .._linalg import copy_of, inverse_from_cholesky, product
from .._parallel import group_bounds, map_groups
from ..data.rows import outputs_by_noise, weight_of
from ..factors.piece_factors import block_factors
from ..gp.posterior import noise_left


def without_block_factors(posterior, noise_variance, blocks, component, rows, places, n_jobs):
    """Return moments of a^T v, (n, t) and (n, q), without what rows say in their blocks.

    Parameters
    ----------
    blocks : Blocks
    component : tuple
        The model whose blocks are dense, and its weight, which is not 0.
    rows, places
        As those of `Predictor.left_out`. Of a row that stands for several, as many are left out as
        its weight here is of that in its block.
    """
    places = np.arange(len(rows)) if places is None else places
    number, position = blocks.within(places)
    order = np.argsort(number, kind="stable")
    numbers, first = np.unique(number[order], return_index=True)
    index, weight, tasks = np.split(order, first[1:]), rows.weights[0], []
    for lo, hi in group_bounds(len(numbers), 1):
        some = [
            (blocks(k), position[own], weight[own])
            for k, own in zip(numbers[lo:hi], index[lo:hi], strict=True)
        ]
        tasks.append((posterior, noise_variance, component, some))
    mean, variance = np.empty((len(rows), rows.y.shape[1])), np.empty((len(rows), len(posterior.H)))
    for own, moments in zip(index, chain(*map_groups(_of_some, tasks, n_jobs)), strict=True):
        mean[own], variance[own] = moments
    return mean, variance


def _of_some(posterior, noise_variance, component, some):
    return [_of_block(posterior, noise_variance, component, *block) for block in some]


def _of_block(posterior, noise_variance, component, rows, own, weight):
    """Return the moments at some rows of a block, ``own`` their positions there."""
    model, share = component
    factors = block_factors(posterior.prior, rows, noise_variance, model)
    A = np.ascontiguousarray(factors[0].A[:, own])
    mean, variance = product(A, posterior.v_mean, trans_a=True), np.empty((len(own), len(factors)))
    pairs = zip(factors, outputs_by_noise(noise_variance), posterior.by_precision, strict=True)
    for number, (factor, (columns, _), (precision, _)) in enumerate(pairs):
        W = np.ascontiguousarray(inverse_from_cholesky(factor.C)[:, own])
        G, of_rows = product(factor.A, W), factor.weight[own]
        kept = np.maximum(of_rows - weight_of(weight, columns), 0.0)
        scale = W[own, np.arange(len(own))] + of_rows * kept / (of_rows - kept) / factor.s2
        v_mean = np.ascontiguousarray(posterior.v_mean[:, columns])
        error = product(W, factor.y, trans_a=True) - product(G, v_mean, trans_a=True)
        a = copy_of(A)
        for root in (a, G):
            la.trmm(precision.L_inv, root)
        cross = _dots(a, G)
        left = noise_left(scale / share, _dots(G, G))
        mean[:, columns] -= (cross / left)[:, None] * error
        variance[:, number] = _dots(a, a) + cross**2 / left
    return mean, variance


def _dots(A, B):
    """Return the products of columns, (n,)."""
    dots = np.zeros(A.shape[1])
    la.column_dots(A, B, dots)
    return dots
