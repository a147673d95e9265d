"""Columns of categories: strings, numbers or a dataframe's categories as codes 0, 1, 2, ..."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..readable import column_label
from .coded_rows import CodedRows
from .codes import ColumnCodes, are_numbers, in_parts


@dataclass(frozen=True)
class InputColumns:
    """Names of the columns of X, and which of them are categories.

    Parameters
    ----------
    names : tuple of str or None
    categorical : tuple of int
        Columns of categories, which a default kernel treats as such.
    categories : tuple of tuple
        The values of each of these in the first rows, in the order of their codes.
    incomplete : tuple of int
        Columns that lacked values in the first rows. For each of them the kernel sees one more
        column behind all others, which says where.
    """

    names: tuple | None = None
    categorical: tuple = ()
    categories: tuple = ()
    incomplete: tuple = ()

    @property
    def are_plain(self):
        """True if all are columns of numbers, and none lacked values."""
        return not (self.categorical or self.incomplete)

    def mask(self, n_features):
        """Return a mask of the columns of categories, shape (n_features,); None where none is."""
        if not self.categorical:
            return None
        mask = np.zeros(n_features, dtype=bool)
        mask[list(self.categorical)] = True
        return mask

    def with_codes(self, Z):
        """Return given inducing inputs (m, d) with codes of categories, in the place of values.

        Columns of other values than numbers have codes, as `inducing_points_` has. Those of later
        rows, which the first ones lack, are theirs where all values are codes.

        Raises
        ------
        ValueError
            If a category is not one of the first rows.
        """
        Z = Z.copy()
        for column, keys in zip(self.categorical, self.categories, strict=True):
            codes = {key: code for code, key in enumerate(keys)}
            values = _keys_of(Z[:, column])
            if set(values) <= set(codes):
                Z[:, column] = [codes[value] for value in values]
                continue
            are_own, have_values = keys == tuple(range(len(keys))), are_numbers(keys)
            if not (are_own or (not have_values and set(values) <= set(range(len(keys))))):
                what = "categories" if have_values else "codes 0, 1, ... of categories"
                raise ValueError(
                    f"inducing must have {what} of X in column {column}, {list(keys)}, as "
                    f"inducing_points_ has them. Got {np.unique(Z[:, column])[:8].tolist()}."
                )
        return Z


def _keys_of(values):
    """Return a list of numbers, None for NaN."""
    return [None if value != value else value for value in values.tolist()]


PLAIN_COLUMNS = InputColumns()


@dataclass(frozen=True)
class CategoryCodes:
    """Puts codes into columns of categories, as a first batch has them."""

    columns: tuple
    encoders: tuple
    n_features: int

    are_found = True  # whether columns were asked for

    @classmethod
    def fit(cls, X, categorical_features, sample_weight=None):
        """Find the columns of categories, and their categories.

        Parameters
        ----------
        X : array, dataframe or list of lists
        categorical_features : "from_dtype" or array-like
            As the estimators' parameter.
        sample_weight : array-like of shape (n,) or None
            Rows of weight 0 have no say.

        Raises
        ------
        ValueError
            If a column is not there, or has more categories than there may be.
        """
        X = _table(X)
        if len(X.shape) != 2:
            return cls((), (), 0)  # refused where inputs are validated
        columns, rows = categorical_columns(X, categorical_features), _counted(X, sample_weight)
        encoders = tuple(
            ColumnCodes.fit(_column(X, column)[rows], column_label(X, column)) for column in columns
        )
        return cls(columns, encoders, X.shape[1])

    @property
    def first_keys(self):
        """The values of each column in the first rows, in the order of their codes."""
        return tuple(encoder.first_keys for encoder in self.encoders)

    @property
    def values(self):
        """For each column the values so far in the order of their codes; see `ColumnCodes`."""
        return [encoder.values for encoder in self.encoders]

    def decoded(self, Z):
        """Return an array of inputs (m, d) with values where these are numbers, NaN if missing.

        A column stays as it is where something in it is no code, as of a kernel that sees numbers.
        """
        return self._mapped(Z, lambda numbers: numbers)

    def encoded(self, Z):
        """Return what `decoded` had: inputs with codes."""
        return self._mapped(Z, lambda numbers: {value: code for code, value in numbers.items()})

    def _mapped(self, Z, table_of):
        Z = Z.copy()
        for column, encoder in zip(self.columns, self.encoders, strict=True):
            table = table_of(encoder.numbers_of_codes)
            keys = _keys_of(Z[:, column])
            if set(keys) <= set(table):
                Z[:, column] = [table[key] for key in keys]
        return Z

    def extended(self, X, sample_weight=None, are_codes=True):
        """Add codes for the values that a later batch adds, in rows of positive weight.

        For ``are_codes`` see `ColumnCodes.extended`.
        """
        extended = partial(ColumnCodes.extended, are_codes=are_codes)
        return self._with_values(X, extended, sample_weight)

    def remembering(self, X):
        """Add the codes that `transform` has for new values, so that later rows have the same."""
        return self._with_values(X, ColumnCodes.remembering)

    def _with_values(self, X, extended, sample_weight=None):
        X = _table(X)
        if not self._fits(X):
            return self
        rows = _counted(X, sample_weight)
        encoders = tuple(
            extended(encoder, _column(X, column)[rows])
            for column, encoder in zip(self.columns, self.encoders, strict=True)
        )
        return replace(self, encoders=encoders)

    def can_wait(self, X):
        """Return True if X can be validated before it has codes: numbers, none missing here.

        Integers cannot: as floating point numbers large ones, such as keys, may be equal.
        """
        if not (isinstance(X, np.ndarray) and X.dtype.kind == "f" and self._fits(X)):
            return False
        parts = (part for column in self.columns for part in in_parts(X[:, column]))
        return not any(np.isnan(part).any() for part in parts)

    def transform(self, X):
        """Put codes into X; each value that was not there before gets a code of its own.

        The same object where all columns have codes already. An array of numbers is not copied: it
        is read as `CodedRows`.
        """
        X = _table(X)
        if not self._fits(X):
            return X
        if isinstance(X, np.ndarray) and X.dtype.kind == "f":
            return self._read_later(X)
        changed = {}
        for column, encoder in zip(self.columns, self.encoders, strict=True):
            values = _column(X, column)
            codes = encoder.transform(values)
            if values.dtype.kind not in "iuf" or not np.array_equal(codes, values):
                changed[column] = codes
        return _with_columns(X, changed) if changed else X

    def _read_later(self, X):
        """Return an array of floating point numbers as it is, or as `CodedRows`."""
        codes = {}
        for column, encoder in zip(self.columns, self.encoders, strict=True):
            known, numbers = encoder.numbers(X[:, column])
            if not np.array_equal(known, numbers):
                codes[column] = known, numbers
        return CodedRows(X, codes) if codes else X

    def _fits(self, X):
        """Return True if X has the columns; it is refused where inputs are validated if not."""
        return len(X.shape) == 2 and X.shape[1] == self.n_features


def categorical_columns(X, categorical_features):
    """Return the indices of the columns of categories.

    Parameters
    ----------
    X : array, lists or dataframe
    categorical_features : "from_dtype" or array-like of bool, int or str

    Raises
    ------
    ValueError
        If a column is not there, or if columns have the same name.
    """
    names = list(X.columns) if hasattr(X, "columns") else None
    if names is not None and len(set(names)) < len(names):
        twice = sorted({str(name) for name in names if names.count(name) > 1})
        raise ValueError(
            "Columns of X must have names of their own where some of them are categories. Got "
            f"{twice} more than once: rename them, or pass an array."
        )
    if isinstance(categorical_features, str):
        if names is None:
            return ()
        of_categories = "CategoricalDtype", "Categorical", "Enum"  # of pandas, and of polars
        kinds = (type(X[name].dtype).__name__ for name in names)
        return tuple(k for k, kind in enumerate(kinds) if kind in of_categories)
    given = np.atleast_1d(np.asarray(categorical_features))
    count = np.shape(X)[1]
    if given.size == 0:
        return ()
    if given.dtype.kind == "b" and given.shape == (count,):
        return tuple(int(k) for k in np.flatnonzero(given))
    if given.dtype.kind in "iu" and given.min() >= 0 and given.max() < count:
        return tuple(int(k) for k in np.unique(given))
    given = given.tolist()
    if names is not None and all(isinstance(name, str) and name in names for name in given):
        return tuple(sorted({names.index(name) for name in given}))
    has = "no names" if names is None else f"names {names}"
    raise ValueError(
        "The 'categorical_features' parameter must hold indices of columns of X, a mask of them, "
        f"or their names. Got {given!r} for {count} columns with {has}."
    )


def _table(X):
    return X if hasattr(X, "shape") and hasattr(X, "__array__") else np.asarray(X, dtype=object)


def _column(X, column):
    values = X[X.columns[column]] if hasattr(X, "columns") else X[:, column]
    return np.asarray(values)


def _counted(X, sample_weight):
    """Return a mask of rows of positive weight; all rows where weights are not valid."""
    weight = np.asarray(sample_weight)
    if weight.shape != X.shape[:1] or weight.dtype.kind not in "biuf" or not (weight > 0.0).any():
        return slice(None)
    return weight > 0.0


def _with_columns(X, changed):
    """Copy a table with some columns replaced."""
    if not hasattr(X, "columns"):
        copy = np.array(X, dtype=object if X.dtype.kind not in "fiu" else np.float64)
        for column, values in changed.items():
            copy[:, column] = values
        return copy
    named = {X.columns[column]: values for column, values in changed.items()}
    if hasattr(X, "with_columns"):  # of polars
        return X.with_columns(*(type(X[name])(name, values) for name, values in named.items()))
    copy = X.copy(deep=False)
    for name, values in named.items():
        copy[name] = values
    return copy
