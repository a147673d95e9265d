"""Columns of categories: strings, numbers or a dataframe's categories as codes 0, 1, 2, ..."""

from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import OrdinalEncoder

from ..kernels.categories._covariance import LARGEST_COUNT


@dataclass(frozen=True)
class InputColumns:
    """What is known of the columns of X besides their numbers.

    Parameters
    ----------
    names : tuple of str or None
    categorical : tuple of int
        Columns of categories, which a default kernel treats as such.
    """

    names: tuple | None = None
    categorical: tuple = ()

    def mask(self, n_features):
        """Which columns are categories, shape (n_features,); None where none is."""
        if not self.categorical:
            return None
        mask = np.zeros(n_features, dtype=bool)
        mask[list(self.categorical)] = True
        return mask


PLAIN_COLUMNS = InputColumns()


@dataclass(frozen=True)
class CategoryCodes:
    """Puts codes into columns of categories, as a first batch has them.

    Parameters
    ----------
    columns : tuple of int
    encoders : tuple of (OrdinalEncoder or None)
        None for a column of a numeric array that has codes already.
    n_features : int
    """

    columns: tuple
    encoders: tuple
    n_features: int

    @classmethod
    def fit(cls, X, categorical_features):
        """Find the columns of categories, and their categories.

        Parameters
        ----------
        X : array, dataframe or list of lists
        categorical_features : "from_dtype" or array-like
            As the estimators' parameter.

        Returns
        -------
        codes : CategoryCodes

        Raises
        ------
        ValueError
            If a column is not there, or has more categories than there may be.
        """
        X = _table(X)
        if len(X.shape) != 2:
            return cls((), (), 0)  # refused where inputs are validated
        columns = categorical_columns(X, categorical_features)
        encoders = []
        for column in columns:
            values = _column(X, column)
            if not hasattr(X, "columns") and _are_codes(values):
                encoders.append(None)
                continue
            encoder = OrdinalEncoder(
                handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1
            ).fit(_sortable(values))
            _check_count(len(encoder.categories_[0]), column)
            encoders.append(encoder)
        return cls(columns, tuple(encoders), X.shape[1])

    def transform(self, X):
        """X with codes; a category that was not there before gets the next code after the last.

        The same object where all columns have codes already.
        """
        X = _table(X)
        if len(X.shape) != 2 or X.shape[1] != self.n_features:
            return X  # refused where inputs are validated
        changed = {
            column: _codes(encoder, _column(X, column))
            for column, encoder in zip(self.columns, self.encoders, strict=True)
            if encoder is not None
        }
        return _with_columns(X, changed) if changed else X


def categorical_columns(X, categorical_features):
    """Indices of the columns of categories.

    Parameters
    ----------
    X : array or dataframe
    categorical_features : "from_dtype" or array-like of bool, int or str

    Returns
    -------
    columns : tuple of int
    """
    names = list(X.columns) if hasattr(X, "columns") else None
    if isinstance(categorical_features, str):
        if names is None:
            return ()
        return tuple(k for k, name in enumerate(names) if _has_categories(X[name]))
    given = np.atleast_1d(np.asarray(categorical_features))
    count = X.shape[1]
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


def _has_categories(column):
    """Whether a column of a dataframe is of a categorical type, of pandas or of polars."""
    return type(column.dtype).__name__ in ("CategoricalDtype", "Categorical", "Enum")


def _column(X, column):
    values = X[X.columns[column]] if hasattr(X, "columns") else X[:, column]
    return np.asarray(values)


def _are_codes(values):
    """Whether values are the numbers 0, 1, 2, ... without gaps."""
    if values.dtype.kind not in "iuf" or values.min(initial=0) < 0:
        return False
    if not values.max(initial=0) < LARGEST_COUNT:
        return False
    found = np.unique(values)
    return np.array_equal(found, np.arange(len(found)))


def _sortable(values):
    """A column of one kind, words or numbers, missing values as NaN or None."""
    kinds = {type(value) for value in values.tolist()} if values.dtype.kind == "O" else {None}
    if len(kinds) > 1 and str in kinds:
        missing = np.array([value is None or value != value for value in values.tolist()])
        values = np.where(missing, None, np.array([str(value) for value in values], dtype=object))
    return values.reshape(-1, 1)


def _codes(encoder, values):
    """Codes of a column; missing values are a category where the first batch had some."""
    codes = encoder.transform(_sortable(values))[:, 0]
    known = encoder.categories_[0]
    n_known = len(known)
    missing = [k for k, value in enumerate(known) if value is None or value != value]
    codes = np.where(codes < 0, n_known, codes)
    if missing:
        gone = np.array([value is None or value != value for value in values.tolist()])
        codes = np.where(gone, missing[0], codes)
    return codes


def _check_count(count, column):
    if count > LARGEST_COUNT:
        raise ValueError(
            f"A column of categories must have at most {LARGEST_COUNT} of them. Got {count} in "
            f"column {column} of X: join rare ones, or treat it as a number."
        )


def _with_columns(X, changed):
    """A copy of a table with some columns replaced."""
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
