"""Collections whose partitions hold the same rows, as tuples of delayed parts."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..data.inputs import any_collection, is_collection, is_stored
from ..data.readable import refuse_dates
from .compute import live_futures
from .stored import reopened_where_closed

# Of a data set on disk, at a time.
_BYTES_READ = 32 << 20
_UNKNOWN = (
    "{name} must have the rows of X in each of its partitions. Got {got}, with X of partitions "
    "whose sizes are not known: call compute_chunk_sizes() on the arrays first, or make {name} "
    "from the same dataframe as X."
)


@dataclass(frozen=True)
class Partitions:
    """Partitions of the rows of X, and of what belongs to the rows.

    Parameters
    ----------
    parts : tuple of tuple
        For each partition its part of X and of each other argument, delayed or in memory; None for
        an argument that is None.
    sizes : tuple of float
        Rows of each partition, NaN where that is not known.
    names : list or None
        Names of the columns of X, if it is a dataframe.
    held : bool
        Whether a part of it is on the workers of a cluster already.
    """

    parts: tuple
    sizes: tuple
    n_features: int
    names: list | None
    held: bool = False


def example_of(X):
    """Return one row of zeros with the columns of X, by which scikit-learn checks their names.

    X is a dask array or dataframe, or a data set on disk; anything else is returned.

    Raises
    ------
    DatesError
        If it has columns of dates.
    """
    if not any_collection(X):
        return X
    X, _, names = _table(_chunked(X) if is_stored(X) else X)
    refuse_dates(X._meta)  # of no rows, with the types of the columns
    if names is None:
        return np.zeros((1, int(X.shape[1])))
    import pandas as pd  # there is one, as there is a dask dataframe

    return pd.DataFrame(np.zeros((1, len(names))), columns=names)


def split_labels(X, k):
    """Return a collection without its column number k, and that column."""
    X = _chunked(X) if is_stored(X) else X
    if _is_frame(X):
        name = X.columns[k]
        return X.drop(columns=[name]), X[name]
    return X[:, [j for j in range(X.shape[1]) if j != k]], X[:, k]


def partitions_of(X, **others):
    """Align collections by rows.

    Parameters
    ----------
    X : dask array or dataframe, or data set on disk
    **others : dask array, dataframe or series, data set on disk, array-like, or None
        Arguments by their names, with a row for each row of X.

    Raises
    ------
    ValueError
        If shapes or partitions do not fit.
    LostCollectionError
        If workers held a part of a collection and do no longer.
    """
    X = _chunked(X) if is_stored(X) else X
    if not is_collection(X):
        name = next(name for name, value in others.items() if any_collection(value))
        raise ValueError(
            f"X must be a dask collection if {name} is one. Got {type(X).__name__}: pass "
            "dask.array.from_array(X), or compute the others."
        )
    held = bool(live_futures(X, *others.values()))
    X, sizes, names = _table(X)
    columns = [_aligned(name, value, sizes, held) for name, value in others.items()]
    n_features = len(names) if names is not None else X.shape[1]
    parts = tuple(zip(_delayed(X, held), *columns, strict=True))
    return Partitions(parts, sizes, int(n_features), names, held)


def _chunked(value, sizes=None):
    """Make a dask array of a data set on disk, which reads a few rows at a time."""
    try:
        from dask import array
    except ImportError as error:
        raise ImportError(
            "Data sets on disk are read in pieces by dask: pip install sklearn_sgp[dask], or pass "
            "an array."
        ) from error
    if sizes is None:
        row = max(1, value.dtype.itemsize * math.prod(value.shape[1:]))
        sizes = max(1, _BYTES_READ // row)
    value = reopened_where_closed(value)
    return array.from_array(value, chunks=(sizes, *([-1] * (len(value.shape) - 1))))


def _is_array(value):
    return isinstance(getattr(value, "chunks", None), tuple)  # delayed values have any attribute


def _is_frame(value):
    return isinstance(getattr(value, "npartitions", None), int) and hasattr(value, "columns")


def _table(X):
    """Return X with whole rows in its partitions, their sizes, and names of columns."""
    if _is_array(X):
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: X must have rows.")
        if math.isnan(X.shape[1]):
            raise ValueError(
                "X must have a known number of columns. Got a dask array of unknown chunk sizes: "
                "call X.compute_chunk_sizes() first."
            )
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        return X, tuple(map(float, X.chunks[0])), None
    if _is_frame(X):
        return X, (math.nan,) * X.npartitions, list(X.columns)
    raise ValueError(
        f"X must be a dask array or dataframe if it is a dask collection. Got {type(X).__name__}."
    )


def _delayed(value, held):
    """Return the delayed parts of a collection, one for each partition by rows.

    An optimised graph would drop the futures of what workers hold, and these be released. That of a
    dataframe may have other partitions, fewer for y than for X.
    """
    optimized = _is_array(value) and not held
    return list(np.ravel(np.asarray(value.to_delayed(optimize_graph=optimized), dtype=object)))


def _aligned(name, value, sizes, held):
    """Return the parts of a further argument with the rows of X."""
    if value is None:
        return [None] * len(sizes)
    known = not any(map(math.isnan, sizes))
    if is_stored(value):
        _check_rows(name, value.shape[0], sizes)
        value = _chunked(value, tuple(int(size) for size in sizes))
    if not is_collection(value):
        return _slices(name, np.asarray(value), sizes, known)
    if not _is_array(value):
        _check_count(name, value.npartitions, sizes)
        return _delayed(value, held)
    if value.ndim not in (1, 2):
        raise ValueError(f"{name} must have one or two axes. Got {value.ndim}.")
    rows_known = not any(map(math.isnan, value.chunks[0]))
    if value.ndim == 2 and value.numblocks[1] > 1:
        value = value.rechunk({1: -1})
    if known and rows_known:
        _check_rows(name, value.shape[0], sizes)
        chunks = tuple(int(size) for size in sizes)
        return _delayed(value if value.chunks[0] == chunks else value.rechunk({0: chunks}), held)
    _check_count(name, value.numblocks[0], sizes)
    return _delayed(value, held)


def _slices(name, value, sizes, known):
    """Cut an array in memory into parts."""
    if not known:
        raise ValueError(_UNKNOWN.format(name=name, got="an array in memory"))
    _check_rows(name, len(value), sizes)
    bounds = np.cumsum([0, *sizes]).astype(int)
    return [value[lo:hi] for lo, hi in pairwise(bounds)]


def _check_rows(name, n_rows, sizes):
    if n_rows != sum(sizes):
        raise ValueError(
            f"{name} must have as many rows as X. Got {n_rows} rows, and {sum(sizes):g} of X."
        )


def _check_count(name, count, sizes):
    if count != len(sizes):
        got = f"{count} partitions, and {len(sizes)} of X"
        raise ValueError(_UNKNOWN.format(name=name, got=got))
