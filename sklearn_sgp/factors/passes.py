"""One pass over rows or blocks of rows: groups of pieces, mapped in parallel, summed in order.

Everything of the size of the data happens in such a pass. A piece is a chunk of independent rows,
or a block whose rows belong together. Pieces are put into at most `N_GROUPS` groups, whatever the
number of workers, so that sums repeat. An evaluation of an objective goes over the pieces twice,
forward for sums and backward for gradients: the first pass may keep what the second needs again.
"""

from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass

from .._parallel import group_bounds, map_groups, shares_memory

CHUNK = 1024
# Largest size of what a first pass may keep for the second.
_KEPT_BYTES = 256 << 20


class AnyPieces(ABC):
    """The interface of what a pass goes over: `Pieces`, or those of rows that live elsewhere.

    Attributes
    ----------
    n_jobs : int or None
        For what is done in this process.
    in_memory : bool
        True if what belongs to each row can be handed over and returned. Where rows live elsewhere
        (`sklearn_sgp.collections`), `map` returns one sum of all groups.
    """

    in_memory = True

    @abstractmethod
    def map(self, function, *shared, slices=None):
        """Call ``function(group, kept, *shared)`` for each group; return a list of results.

        Parameters
        ----------
        function : callable
            Gets the pieces of a group and the list in which it may keep something, or None.
        shared : tuple
            Further arguments, the same for all groups.
        slices : tuple of ndarray, default=None
            Arrays with an entry for each row of all pieces; a group gets its part of each as last
            arguments.
        """


class Pieces(AnyPieces):
    """Pieces of the data in groups, and what passes over them keep.

    Parameters
    ----------
    pieces : list of Rows
        None of them empty.
    kept_size : int, default=None
        How many numbers a pass would keep. None, a large size, and workers that are other
        processes keep nothing.
    """

    def __init__(self, pieces, kept_size=None, n_jobs=None):
        self.groups = [pieces[slice(*bounds)] for bounds in group_bounds(len(pieces), 1)]
        self.n_jobs = n_jobs
        keeps = kept_size is not None and 8 * kept_size <= _KEPT_BYTES and shares_memory()
        self.kept = [[] if keeps else None for _ in self.groups]

    @classmethod
    def of_rows(cls, rows, m=None, n_jobs=None, chunk=CHUNK):
        """Cut independent rows into chunks, whose blocks (m, n) are kept where ``m`` is given."""
        if rows.live_elsewhere:
            return rows.as_pieces(n_jobs)
        kept_size = None if m is None else m * len(rows)
        return cls(list(rows.chunks(chunk)), kept_size, n_jobs)

    def map(self, function, *shared, slices=None):
        """Call a function for each group, in parallel, in order."""
        tasks, lo = [], 0
        for group, kept in zip(self.groups, self.kept, strict=True):
            hi = lo + sum(len(piece) for piece in group)
            parts = () if slices is None else tuple(array[lo:hi] for array in slices)
            tasks.append((group, kept, *shared, *parts))
            lo = hi
        return map_groups(function, tasks, self.n_jobs)


def computed(group, kept, compute):
    """Return an iterator of pieces and ``compute(piece)``, which the last pass may have kept."""
    if kept:
        return zip(group, kept, strict=True)
    pairs = zip(group, map(compute, group), strict=True)
    if kept is None:
        return pairs
    return ((piece, kept.append(value) or value) for piece, value in pairs)


class Additive:
    """A mixin of dataclasses that groups return, and that tasks of a cluster send one another."""

    def __sizeof__(self):
        """Count the bytes of the arrays, by which a cluster counts what it moves."""
        values = (getattr(self, field.name) for field in fields(self))
        return object.__sizeof__(self) + sum(getattr(value, "nbytes", 8) for value in values)


def added(*parts):
    """Add what groups returned, entry by entry of tuples, lists and dataclasses.

    None of the parts changes, as another task may want it again. What is None in the first stays.
    """
    first = parts[0]
    if first is None:
        return None
    if is_dataclass(first):
        names = [field.name for field in fields(first)]
        return type(first)(*(added(*(getattr(part, n) for part in parts)) for n in names))
    if isinstance(first, dict):
        return type(first)((key, added(*(part[key] for part in parts))) for key in first)
    if isinstance(first, tuple | list):
        return type(first)(added(*each) for each in zip(*parts, strict=True))
    return sum(parts[1:], first)
