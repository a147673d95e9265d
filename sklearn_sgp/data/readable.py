"""What in X cannot be read as numbers: dates, strings, missing and huge values, by their column."""

import datetime
import numbers

import numpy as np

from .checks import first_words, is_missing, refuse_size, shortened

# Types of single values in columns of objects: those of pandas derive from these but for periods.
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
_MOST_NAMES = 5  # that an error lists


class DatesError(TypeError, ValueError):
    """Dates or durations where numbers must stand."""


class EntriesError(TypeError, ValueError):
    """Lists, dictionaries or complex numbers where one number must stand."""


def refuse_dates(X, apart=(), name="X"):
    """Refuse columns of dates and durations: as numbers they depend on their resolution.

    Parameters
    ----------
    X : array, dataframe or list of lists
        Without columns that the kernel does not see.
    apart : list of int
        Where columns stood that the kernel does not see.
    """
    wrong = [(label, kind) for label, kind in _kinds(X, apart) if kind is not None]
    if not wrong:
        return
    labels = _listed([label for label, _ in wrong if label])
    where = f" in {labels}" if labels else ""
    if name == "y":
        cure = "make numbers of them, such as the days since a first date"
    else:
        cure = (
            "make columns such as the days since a first date, the hour and the day of the week of "
            "them, or drop them"
        )
    raise DatesError(
        f"{name} must hold numbers. Got dates or durations{where} (type {wrong[0][1]}), which as "
        f"numbers would depend on their resolution: {cure}. Of a data frame: days = "
        "(X[name] - X[name].min()).dt.total_seconds() / 86400."
    )


def explain(X, error, apart):
    """Raise what says more than an error of scikit-learn's or numpy's on reading X; or nothing.

    Parameters
    ----------
    X : array, dataframe or list of lists
        Without columns that the kernel does not see.
    error : Exception
    apart : list of int
        Where columns stood that the kernel does not see.
    """
    text = str(error)
    if "could not convert string" in text or "Cannot cast" in text:  # pandas casts categories
        _explain_strings(X, error, apart)
    elif any(words in text for words in OF_THINGS):
        _explain_absent(X, error, apart)
        _explain_things(X, error, apart)
    elif "Input X contains NaN" in text:
        _explain_entries(X, error, apart, np.isnan, "NaN", _OF_MISSING)
    elif "Input X contains infinity" in text or isinstance(error, OverflowError):
        _explain_entries(X, error, apart, np.isinf, "infinity or a value too large", _OF_INFINITE)


# What numpy and scikit-learn say of entries that are lists, dictionaries, or complex.
OF_THINGS = (
    "array element with a sequence",
    "could not convert string to float",  # bytes
    "float() argument must be",
    "Complex data",
)
_OF_MISSING = (
    "fill them by a pipeline, make_pipeline(SimpleImputer(add_indicator=True), model), or leave "
    "these rows out"
)
_OF_INFINITE = "replace these values by finite ones, or leave these rows out"


def refuse_sizes(X, apart, names):
    """Raise the error of inputs whose squares could overflow, and name their column."""
    sizes = [float(max(X[:, k].max(), -X[:, k].min())) for k in range(X.shape[1])]
    k = int(np.argmax(sizes))  # that of NaN is the first such column
    refuse_size("X", sizes[k], f" in {column_label(X, k, apart, names)}")


def column_label(X, k, apart=(), names=None):
    """Return how a column is named: by its name, or by its place among all of them."""
    names = getattr(X, "columns", None) if names is None else names
    if names is not None:
        return f"column {shortened(repr(list(names)[k]))}"
    for other in apart:
        k += k >= other
    return f"column {k}"


def _explain_strings(X, error, apart):
    columns = [column_label(X, k, apart) for k, values in _columns(X) if not _are_numbers(values)]
    if columns:
        raise ValueError(
            "X must hold numbers but in columns of categories. Got a string in "
            f"{_listed(columns)}: {first_words(error)}. Name such columns in categorical_features "
            '("from_dtype" takes those of the type category), or encode them; of strings that are '
            "dates or numbers make numbers (pandas.to_datetime, pandas.to_numeric)."
        ) from error


def refuse_repeated_names(X):
    """Raise the error of a table in which columns have the same name, if it is one."""
    names = list(getattr(X, "columns", ()))
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"Columns of X must have names of their own. Got {twice} more than once: rename them, "
            "drop what is there twice, or pass an array."
        )


def explain_tables(X, error):
    """Say of a table without columns, with names that are not its own, or of records, what to do.

    Tables as such are fine: the error says that this one could not be read.
    """
    names = list(X.columns) if hasattr(X, "columns") else None
    if names == []:
        raise ValueError("X must have at least one column. Got a table without any.") from error
    if "unique" in str(error):
        refuse_repeated_names(X)
    is_of_rows = isinstance(X, list) and bool(X) and isinstance(X[0], dict)
    is_of_rows = is_of_rows or isinstance(X, dict)
    if is_of_rows or getattr(getattr(X, "dtype", None), "names", None):
        kind = "dictionaries" if is_of_rows else "records"
        raise ValueError(
            f"X must be a table or an array of two axes. Got {kind}: pass pandas.DataFrame(X)."
        ) from error
    is_held = isinstance(X, list | tuple | set | np.ndarray)
    axes = getattr(_as_objects(X), "ndim", None) if is_held else 2
    if axes != 2 and "Expected 2" not in str(error):  # that has the cure
        kind = "rows of different lengths" if axes is None else f"{axes} dimensions"
        raise EntriesError(
            f"{first_words(error)}. X must be a table or an array of two axes. Got "
            f"{type(X).__name__} with {kind}: pass an array of shape (n_samples, n_features)."
        ) from error


def _explain_absent(X, error, apart):
    """Name the columns of objects among which is pandas' NA, which numpy does not read."""
    found = [
        column_label(X, k, apart)
        for k, values in _columns(X)
        if values.dtype.kind == "O" and any(type(value).__name__ == "NAType" for value in values)
    ]
    if found and "NAType" in str(error):
        raise EntriesError(
            f"{first_words(error)}. X must hold numbers, and NaN where a value is missing. Got "
            f"pandas.NA among objects in {_listed(found)}: pass X.convert_dtypes(), or write NaN "
            "there."
        ) from error


def _explain_things(X, error, apart):
    """Name the columns of entries that are no numbers and no words, and what they are."""
    found = []
    for k, values in _columns(X):
        wrong = {type(value).__name__ for value in values.tolist() if not is_entry(value)}
        found += [f"{column_label(X, k, apart)} (of type {sorted(wrong)[0]})"] if wrong else []
    if found:
        raise EntriesError(
            f"{first_words(error)}. X must hold one number, or word, in each entry. Got other "
            f"things in {_listed(found)}: make columns of numbers of their parts, or drop them."
        ) from error


def is_entry(value):
    """Tell if a value is a number, a word or missing."""
    return isinstance(value, str) or is_number(value) or is_absent(value)


def is_number(value):
    """Tell if a value is a number, or a word that is read as one; complex numbers are none."""
    if isinstance(value, numbers.Complex) and not isinstance(value, numbers.Real):
        return False
    try:
        as_float(value)
    except (TypeError, ValueError):
        return False
    return True


def as_float(value):
    """Return a value as a float, infinity where a whole number is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return np.inf


def is_absent(value):
    """Tell if a value is missing; things that cannot be compared are not."""
    try:
        return is_missing(value)
    except (TypeError, ValueError):
        return False


def _explain_entries(X, error, apart, is_such, what, cure):
    """Name the columns that hold such entries; none where it is not X that does."""
    found = []
    for k, values in _columns(X):
        if _are_numbers(values):
            count = int(np.count_nonzero(is_such(_as_numbers(values))))
            found += [(column_label(X, k, apart), count)] if count else []
    if found:
        counts = [f"{label} ({count} of {len(X)} rows)" for label, count in found]
        raise ValueError(f"Input X contains {what} in {_listed(counts)}: {cure}.") from error


def _listed(labels):
    more = len(labels) - _MOST_NAMES
    return ", ".join(labels[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _columns(X):
    """Yield places and values of the columns of a table; nothing of what is none."""
    if hasattr(X, "columns"):
        yield from ((k, np.asarray(_column(X, k))) for k in range(len(X.columns)))
        return
    values = X if hasattr(X, "dtype") else _as_objects(X)
    if values is not None and values.ndim == 2:
        yield from ((k, values[:, k]) for k in range(values.shape[1]))


def _column(X, k):
    """Return a column of a data frame by its place: several may have one name."""
    return X.iloc[:, k] if hasattr(X, "iloc") else X[X.columns[k]]


def _as_objects(X):
    """Return an array of what lists hold; None where they have no common length."""
    try:
        return np.asarray(X, dtype=object)
    except ValueError:
        return None  # refused, with the reason, where X is validated


def _as_numbers(values):
    if values.dtype.kind != "O":
        return np.asarray(values, dtype=np.float64)
    return np.array([np.nan if is_missing(value) else as_float(value) for value in values])


def _are_numbers(values):
    try:
        _as_numbers(values)
    except (TypeError, ValueError):
        return False
    return True


def _kinds(X, apart):
    """Yield the label and the type of the dates of each column of X, None for no dates."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        for k, dtype in enumerate(X.dtypes):
            kind = str(dtype) if _is_of_dates(dtype) else None
            if kind is None and getattr(dtype, "kind", "f") == "O":
                kind = _date_among(_column(X, k))
            yield column_label(X, k, apart), kind
        return
    if hasattr(X, "dtype") and getattr(X.dtype, "kind", "f") in "iufbcUSV":
        if _is_of_dates(X.dtype):  # a column of polars, whose types have no kind
            yield "", str(X.dtype)
        return
    values = X if hasattr(X, "dtype") else _as_objects(X)
    if values is None:
        return
    if _is_of_dates(values.dtype):
        yield "", str(values.dtype)
    elif values.ndim == 1:
        yield "", _date_among(values)
    elif values.ndim == 2:
        for k in range(values.shape[1]):
            yield column_label(X, k, apart), _date_among(values[:, k])


def _is_of_dates(dtype):
    """Tell if a type of numpy, pandas, polars or arrow is one of dates or durations."""
    if hasattr(dtype, "is_temporal"):  # of polars
        return dtype.is_temporal()
    text = str(dtype).lower()
    marks = ("datetime", "timedelta", "timestamp", "duration", "period", "date32", "date64", "time")
    return getattr(dtype, "kind", "O") in "mMO" and text.startswith(marks)


def _date_among(values):
    """Return the type of a date among objects, None where there is none."""
    for value in np.asarray(values, dtype=object):
        if isinstance(value, _DATES) or type(value).__name__ == "Period":
            return type(value).__name__
    return None
