"""Cells: near rows, factorised, and the test rows that are predicted from them.

A cell's near rows are a block (PIC), blocks along a chain (LMA) or the rows nearest to a centre
(VIF). Many cells are small: what is done to them is done to all cells of a part in one call.
"""

from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock

import numpy as np

from .._core import _linalg as la
from .._core._cells import factorise, whiten
from .._core._memory import empty
from .._linalg import copy_of, inverse_from_cholesky, transposed
from ..data.rows import Rows, outputs_by_noise, shared, weight_of
from ..kernels import Groups
from .block_factors import SingularBlockError, naming_block, singular_block
from .class_noise import ClassFactors, ClassNoise

# Numbers in the matrices of cells that are factorised together, about; neighbours share rows.
_TOGETHER = 1 << 22


@dataclass(frozen=True)
class Factor:
    """The factors of a cell for each H, with R = C C^T.

    Parameters
    ----------
    U : ndarray of shape (n, n)
        C^T.
    error : ndarray of shape (n, t)
        inv(C) (y - A^T m).
    whitened_At : ndarray of shape (n, m) or None
        inv(C) A^T, where many test rows use it.
    """

    U: np.ndarray
    error: np.ndarray
    whitened_At: np.ndarray | None = None


@dataclass(frozen=True)
class Cell:
    """The near rows of a cell as predictions see them.

    Parameters
    ----------
    At : ndarray of shape (n, m)
    factors : list of Factor
        For each H.
    weights : ndarray of shape (n, t)
        inv(R) (y - A^T m): what the rows say besides u.
    v_mean : ndarray of shape (m, t)
        m less A times these.
    """

    X: np.ndarray
    At: np.ndarray
    factors: list
    weights: np.ndarray
    v_mean: np.ndarray

    @property
    def nbytes(self):
        size = self.X.nbytes + self.At.nbytes + self.weights.nbytes + self.v_mean.nbytes
        for factor in self.factors:
            size += factor.U.nbytes + factor.error.nbytes
            size += 0 if factor.whitened_At is None else factor.whitened_At.nbytes
        return size

    @property
    def is_whitened(self):
        return all(factor.whitened_At is not None for factor in self.factors)

    def whitened(self):
        """Return the cell with inv(C) A^T."""
        factors = []
        for factor in self.factors:
            At = self.At.copy()
            whiten(factor.U, At)
            factors.append(replace(factor, whitened_At=At))
        return replace(self, factors=factors)


@dataclass(frozen=True)
class ClassCell(Cell):
    """A cell whose outputs are the regressions of classes, with one `Factor` for S_0.

    Rows come class after class.

    Parameters
    ----------
    classes : ClassFactors
    F_At : ndarray of shape (n, m)
        F_c A^T of all classes.
    """

    classes: ClassFactors
    F_At: np.ndarray
    is_whitened = True  # as inv(C)^T c is needed, inv(C) A^T does not pay

    @property
    def nbytes(self):
        return super().nbytes + self.classes.U.nbytes + self.F_At.nbytes


class FactorCache:
    """Factorised cells, the last ones used, within a bound on their memory.

    A copy, as for a worker in another process or a pickle, begins empty.
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

    def find(self, k):
        """Return a cell, or None."""
        with self.lock:
            if k in self.held:
                self.held.move_to_end(k)
            return self.held.get(k)

    def holds(self, numbers):
        """Return whether all of some cells are held."""
        with self.lock:
            return all(k in self.held for k in numbers)

    def keep(self, k, cell):
        """Hold a cell, in the place of one of its number, and drop those that were used least."""
        with self.lock:
            self._drop(self.held.pop(k, None))
            if cell.nbytes <= self.max_bytes:
                self.held[k] = cell
                self.nbytes += cell.nbytes
            while self.nbytes > self.max_bytes:
                self._drop(self.held.popitem(last=False)[1])

    def _drop(self, cell):
        self.nbytes -= 0 if cell is None else cell.nbytes


@dataclass(frozen=True)
class Cells:
    """Cells that some test rows are in.

    Parameters
    ----------
    X : ndarray of shape (n_test, d)
        Test rows, cell after cell.
    bounds : ndarray of int, shape (n_cells + 1,)
        Where those of each cell begin, and their end.
    numbers : list of int
        Of the cells.
    known : list of Cell or None
        Those that are factorised, all or none.
    rows : Rows or None
        The near rows of all cells, where none is.
    near : list of ndarray of int or None
        Positions of these among them, for each cell.
    """

    X: np.ndarray
    bounds: np.ndarray
    numbers: list
    known: list
    rows: Rows | None
    near: list
    noise_variance: float | np.ndarray
    cache: FactorCache

    @classmethod
    def around(cls, X, bounds, numbers, around, noise_variance, cache):
        """Make cells; unless the cache holds them all their near rows are gathered.

        All: what is computed of near rows has digits that depend on how many rows there are, and
        predictions are not to depend on what the cache still holds of those before.
        """
        known = [cache.find(k) for k in numbers]
        rows, near = None, [None] * len(known)
        if any(cell is None for cell in known):
            known, (rows, near) = near, around(numbers)
        return cls(X, bounds, numbers, known, rows, near, noise_variance, cache)

    @cached_property
    def sizes(self):
        """Numbers of near rows of each cell."""
        pairs = zip(self.known, self.near, strict=True)
        return np.array([len(near) if cell is None else len(cell.X) for cell, near in pairs])

    def __len__(self):
        return len(self.numbers)

    def parts(self, posterior):
        """Test rows, their bounds and a `Cell` for each, a few cells at a time."""
        if len(self.numbers) == 1:
            yield self.X, self.bounds, self._cells(posterior, [0], [len(self.X)])
            return
        n, m = self.sizes, len(posterior.h)
        part = np.cumsum(n * (n + m)) // _TOGETHER
        for cells in np.split(np.arange(len(n)), np.flatnonzero(np.diff(part)) + 1):
            bounds = self.bounds[cells[0] : cells[-1] + 2]
            X = self.X[bounds[0] : bounds[-1]]
            yield X, bounds - bounds[0], self._cells(posterior, cells, np.diff(bounds))

    def _cells(self, posterior, index, counts):
        cells, are_new = [self.known[i] for i in index], self.rows is not None
        if are_new:
            cells = self._factorised(posterior, [self.near[i] for i in index])
        for at, (cell, count) in enumerate(zip(cells, counts, strict=True)):
            # with more test rows than A has columns, a solve for A^T, made once, costs less
            whitens = 0 < cell.At.shape[1] < count and len(cell.X) and not cell.is_whitened
            if whitens:
                cells[at] = cell.whitened()
            if (are_new or whitens) and len(cell.X):
                self.cache.keep(self.numbers[index[at]], cells[at])
        return cells

    def _factorised(self, posterior, near):
        """Factorise a `Cell` for each of these."""
        filled = [each for each in near if len(each)]
        of_classes = self.rows.share_factors
        nothing = _without_rows(posterior, self.X, of_classes)
        if not filled:
            return [nothing] * len(near)
        needed, places = shared(filled)
        rows = self.rows.select(needed)
        factorise_all = _class_cells if of_classes else _plain_cells
        cells = iter(factorise_all(posterior, rows, places, self.noise_variance))
        return [next(cells) if len(each) else nothing for each in near]


def _without_rows(posterior, X, of_classes):
    """Return a cell where nothing is known besides u."""
    m, t = posterior.h.shape
    n_factors = 1 if of_classes else len(posterior.H)
    X, At, U, weights = X[:0], np.empty((0, m)), np.empty((0, 0)), np.empty((0, t))
    factors = [Factor(U, np.empty((0, t // n_factors))) for _ in range(n_factors)]
    nothing = X, At, factors, weights, posterior.v_mean
    if of_classes:
        return ClassCell(*nothing, ClassFactors(U, ClassNoise.of(weights)), At)
    return Cell(*nothing)


class _Places:
    """Rows at each of some places, with their A^T and kernel matrices, all computed once."""

    def __init__(self, posterior, X, places):
        prior, triangles = posterior.prior, Groups.triangles(places)
        self.posterior, self.places, self.index = posterior, places, triangles.rows
        self.X, self.At = X, prior.whitened_rows(X)
        self.K = prior.kernel.blocks(X, X, triangles)
        self.each_At = [empty((len(rows), self.At.shape[1])) for rows in places]

    def factorised(self, columns, y, noise):
        """Return U, error, weights and the rest of v for a slice of the outputs, in each place."""
        y, v_mean = (np.ascontiguousarray(each[:, columns]) for each in (y, self.posterior.v_mean))
        sizes, t = [len(rows) for rows in self.places], y.shape[1]
        error, weights = ([np.empty((n, t)) for n in sizes] for _ in range(2))
        U, left = [empty((n, n)) for n in sizes], [v_mean.copy() for _ in sizes]
        result = (U, error, weights, left)
        failed = factorise(self.K, self.index, self.At, y, v_mean, noise, self.each_At, *result)
        return failed, result


def _plain_cells(posterior, rows, places, noise_variance):
    """Return a `Cell` for the rows at each of some places."""
    near = _Places(posterior, np.asarray(rows.X, dtype=np.float64), places)
    targets, (weight, _), by_output = rows.targets, rows.weights, []
    for columns, s2 in outputs_by_noise(noise_variance):
        of_columns = weight_of(weight, columns)
        failed, result = near.factorised(columns, targets, s2 / of_columns)
        if failed >= 0:
            raise SingularBlockError(singular_block(s2, of_columns[places[failed]]))
        by_output.append(result)
    cells = []
    for g, index in enumerate(places):
        factors = [Factor(U[g], error[g]) for U, error, *_ in by_output]
        weights, v_mean = by_output[0][2][g], by_output[0][3][g]
        if len(by_output) > 1:
            weights, v_mean = (np.hstack([each[k][g] for each in by_output]) for k in (2, 3))
        cells.append(Cell(near.X[index], near.each_At[g], factors, weights, v_mean))
    return cells


def _class_cells(posterior, rows, places, noise_variance):
    """Return a `ClassCell` for the rows at each of some places."""
    every = ClassNoise.of(rows.weights[0] / noise_variance)
    places = [index[every.select(index).order] for index in places]
    near = _Places(posterior, np.asarray(rows.X, dtype=np.float64), places)
    failed, result = near.factorised(slice(None), rows.targets, every.other)
    if failed >= 0:
        raise SingularBlockError(singular_block(1.0, 1.0 / every.other[places[failed]]))
    return [
        _class_cell(near.X[index], At, *each, every.select(index))
        for index, At, *each in zip(places, near.each_At, *result, strict=True)
    ]


def _class_cell(X, At, U, error, weights, v_mean, class_noise):
    """Turn errors, weights and the rest of v of S_0 into those of each class."""
    L, solved_At = transposed(U), copy_of(At)
    with naming_block(1.0, 1.0 / class_noise.other):
        classes = ClassFactors(inverse_from_cholesky(L), class_noise)
    more = classes.corrections(weights)
    la.trsm(L, more)
    error += more
    la.trsm(L, more, True)
    weights += more
    la.gemm(At, more, v_mean, True, False, -1.0, 1.0)
    la.trsm(L, solved_At)
    la.trsm(L, solved_At, True)
    F_At = classes.F_times(solved_At)
    return ClassCell(X, At, [Factor(U, error)], weights, v_mean, classes, F_At)
