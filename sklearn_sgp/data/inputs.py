"""What X is given as, and its columns: their names and codes of categories."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from .._compat import _check_n_features
from ..kernels._parts import generic_parts
from ..kernels.categories._binding import check_seen_codes
from .categories import CategoryCodes, InputColumns
from .checks import LARGEST, ORDINARY, check_feature_names, check_variance, refuse_iterator
from .columns_apart import as_labels, as_offset, check_labels, without_column
from .missing import NO_MISSING
from .readable import (
    column_label,
    explain,
    explain_tables,
    refuse_dates,
    refuse_repeated_names,
    refuse_sizes,
)

# Libraries of arrays on disk, which are read in pieces.
_STORES = ("h5py", "zarr")


class Inputs(NamedTuple):
    """Checked inputs of a prediction; `Rows` have the first three attributes.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    labels : ndarray of shape (n,) or None
        Labels of the rows' blocks.
    offset : ndarray of shape (n,) or None
        What is added to the function.
    unforeseen : ndarray of shape (n, d) or None
        Where values were missing that no row of the first batch lacked.
    """

    X: np.ndarray
    labels: np.ndarray | None = None
    offset: np.ndarray | None = None
    unforeseen: np.ndarray | None = None

    def select(self, index):
        """Return the inputs at a slice or an array of indices."""
        return Inputs(*(None if part is None else part[index] for part in self))

    @property
    def are_whole(self):
        """Mask of the inputs that lack nothing which no row of the first batch lacked, (n,)."""
        if self.unforeseen is None:
            return np.ones(len(self.X), dtype=bool)
        return ~self.unforeseen.any(axis=1)

    def shifted(self, mean):
        """Return means (n, t) of the function with what is added to it."""
        return mean if self.offset is None else mean + self.offset[:, None]


class NoCodes:
    """No columns of categories; attributes as those of `CategoryCodes`."""

    columns = first_keys = ()
    values = None
    are_found = False

    def extended(self, X, sample_weight=None, are_codes=True):
        """Return itself."""
        return self

    def remembering(self, X):
        """Return itself."""
        return self

    def can_wait(self, X):
        """Return False: there is nothing to wait."""
        return False

    def transform(self, X):
        """Return X as it is."""
        return X

    decoded = encoded = transform


NO_CODES = NoCodes()


@dataclass(frozen=True)
class InputFormat:
    """What a first batch says of the columns of X.

    Parameters
    ----------
    names : tuple of str or None
        Names of all columns.
    codes : CategoryCodes or NoCodes
        Of the columns that the kernel sees.
    block : int or None
        The column with labels of blocks, which the kernel does not see.
    offset : int or None
        The column that is added to the function, which the kernel does not see either.
    missing : NoMissing or MissingValues
        Of the columns that the kernel sees.
    """

    names: tuple | None = None
    codes: object = NO_CODES
    block: int | None = None
    offset: int | None = None
    missing: object = NO_MISSING

    @property
    def apart(self):
        """Positions of the columns that the kernel does not see, in their order."""
        return sorted(k for k in (self.block, self.offset) if k is not None)

    @property
    def columns(self):
        """Names and categories of the inputs of the kernel."""
        names = self.names
        if names is not None and self.apart:
            names = tuple(name for k, name in enumerate(names) if k not in self.apart)
        codes, incomplete = self.codes, self.missing.columns
        if names is not None:
            names = (*names, *(f"{names[k]} is missing" for k in incomplete))
        return InputColumns(names, codes.columns, codes.first_keys, incomplete)

    @property
    def all_finite(self):
        """What scikit-learn's checks take as ``ensure_all_finite``."""
        return "allow-nan" if self.missing.allowed else True

    def own_columns(self, X):
        """Return inputs of the kernel (n, k) without what says where values are missing."""
        count = len(self.missing.columns)
        return X[:, :-count] if count else X

    def mask(self, n_features):
        """Return which columns of X are categories, (n_features,); None where none is."""
        mask = self.columns.mask(n_features - len(self.apart))
        for k in self.apart if mask is not None else ():
            mask = np.insert(mask, k, False)
        return mask

    def parted(self, X, validate, check_names):
        """Return `split` of a table; refuse anything else, and other names of columns.

        ``validate(X)`` refuses what is no table, ``check_names(X)`` names that are not known.
        """
        if issparse(X) or (self.apart and np.ndim(X) != 2):
            validate(X)
        if self.apart:
            refuse_repeated_names(X)
        has_names = self.names is not None and hasattr(X, "columns")
        if self.apart or (self.codes.are_found and has_names):
            check_names(X)  # an error of names is first
        return self.split(X)

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
        labels = as_labels(columns.get(self.block))
        return Inputs(X, labels, None if self.offset is None else as_offset(columns[self.offset]))

    def read(self, X, validate):
        """Return an array of numbers, with codes in the columns of categories.

        X has no labels of blocks, and ``validate(X, ensure_all_finite=...)`` returns an array.
        """
        return self.checked(*self.validated(X, validate))

    def validate(self, estimator, X, **options):
        """Return an array of inputs without what the kernel does not see, for `read`.

        As `validate_data` of scikit-learn does for rows of a prediction, without the tags of the
        estimator, which say nothing of X. Finite arrays with the columns of the fit pass all of
        these. They take a row of `SVGPRegressor` from 0.1 to 0.2 ms, so they are not asked.
        """
        if not self.apart and _are_numbers_of(estimator, X):
            return X
        given, options = X, {**options, "dtype": [np.float64, np.float32], "input_name": "X"}
        if not self.apart:
            check_feature_names(estimator, X, reset=False)
        with np.errstate(invalid="ignore"):  # sums of infinities of both signs, refused anyway
            X = check_array(X, estimator=estimator, **options)
        if not self.apart:
            _check_n_features(estimator, given, reset=False)
        return X

    def validated(self, X, validate):
        """Return an array, whether its codes wait, and names of its columns; see `read`."""
        given, waits = self.coded(X)
        try:
            X = validate(given, ensure_all_finite=self.all_finite)
        except (TypeError, ValueError, OverflowError) as error:
            explain_tables(X, error)
            explain(given, error, self.apart)
            raise
        return X, waits, getattr(given, "columns", None)

    def coded(self, X):
        """Return X with codes in the columns of categories, and whether these wait.

        An array of numbers is returned as it is, and has codes where its rows are read: it is not
        copied. Anything else has them before it is made an array.

        Raises
        ------
        DatesError
            If a column that is no category holds dates.
        """
        waits = self.codes.can_wait(X)
        X = X if waits else self.codes.transform(X)
        if not (isinstance(X, np.ndarray) and X.dtype.kind in "iufb"):
            refuse_dates(X, self.apart)
        return X, waits

    def checked(self, X, waits, names=None, kernel=None):
        """Return an array in which codes that wait are those that rows have when they are read.

        Where values may be missing, and some are or have been, they are filled: `missing`.

        Parameters
        ----------
        X : ndarray
        waits : bool
            As `coded` returned it.
        names : sequence of str or None
            Of the columns, for errors.
        kernel : BoundKernel or None
            Of a fitted model: it must know all codes and be finite.
        """
        largest = float(max(X.max(), -X.min()))
        X = self.codes.transform(X) if waits else X
        if self.missing.columns or np.isnan(largest):
            if kernel is not None:  # what is filled in is no code
                check_seen_codes(kernel.expression, X, self.columns)
            X = self.missing.filled(X)
            largest = float(max(X.max(), -X.min()))
        if not largest <= LARGEST:
            refuse_sizes(X, self.apart, names)
        if kernel is not None:
            if len(kernel.expression.held_columns):
                check_seen_codes(kernel.expression, X, self.columns)
            if largest >= ORDINARY:
                label = partial(column_label, X, apart=self.apart, names=names)
                check_variance(kernel, X, label)
        return X

    def of_test_rows(self, parts, validate, kernel, known):
        """Return checked `Inputs`, told where values are missing that no first row lacked.

        Parameters
        ----------
        parts : Inputs
            As `split` returns them.
        validate, kernel
            See `read`.
        known : ndarray or None
            Labels of the blocks of the fitted model.
        """
        validated = self.validated(parts.X, validate)
        X = self.checked(*validated, kernel)
        labels = parts.labels if self.block is None else check_labels(parts.labels, len(X), known)
        return self.with_unforeseen(Inputs(X, labels, parts.offset), validated[0])

    def with_unforeseen(self, inputs, given):
        """Return `Inputs` that know where values were missing in the array ``given``."""
        if inputs.X is given or not self.missing.allowed:
            return inputs
        return inputs._replace(unforeseen=self.missing.unforeseen(given))

    def seen_by(self, model, inputs):
        """Return a predictive model for test rows, averaged where these lack what no row lacked."""
        return model if inputs.unforeseen is None else model.averaged(self.missing)

    def with_missing(self, X, weight):
        """Learn from a first batch, an array, what stands for values that are missing."""
        return replace(self, missing=self.missing.learned(X, weight, self.codes.columns))

    def with_codes(self, X, categorical_features, weight):
        """Find the categories of a first batch, X without the labels of blocks.

        Raises
        ------
        ValueError
            If a column is not there, or has more categories than there may be.
        """
        if categorical_features is None:
            return replace(self, codes=NO_CODES)
        return replace(self, codes=CategoryCodes.fit(X, categorical_features, weight))


def _are_numbers_of(estimator, X):
    """Return whether X is an array of finite numbers, with the columns of a fit without names."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in (np.float64, np.float32):
        return False
    is_known = len(X) > 0 and X.shape[1] == getattr(estimator, "n_features_in_", None)
    if not is_known or hasattr(estimator, "feature_names_in_"):
        return False
    with np.errstate(all="ignore"):  # a sum that overflows is looked at by scikit-learn
        return bool(np.isfinite(X.sum()))


def as_table(X):
    """Return a table of pyarrow as a dataframe of pandas; anything else as it is.

    Raises
    ------
    TypeError
        If X is a query of polars that has not been run, an iterator, or has sparse columns alone.
    """
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):
        raise TypeError(f"X must hold its rows. Got a {type(X).__name__}: pass X.collect().")
    if isinstance(X, Iterator):
        refuse_iterator("X", X)
    kinds = [str(kind) for kind in getattr(X, "dtypes", ())] if hasattr(X, "sparse") else []
    if kinds and all(kind.startswith("Sparse[") for kind in kinds):
        raise TypeError("X must be dense. Got sparse columns: pass X.sparse.to_dense().")
    return X.to_pandas() if hasattr(X, "column_names") and hasattr(X, "to_pandas") else X


def check_columns(estimator, X):
    """Refuse other columns than those that an estimator was fitted to."""
    check_feature_names(estimator, X, reset=False)
    _check_n_features(estimator, X, reset=False)


@contextmanager
def naming_kernels_of_things(X, kernel, categorical_features):
    """Name the kernel where X cannot be read as it holds what only that kernel knows."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if categorical_features is None:  # else strings have codes
            _refuse_things(X, kernel, error)
        raise


def _refuse_things(X, kernel, error):
    """Name a kernel over strings or the like, if X could not be read for holding such things."""
    parts = generic_parts(kernel)
    if parts and (_holds_strings(X) or np.ndim(X) != 2):
        raise ValueError(
            "The 'kernel' parameter must be a kernel of rows of numbers, as inducing inputs are. "
            f"Got {parts[0]!r}, which takes other things (its requires_vector_input is False), "
            "and X holds such. Make columns of numbers of them, or give the kernel to "
            "GaussianProcessRegressor or GaussianProcessClassifier of scikit-learn."
        ) from error


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
