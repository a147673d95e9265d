"""The test conditional p(f | u, y_B): what near rows, such as a block, add to what u says."""

from collections import OrderedDict
from itertools import chain
from threading import Lock
from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .._linalg import copy_of, product
from .._parallel import group_bounds, map_groups, shares_memory
from ..factors.block_factors import Model
from ..factors.piece_factors import block_factors
from ..gp.posterior import outputs_by_noise

# Rows of one block that are predicted together.
_CHUNK = 1024
_WHOLE = Model("full")  # what is conditioned on is one dense block


class PICConditional:
    """p(f | u, y_B) for the rows near a test row: those of its block, or others (PIC, LMA, VIF).

    The methods are those of `gp.conditionals.ExactConditional`, with the numbers of the blocks that
    the rows belong to, -1 for none.

    Parameters
    ----------
    posterior : Posterior
        With an H for each noise variance.
    noise_variance : float or ndarray of shape (t,)
    training : callable
        ``training(k)``: the `Rows` that rows of block k are conditioned on.
    n_jobs : int or None
    cache : FactorCache or None
        Of this posterior and these blocks.
    """

    def __init__(self, posterior, noise_variance, training, n_jobs=None, cache=None):
        self.posterior, self.noise_variance = posterior, noise_variance
        self.training, self.n_jobs = training, n_jobs
        self.cache = FactorCache(0) if cache is None else cache

    def mean(self, X, blocks):
        """Means alone, without any variance: linear in the rows of a block."""
        mean = np.empty((len(X), self.posterior.h.shape[1]))
        for index, _, own, found in self._mapped(_local_mean, X, blocks):
            mean[index, own] = found
        return mean

    def mean_variance(self, X, blocks):
        mean = np.empty((len(X), self.posterior.h.shape[1]))
        variance = np.empty((len(X), len(self.posterior.H)))
        for index, c, own, (found, of_one) in self._mapped(_local_mean_variance, X, blocks):
            mean[index, own], variance[index, c] = found, of_one
        return mean, variance

    def _mapped(self, function, X, blocks):
        """Rows of each block that is hit, outputs, and what a function finds there.

        A task is one block, or a group of them for workers that get a copy of the posterior.
        """
        hit = [
            (index, c, own, posterior, self._source(k, c, own, s2))
            for c, (posterior, own, s2) in enumerate(self._parts())
            for k, index in _places(blocks)
        ]
        bounds = [(i, i + 1) for i in range(len(hit))]
        if not shares_memory():
            bounds = group_bounds(len(hit), 1)
        tasks = [
            (function, [(posterior, X[index], source) for index, _, _, posterior, source in some])
            for some in (hit[lo:hi] for lo, hi in bounds)
        ]
        found = chain.from_iterable(map_groups(_each_block, tasks, self.n_jobs))
        for (index, c, own, _, _), here in zip(hit, found, strict=True):
            yield index, c, own, here

    def _parts(self):
        """Posteriors with one H, their outputs and noise variances."""
        noise = outputs_by_noise(self.noise_variance)
        return [
            (posterior, *of_one)
            for posterior, of_one in zip(self.posterior.outputs, noise, strict=True)
        ]

    def mean_covariance(self, X, blocks):
        """Rows of one block as the block's data correlate them, others only through u."""
        mean, covariances = np.empty((len(X), self.posterior.h.shape[1])), []
        for c, (posterior, own, s2) in enumerate(self._parts()):

            def source(k, of_one=(c, own, s2)):
                return self._source(k, *of_one)

            mean[:, own], covariance = _joint(posterior, X, _places(blocks), source)
            covariances.append(covariance)
        return mean, np.stack(covariances, axis=2)

    def _source(self, k, c, own, s2):
        """What `_local_data` makes the data of block k from, for the outputs of one H."""
        rows = None if k < 0 else self.training(k).of_outputs(own)
        return (k, c), rows, s2, self.cache


class FactorCache:
    """Factorised blocks, the last ones used, within a bound on their memory.

    A copy, as for a worker in another process or a pickle, begins empty.

    Parameters
    ----------
    max_bytes : int
    """

    def __init__(self, max_bytes):
        self.max_bytes = max_bytes
        self._clear()

    def _clear(self):
        self.held, self.nbytes, self.lock = OrderedDict(), 0, Lock()

    def __getstate__(self):
        return {"max_bytes": self.max_bytes}

    def __setstate__(self, state):
        self.max_bytes = state["max_bytes"]
        self._clear()

    def get(self, k, make):
        """The data of a block, from the cache or made now."""
        with self.lock:
            if k in self.held:
                self.held.move_to_end(k)
                return self.held[k]
        made = make()
        with self.lock:
            if k not in self.held and made.nbytes <= self.max_bytes:
                self.held[k] = made
                self.nbytes += made.nbytes
                while self.nbytes > self.max_bytes:
                    _, dropped = self.held.popitem(last=False)
                    self.nbytes -= dropped.nbytes
        return made


class _Local(NamedTuple):
    """A block as predictions in it see it: with R = C C^T, inv(C) A^T (n, m) and inv(C) y."""

    X: np.ndarray
    A: np.ndarray
    C: np.ndarray
    At: np.ndarray
    y: np.ndarray
    weights: np.ndarray  # inv(R) (y - A^T m), shape (n, t): what the rows say besides u
    v_mean: np.ndarray  # m less A times these, shape (m, t)

    @property
    def nbytes(self):
        return sum(part.nbytes for part in self)


def _places(blocks):
    """Number of each block that is hit, and its rows."""
    order = np.argsort(blocks, kind="stable")
    numbers, first = np.unique(blocks[order], return_index=True)
    return list(zip(numbers, np.split(order, first[1:]), strict=True))


def _local_data(posterior, key, rows, noise_variance, cache):
    """Data of a block; None for one without rows."""
    if rows is None or not len(rows):
        return None

    def make():
        (factor,) = block_factors(posterior.prior, rows, noise_variance, _WHOLE)
        At, y = factor.whitened
        weights = y - product(At, posterior.v_mean)
        la.trsm(factor.C, weights, True)
        v_mean = posterior.v_mean - product(factor.A, weights)
        return _Local(rows.X, factor.A, factor.C, At, y, weights, v_mean)

    return cache.get(key, make)


def _project(posterior, X, local):
    """(a, root of the part through u), c and the mean, for test rows of one block.

    With c = inv(C) (k_B* - A^T a) and b = a - A inv(C)^T c, the mean is b^T m + c^T inv(C) y and
    the variance k** - |a|^2 - |c|^2 + b^T S b (theory, eq. 32).
    """
    a = posterior.prior.whitened(X)
    b, c, own = copy_of(a), None, 0.0
    if local is not None:
        c = posterior.prior.kernel.block(local.X, X)
        la.gemm(local.A, a, c, True, False, -1.0, 1.0)
        la.trsm(local.C, c)
        la.gemm(local.At, c, b, True, False, -1.0, 1.0)
        own = product(c, local.y, trans_a=True)
    mean = product(b, posterior.v_mean, trans_a=True) + own
    la.trmm(posterior.precisions[0].L_inv, b)
    return (a, b), c, mean


def _joint(posterior, X, places, source):
    """Mean (n, t) and joint covariance (n, n) of rows in several blocks, one H."""
    mean, roots = np.empty((len(X), posterior.h.shape[1])), np.empty((len(posterior.h), len(X)))
    within = []
    for k, index in places:
        local = _local_data(posterior, *source(k))
        (a, b), c, mean[index] = _project(posterior, X[index], local)
        K = posterior.prior.kernel.gram(np.ascontiguousarray(X[index]))
        K -= product(a, a, trans_a=True)
        if c is not None:
            K -= product(c, c, trans_a=True)
        np.fill_diagonal(K, np.maximum(np.diagonal(K), 0.0))
        roots[:, index] = b
        within.append(K)
    covariance = product(roots, roots, trans_a=True)  # (n, n)
    for (_, index), K in zip(places, within, strict=True):
        covariance[np.ix_(index, index)] += K
    return mean, covariance


def _each_block(function, blocks):
    """What a function finds in some blocks, one after the other."""
    return [function(posterior, X, *source) for posterior, X, source in blocks]


def _local_mean(posterior, X, *source):
    """Mean (n, t) at test rows of one block, in chunks: a^T (m - A w) + k_*B w (theory, eq. 32)."""
    local = _local_data(posterior, *source)
    if local is None:
        return np.concatenate([posterior.mean(piece) for piece in _chunks(X)])
    kernel, parts = posterior.prior.kernel, []
    for piece in _chunks(X):
        own = product(kernel.block(local.X, piece), local.weights, trans_a=True)
        parts.append(own + product(posterior.prior.whitened(piece), local.v_mean, trans_a=True))
    return np.concatenate(parts)


def _chunks(X):
    return (X[lo : lo + _CHUNK] for lo in range(0, len(X), _CHUNK))


def _local_mean_variance(posterior, X, *source):
    """Mean (n, t) and variance (n,) at test rows of one block, in chunks."""
    local = _local_data(posterior, *source)
    mean, variance = np.empty((len(X), posterior.h.shape[1])), np.empty(len(X))
    for lo in range(0, len(X), _CHUNK):
        piece = slice(lo, lo + _CHUNK)
        (a, b), c, mean[piece] = _project(posterior, X[piece], local)
        unexplained, explained = posterior.prior.kernel.diag(X[piece]), np.zeros(a.shape[1])
        la.column_dots(a, a, unexplained, -1.0)
        if c is not None:
            la.column_dots(c, c, unexplained, -1.0)
        la.column_dots(b, b, explained)
        # k** - q** - |c|^2 is below 0 by rounding only
        variance[piece] = np.maximum(unexplained, 0.0) + explained
    return mean, variance
