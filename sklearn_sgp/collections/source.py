"""From aligned partitions to what a fit needs: a summary of the targets, then rows."""

from functools import reduce

import numpy as np

from .._sampling import fixed_index
from ..data.missing import NO_MISSING, SAMPLE_ROWS, Sketch
from .compute import computed, each
from .parts import Loaded
from .rows import PartitionedRows, like_rows
from .sealing import sealed


class Source:
    """Rows of a collection, before their targets are scaled or coded.

    Parameters
    ----------
    partitions : alignment.Partitions
        Of X, y, weights and, where there are any, labels of blocks.
    check_y : callable
        See `parts.checked_part`.
    summary : type
        `parts.Moments` or `parts.LabelCounts`.
    missing : NoMissing or MissingValues
        Whether values of X may be missing; it then learns of the rows what stands for them.
    """

    def __init__(self, partitions, check_y, summary, missing=NO_MISSING):
        self._load = Loaded(partitions.n_features, check_y, missing=missing)
        self.is_weighted = partitions.parts[0][2] is not None
        parts = sealed(partitions)
        size = -(-SAMPLE_ROWS // len(parts))
        n_targets = -(-summary.n_targets // len(parts))
        told = computed(each(_summarised, parts, self._load, summary, size, n_targets))
        filled = [k for k, (own, *_) in enumerate(told) if own is not None]
        if not filled:
            raise ValueError("X must have a row of positive weight. Got a collection without one.")
        sums, labels, sketches, targets = zip(*(told[k] for k in filled), strict=True)
        self.missing = missing.learned_from(sketches)
        self._load = self._load._replace(missing=self.missing)
        self.labels = None if labels[0] is None else tuple(zip(*labels, strict=True))
        self.parts, self.sizes = [parts[k] for k in filled], [own.count for own in sums]
        self.summary = reduce(lambda a, b: a.joined(b), sums)
        self.some_targets = np.concatenate(targets)

    def __len__(self):
        return sum(self.sizes)

    def rows(self, encode, total_weight, code_weights=None):
        """Make `PartitionedRows` whose targets a callable of `parts` encodes."""
        load = self._load._replace(encode=encode)
        has_weight = self.is_weighted or encode.factors is not None
        (first,) = computed(each(_first_row, self.parts[:1], self._load))
        like, labels = like_rows(encode(first)), self.labels
        arguments = self.sizes, total_weight, has_weight, like, code_weights, labels
        return PartitionedRows(self.parts, load, *arguments)

    def in_memory(self):
        """Gather X, y and weights of all rows, as numpy arrays, checked."""
        parts = computed(each(_loaded, self.parts, self._load))
        X, y = (np.concatenate([getattr(part, n) for part in parts]) for n in ("X", "y"))
        weight = np.concatenate([part.weight for part in parts]) if self.is_weighted else None
        return X, y, weight


def _loaded(*arguments):
    *values, load = arguments
    return load(*values)


def _first_row(*arguments):
    """Take the first row, for the types of columns."""
    part = _loaded(*arguments)
    cut = [None if a is None else a[:1].copy() for a in (part.X, part.y, part.weight)]
    return type(part)(*cut)


def _summarised(*arguments):
    *values, load, summary, size, n_targets = arguments
    part = load.checked(*values)
    labels = None if part.labels is None else np.unique(part.labels, return_counts=True)
    targets = part.y[fixed_index(len(part), n_targets)]
    return summary.of(part), labels, Sketch.of(part.X, part.weight, size), targets
