"""What X is given as, and its columns: their names, codes of categories, labels of blocks."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from ..kernels._generic import generic_parts
from ..kernels.categories._binding import check_seen_codes
from .categories import CategoryCodes, InputColumns, categorical_columns
from .checks import check_labels_present
from .readable import check_sizes, check_variance, explain, refuse_dates

_LARGEST_LABEL = 2.0**63  # what an int64 does not hold
# Libraries of arrays on disk, which are read in pieces.
_STORES = ("h5py", "zarr")


class Inputs(NamedTuple):
    """Checked inputs of a prediction; `Rows` have the same two attributes.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    labels : ndarray of shape (n,) or None
        Labels of the rows' blocks.
    """

    X: np.ndarray
    labels: np.ndarray | None = None


@dataclass(frozen=True)
class InputFormat:
    """What a first batch says of the columns of X.

    Parameters
    ----------
    names : tuple of str or None
        Names of all columns.
    codes : CategoryCodes or None
        Of the columns that the kernel sees.
    block : int or None
        The column with labels of blocks, which the kernel does not see.
    """

    names: tuple | None = None
    codes: CategoryCodes | None = None
    block: int | None = None

    @property
    def columns(self):
        """Names and categories of the columns that the kernel sees."""
        names = self.names
        if names is not None and self.block is not None:
            names = names[: self.block] + names[self.block + 1 :]
        coded = () if self.codes is None else (self.codes.columns, self.codes.first_keys)
        return InputColumns(names, *coded)

    def mask(self, n_features):
        """Return which columns of X are categories, (n_features,); None where none is."""
        n_kernel = n_features - (self.block is not None)
        mask = self.columns.mask(n_kernel)
        if mask is None or self.block is None:
            return mask
        return np.insert(mask, self.block, False)

    def split(self, X):
        """Return X without the labels of blocks, and the labels; None if there are none.

        What is no table, or a sparse one, is returned as it is: it is refused where it is read.
        """
        if self.block is None or issparse(X) or np.ndim(X) != 2:
            return X, None
        if hasattr(X, "columns"):
            labels = np.asarray(X[X.columns[self.block]])
            others = [name for k, name in enumerate(X.columns) if k != self.block]
            return X[others], as_labels(labels)
        X = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
        return without_column(X, self.block), as_labels(np.asarray(X[:, self.block]))

    def read(self, X, validate, kernel=None):
        """Return an array of numbers, with codes in the columns of categories.

        Parameters
        ----------
        X : array-like
            Without labels of blocks.
        validate : callable
            ``validate(X)`` returns an array.
        kernel : BoundKernel or None
            See `checked`.
        """
        given, waits = self.coded(X)
        try:
            X = validate(given)
        except ValueError as error:
            explain(given, error, self.block)
            raise
        return self.checked(X, waits, kernel, getattr(given, "columns", None))

    def coded(self, X):
        """Return X with codes in the columns of categories, and whether these wait.

        An array of numbers is returned as it is, and has codes where its rows are read: it is not
        copied. Anything else has them before it is made an array.

        Raises
        ------
        DatesError
            If a column that is no category holds dates.
        """
        waits = self.codes is not None and self.codes.can_wait(X)
        X = X if waits or self.codes is None else self.codes.transform(X)
        refuse_dates(X, self.block)
        return X, waits

    def checked(self, X, waits, kernel=None, names=None):
        """Return an array in which codes that wait are those that rows have when they are read.

        Parameters
        ----------
        X : ndarray
        waits : bool
            As `coded` returned it.
        kernel : BoundKernel or None
            Of a fitted model: it must know all codes and be finite.
        names : sequence of str or None
            Of the columns, for errors.
        """
        check_sizes(X, self.block, names)
        X = self.codes.transform(X) if waits else X
        if kernel is not None:
            if len(kernel.expression.held_columns):
                check_seen_codes(kernel.expression, X, self.columns)
            check_variance(kernel, X, self.block, names)
        return X

    def with_codes(self, X, categorical_features, weight):
        """Find the categories of a first batch, X without the labels of blocks.

        Raises
        ------
        ValueError
            If a column is not there, or has more categories than there may be.
        """
        if categorical_features is None:
            return replace(self, codes=None)
        return replace(self, codes=CategoryCodes.fit(X, categorical_features, weight))


def as_table(X):
    """Return a table of pyarrow as a dataframe of pandas; anything else as it is.

    Raises
    ------
    TypeError
        If X is a query of polars that has not been run.
    """
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):
        raise TypeError(f"X must hold its rows. Got a {type(X).__name__}: pass X.collect().")
    return X.to_pandas() if hasattr(X, "column_names") and hasattr(X, "to_pandas") else X


def refuse_things(X, kernel, error):
    """Name a kernel over strings or the like, if X could not be read for holding such things.

    Parameters
    ----------
    kernel : object
        As the user gave it.

    Raises
    ------
    ValueError
    """
    parts = generic_parts(kernel)
    if parts and (_holds_strings(X) or np.ndim(X) != 2):
        raise ValueError(
            "The 'kernel' parameter must be a kernel of rows of numbers, as inducing inputs are. "
            f"Got {parts[0]!r}, which takes other things (its requires_vector_input is False), "
            "and X holds such. Make columns of numbers of them, or give the kernel to "
            "GaussianProcessRegressor or GaussianProcessClassifier of scikit-learn."
        ) from error


def without_column(X, k):
    """Return an array without one of its columns: a view where that is the first or the last."""
    if k == X.shape[1] - 1:
        return X[:, :k]
    return X[:, 1:] if k == 0 else X[:, np.delete(np.arange(X.shape[1]), k)]


def block_position(X, block_column):
    """Return the position of the column that holds labels of blocks, or None.

    Parameters
    ----------
    X : array, dataframe or list of lists
    block_column : int, str or None

    Raises
    ------
    ValueError
        If there is no such column.
    """
    if block_column is None:
        return None
    names = list(X.columns) if hasattr(X, "columns") else None
    count = X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else np.shape(X)[-1]
    if isinstance(block_column, str):
        if names is not None and block_column in names:
            return names.index(block_column)
    elif 0 <= block_column < count:
        return int(block_column)
    has = "no names" if names is None else f"names {names}"
    raise ValueError(
        "The 'block_column' parameter must be the index of a column of X, or its name. Got "
        f"{block_column!r} for {count} columns with {has}."
    )


def kernel_categories(X, categorical_features, block):
    """Return ``categorical_features`` for X without the labels of blocks.

    Parameters
    ----------
    X : array or dataframe
        With the labels.
    categorical_features : "from_dtype", array-like or None
    block : int or None
    """
    if block is None or categorical_features is None or isinstance(categorical_features, str):
        return categorical_features
    columns = categorical_columns(X, categorical_features)
    return [k - (k > block) for k in columns if k != block]


def as_labels(labels):
    """Return labels of blocks, of which whole numbers are integers: others stay as they are.

    Tables of lists, or with columns of several types, give arrays of objects, which may be numbers.
    """
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


def _holds_strings(X):
    """Whether X cannot be made an array of numbers; else the string is a target."""
    try:
        np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return True
    return False


# ---- What counts as a collection, told without importing dask


def is_collection(value):
    """Return whether a value is a dask collection, such as an array or a dataframe."""
    return hasattr(type(value), "__dask_graph__")


def is_stored(value):
    """Return whether a value is a data set on disk, of HDF5 or Zarr."""
    library = type(value).__module__.partition(".")[0]
    return library in _STORES and hasattr(value, "shape") and hasattr(value, "dtype")


def any_collection(*values):
    """Return whether one of the values is either."""
    return any(is_collection(value) or is_stored(value) for value in values)
