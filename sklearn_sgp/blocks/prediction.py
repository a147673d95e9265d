"""The test conditional p(f | u, y_B): what near rows, such as a block, add to what u says."""

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from threading import Lock
from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .._linalg import copy_of, product, transposed
from .._parallel import group_bounds, map_groups, shares_memory
from ..data.rows import Rows
from ..factors.block_factors import residual_cholesky
from ..gp.posterior import outputs_by_noise

# Rows of one block that are predicted together.
_CHUNK = 1024
# Rows of blocks that share some for which A^T is made together, about.
_TOGETHER = 8192
# Tasks of a prediction, about, where so many blocks are hit.
_TASKS = 64


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
    training_of_all : callable or None
        ``training_of_all(numbers)``: where blocks share rows, the `Rows` of several together, and
        the positions of each block's rows among them.
    """

    def __init__(
        self, posterior, noise_variance, training, n_jobs=None, cache=None, training_of_all=None
    ):
        self.posterior, self.noise_variance = posterior, noise_variance
        self.training, self.n_jobs, self.training_of_all = training, n_jobs, training_of_all
        self.cache = FactorCache(0) if cache is None else cache

    def mean(self, X, blocks):
        """Means alone, without any variance: linear in the rows of a block."""
        mean = np.empty((len(X), self.posterior.h.shape[1]))
        for index, found in self._mapped(_local_mean, X, blocks):
            mean[index] = found
        return mean

    def mean_variance(self, X, blocks):
        mean = np.empty((len(X), self.posterior.h.shape[1]))
        variance = np.empty((len(X), len(self.posterior.H)))
        for index, found in self._mapped(_local_mean_variance, X, blocks):
            mean[index], variance[index] = found
        return mean, variance

    def _mapped(self, function, X, blocks):
        """Rows of each block that is hit, and what a function finds there.

        A task is one block, or a few where there are many; for workers that get a copy of the
        posterior it is a group of them.
        """
        places = _places(blocks)
        step = max(1, len(places) // _TASKS)
        bounds = [(lo, lo + step) for lo in range(0, len(places), step)]
        if not shares_memory():
            bounds = group_bounds(len(places), 1)
        tasks = [(function, self.posterior, self._sources(X, places[lo:hi])) for lo, hi in bounds]
        groups = map_groups(_each_block, tasks, self.n_jobs)
        return zip([index for _, index in places], chain.from_iterable(groups), strict=True)

    def _sources(self, X, places):
        """Test rows of some blocks, and what the data of each are made from."""
        numbers, test = [k for k, _ in places], [X[index] for _, index in places]
        if self.training_of_all is None:
            return _Apart(test, [self._source(k) for k in numbers])
        rows, own = self.training_of_all(numbers)
        return _Together(test, numbers, rows, own, self.noise_variance, self.cache)

    def mean_covariance(self, X, blocks):
        """Rows of one block as the block's data correlate them, others only through u."""
        (m, t), q = self.posterior.h.shape, len(self.posterior.H)
        mean, roots = np.empty((len(X), t)), np.empty((q, m, len(X)))
        within, places = [], _places(blocks)
        for k, index in places:
            local = _local_data(self.posterior, *self._source(k))
            a, mean[index], parts = _project(self.posterior, X[index], local)
            K = self.posterior.prior.kernel.gram(np.ascontiguousarray(X[index]))
            K -= product(a, a, trans_a=True)
            own = [K if c is None else K - product(c, c, trans_a=True) for _, c in parts]
            for K_own in own:
                np.fill_diagonal(K_own, np.maximum(np.diagonal(K_own), 0.0))
            roots[:, :, index] = [b for b, _ in parts]
            within.append(own)
        covariances = np.stack([root.T @ root for root in roots], axis=2)  # (n, n, q)
        for (_, index), own in zip(places, within, strict=True):
            covariances[np.ix_(index, index)] += np.stack(own, axis=2)
        return mean, covariances

    def _source(self, k):
        """What `_local_data` makes the data of block k from."""
        rows = None if k < 0 else self.training(k)
        return k, rows, self.noise_variance, self.cache


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


class _Part:
    """What is made for each H, with R = C C^T.

    Parameters
    ----------
    C : ndarray of shape (n, n)
    At : ndarray of shape (n, m)
    y : ndarray of shape (n, t)
    """

    def __init__(self, C, At, y):
        self.C, self.At, self.y = C, At, y

    @cached_property
    def _whitened(self):
        """inv(C) A^T and inv(C) y."""
        At, y = copy_of(self.At), copy_of(self.y)
        la.trsm(self.C, At)
        la.trsm(self.C, y)
        return At, y

    def projected(self, a, cross):
        """b, c and the mean from the rows, c^T inv(C) y, for `_project`."""
        b, c = copy_of(a), copy_of(cross)
        la.trsm(self.C, c)
        if c.shape[1] > self.At.shape[1]:  # a solve for A^T, made once, costs less than for c
            (At, y), solved = self._whitened, c
        else:
            At, y, solved = self.At, self.y, copy_of(c)
            la.trsm(self.C, solved, True)
        la.gemm(At, solved, b, True, False, -1.0, 1.0)
        return b, c, product(solved, y, trans_a=True)

    @property
    def nbytes(self):
        """Without A^T, which its block counts, but with what may be made."""
        return self.C.nbytes + self.At.nbytes + 2 * self.y.nbytes


class _Local(NamedTuple):
    """A block as predictions in it see it."""

    X: np.ndarray
    At: np.ndarray  # (n, m)
    parts: list  # a `_Part` for each H
    weights: np.ndarray  # inv(R) (y - A^T m), shape (n, t): what the rows say besides u
    v_mean: np.ndarray  # m less A times these, shape (m, t)

    @property
    def nbytes(self):
        held = (self.X, self.At, self.weights, self.v_mean, *self.parts)
        return sum(one.nbytes for one in held)


def _places(blocks):
    """Number of each block that is hit, and its rows."""
    order = np.argsort(blocks, kind="stable")
    numbers, first = np.unique(blocks[order], return_index=True)
    return list(zip(numbers, np.split(order, first[1:]), strict=True))


def _local_data(posterior, k, rows, noise_variance, cache):
    """Data of a block; None for one without rows."""
    if rows is None or not len(rows):
        return None

    def make():
        return _made_local(posterior, rows, noise_variance, posterior.prior.whitened_rows(rows.X))

    return cache.get(k, make)


def _made_local(posterior, rows, noise_variance, At):
    prior, outputs = posterior.prior, outputs_by_noise(noise_variance)
    X, targets = np.asarray(rows.X, dtype=np.float64), rows.targets
    weight = np.ones(len(X)) if rows.weight is None else rows.weight.astype(np.float64)
    K, parts, weights = prior.kernel.gram(X), [], []
    for number, (own, s2) in enumerate(outputs):
        last = number == len(outputs) - 1
        C = residual_cholesky(At, K if last else copy_of(K), weight, s2)
        y = np.ascontiguousarray(targets[:, own])
        weights.append(y - product(At, np.ascontiguousarray(posterior.v_mean[:, own])))
        la.trsm(C, weights[-1])
        la.trsm(C, weights[-1], True)
        parts.append(_Part(C, At, y))
    weights = np.hstack(weights)
    v_mean = posterior.v_mean - product(At, weights, trans_a=True)
    return _Local(X, At, parts, weights, v_mean)


def _project(posterior, X, local):
    """a, the mean (n, t), and for each H the root of the part through u, and c.

    With c = inv(C) (k_B* - A^T a) and b = a - A inv(C)^T c, the mean is b^T m + c^T inv(C) y and
    the variance k** - |a|^2 - |c|^2 + b^T S b (theory, eq. 32).
    """
    a, cross, mean, found = transposed(posterior.prior.whitened_rows(X)), None, [], []
    if local is not None:
        cross = transposed(posterior.prior.kernel.block(X, local.X))
        la.gemm(local.At, a, cross, False, False, -1.0, 1.0)
    for number, (precision, own) in enumerate(posterior.by_precision):
        if local is None:
            b, c, from_rows = copy_of(a), None, 0.0
        else:
            b, c, from_rows = local.parts[number].projected(a, cross)
        v_mean = np.ascontiguousarray(posterior.v_mean[:, own])
        mean.append(product(b, v_mean, trans_a=True) + from_rows)
        la.trmm(precision.L_inv, b)
        found.append((b, c))
    return a, np.hstack(mean), found


@dataclass(frozen=True)
class _Apart:
    """Blocks with rows of their own."""

    test: list  # test rows of each block
    sources: list  # what `_local_data` takes

    def locals(self, posterior):
        """Test rows and data of each block, one after the other."""
        for X, source in zip(self.test, self.sources, strict=True):
            yield X, _local_data(posterior, *source)


@dataclass(frozen=True)
class _Together:
    """Blocks that share rows."""

    test: list
    numbers: list
    rows: Rows
    own: list  # positions of the rows of each block
    noise_variance: object
    cache: FactorCache

    def locals(self, posterior):
        """The same; A^T is made once for all blocks that have a row."""
        part = np.cumsum([len(own) for own in self.own]) // _TOGETHER
        for some in np.split(np.arange(len(part)), np.flatnonzero(np.diff(part)) + 1):
            new = [self.own[i] for i in some if self.numbers[i] not in self.cache.held]
            needed = np.unique(np.concatenate([np.empty(0, dtype=np.intp), *new]))
            At = posterior.prior.whitened_rows(self.rows.X[needed]) if len(needed) else None
            for i in some:
                yield self.test[i], self._local(posterior, i, needed, At)

    def _local(self, posterior, i, needed, At):
        own = self.own[i]
        if not len(own):
            return None

        def make():
            rows, place = self.rows.select(own), np.searchsorted(needed, own)
            held = At is not None and np.array_equal(needed[place % len(needed)], own)
            of_own = At[place] if held else posterior.prior.whitened_rows(rows.X)
            return _made_local(posterior, rows, self.noise_variance, of_own)

        return self.cache.get(self.numbers[i], make)


def _each_block(function, posterior, blocks):
    """What a function finds in some blocks, one after the other."""
    return [function(posterior, X, local) for X, local in blocks.locals(posterior)]


def _local_mean(posterior, X, local):
    """Mean (n, t) at test rows of one block, in chunks: a^T (m - A w) + k_*B w (theory, eq. 32)."""
    if local is None:
        return np.concatenate([posterior.mean(piece) for piece in _chunks(X)])
    kernel, parts = posterior.prior.kernel, []
    for piece in _chunks(X):
        own = product(kernel.block(piece, local.X), local.weights)
        parts.append(own + product(posterior.prior.whitened_rows(piece), local.v_mean))
    return np.concatenate(parts)


def _chunks(X):
    return (X[lo : lo + _CHUNK] for lo in range(0, len(X), _CHUNK))


def _local_mean_variance(posterior, X, local):
    """Mean (n, t) and variance (n, q) at test rows of one block, in chunks."""
    mean = np.empty((len(X), posterior.h.shape[1]))
    variance = np.empty((len(X), len(posterior.H)))
    for lo in range(0, len(X), _CHUNK):
        piece = slice(lo, lo + _CHUNK)
        a, mean[piece], parts = _project(posterior, X[piece], local)
        unexplained = posterior.prior.kernel.diag(X[piece])
        la.column_dots(a, a, unexplained, -1.0)
        for number, (b, c) in enumerate(parts):
            left, explained = unexplained.copy(), np.zeros(len(unexplained))
            if c is not None:
                la.column_dots(c, c, left, -1.0)
            la.column_dots(b, b, explained)
            # k** - q** - |c|^2 is below 0 by rounding only
            variance[piece, number] = np.maximum(left, 0.0) + explained
    return mean, variance
