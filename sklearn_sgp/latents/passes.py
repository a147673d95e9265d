"""Sums of expectations over the rows of a table, forward and backward (docs/theory.md, eq. 68).

Row n enters an output only where that was observed, so that outputs with different patterns of
missing entries have different sums of psi0 and psi2. Groups of rows run in parallel.
"""

from typing import NamedTuple

import numpy as np

from .._core import _latents
from .._core import _linalg as la
from .._core._memory import empty
from .._parallel import group_bounds, map_groups
from .expectations import chunk_of
from .packed import packed_size
from .squared_exponential import Cotangents


class LatentSums(NamedTuple):
    """Contributions of rows to q(u), or the cotangents of these."""

    psi0: np.ndarray  # (K,): for each pattern, sum of psi0
    cross: np.ndarray  # (P, m): for each output, sum of y psi1
    psi2: np.ndarray  # (K, packed)


class InputPosteriors(NamedTuple):
    """q(x) of some rows, normal with a diagonal covariance: means and variances, both (n, Q)."""

    mean: np.ndarray
    variance: np.ndarray

    def __getitem__(self, index):
        if isinstance(index, int):  # a field of the tuple
            return tuple.__getitem__(self, index)
        return InputPosteriors(self.mean[index], self.variance[index])

    def kl(self):
        """Return KL(q(x_n) || N(0, I)) of each row, (n,), in nats."""
        s = self.variance
        return 0.5 * (s + self.mean**2 - 1.0 - np.log(s)).sum(axis=1)


def joined_inputs(parts):
    """Join q(x) of one part of the rows after another."""
    return InputPosteriors(*(np.concatenate([q[k] for q in parts]) for k in (0, 1)))


def latent_sums(expectations, q, table, n_jobs=None):
    """Sum over all rows of a table."""
    bounds = group_bounds(len(table), chunk_of(len(expectations.Z)))
    tasks = [(expectations, q[lo:hi], table.select(slice(lo, hi))) for lo, hi in bounds]
    parts = map_groups(_sums_of_group, tasks, n_jobs)
    return LatentSums(*(sum(arrays[1:], arrays[0]) for arrays in zip(*parts, strict=True)))


def _sums_of_group(expectations, q, table):
    m, P, K = len(expectations.Z), table.Y.shape[1], table.n_patterns
    psi0, cross, psi2 = np.zeros(K), np.zeros((P, m)), np.zeros((K, packed_size(m)))
    first, chunk = table.first_of_pattern, chunk_of(m)
    for lo in range(0, len(table), chunk):
        piece = slice(lo, lo + chunk)
        Y, observed = table.piece(piece)
        weight = np.ascontiguousarray(observed[:, first])  # (n, K)
        p0, p1, p2 = expectations.rows(*q[piece])
        psi0 += p0 @ weight
        la.gemm(Y, p1, cross, True, False, 1.0, 1.0)
        la.gemm(weight, p2, psi2, True, False, 1.0, 1.0)
    return psi0, cross, psi2


class LatentGradient(NamedTuple):
    """Derivatives in theta, Z and q(x)."""

    theta: np.ndarray
    Z: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


def latent_sums_gradient(expectations, q, table, cotangents, n_jobs):
    """Carry cotangents of `LatentSums` back to parameters and q(x)."""
    bounds = group_bounds(len(table), chunk_of(len(expectations.Z)))
    tasks = [(expectations, q[lo:hi], table.select(slice(lo, hi)), cotangents) for lo, hi in bounds]
    parts = map_groups(_reverse_of_group, tasks, n_jobs)
    sums = parts[0][0]
    for other, *_ in parts[1:]:
        for total, more in zip(sums, other, strict=True):
            total += more
    theta, Z = expectations.gradients(sums)
    mean, variance = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
    return LatentGradient(theta, Z, mean, variance)


def _reverse_of_group(expectations, q, table, cotangents):
    sums, chunk = expectations.new_sums(), chunk_of(len(expectations.Z))
    first = table.first_of_pattern
    mean_, variance_ = np.empty(q.mean.shape), np.empty(q.mean.shape)
    for lo in range(0, len(table), chunk):
        piece = slice(lo, lo + chunk)
        Y, observed = table.piece(piece)
        of_rows = row_cotangents(Y, np.ascontiguousarray(observed[:, first]), cotangents)
        _, mean_[piece], variance_[piece] = expectations.reverse(*q[piece], of_rows, sums)
    return sums, mean_, variance_


def row_cotangents(Y, weight, cotangents):
    """Carry cotangents of sums over rows back to the expectations of some rows.

    Parameters
    ----------
    Y : ndarray of shape (n, P)
        Factors of psi1 in ``cotangents.cross``.
    weight : ndarray of shape (n, K)
        Factors of psi0 and psi2.
    cotangents : LatentSums
    """
    same = (weight == weight[0]).all()
    psi2 = _combined(weight[:1] if same else weight, cotangents.psi2)
    psi0 = _combined(weight, cotangents.psi0[:, None])[:, 0].copy()
    return Cotangents(psi0, _combined(Y, cotangents.cross), psi2)


def _combined(weight, A):
    out = empty((len(weight), A.shape[1]))
    _latents.combine(np.ascontiguousarray(weight), A, out)
    return out
