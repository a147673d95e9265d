"""Cells: which one a test row is in, and which training rows are near it.

Between two cells what both say is joined, mean and variance, so that nothing jumps there:
`CellWeights`.

Searches for thousands of places go over the centres of groups of rows, and then among the rows of
the nearest groups: that takes a third of the time, and what is found lies 0 to 2 percent further
away than the very nearest rows.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .._core._neighbours import nearest_groups, rows_near_places
from .._parallel import group_bounds, map_groups, resolved_jobs, shares_memory
from ..data.clusters import nearest
from ..data.rows import Rows, shared
from .partition import KMeansTree, Partition, numbers_of_parts

# The nearest rows are looked for in the nearest groups that hold so many times as many.
_SPARE = 8
# Up to so many groups all distances cost less than a search: 1,000 of 9 columns take 4 ms.
_FEW_GROUPS = 2048
# Centres searched around at once, and least places of a thread.
_SEARCH_CENTRES, _LEAST_THREAD_PLACES = 4096, 64
# Rows whose cells are searched for at once, and least rows of a thread.
_ASSIGN_ROWS, _LEAST_THREAD_ROWS = 1 << 16, 1 << 10
# Centres of cells are moved so many times, where that takes at most so many products: a second.
_MOVES, _MOST_PRODUCTS = 2, 1 << 31
# A second cell counts while its centre is at most so many times as far away as the first. Of 1,000
# test rows of a function of four columns (3,000 rows) half have a second cell with 1.3, all
# without: means are then 0.253 and 0.246 deviations off those of the exact process, one cell alone
# 0.261, and predictions take 1.2 and 1.4 times as long where cells are known.
_SECOND_REACH = 1.3


def scaled_points(X, scale):
    """Return rows in units in which distances are taken, in double precision."""
    return np.asarray(X, dtype=np.float64) / scale


class NearGroups:
    """Rows in groups, of which those nearest to a place are looked for.

    Of rows that are equally near those are found that are first in a drawn order. By their own
    order 5,000 rows at 20 places, sorted by their targets, taught VIF a noise variance of 0.483 and
    0.489, where the exact process has 0.438, and other orders 0.43 to 0.45.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Inputs, in units in which distances are taken.
    groups : list of ndarray of int
        Rows of each group, in order.
    rng : RandomState
        Draws an order.
    """

    def __init__(self, points, groups, rng, n_jobs=None):
        self.n_jobs = resolved_jobs(n_jobs)
        self.sizes = np.array([len(group) for group in groups], dtype=np.intp)
        self.starts = np.append(0, np.cumsum(self.sizes)).astype(np.intp)
        self.order = np.concatenate(groups)
        self.rank = rng.permutation(len(self.order)).astype(np.intp, copy=False)
        self.ranked = np.full(len(self.order) + 1, len(points))  # the last stands for none
        self.ranked[self.rank] = self.order
        # side by side, where a search looks at them one after the other
        self.points = np.ascontiguousarray(points[self.order], dtype=np.float64)
        sums = np.add.reduceat(self.points, self.starts[:-1], axis=0)
        self.centres = sums / self.sizes[:, None]

    def earlier(self, count):
        """Find rows near the centre of each group, among the rows of the groups before it.

        Searches go over prefixes of the order, each twice as long as the one before: no search is
        among more than twice the groups that may be found. ``count`` rows are looked for, fewer
        where fewer come before.

        Returns
        -------
        before : list of ndarray of int
            Sorted, for each group.
        """
        before, lo = [], 0
        while lo < len(self.sizes):
            hi = min(len(self.sizes), max(2 * lo, lo + _SPARE))
            run = np.arange(lo, hi)
            before += self._near(self.centres[run], run, count)
            lo = hi
        return before

    def earlier_of_rows(self, count, first):
        """Find rows near the rows of groups from ``first`` on, among those of the groups before.

        Of rows that lie far apart each has a few near ones of its own. Where these are the same
        for many, further rows around the centre of the group make up the number.

        Returns
        -------
        before : list of ndarray of int
            Sorted, about ``count`` for each of these groups.
        """
        return self._near_rows(count, first, np.arange(first, len(self.sizes)))

    def around_rows(self, count, first):
        """Find rows near the rows of groups from ``first`` on, among all rows: a list of arrays."""
        return self._near_rows(count, first, np.full(len(self.sizes) - first, len(self.sizes)))

    def _near_rows(self, count, first, ends):
        """Find rows near the rows of groups from ``first`` on, in groups before their ends."""
        sizes, place = self.sizes[first:], np.empty(len(self.order), dtype=np.intp)
        place[self.order] = np.arange(len(place))
        each = -(-count // int(sizes.max()))
        of_rows = self._near(self.points[self.starts[first] :], np.repeat(ends, sizes), each)
        centres, result, lo = self.centres[first:], [], 0
        around = self._near(centres, ends, count)
        for centre, own, size in zip(centres, around, sizes, strict=True):
            near, lo = np.unique(np.concatenate(of_rows[lo : lo + size])), lo + size
            more = np.setdiff1d(own, near, assume_unique=True)
            away = ((self.points[place[more]] - centre) ** 2).sum(axis=1)
            missing = max(0, count - len(near))
            result.append(np.union1d(near, more[np.argsort(away, kind="stable")[:missing]]))
        return result

    def around(self, places, count):
        """Find rows near each place, among all rows: a list of sorted arrays."""
        return self._near(places, np.full(len(places), len(self.sizes)), count)

    def _near(self, places, ends, count):
        """Find rows near each place, in groups before its end."""
        places, ends = np.ascontiguousarray(places, dtype=np.float64), ends.astype(np.intp)
        last, result = max(1, ends.max(initial=0)), [None] * len(places)
        enough = np.minimum(_SPARE * count, self.starts[ends]).astype(np.intp)
        wanted = min(last, 2 + int(_SPARE * count / self.sizes.mean()))
        if last > _FEW_GROUPS:
            found = (
                (part, self._nearest(places[part], near, ends[part], enough[part], count))
                for part, near in self._nearest_by_tree(places, ends, enough, wanted, last)
            )
        else:
            found = self._found_among_all(places, ends, enough, wanted, last, count)
        for part, (rows, counts) in found:
            for k, nearest_k, n in zip(part, rows, counts, strict=True):
                result[k] = nearest_k[:n] if n >= 0 else result[k]
        return result

    def _found_among_all(self, places, ends, enough, wanted, last, count):
        """Return places and the rows near them, by several threads where places are many."""

        def search(lo, hi):
            each = places[lo:hi], ends[lo:hi], enough[lo:hi]
            near = nearest_groups(self.centres[:last], self.sizes[:last], *each, wanted)
            return np.arange(lo, hi), self._nearest(each[0], near, *each[1:], count)

        n_jobs = self.n_jobs if shares_memory() else 1
        return map_groups(search, group_bounds(len(places), _LEAST_THREAD_PLACES), n_jobs)

    def _nearest_by_tree(self, places, ends, enough, wanted, last):
        """Yield the places and the groups nearest to them, again with more that hold more rows."""
        search = self._tree_of_all if last == len(self.centres) else self._tree(last)
        pending = np.arange(len(places))
        while len(pending):
            wanted, missing = min(2 * wanted, last), []  # half of them come later
            for part in np.array_split(pending, -(-len(pending) // _SEARCH_CENTRES)):
                near = search.kneighbors(places[part], wanted, return_distance=False)
                held = np.where(near < ends[part, None], self.sizes[near], 0).sum(axis=1)
                missing.append(part[held < enough[part]])
                yield part, near
            pending = np.concatenate(missing)

    @cached_property
    def _tree_of_all(self):
        return self._tree(len(self.centres))

    def _tree(self, last):
        from sklearn.neighbors import NearestNeighbors

        return NearestNeighbors(n_jobs=self.n_jobs).fit(self.centres[:last])

    def _nearest(self, places, near, ends, enough, count):
        """Find rows of near groups nearest to each place, sorted, and how many; -1 for too few."""
        rows, counts = (np.empty(shape, dtype=np.intp) for shape in ((len(near), count), len(near)))
        near = np.ascontiguousarray(near, dtype=np.intp)
        found = self.starts, places, near, ends, enough, rows, counts
        rows_near_places(self.points, self.rank, *found)
        return np.sort(self.ranked[rows], axis=1), counts


class NearCells(ABC):
    """Finds the rows that test rows of cells are conditioned on.

    The rows are those of all cells.
    """

    @abstractmethod
    def near(self, cells):
        """Return the positions of the rows of each of some cells, none for a cell -1."""

    def around(self, cells):
        """Return the rows of some cells; what cells share is there once.

        The number of no cell is -1.

        Returns
        -------
        rows : Rows
        places : list of ndarray of int
            Positions of the rows of each cell among them.
        """
        needed, places = shared(self.near(cells))
        return self.rows.select(needed), places


@dataclass(frozen=True)
class RowsAround(NearCells):
    """Finds the rows near the centres of cells, when they are asked for, and keeps them.

    Parameters
    ----------
    centres : ndarray of shape (n_cells, d)
    count : int
        Rows to find.
    found : dict
        Those of cells that were asked for.
    """

    rows: Rows
    search: NearGroups
    centres: np.ndarray
    count: int
    found: dict = field(default_factory=dict, compare=False)

    def near(self, cells):
        """Return the positions of the rows near each of some cells, none for a cell -1."""
        new = [k for k in cells if k >= 0 and k not in self.found]
        if new:
            self.found.update(zip(new, self.at(self.centres[new]), strict=True))
        return [self.found[k] if k >= 0 else np.empty(0, dtype=np.intp) for k in cells]

    def at(self, places):
        """Return the positions of the rows near each place."""
        return self.search.around(places, self.count)


@dataclass(frozen=True)
class CellWeights:
    """Rows in cells, and how much each cell counts for its row.

    Parameters
    ----------
    row, cell : ndarray of int, shape (k,)
        All rows at first, each in the cell nearest to it, then some in a second one.
    weight : ndarray of shape (k,)
        They sum to 1 for each row.
    slope : ndarray of shape (k,) or None
        Of the weights, in a column of the inputs.
    """

    n_rows: int
    row: np.ndarray
    cell: np.ndarray
    weight: np.ndarray
    slope: np.ndarray | None = None

    @classmethod
    def of_one(cls, cell):
        """Return those of rows that have one cell each."""
        return cls(len(cell), np.arange(len(cell)), cell, np.ones(len(cell)))

    @classmethod
    def of_two(cls, first, second, weight, slope=None):
        """Return those of rows for which a second cell has a weight, 0 where it does not count."""
        n, also = len(first), np.flatnonzero(weight > 0.0)
        return cls(
            n,
            np.append(np.arange(n), also),
            np.append(first, second[also]),
            np.append(1.0 - weight, weight[also]),
            None if slope is None else np.append(-slope, slope[also]),
        )

    @property
    def n_further(self):
        """Number of rows that are in a second cell."""
        return len(self.row) - self.n_rows

    def inputs(self, X):
        """Return the input of each entry."""
        return X[self.row] if self.n_further else X

    def sums(self, values, weight=None):
        """Return for each row what its cells say, (n, ...), by their weights."""
        if not self.n_further and weight is None:
            return values
        weight, n = self.weight if weight is None else weight, self.n_rows
        weighted = weight.reshape(-1, *[1] * (values.ndim - 1)) * values
        total = weighted[:n].copy()
        total[self.row[n:]] += weighted[n:]
        return total

    def moments(self, mean, variance):
        """Return means, and the largest variances that they may have, given those in each cell."""
        if not self.n_further:
            return mean, variance
        return self.sums(mean), self.sums(np.sqrt(variance)) ** 2

    def joint(self, mean, covariance):
        """Return means and covariances, (n, n, q), with the variances of `moments`."""
        if not self.n_further:
            return mean, covariance
        mean, variance = self.moments(mean, np.einsum("iiq->iq", covariance))
        both = self.sums(self.sums(covariance).transpose(1, 0, 2))
        own = np.einsum("iiq->iq", both)
        factor = np.sqrt(np.divide(variance, own, out=np.ones_like(own), where=own > 0.0))
        return mean, both * factor[:, None] * factor


class NearestCells(Partition):
    """The cell of a test row is the one with the nearest centre.

    A tree goes down by its nearest branches, which need not lead to the nearest cell. What is known
    of a row is what lies around the centre of its cell: of 4,000 rows of 16 columns a tree puts one
    of four elsewhere, and 10 % of them are given a wrong class, otherwise 5 %.

    Parameters
    ----------
    centres : ndarray of shape (n_cells, d)
        In units of ``scale``.
    scale : ndarray of shape (d,) or Units
    """

    def __init__(self, centres, scale):
        self.centres, self.scale = centres, scale

    @classmethod
    def around(cls, X, centres, scale):
        """Make cells around centres, moved by iterations of k-means unless rows are many.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Training inputs.
        centres : ndarray of shape (n_cells, d)
            In units of ``scale``.
        scale : ndarray of shape (d,) or Units
        """
        cells = cls(centres, scale)
        if _MOVES * math.prod(X.shape) * len(centres) <= _MOST_PRODUCTS:
            points = scaled_points(X, scale)
            for _ in range(_MOVES):
                cells = cls(_means(points, cells.assign(X), cells.centres), scale)
        return cells

    def assign(self, X):
        """Return the numbers of the cells, as those of `partition`.

        As with BLAS, as many threads work as there may be: a third of a prediction's time goes here
        where cells are many and test rows are as many as training rows.
        """
        return self._in_parts(X, lambda points: [nearest(points, self.centres)], [np.intp])[0]

    def cells_of(self, blocks, rows, places):
        """Return the nearest cells of training rows, around whose centres near rows are."""
        return self.number(rows)

    def weights(self, X, column=None):
        """Return the cells that count for each row, with the slopes of weights in a column."""
        direction = None
        if column is not None:
            unit = np.zeros((2, X.shape[1]))
            unit[1, column] = 1.0
            direction = np.subtract(*scaled_points(unit, self.scale)[::-1])
        dtypes = np.intp, np.intp, float, float
        *two, slope = self._in_parts(
            X, lambda points: nearest_two(points, self.centres, direction), dtypes
        )
        return CellWeights.of_two(*two, None if column is None else slope)

    def _in_parts(self, X, look, dtypes):
        """Return what ``look`` says of the points of the rows, arrays (n,), some rows at a time."""
        found = [np.empty(len(X), dtype) for dtype in dtypes]

        def of_part(begin, end):
            for lo in range(begin, end, _ASSIGN_ROWS):
                hi = min(end, lo + _ASSIGN_ROWS)
                parts = look(scaled_points(X[lo:hi], self.scale))
                for whole, part in zip(found, parts, strict=True):
                    whole[lo:hi] = part

        map_groups(of_part, *_of_threads(len(X)))
        return found

    def split(self, k, X, size, rng):
        """Put several centres in the place of one; see `KMeansTree.split`."""
        parts = KMeansTree(size, self.scale)
        labels = parts.fit(X, rng)
        centres = np.empty((parts.n_blocks, self.centres.shape[1]))
        centres = _means(scaled_points(X, self.scale), labels, centres)
        numbers = numbers_of_parts(k, len(self.centres), parts.n_blocks)
        whole = NearestCells(np.vstack([self.centres, centres[1:]]), self.scale)
        whole.centres[k] = centres[0]
        return whole, numbers[labels]


def nearest_two(points, centres, direction=None):
    """Return the two cells nearest to each row, the second one's weight there, and its slope.

    It has as much weight as the first where both centres are equally near, and none where the third
    is as near, or where it is far itself.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    centres : ndarray of shape (n_cells, d)
    direction : ndarray of shape (d,) or None
        In which slopes of the weights are taken.
    """
    points, n = np.ascontiguousarray(points, dtype=np.float64), len(points)
    ends = np.full(n, len(centres), dtype=np.intp)
    each, count = np.ones(len(centres), dtype=np.intp), min(3, len(centres))
    near = nearest_groups(centres, each, points, ends, np.minimum(ends, count), count)
    if count == 1:
        return near[:, 0], near[:, 0], np.zeros(n), np.zeros(n)
    difference = points[:, None] - centres[near]
    away = np.sqrt(np.einsum("ikj,ikj->ik", difference, difference))
    moved = np.zeros_like(away)
    if direction is not None:
        np.divide(difference @ direction, away, out=moved, where=away > 0.0)
    return near[:, 0], near[:, 1], *_of_second(away, moved)


def _of_second(away, moved):
    """Return the weights of second cells, and their slopes by those of distances, (n, 2 or 3)."""
    limit, is_third = _SECOND_REACH * away[:, 0], np.zeros(len(away), dtype=bool)
    if away.shape[1] == 3:
        is_third = away[:, 2] < limit
    room = np.where(is_third, away[:, -1], limit) - away[:, 0]
    over = away[:, 1] - away[:, 0]
    counts = over < room
    part = np.divide(over, room, out=np.ones_like(over), where=counts)
    share = (1.0 - part) ** 2
    room_moved = np.where(is_third, moved[:, -1], _SECOND_REACH * moved[:, 0]) - moved[:, 0]
    part_moved = moved[:, 1] - moved[:, 0] - part * room_moved
    np.divide(part_moved, room, out=part_moved, where=counts)
    return share / (1.0 + share), -2.0 * (1.0 - part) * part_moved / (1.0 + share) ** 2


def _of_threads(n_rows):
    """Return runs of rows for threads, as many as there may be, and the number of threads."""
    if n_rows <= _LEAST_THREAD_ROWS:
        return [(0, n_rows)], 1  # also where there are none
    return group_bounds(n_rows, _LEAST_THREAD_ROWS), resolved_jobs(None) if shares_memory() else 1


def _means(points, cells, centres):
    """Return the means of the points of each cell; a cell without points keeps its centre."""
    counts = np.bincount(cells, minlength=len(centres))
    columns = [np.bincount(cells, column, len(centres)) for column in points.T]
    means = np.stack(columns, axis=1) / np.maximum(counts, 1)[:, None]
    return np.where(counts[:, None] > 0, means, centres)
