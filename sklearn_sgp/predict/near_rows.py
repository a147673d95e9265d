"""The test conditional p(f | u, y_B): what near rows, such as a block, add to what u says.

Mean and variance at each row are `_mean_variance`, with the weights of the cells that a row lies
between (`partitions.near_cells.CellWeights`). Covariances of rows of different cells are added by
`joint_across_cells`, drawn functions by `near_functions`.
"""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from .._core import _linalg as la
from .._core._cells import condition
from .._core._memory import empty
from .._linalg import copy_of, product
from .._parallel import blas_threads_for, group_bounds, map_groups, resolved_jobs, shares_memory
from ..data.inputs import Inputs
from ..factors.cells import Cells, ClassCell, FactorCache
from ..gp.functionals import of_functional
from ..gp.posterior import Posterior, without_own
from ..kernels import Groups
from ..partitions.blocks import NOT_KEPT, AnyBlocks, are_near
from ..partitions.near_cells import CellWeights, NearestCells
from ..partitions.partition import GivenBlocks, Partition, position_of
from .base import share_left
from .joint_across_cells import BetweenCells, CellErrors
from .near_classes import roots_of_classes
from .near_functional import NearFunctional
from .near_functions import NearFunctions

# Test rows that are predicted together.
_CHUNK = 1024
# Tasks of a prediction, about, where so many cells are hit.
_TASKS = 32
# Memory for factorised cells that were predicted in.
CACHE_BYTES = 256 << 20


class _OwnMoments:
    """Moments at all training rows: noise, bands and mean of one fit are judged by the same.

    So are the cells that rows are drawn from: for 2 million rows each search takes 20 s. A copy, as
    for a worker in another process or a pickle, begins empty.
    """

    X = moments = places = of_places = by_cell = None

    def __getstate__(self):
        return None

    def of(self, rows, compute):
        """Return the moments of all training rows, of which some may be known already.

        ``compute`` returns those of some `Rows` at their places.
        """
        if self.X is not rows.X:
            if self.places is None:
                moments = compute(rows, np.arange(len(rows)))
            else:
                moments = self._with_the_rest(rows, compute)
            for part in moments:
                part.flags.writeable = False
            self.X, self.moments = rows.X, moments
        return self.moments

    def _with_the_rest(self, rows, compute):
        rest = np.setdiff1d(np.arange(len(rows)), self.places)
        order = np.argsort(np.concatenate([self.places, rest]))
        parts = [self.of_places, *([compute(rows.select(rest), rest)] if len(rest) else [])]
        return tuple(np.concatenate(part)[order] for part in zip(*parts, strict=True))

    def at(self, places, rows, compute):
        """Return the moments at some of the rows, which may be some of those before."""
        if self.moments is None:
            if self.places is None or position_of(places, self.places).min(initial=0) < 0:
                self.places, self.of_places = places, compute(rows, places)
            places = position_of(places, self.places)
        return tuple(part[places] for part in self.moments or self.of_places)

    def in_cells(self, number):
        """Return the rows in the order of their cells, and where each begins.

        ``number`` returns the number of the cell of each row.
        """
        if self.by_cell is None:
            order, _, first = _places(number())
            self.by_cell = order, first
        return self.by_cell


@dataclass(frozen=True)
class NearRows:
    """Predicts from q(u) and the training rows near a test row (docs/theory.md, eq. 32).

    These are the rows of its block (PIC), of blocks along a chain (LMA) or its neighbours (VIF).

    Parameters
    ----------
    partition : Partition
        Assigns rows to blocks; see partitions/partition.py and near_cells.py.
    cache : FactorCache
        Factorised cells of this posterior and these blocks.
    own : _OwnMoments
        What is computed once of the training rows while a fit goes on.
    """

    posterior: Posterior
    noise_variance: object
    blocks: AnyBlocks
    partition: Partition
    cache: FactorCache = field(default_factory=partial(FactorCache, 0), compare=False)
    own: _OwnMoments = field(default_factory=_OwnMoments, compare=False)
    most_rows = 8192  # 10,000 rows take 1 s, a quarter of a default fit
    knows_rows = leaves_out = True

    @property
    def has_functions(self):
        """True if draws of functions have the right distribution: not across blocks of PIC."""
        return self.blocks.is_conditioned and self.partition.by_inputs

    def functions(self, n_samples, rng):
        """Draw functions; see `Predictor`."""
        given = self.posterior, self.blocks.rows, self.noise_variance
        return NearFunctions(self, *given, n_samples, rng)

    def mean_at(self, X):
        """Return means at inputs, where rows have no labels."""
        weights = self.weights(Inputs(X))
        return weights.sums(self.conditional(None).mean(weights.inputs(X), weights.cell))

    def each_cell(self, X):
        """Yield test rows of cells, what the cell counts, numbers of near rows, and the `Cell`."""
        conditional, weights = self.conditional(None), self.weights(Inputs(X))
        order, numbers, first = _places(weights.cell)
        for g, (k, near) in enumerate(zip(numbers, self.blocks.near(numbers), strict=True)):
            entries = order[first[g] : first[g + 1]]
            index = weights.row[entries]
            cells = conditional._cells(X, index, [k], np.array([0, len(index)]))
            ((_, _, (cell,)),) = cells.parts(self.posterior)
            yield index, weights.weight[entries], near, cell

    def number(self, inputs):
        """Return the number of the block of each row, -1 for none."""
        return self.partition.number(inputs)

    def weights(self, inputs):
        """Return the cells that count for each row: `CellWeights`."""
        if isinstance(self.partition, NearestCells):
            return self.partition.weights(inputs.X)
        return CellWeights.of_one(self.number(inputs))

    def conditional(self, n_jobs):
        around = self.blocks.near_cells.around
        return LocalConditional(self.posterior, self.noise_variance, around, n_jobs, self.cache)

    def mean(self, inputs, n_jobs=None):
        """Return means; see `Predictor`."""
        weights = self.weights(inputs)
        return weights.sums(self.conditional(n_jobs).mean(weights.inputs(inputs.X), weights.cell))

    def moments(self, inputs, n_jobs=None):
        """Return means and variances; see `Predictor`."""
        weights, conditional = self.weights(inputs), self.conditional(n_jobs)
        return weights.moments(*conditional.mean_variance(weights.inputs(inputs.X), weights.cell))

    def of_one_cell(self, rows, number, n_jobs=None):
        """Return moments at rows by the cells of these numbers alone."""
        if self.blocks.is_conditioned:
            self.blocks.near(np.unique(number))  # of all cells in one search, which is kept
        return self.conditional(n_jobs).mean_variance(rows.X, number)

    def novelty(self, inputs, n_jobs=None):
        """Return the share of the prior variance that is left; see `Predictor`."""
        prior = self.posterior.prior_variance(inputs.X)
        return share_left(self.moments(inputs, n_jobs)[1], prior)

    def of_functional(self, kernel):
        """Return the predictor of a linear functional; see `Predictor`."""
        seen = of_functional(self.posterior, kernel)
        return NearFunctional(self, seen, getattr(kernel, "column", None))

    def joint(self, inputs, n_jobs=None):
        """Return means and joint covariances; see `Predictor`."""
        conditional, blocks, between = self.conditional(n_jobs), self.blocks, None
        if blocks.is_conditioned and not blocks.rows.share_factors:
            between = BetweenCells.of(blocks, self.noise_variance, n_jobs)
        weights = self.weights(inputs)
        X = weights.inputs(inputs.X)
        return weights.joint(*conditional.mean_covariance(X, weights.cell, between))

    def training_moments(self, rows, places=None, n_jobs=None):
        """Return the moments at training rows, by their own cells: each is among its near rows."""
        told = self.own.of if places is None else partial(self.own.at, places)
        cells_of = partial(self.partition.cells_of, self.blocks)
        return told(rows, lambda rows, at: self.of_one_cell(rows, cells_of(rows, at), n_jobs))

    def are_known(self, rows, places):
        """Find the training rows at some places that are among their near rows, (n,)."""
        return are_near(self.blocks, places, self.partition.cells_of(self.blocks, rows, places))

    def left_out(self, rows, places=None, n_jobs=None):
        """Return the moments without the row itself, where it is among its near rows."""
        mean, variance = self.training_moments(rows, places, n_jobs)
        places = np.arange(len(rows)) if places is None else places
        known = self.are_known(rows, places)[:, None]
        noise = self.noise_variance / rows.weights[0].reshape(len(rows), -1)
        without = without_own(mean, variance, rows.targets, noise)
        return tuple(np.where(known, *both) for both in zip(without, (mean, variance), strict=True))

    def drawn(self, n_rows, size, rng):
        """Draw places of about so many training rows, in whole cells: each is factorised once."""
        if not self.has_functions:
            return self.blocks.drawn(size, rng)
        rows = self.blocks.rows
        of_rows = self.blocks, rows, self.blocks.places_of(np.arange(len(rows)))
        order, first = self.own.in_cells(lambda: self.partition.cells_of(*of_rows))
        chosen = rng.permutation(len(first) - 1)
        count = np.searchsorted(np.cumsum(np.diff(first)[chosen]), size) + 1
        held = np.concatenate([order[first[k] : first[k + 1]] for k in chosen[:count]])
        return self.blocks.places_of(held)

    def without_caches(self):
        """Return the same with nothing that can be computed again, as it is saved."""
        return replace(self, posterior=self.posterior.without_caches(), own=_OwnMoments())

    def separated(self):
        """Separate the predictor from the blocks, if a test row needs those of its own alone."""
        if self.blocks.is_conditioned:
            return self, None
        return replace(self, blocks=NOT_KEPT), self.blocks

    def with_blocks(self, blocks, labels):
        """Return the predictor of test rows that are labelled by some blocks, and of others."""
        return NearRows(self.posterior, self.noise_variance, blocks, GivenBlocks(labels))

    def with_posterior(self, posterior):
        """Replace q(u)."""
        cache = FactorCache(self.cache.max_bytes)
        return replace(self, posterior=posterior, cache=cache, own=_OwnMoments())

    def ready(self):
        """Return the predictor with an empty cache for the cells of predictions."""
        self.blocks.warm_cache()
        return replace(self, cache=FactorCache(CACHE_BYTES), own=_OwnMoments())


class LocalConditional:
    """p(f | u, y_B) for the rows B near the cell of a test row, such as its block (PIC, LMA, VIF).

    The methods are those of `gp.posterior.ExactConditional`, with the number of the cell of each
    test row, (n,), -1 for none.

    Parameters
    ----------
    posterior : Posterior
        With an H for each noise variance.
    around : callable
        ``around(numbers)``: the `Rows` that test rows of some cells are conditioned on, and the
        positions of each cell's among them; see `NearCells.around`.
    cache : FactorCache or None
        Of this posterior and these cells.
    """

    def __init__(self, posterior, noise_variance, around, n_jobs=None, cache=None):
        self.posterior, self.noise_variance = posterior, noise_variance
        self.around, self.n_jobs = around, n_jobs
        self.cache = FactorCache(0) if cache is None else cache

    def mean(self, X, cell):
        """Compute means alone, without any variance: linear in the rows near a cell."""
        mean = np.empty((len(X), self.posterior.h.shape[1]))
        for index, (result,) in self._mapped(_mean, X, cell):
            mean[index] = result
        return mean

    def mean_variance(self, X, cell, seen=None):
        """Compute means and variances; of a functional by q(u) as that is seen."""
        mean = np.empty((len(X), self.posterior.h.shape[1]))
        variance = np.empty((len(X), len(self.posterior.H)))
        function = _mean_variance if seen is None else partial(_seen_mean_variance, seen)
        for index, result in self._mapped(function, X, cell):
            mean[index], variance[index] = result
        return mean, variance

    def _mapped(self, function, X, cell):
        """Return pairs of the test rows of each task, and what a function returns there.

        A task is one cell, or a few where there are many; for workers that get a copy of the
        posterior it is a group of them. Tasks come first whose cells are factorised: had these to
        wait, others would have taken their places in the cache by then.
        """
        if 0 < len(cell) <= 2 and len(set(cell.tolist())) == len(cell):
            # one row by its two cells: what follows takes half as long again as its prediction
            cells = self._cells(X, slice(None), cell, np.arange(len(cell) + 1))
            return [(slice(None), _each_part(function, self.posterior, cells))]
        order, numbers, first = _places(cell)
        step = max(1, len(numbers) // _TASKS)
        bounds = [(lo, min(lo + step, len(numbers))) for lo in range(0, len(numbers), step)]
        if not shares_memory():
            bounds = group_bounds(len(numbers), 1)
        bounds.sort(key=lambda ends: not self.cache.holds(numbers[slice(*ends)]))
        index = [order[first[lo] : first[hi]] for lo, hi in bounds]
        tasks = []
        for own, (lo, hi) in zip(index, bounds, strict=True):
            cells = partial(self._cells, X, own, numbers[lo:hi], first[lo : hi + 1] - first[lo])
            # threads gather the rows themselves, so that those of all tasks are never held at once
            tasks.append((function, self.posterior, cells if shares_memory() else cells()))
        n_jobs = resolved_jobs(self.n_jobs)
        return zip(index, map_groups(_each_part, tasks, n_jobs), strict=True)

    def _cells(self, X, index, numbers, bounds):
        """Return `Cells` of some numbers, with the test rows in each."""
        # in another process nobody comes back to what one task has factorised
        cache = self.cache if shares_memory() else FactorCache(0)
        return Cells.around(X[index], bounds, numbers, self.around, self.noise_variance, cache)

    def mean_covariance(self, X, cell, between=None):
        """Compute joint moments.

        Rows of one cell are correlated as its data say. Rows of different cells meet through u
        alone, as PIC has it, or as ``between`` says, a `BetweenCells`.
        """
        (m, t), q = self.posterior.h.shape, len(self.posterior.H)
        mean, roots, errors = np.empty((len(X), t)), np.empty((q, len(X), m)), []
        residual = [np.zeros((len(X), len(X))) for _ in range(q)]
        order, numbers, first = _places(cell)
        near = between.near(numbers) if between else [None] * len(numbers)
        for g, k in enumerate(numbers):
            index = order[first[g] : first[g + 1]]
            cells = self._cells(X, index, [k], np.array([0, len(index)]))
            (part,) = cells.parts(self.posterior)
            a, mean[index], parts = _project(self.posterior, *part)
            parts = list(parts)
            for of_H, own in zip(residual, self._within(X[index], a, parts), strict=True):
                of_H[np.ix_(index, index)] = own
            if between:
                errors.append(CellErrors.of(index, X[index], near[g], part[2][0], a, parts))
            roots[:, index] = [b for b, *_ in parts]
        if between:
            residual = between.residual(residual, errors, self.posterior.prior.kernel)
        through_u = [product(root, root, trans_b=True) for root in roots]
        return mean, np.stack([u + own for u, own in zip(through_u, residual, strict=True)], axis=2)

    def _within(self, X, a, parts):
        """Compute covariances that rows of one cell have besides u, for each H."""
        K, own = self.posterior.prior.kernel.gram(X), []
        K -= product(a, a, trans_b=True)
        for _, roots, _ in parts:
            own.append(copy_of(K))
            for c in roots:
                c = np.ascontiguousarray(c).reshape(len(X), c.size // len(X))
                la.gemm(c, c, own[-1], False, True, -1.0, 1.0)
            np.fill_diagonal(own[-1], np.maximum(np.diagonal(own[-1]), 0.0))
        return own


def _places(cell):
    """Return test rows in order of their cells, the cells that are hit, and where each begins."""
    order = np.argsort(cell, kind="stable")
    numbers, first = np.unique(cell[order], return_index=True)
    return order, numbers, np.append(first, len(order))


def _each_part(function, posterior, cells):
    """Call a function on the test rows of some cells; return arrays with a row for each."""
    cells, result = cells() if callable(cells) else cells, []
    with blas_threads_for(cells.sizes.max()):
        for X, bounds, some in cells.parts(posterior):
            if len(X) <= _CHUNK:
                result.append(function(posterior, X, bounds, some))
                continue
            for lo in range(0, len(X), _CHUNK):
                hi = min(lo + _CHUNK, len(X))
                g, end = np.searchsorted(bounds, lo, "right") - 1, np.searchsorted(bounds, hi)
                within = np.clip(bounds[g : end + 1], lo, hi) - lo
                result.append(function(posterior, X[lo:hi], within, some[g:end]))
    if len(result) == 1:
        return result[0]
    return [np.concatenate(arrays) for arrays in zip(*result, strict=True)]


def _projections(posterior, X, bounds, cells):
    """Return A^T of the test rows (n, m), and K of each with the near rows of its cell."""
    near = np.concatenate([cell.X for cell in cells])
    ends = np.append(0, np.cumsum([len(cell.X) for cell in cells]))
    groups = Groups(np.arange(len(X)), np.arange(len(near)), bounds, ends)
    prior = posterior.prior
    return prior.whitened_rows(X), prior.kernel.blocks(X, near, groups), groups


def _mean(posterior, X, bounds, cells):
    """Compute means (n, t) at test rows of some cells: a^T (m - A w) + k_*B w (theory, eq. 32)."""
    a, cross, groups = _projections(posterior, X, bounds, cells)
    mean = np.empty((len(X), posterior.h.shape[1]))
    for cell, (rows, columns, place) in zip(cells, groups, strict=True):
        own = slice(rows[0], rows[-1] + 1)
        la.gemm(a[own], cell.v_mean, mean[own])
        la.gemm(cross[place].reshape(len(rows), len(columns)), cell.weights, mean[own], beta=1.0)
    return (mean,)


def _project(posterior, X, bounds, cells):
    """Return a, means (n, t), and for each H the root of the part through u, roots c, and |c|^2.

    With c = inv(C) (k_B* - A^T a) and b = a - A inv(C)^T c, the mean is a^T m + c^T inv(C) (y -
    A^T m) and the variance k** - |a|^2 - |c|^2 + b^T S b (theory, eq. 32).
    """
    a, cross, groups = _projections(posterior, X, bounds, cells)
    if isinstance(cells[0], ClassCell):
        solved = np.empty_like(cross)
        mean, *shared = _condition(posterior, a, cross, bounds, cells, 0, slice(None), solved)
        return a, mean, roots_of_classes(posterior, groups, cells, solved, cross, *shared)
    mean, result = [], []
    for number, (precision, own) in enumerate(posterior.by_precision):
        c = cross if number == len(posterior.H) - 1 else cross.copy()
        own_mean, b, squares = _condition(posterior, a, c, bounds, cells, number, own)
        la.trmm_right(b, precision.L_inv, True)
        mean.append(own_mean)
        result.append((b, [c], squares))
    return a, np.hstack(mean), result


def _condition(posterior, a, cross, bounds, cells, number, own, solved=None):
    """Return means (n, t), b and |c|^2 by the factors of this number; c replaces ``cross``."""
    factors = [cell.factors[number] for cell in cells]
    U, error = [factor.U for factor in factors], [factor.error for factor in factors]
    At, whitened_At = [cell.At for cell in cells], [factor.whitened_At for factor in factors]
    v_mean, squares = np.ascontiguousarray(posterior.v_mean[:, own]), np.zeros(len(a))
    mean, b = np.empty((len(a), v_mean.shape[1])), empty(a.shape)
    la.gemm(a, v_mean, mean)
    b[...] = a
    condition(U, At, whitened_At, error, bounds, a, cross, b, mean, squares, solved)
    return mean, b, squares


def _mean_variance(posterior, X, bounds, cells):
    """Compute means (n, t) and variances (n, q) at test rows of some cells."""
    a, mean, parts = _project(posterior, X, bounds, cells)
    unexplained, variance = posterior.prior.kernel.diag(X), np.empty((len(X), len(posterior.H)))
    la.row_dots(a, a, unexplained, -1.0)
    for number, (b, _, squares) in enumerate(parts):
        explained = np.zeros(len(X))
        la.row_dots(b, b, explained)
        # k** - q** - |c|^2 is below 0 by rounding only
        variance[:, number] = np.maximum(unexplained - squares, 0.0) + explained
    return mean, variance


def _seen_mean_variance(seen, posterior, X, bounds, cells):
    """Compute those of a functional, by cells that are factorised for the functions."""
    return _mean_variance(seen, X, bounds, cells)
