"""Columns of X that the kernel does not see: labels of blocks, and what is added to functions."""

from numbers import Real

import numpy as np

from .categories import categorical_columns
from .checks import check_size
from .label_checks import check_labels_present

_LARGEST_LABEL = 2.0**63  # what an int64 does not hold
# Kinds of arrays that numpy makes numbers of without an error: complex ones, dates, differences.
_NO_REALS = "cmM"


def without_column(X, k):
    """Return an array without one of its columns: a view where that is the first or the last."""
    if k == X.shape[1] - 1:
        return X[:, :k]
    return X[:, 1:] if k == 0 else X[:, np.delete(np.arange(X.shape[1]), k)]


def column_position(X, given, name):
    """Return the position of a column that the kernel does not see, or None.

    Parameters
    ----------
    X : array, dataframe or list of lists
    given : int, str or None
    name : str
        Of the parameter.
    """
    if given is None:
        return None
    names = list(X.columns) if hasattr(X, "columns") else None
    count = X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else np.shape(X)[-1]
    if isinstance(given, str):
        if names is not None and given in names:
            return names.index(given)
    elif 0 <= given < count:
        return int(given)
    has = "no names" if names is None else f"names {names}"
    raise ValueError(
        f"The '{name}' parameter must be the index of a column of X, or its name. Got "
        f"{given!r} for {count} columns with {has}."
    )


def kernel_categories(X, categorical_features, apart):
    """Return ``categorical_features`` for X without some columns.

    Parameters
    ----------
    X : array or dataframe
        With them.
    categorical_features : "from_dtype", array-like or None
    apart : list of int
    """
    if not apart or categorical_features is None or isinstance(categorical_features, str):
        return categorical_features
    columns = categorical_columns(X, categorical_features)
    return [k - sum(k > other for other in apart) for k in columns if k not in apart]


def as_offset(column):
    """Return what is added to the function, (n,), or raise a ValueError."""
    offset, is_number = _as_reals(column)
    if not is_number.all():
        raise ValueError(
            "The 'offset_column' parameter must name a column of finite numbers, such as the "
            f"logarithm of an exposure. Got {offset[~is_number][0]!r}: leave such rows out."
        )
    if len(offset):
        check_size("The column named by 'offset_column'", offset)
    return offset


def _as_reals(column):
    """Return a column as numbers and which are finite, or as it is and which are numbers."""
    if column.dtype.kind in _NO_REALS:
        return column, np.zeros(len(column), dtype=bool)
    try:
        reals = column.astype(np.float64)
        return reals, np.isfinite(reals)
    except (TypeError, ValueError):
        return column, np.array([isinstance(one, Real) for one in column])


def as_labels(labels):
    """Return labels of blocks, of which whole numbers are integers: others stay as they are.

    Tables of lists, or with columns of several types, give arrays of objects, which may be numbers.
    None, for rows without labels, is returned.
    """
    if labels is None:
        return None
    labels = np.ravel(np.asarray(labels))
    if labels.dtype.kind == "O":
        check_labels_present("block_column", labels)
        if not any(isinstance(label, str) for label in labels):
            labels = np.array(labels.tolist())
    if labels.dtype.kind != "f":
        return labels
    labels = labels.astype(np.float64)  # half precision does not hold the bound
    is_integer = (labels == np.floor(labels)) & (np.abs(labels) < _LARGEST_LABEL)
    if not is_integer.all():
        wrong = labels[~is_integer][0]
        raise ValueError(
            "The 'block_column' parameter must name a column of integers or strings. Got "
            f"{wrong:g}: round or encode the labels."
        )
    return labels.astype(np.int64)


def check_labels(labels, n_rows, classes=None):
    """Return labels of blocks, (n_rows,), of the kind of ``classes`` if given, or refuse them.

    None, for rows without labels, is returned.
    """
    if labels is None:
        return None
    labels = np.asarray(labels)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"block_column must hold one label for each of {n_rows} rows. Got shape {labels.shape}."
        )
    if labels.dtype.kind == "O":
        labels = labels.astype(str)
    if labels.dtype.kind not in "iubUS":
        raise ValueError(
            "block_column must hold integers or strings. Got "
            f"{labels.dtype} such as {labels.item(0)!r}."
        )
    if classes is not None and (classes.dtype.kind in "US") != (labels.dtype.kind in "US"):
        raise ValueError(
            f"block_column must hold labels like those of fit, such as {classes.item(0)!r}. Got "
            f"{labels.item(0)!r}."
        )
    return labels
