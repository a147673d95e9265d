"""What X is given as, and its columns: their names, codes of categories, labels of blocks."""

from dataclasses import dataclass, replace
from numbers import Real
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
    offset : ndarray of shape (n,) or None
        What is added to the function.
    """

    X: np.ndarray
    labels: np.ndarray | None = None
    offset: np.ndarray | None = None

    def select(self, index):
        """Return the inputs at a slice or an array of indices."""
        return Inputs(*(None if part is None else part[index] for part in self))

    def shifted(self, mean):
        """Return means (n, t) of the function with what is added to it."""
        return mean if self.offset is None else mean + self.offset[:, None]


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
    offset : int or None
        The column that is added to the function, which the kernel does not see either.
    """

    names: tuple | None = None
    codes: CategoryCodes | None = None
    block: int | None = None
    offset: int | None = None

    @property
    def apart(self):
        """Positions of the columns that the kernel does not see, in their order."""
        return sorted(k for k in (self.block, self.offset) if k is not None)

    @property
    def columns(self):
        """Names and categories of the columns that the kernel sees."""
        names = self.names
        if names is not None and self.apart:
            names = tuple(name for k, name in enumerate(names) if k not in self.apart)
        coded = () if self.codes is None else (self.codes.columns, self.codes.first_keys)
        return InputColumns(names, *coded)

    def mask(self, n_features):
        """Return which columns of X are categories, (n_features,); None where none is."""
        mask = self.columns.mask(n_features - len(self.apart))
        for k in self.apart if mask is not None else ():
            mask = np.insert(mask, k, False)
        return mask

    def split(self, X):
        """Return `Inputs`: X without labels of blocks and what is added, and these if any.

        What is no table, or a sparse one, is returned as it is: it is refused where it is read.
        """
        if not self.apart or issparse(X) or np.ndim(X) != 2:
            return Inputs(X)
        if hasattr(X, "columns"):
            columns = {k: np.asarray(X[X.columns[k]]) for k in self.apart}
            X = X[[name for k, name in enumerate(X.columns) if k not in columns]]
        else:
            X = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
            columns = {k: np.asarray(X[:, k]) for k in self.apart}
            for k in reversed(self.apart):
                X = without_column(X, k)
        labels = None if self.block is None else as_labels(columns[self.block])
        return Inputs(X, labels, None if self.offset is None else as_offset(columns[self.offset]))

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
            explain(given, error, self.apart)
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
        refuse_dates(X, self.apart)
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
        check_sizes(X, self.apart, names)
        X = self.codes.transform(X) if waits else X
        if kernel is not None:
            if len(kernel.expression.held_columns):
                check_seen_codes(kernel.expression, X, self.columns)
            check_variance(kernel, X, self.apart, names)
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


def column_position(X, given, name):
    """Return the position of a column that the kernel does not see, or None.

    Parameters
    ----------
    X : array, dataframe or list of lists
    given : int, str or None
    name : str
        Of the parameter.

    Raises
    ------
    ValueError
        If there is no such column.
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
    try:
        offset = column.astype(np.float64)
        is_number = np.isfinite(offset)
    except (TypeError, ValueError):
        offset, is_number = column, np.array([isinstance(one, Real) for one in column])
    if not is_number.all():
        raise ValueError(
            "The 'offset_column' parameter must name a column of finite numbers, such as the "
            f"logarithm of an exposure. Got {offset[~is_number][0]!r}: leave such rows out."
        )
    return offset


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
