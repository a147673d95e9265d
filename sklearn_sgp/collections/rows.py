"""Rows in partitions, as learning code sees `data.rows.Rows`: samples come here, sums too."""

from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np

from .._sampling import fixed_index
from ..data.rows import AnyRows, Rows
from ..factors.passes import CHUNK, AnyPieces
from .compute import computed, each, in_one, resident
from .parts import taken

# Sizes of the samples that every fit looks at; they are gathered together.
_COMMON_SIZES = (1000, 2000, 10_000)


class PartitionedRows(AnyRows):
    """Rows of positive weight that stay where their partitions are.

    A selection of them is `Rows` in memory: each row is gathered once. Passes over all of them are
    tasks where the partitions live, which return sums (`as_pieces`).

    Parameters
    ----------
    parts : list of tuple
        Partitions, none of them empty.
    load : callable or None
        ``load(*part)`` makes the `Rows` of a partition; None where the parts are these.
    sizes : sequence of int
        Their numbers of rows.
    total_weight : float
    weighted : bool
        Whether rows have weights other than 1.
    like : Rows
        No rows, with the columns of X and y, and the scaling of these.
    code_weights : ndarray of shape (n_classes,) or None
        Weights of the rows of each class, where targets are codes of classes.
    labels : (list of ndarray, list of ndarray) or None
        For each partition the labels of its blocks, and how many rows each block has.
    """

    live_elsewhere = True

    def __init__(
        self, parts, load, sizes, total_weight, weighted, like, code_weights=None, labels=None
    ):
        self.parts, self.load, self.labels = parts, load, labels
        self.total_weight, self.weighted_rows = total_weight, weighted
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.like, self.code_weights = like, code_weights
        self._places, self._known = np.empty(0, dtype=np.int64), None

    def __len__(self):
        return int(self.offsets[-1])

    X = property(lambda self: _Column(self, "X", self.like.X.shape[1:]))
    y = property(lambda self: _Column(self, "y", self.like.y.shape[1:]))

    @property
    def weight(self):
        """Weights of the rows, which are gathered as rows are; None means 1."""
        return _Column(self, "weight", ()) if self.weighted_rows else None

    observations = weight

    # ---- Samples

    def select(self, index):
        if isinstance(index, slice):
            index = np.arange(*index.indices(len(self)))
        index = np.asarray(index, dtype=np.int64)
        self._gather(index)
        return self._known.select(np.searchsorted(self._places, index))

    def fixed_subset(self, size):
        """Gather the samples that every fit looks at, with this one, and return this one."""
        sizes = {size, *_COMMON_SIZES}
        self._gather(np.concatenate([fixed_index(len(self), each) for each in sizes]))
        return super().fixed_subset(size)

    def holding(self, index):
        """Gather the rows at these indices, from which selections will be made."""
        self._gather(index)
        return self

    def _gather(self, index):
        """Hold the rows at these indices, asking each partition at most once."""
        missing = np.setdiff1d(index, self._places)
        if not len(missing):
            return
        ends = np.searchsorted(missing, self.offsets)
        asked = np.flatnonzero(np.diff(ends))
        parts = [(*self.parts[k], missing[ends[k] : ends[k + 1]] - self.offsets[k]) for k in asked]
        gathered = computed(each(_taken, parts, self.load))
        first, *more = gathered if self._known is None else [self._known, *gathered]
        joined = first.joined(*more)
        places = np.concatenate([self._places, missing])
        order = np.argsort(places)
        self._places, self._known = places[order], joined.select(order)

    def without(self, index):
        """Return the rows but those at some indices, to be sampled from."""
        return _Others(self, np.sort(index))

    def code_counts(self, n_codes):
        return self.code_weights[:n_codes]

    # ---- Passes

    def as_pieces(self, n_jobs=None):
        """Return what a pass over all rows goes through."""
        return PartitionPieces(self.parts, self.load, n_jobs)

    def seen_as(self, change):
        rows = copy(self)
        rows.load = partial(_changed, change=change, load=self.load)
        rows._known = None if self._known is None else change(self._known)
        return rows

    def resident(self):
        """Keep the rows checked and encoded where they are, for many passes."""
        tasks = resident(each(loaded_rows, self.parts, self.load))
        rows = copy(self)
        rows.parts, rows.load = [(task,) for task in tasks], None
        return rows


class PartitionPieces(AnyPieces):
    """Pieces of rows that live elsewhere.

    Parameters
    ----------
    parts : list of tuple
    load : callable or None
        As of `PartitionedRows`.
    n_jobs : int or None
        For what is done here.
    """

    in_memory = False

    def __init__(self, parts, load, n_jobs=None):
        self.parts, self.load, self.n_jobs = parts, load, n_jobs

    def map(self, function, *shared, slices=None):
        """Return a list of the sum of ``function(pieces, None, *shared)`` of the partitions.

        What belongs to single rows cannot be handed over (``slices``).
        """
        if slices is not None:
            raise NotImplementedError("Rows in partitions take no arrays with an entry for each.")
        tasks = each(_of_partition, self.parts, self.load, function, shared)
        return computed([in_one(tasks)])


def loaded_rows(*arguments):
    """Make the `Rows` of a partition."""
    *part, load = arguments
    return part[0] if load is None else load(*part)


def _changed(*part, change, load):
    return change(loaded_rows(*part, load))


def _taken(*arguments):
    *part, index, load = arguments
    return taken(loaded_rows(*part, load), index)


def _of_partition(*arguments):
    *part, load, function, shared = arguments
    return function(list(loaded_rows(*part, load).chunks(CHUNK)), None, *shared)


class _Column:
    """Inputs, targets or weights of rows in partitions: selections of it are arrays."""

    all_positive = live_elsewhere = True

    def __init__(self, rows, name, tail):
        self.rows, self.name = rows, name
        self.shape = (len(rows), *tail)
        self.ndim = len(self.shape)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        if isinstance(index, tuple):
            raise ValueError(
                "A kernel with categories needs all rows in memory. Got a dask collection: encode "
                "the categories as numbers, or fit a sample."
            )
        return getattr(self.rows.select(index), self.name)

    def max(self):
        """Return the largest weight of some rows."""
        return self.rows.fixed_subset(1000).weight.max()


class _Others(AnyRows):
    """Rows in partitions but for some, to be sampled from; see `PartitionedRows`."""

    live_elsewhere = True

    def __init__(self, rows, left_out):
        self.rows, self.left_out = rows, left_out
        # the k-th left out comes after so many others
        self._others_before = left_out - np.arange(len(left_out))
        self._held = rows.select(left_out)
        self.total_weight = rows.total_weight - self._held.total_weight

    def __len__(self):
        return len(self.rows) - len(self.left_out)

    def _places(self, index):
        if isinstance(index, slice):
            index = np.arange(*index.indices(len(self)))
        return index + np.searchsorted(self._others_before, index, side="right")

    def select(self, index):
        return self.rows.select(self._places(index))

    def holding(self, index):
        self.rows.holding(self._places(index))
        return self

    def code_counts(self, n_codes):
        return self.rows.code_counts(n_codes) - self._held.code_counts(n_codes)


def like_rows(rows: Rows):
    """Return no rows, of the same columns, without weights."""
    return replace(rows.select(slice(0, 0)), weight=None, labels=None)
