"""What in y cannot be read as numbers: words, missing and infinite values, and how many."""

from contextlib import contextmanager

import numpy as np

from .checks import first_words, refuse_iterator, shortened
from .readable import (
    OF_THINGS,
    EntriesError,
    as_float,
    is_absent,
    is_entry,
    is_number,
    refuse_dates,
)

# What scikit-learn, pandas and numpy say of targets that are missing.
_OF_MISSING = ("NaN", "NA is ambiguous", "NAType")


@contextmanager
def readable_targets(y):
    """Let an error on reading y say what `explain_targets` knows."""
    refuse_iterator("y", y)
    refuse_dates(y, name="y")
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        explain_targets(y, error)
        raise


def explain_targets(y, error):
    """Raise what says more than an error of scikit-learn's or numpy's on reading y; or nothing.

    The targets are those of a regressor.
    """
    names = [str(name) for name in getattr(y, "columns", ())]
    if len(set(names)) < len(names) and "unique" in str(error):
        raise ValueError(
            "Columns of y must have names of their own. Got "
            f"{sorted({name for name in names if names.count(name) > 1})} more than once: rename "
            "them, or pass an array."
        ) from error
    values = _values(y)
    things = [value for value in values if not is_entry(value)]
    if things and not any(words in str(error) for words in OF_THINGS):
        return
    if things:
        raise EntriesError(
            f"{first_words(error)}. y must hold one number for each row and output. Got "
            f"{type(things[0]).__name__}: make a number, or a column of y for each of several."
        ) from error
    is_word = [isinstance(value, str) and not is_number(value) for value in values]
    if any(is_word):
        word = shortened(repr(str(values[is_word.index(True)])))
        raise ValueError(
            f"y must hold numbers. Got {word}, a word (could not "
            "convert string to float): take a classifier, such as SVGPClassifier, for classes, or "
            "make numbers of it (pandas.to_numeric)."
        ) from error
    missing = sum(_is_nan(value) for value in values)
    if missing and any(words in str(error) for words in _OF_MISSING):
        raise ValueError(
            f"Input y contains NaN ({missing} of {len(values)} values): leave such rows out, as "
            "X[known] and y[known] with known = ~pandas.isna(y). With n_latent single outputs of a "
            "row may be missing."
        ) from error
    infinite = sum(np.isinf(as_float(value)) for value in values if not _is_nan(value))
    if infinite and ("infinity" in str(error) or isinstance(error, OverflowError)):
        raise ValueError(
            f"Input y contains infinity or a value too large ({infinite} of {len(values)} values): "
            "leave such rows out, or replace the values by finite ones; likelihood='censored' "
            "takes those at a limit."
        ) from error


def _values(y):
    """Return targets as a list of numbers, words and other things."""
    try:
        return np.asarray(y, dtype=object).ravel().tolist()
    except (TypeError, ValueError):
        return []


def _is_nan(value):
    return is_absent(value) or str(value).lower() == "nan"
