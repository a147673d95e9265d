"""Training rows as the learning code sees them: weighted, targets scaled, read in pieces."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from .._sampling import fixed_index, random_index
from .column_order import column_order, sorted_rows

MERGE_ROWS = 2048
# A row tells what has changed unless more than a tenth of its variance is its own.
_CERTAIN = 0.9
# With fewer classes each has factors of its own. 4,000 rows in groups of 150, a pass: 3 classes 106
# ms shared, 69 not, 5 classes 99 and 102; 2,000 test rows, 300 rows near each: 3 classes 336 ms
# shared, 306 not, 4 classes 347 and 405.
SHARED_FROM = 4


def in_parts(array, sizes):
    """Cut an array into parts of these sizes; `numpy.split` takes ten times as long."""
    return [array[lo:hi] for lo, hi in pairwise(np.append(0, np.cumsum(sizes)).tolist())]


def shared(parts):
    """Return the rows of all parts, each once and sorted, and the places of each part there."""
    needed, place = np.unique(np.concatenate(parts), return_inverse=True)
    return needed, in_parts(place, [len(part) for part in parts])


def each_weight(weight, n):
    """Return weights as an array of shape (n,); None means 1."""
    return np.ones(n) if weight is None else weight


def weight_of(weight, columns):
    """Return the weights of the rows for some outputs, (n,); one output where each has its own.

    Parameters
    ----------
    weight : ndarray of shape (n,) or (n, t)
    columns : slice
    """
    return weight if weight.ndim == 1 else np.ascontiguousarray(weight[:, columns.start])


def outputs_by_noise(noise_variance):
    """Return pairs of a slice of the outputs and their noise variance.

    All outputs share one, or each has its own, (t,).
    """
    if np.ndim(noise_variance) == 0:
        return [(slice(None), noise_variance)]
    return [(slice(c, c + 1), float(s2)) for c, s2 in enumerate(noise_variance)]


def on_grid(scaled, grid):
    """Round scaled targets, in their place, to multiples of ``grid``, if that is not 0."""
    if grid:
        scaled /= grid
        np.rint(scaled, out=scaled)
        scaled *= grid
    return scaled


class ReadRows:
    """Rows of an array that are computed where they are read; never copied as a whole.

    A slice of rows is one as well. Any other key reads: the rows then are an array. Classes of them
    have ``base``, an array (n, d), ``dtype``, ``__getitem__``, and ``of_columns(which)``, the "max"
    or "min" of each column.
    """

    ndim = 2
    shape = property(lambda self: self.base.shape)
    nbytes = property(lambda self: self.base.nbytes)

    def __len__(self):
        return len(self.base)

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("The rows must be copied, as they are computed where they are read.")
        return np.asarray(self[:, :], dtype=dtype)

    def max(self, axis=None):
        """Return the largest numbers of the columns, or of all."""
        largest = self.of_columns("max")
        return largest if axis == 0 else largest.max()

    def min(self, axis=None):
        """Return the smallest numbers of the columns, or of all."""
        smallest = self.of_columns("min")
        return smallest if axis == 0 else smallest.min()


class AnyRows(ABC):
    """The interface of rows to learn from: `Rows` in memory, or rows that live elsewhere.

    The latter are those of `sklearn_sgp.collections`: selections of them are `Rows`, and passes
    over all of them are made where they are. `without` may return rows that are only sampled from,
    which have the methods below and ``total_weight``. Others also have ``X``, ``y`` and ``weight``
    (arrays, or what is indexed as arrays are), ``observations`` and these methods:

    ``without(index)``
        The other rows.
    ``as_pieces(n_jobs)``
        Of rows that live elsewhere: `factors.passes.AnyPieces` of all of them.

    Attributes
    ----------
    total_weight : float
        Number of observations.
    labels : object
        The user's labels of blocks, None without them.
    counts, outputs_differ, of_classes
        See `Rows`.
    """

    live_elsewhere = False
    labels = counts = None
    outputs_differ = of_classes = False

    @property
    def share_factors(self):
        """True if outputs are regressions of so many classes that one factor serves all."""
        return self.of_classes and self.y.shape[1] >= SHARED_FROM

    @abstractmethod
    def __len__(self):
        """Return the number of rows."""

    @abstractmethod
    def select(self, index):
        """Return `Rows` at a slice or an array of indices, in memory."""

    @abstractmethod
    def code_counts(self, n_codes):
        """Sum the weights of the rows with each code 0, 1, ..., where targets are codes."""

    def holding(self, index):
        """Return these rows, with those at hand that some selections will be made from."""
        return self

    def seen_as(self, change):
        """Return these rows as ``change(rows)`` makes `Rows` of them, which may be of any number.

        ``change`` can be pickled.
        """
        return change(self)

    def in_memory(self):
        """Return all of them as `Rows`."""
        return self.select(np.arange(len(self)))

    def resident(self):
        """Return these rows, ready for many passes."""
        return self

    def random_subset(self, size, rng):
        """Draw random `Rows` without replacement, in their order; all where there are fewer."""
        if len(self) <= size:
            return self.in_memory()
        return self.select(np.sort(random_index(len(self), size, rng)))

    def fixed_subset(self, size):
        """Return the same random `Rows` in every call, in their order; see `fixed_index`."""
        if len(self) <= size:
            return self.in_memory()
        return self.select(fixed_index(len(self), size))

    def fixed_sample(self, size):
        """Return `fixed_subset`, with weights that sum to those of all."""
        sample = self.fixed_subset(size)
        if len(sample) == len(self):
            return sample
        return sample.weighted(self.total_weight / sample.total_weight)


@dataclass(frozen=True)
class Rows(AnyRows):
    """Inputs, targets and weights, scaled only when a piece is read.

    Parameters
    ----------
    X : array of shape (n, d)
        Inputs, float32 or float64, possibly a memory map; never copied whole.
    y : ndarray of shape (n, t)
        Targets in their own units, warped where they are.
    weight : ndarray of shape (n,) or (n, t), or None
        Non-negative weights, of each output where their noise differs; None means 1.
    y_mean, y_scale : ndarray of shape (t,)
        Targets are read as ``(y - y_mean) / y_scale``.
    labels : ndarray of shape (n,) or None
        The user's labels of the blocks that the rows belong to.
    counts : ndarray of shape (n,) or None
        How many observations each row is, where its weight is that times a precision of its noise;
        None where the weight is the count. See `with_precision`.
    of_classes : bool
        True if outputs are the regressions of classes, where the weights of a row have two values.
    grid : float
        What scaled targets are rounded to multiples of; 0 for none.
    offset : ndarray of shape (n,) or None
        What is added to the function.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    y_mean: np.ndarray
    y_scale: np.ndarray
    labels: np.ndarray | None = None
    counts: np.ndarray | None = None
    of_classes: bool = False
    grid: float = 0.0
    offset: np.ndarray | None = None

    def __len__(self):
        return len(self.X)

    def __sizeof__(self):
        """Count the bytes of the arrays, by which a cluster decides what to move."""
        arrays = (self.X, self.y, self.weight, self.labels, self.counts, self.offset)
        return object.__sizeof__(self) + sum(a.nbytes for a in arrays if a is not None)

    @property
    def observations(self):
        """Numbers of observations of the rows, (n,), or None for 1."""
        return self.weight if self.counts is None else self.counts

    @property
    def outputs_differ(self):
        """True if each output has weights of its own."""
        return np.ndim(self.weight) == 2

    @property
    def weights(self):
        """New arrays of weights and of numbers of observations: one array, but for precisions."""
        weight = np.array(each_weight(self.weight, len(self)), dtype=np.float64)
        return weight, weight if self.counts is None else self.counts.astype(np.float64)

    @property
    def total_weight(self):
        return _total(self.observations, len(self))

    def in_memory(self):
        return self

    def without(self, index):
        """Return the other rows."""
        others = np.ones(len(self), dtype=bool)
        others[index] = False
        return self.select(np.flatnonzero(others))

    def without_labels(self):
        """Return these rows, as those of one block."""
        return replace(self, labels=None)

    def code_counts(self, n_codes):
        return np.bincount(self.y[:, 0].astype(np.intp), self.weights[0], n_codes)

    @property
    def are_certain(self):
        """Mask of the rows that have no precision far below 1, (n,)."""
        if self.counts is None:
            return np.ones(len(self), dtype=bool)
        return (self.weight.T >= _CERTAIN * self.counts).T.reshape(len(self), -1).all(axis=1)

    def certain(self):
        """Return the rows that have no precision far below 1."""
        mask = self.are_certain
        return self if mask.all() else self.select(np.flatnonzero(mask))

    def with_precision(self, precision):
        """Divide the noise variance of each row by its precision.

        A row with a precision is one of a larger or smaller weight, but for the normaliser of its
        density, which counts observations (docs/theory.md, section 13).
        """
        counts = each_weight(self.observations, len(self))
        weight = (precision.T * counts).T
        return replace(self, weight=weight, counts=counts)

    def with_weight(self, weight):
        """Replace the weights, by precisions of as many observations as before."""
        return replace(self, weight=weight)

    def select(self, index):
        """Return rows at a slice or an array of indices; a slice copies nothing."""
        names = ("X", "y", "weight", "labels", "counts", "offset")
        parts = {name: getattr(self, name) for name in names}
        some = {name: part[index] for name, part in parts.items() if part is not None}
        return replace(self, **some)

    def of_outputs(self, own):
        """Return the same rows with a slice of the outputs."""
        weight = self.weight if np.ndim(self.weight) < 2 else self.weight[:, own]
        mean, scale = self.y_mean[own], self.y_scale[own]
        return replace(self, y=self.y[:, own], y_mean=mean, y_scale=scale, weight=weight)

    def weighted(self, factor):
        """Multiply all weights by ``factor``."""
        weight = factor * each_weight(self.weight, len(self))
        counts = None if self.counts is None else factor * self.counts
        return replace(self, weight=weight, counts=counts)

    def joined(self, *others):
        """Concatenate these rows and more, targets scaled alike; without labels."""
        parts = (self, *others)
        weight = _joined_weights([rows.weight for rows in parts], parts)
        counts = None
        if any(rows.counts is not None for rows in parts):
            counts = _joined_weights([rows.observations for rows in parts], parts)
        X, y = (np.concatenate(each) for each in zip(*((r.X, r.y) for r in parts), strict=True))
        offset = None if self.offset is None else np.concatenate([rows.offset for rows in parts])
        return replace(self, X=X, y=y, weight=weight, labels=None, counts=counts, offset=offset)

    def shifted(self, mean):
        """Return means (n, t) of the function with what is added to it."""
        return mean if self.offset is None else mean + self.offset[:, None]

    def chunks(self, size):
        """Yield successive pieces of at most ``size`` rows."""
        for lo in range(0, len(self), size):
            yield self.select(slice(lo, lo + size))

    @property
    def targets(self):
        """Scaled targets, shape (n, t), float64."""
        return on_grid((self.y - self.y_mean) / self.y_scale, self.grid)

    @property
    def root_weight(self):
        return None if self.weight is None else np.sqrt(self.weight, dtype=np.float64)


@dataclass(frozen=True)
class ConditionedRows:
    """Rows in small groups, each conditioned on rows that come before it; a piece of a pass.

    Parameters
    ----------
    rows : Rows
        The rows of the groups, and those that they are conditioned on.
    groups : tuple of (ndarray of int, ndarray of int)
        Positions of the rows that a group is conditioned on, and of its own.
    """

    rows: Rows
    groups: tuple

    def __len__(self):
        """Count the own rows."""
        return sum(len(own) for _, own in self.groups)

    X = property(lambda self: self.rows.X)
    y = property(lambda self: self.rows.y)
    weight = property(lambda self: self.rows.weight)
    weights = property(lambda self: self.rows.weights)
    share_factors = property(lambda self: self.rows.share_factors)
    targets = property(lambda self: self.rows.targets)

    def with_weight(self, weight):
        """Replace the weights, as `Rows.with_weight`."""
        return replace(self, rows=self.rows.with_weight(weight))

    @property
    def total_weight(self):
        """Number of observations among the own rows."""
        observations = self.rows.observations
        if observations is None:
            return float(len(self))
        return sum(_total(observations[own], len(own)) for _, own in self.groups)


def _joined_weights(weights, parts):
    """Concatenate the weights of several `Rows`; None where all are None.

    Where outputs have their own in some parts, those of the other parts count for each output.
    """
    if all(weight is None for weight in weights):
        return None
    each = [each_weight(w, len(r)) for w, r in zip(weights, parts, strict=True)]
    shape = next((w.shape[1:] for w in each if w.ndim > 1), ())
    return np.concatenate([np.broadcast_to(w.T, (*shape, len(w))).T for w in each])


def _total(weight, n):
    return float(n if weight is None else weight.sum(dtype=np.float64))


def drop_zero_weight(X, y, weight, *more):
    """Drop rows of weight zero from inputs, targets, weights and further arrays."""
    if weight is None or weight.all():
        return X, y, weight, *more
    keep = weight > 0
    return tuple(None if part is None else part[keep] for part in (X, y, weight, *more))


def order_of_columns(X, n_rows):
    """Return an order that is the columns' own where rows are few, and else that of X."""
    return column_order(X) if n_rows <= MERGE_ROWS else np.arange(X.shape[1])


def noise_of_each(rows, noise_variance):
    """Return the noise of an observation of each row, (n, t) or (n, 1)."""
    weight, counts = rows.weights
    return noise_variance * (counts / weight.T).T.reshape(len(rows), -1)


def merge_repeated(X, y, weight, offset=None):
    """Sort and merge repeated rows, up to 2,048; larger sets only lose rows of weight zero.

    Returns inputs, targets, weights, what is added to the function, and where each row of positive
    weight is now, None for where it was.

    Weights and repetitions then are one problem to the last bit. Equal to rounding is not enough:
    where a model can interpolate, L-BFGS amplifies the difference (in 5 of 12 data sets of 15 rows
    and 30 columns scikit-learn's check failed, predictions differing by up to 0.6).
    """
    X, y, weight, offset = drop_zero_weight(X, y, weight, offset)
    if len(X) > MERGE_ROWS:
        return X, y, weight, offset, None
    parts = [X, y] if offset is None else [X, y, offset]
    first, inverse = sorted_rows(np.column_stack(parts), X.shape[1])
    mass = np.bincount(inverse, weights=weight)
    weight = None if (mass == 1.0).all() else mass
    offset = None if offset is None else offset[first]
    return X[first], y[first], weight, offset, inverse


def merge_equal(X, y, weight, offset=None):
    """Merge repeated rows as `merge_repeated` does; return all as they are where none are equal."""
    merged = merge_repeated(X, y, weight, offset)[:4]
    return merged if len(merged[0]) < len(X) else (X, y, weight, offset)


def merge_observed(X, y, weight, offset=None):
    """Do the same where targets may be NaN."""
    missing = np.isnan(y)
    both = np.column_stack([np.where(missing, 0.0, y), missing])
    X, both, weight, offset, places = merge_repeated(X, both, weight, offset)
    y, missing = np.split(both, 2, axis=1)
    return X, np.where(missing == 1.0, np.nan, y), weight, offset, places


def make_rows(X, y, weight, targets, labels=None, offset=None):
    """Make `Rows` of positive weight, with the scaling of their targets.

    Parameters
    ----------
    y : ndarray of shape (n, t)
        As `targets.encode` returns them.
    targets : encoding.Encoding
    labels : ndarray of shape (n,) or None
        Of blocks.
    offset : ndarray of shape (n,) or None
        What is added to the function.
    """
    X, y, weight, labels, offset = drop_zero_weight(X, y, weight, labels, offset)
    scaling = {"grid": targets.grid, "offset": offset}
    return Rows(X, y, weight, targets.mean, targets.scale, labels, **scaling)


def with_targets(rows, before, targets):
    """Return rows, whose y the targets ``before`` have encoded, with y as other targets do."""
    return make_rows(rows.X, before.unwarped(rows.y), rows.observations, targets, rows.labels)
