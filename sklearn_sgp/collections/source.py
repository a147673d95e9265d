"""From aligned partitions to what a fit needs: a summary of the targets, then rows."""

from functools import reduce

import numpy as np

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
    """

    def __init__(self, partitions, check_y, summary):
        self._load = Loaded(partitions.n_features, check_y)
        self.is_weighted = partitions.parts[0][2] is not None
        parts = sealed(partitions)
        summaries = computed(each(_summarised, parts, self._load, summary))
        labels = [of_blocks for one, of_blocks in summaries if one is not None]
        self.labels = None if labels and labels[0] is None else tuple(zip(*labels, strict=True))
        summaries = [one for one, _ in summaries]
        self.parts = [part for part, one in zip(parts, summaries, strict=True) if one is not None]
        self.sizes = [one.count for one in summaries if one is not None]
        if not self.sizes:
            raise ValueError("X must have a row of positive weight. Got a collection without one.")
        self.summary = reduce(
            lambda a, b: a.joined(b), (one for one in summaries if one is not None)
        )

    def __len__(self):
        return sum(self.sizes)

    def rows(self, encode, total_weight, code_weights=None):
        """Return `PartitionedRows` whose targets a callable of `parts` encodes."""
        load = self._load._replace(encode=encode)
        has_weight = self.is_weighted or getattr(encode, "factors", None) is not None
        (first,) = computed(each(_some, self.parts[:1], self._load))
        return PartitionedRows(
            self.parts,
            load,
            self.sizes,
            total_weight,
            has_weight,
            like_rows(encode(first)),
            code_weights,
            self.labels,
        )

    def in_memory(self):
        """Return X, y and weights of all rows, as numpy arrays, checked."""
        parts = computed(each(_loaded, self.parts, self._load))
        X, y = (np.concatenate([getattr(part, n) for part in parts]) for n in ("X", "y"))
        weight = np.concatenate([part.weight for part in parts]) if self.is_weighted else None
        return X, y, weight


def _loaded(*arguments):
    *values, load = arguments
    return load(*values)


def _some(*arguments):
    """Return the first row, for the types of columns."""
    part = _loaded(*arguments)
    cut = [None if a is None else a[:1].copy() for a in (part.X, part.y, part.weight)]
    return type(part)(*cut)


def _summarised(*arguments):
    *arguments, summary = arguments
    part = _loaded(*arguments)
    labels = None if part.labels is None else np.unique(part.labels, return_counts=True)
    return summary.of(part), labels
