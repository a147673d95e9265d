"""Rows that join dense blocks: given those before, whose factors are held, new rows alone cost.

With L L^T the covariance R of the rows before, given u, and W = inv(L) R_*, the factor of a block
that rows * join is that of the rows before times that of * given these (docs/theory.md, section 9):

    N(y_* - W^T inv(L) y; (A_* - A inv(L)^T W)^T v, R_** - W^T W)
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .._linalg import cholesky, copy_of, transposed
from .._parallel import group_bounds, map_groups
from ..data.rows import outputs_by_noise, weight_of
from ..gp.posterior import Posterior
from .block_factors import DenseFactor, Model, naming_block
from .block_sums import BlockSums
from .piece_factors import block_factors

# Memory for factors that are held, as much as predictions keep: 30 blocks of 1,000 rows. Of more
# blocks those without one are factorised anew when rows join them.
_MOST_BYTES = 256 << 20
_DENSE = Model("full")


class _Known(NamedTuple):
    """Holds L, and A^T (n, m) and y (n, t) times inv(L), of a block and one noise variance."""

    L: np.ndarray
    At: np.ndarray
    y: np.ndarray

    @property
    def nbytes(self):
        return sum(part.nbytes for part in self)


@dataclass(frozen=True)
class KnownBlocks:
    """Knows the factors of the rows of some blocks, within a bound on memory.

    A copy, as for a worker in another process or a pickle, begins empty.

    Parameters
    ----------
    of : tuple
        The blocks and the prior.
    known : dict
        Number of a block: a list of `_Known`, one for each noise variance.
    """

    of: tuple = ()
    known: dict = field(default_factory=dict)

    def __getstate__(self):
        return {"of": (), "known": {}}

    def among(self, *of):
        """Return what is known of blocks under a prior: nothing if it is of others."""
        same = len(self.of) == len(of) and all(a is b for a, b in zip(self.of, of, strict=True))
        return self.known if same else {}


NO_BLOCKS = KnownBlocks()


def kept(known, changed):
    """Return what is known of some blocks once some have changed, as long as there is room."""
    result, size = {**known, **changed}, 0
    for k, parts in list(result.items()):
        size += sum(part.nbytes for part in parts)
        if size > _MOST_BYTES:
            del result[k]
    return result


def may_join(model, rows):
    """Return whether rows may join dense blocks of a model so: not where classes share factors."""
    return model == _DENSE and not rows.share_factors


def sums_of_joined(prior, blocks, n_before, known, noise_variance, n_jobs):
    """Sum the information of rows that join blocks, given the rows of these.

    Parameters
    ----------
    blocks : dict
        Number of a block: its `Rows`, the new ones last.
    n_before : dict
        Number of a block: how many rows come before the new ones.
    known : dict
        As that of `KnownBlocks`.

    Returns
    -------
    sums : BlockSums
    changed : dict
        What is known of all rows of these blocks.
    """
    numbers, tasks = list(blocks), []
    for lo, hi in group_bounds(len(numbers), 1):
        some = [(blocks[k], n_before[k], known.get(k)) for k in numbers[lo:hi]]
        tasks.append((prior, some, noise_variance))
    parts, found = zip(*map_groups(_sum_of_some, tasks, n_jobs), strict=True)
    sums = parts[0]
    for part in parts[1:]:
        sums = sums.joined(part)
    return sums, dict(zip(numbers, [one for some in found for one in some], strict=True))


def _sum_of_some(prior, some, noise_variance):
    t, m = some[0][0].y.shape[1], len(prior.Z)
    outputs, constant, found = outputs_by_noise(noise_variance), 0.0, []
    every_H, h = [np.zeros((m, m)) for _ in outputs], np.zeros((m, t))
    for rows, n_before, known in some:
        new = rows.select(slice(n_before, None))
        if known is None:
            before = rows.select(slice(n_before))
            factors = block_factors(prior, before, noise_variance, _DENSE)
            known = [_Known(factor.C, *factor.whitened) for factor in factors]
        cross, after = prior.kernel.block(rows.X[:n_before], new.X), []
        for of_before, H, (columns, s2) in zip(known, every_H, outputs, strict=True):
            factor, W = _given(prior, of_before, new, copy_of(cross), columns, s2)
            of_output = np.zeros((m, factor.y.shape[1]))
            constant += factor.add_to(H, of_output)
            h[:, columns] += of_output
            after.append(_with_rows(of_before, factor, W))
        found.append(after)
    for H in every_H:
        la.mirror(H)
    return BlockSums(Posterior(prior, tuple(every_H), h), constant), found


class _Given(DenseFactor):
    """The factor of rows given others: residuals of A^T (n, m) and y, and their covariance."""

    def __init__(self, At, y, weight, counts, covariance, noise_variance):
        self.A, self._At, self.y = transposed(At), At, y
        self.weight, self.counts, self.s2, self.alpha = weight, counts, noise_variance, 1.0
        with naming_block(noise_variance, weight):
            self.C = cholesky(covariance, overwrite=True)


def _given(prior, known, new, W, columns, s2):
    """Return the factor of new rows given those before, and W, which comes as K_*."""
    At, y = prior.whitened_rows(new.X), np.ascontiguousarray(new.targets[:, columns])
    la.trsm(known.L, W)
    la.gemm(known.At, At, W, False, True, -1.0, 1.0)
    (weight, counts), R = new.weights, prior.kernel.gram(new.X)
    weight = weight_of(weight, columns)
    la.gemm(At, At, R, False, True, -1.0, 1.0)
    la.gemm(W, W, R, True, False, -1.0, 1.0)
    R.flat[:: len(R) + 1] += s2 / weight
    la.gemm(W, known.At, At, True, False, -1.0, 1.0)
    la.gemm(W, known.y, y, True, False, -1.0, 1.0)
    return _Given(At, y, weight, counts, R, s2), W


def _with_rows(known, factor, W):
    """Return what is known once new rows are among those before."""
    (n, k), (At, y) = W.shape, factor.whitened
    L = np.zeros((n + k, n + k))
    L[:n, :n], L[n:, :n], L[n:, n:] = known.L, W.T, factor.C
    return _Known(L, np.vstack([known.At, At]), np.vstack([known.y, y]))
