"""What in y cannot be read as numbers: words, missing and infinite values, and how many."""

from contextlib import contextmanager

import numpy as np

from .checks import is_missing


@contextmanager
def readable_targets(y):
    """Let an error on reading y say what `explain_targets` knows."""
    try:
        yield
    except (TypeError, ValueError) as error:
        explain_targets(y, error)
        raise


def explain_targets(y, error):
    """Raise what says more than an error of scikit-learn's or numpy's on reading y; or nothing.

    Parameters
    ----------
    y : array-like
        Targets of a regressor.
    error : Exception

    Raises
    ------
    ValueError
        That says what came, and what to do.
    """
    values = _values(y)
    if values is None:
        return
    is_word = [isinstance(value, str) and not _is_number(value) for value in values]
    if any(is_word):
        raise ValueError(
            f"y must hold numbers. Got {values[is_word.index(True)]!r}, a word (could not convert "
            "string to float): take a classifier, such as SVGPClassifier, for classes, or make "
            "numbers of it (pandas.to_numeric)."
        ) from error
    missing = sum(is_missing(value) or str(value).lower() == "nan" for value in values)
    if missing and ("NaN" in str(error) or "NA is ambiguous" in str(error)):
        raise ValueError(
            f"Input y contains NaN ({missing} of {len(values)} values): leave such rows out, as "
            "X[known] and y[known] with known = ~pandas.isna(y). With n_latent single outputs of a "
            "row may be missing."
        ) from error
    infinite = 0 if missing else int(np.isinf(np.array([float(value) for value in values])).sum())
    if infinite and "infinity" in str(error):
        raise ValueError(
            f"Input y contains infinity or a value too large ({infinite} of {len(values)} values): "
            "leave such rows out, or replace the values by finite ones; likelihood='censored' "
            "takes those at a limit."
        ) from error


def _values(y):
    """Return targets as a list, or None where they are no sequence of numbers and words."""
    try:
        values = np.asarray(y, dtype=object).ravel().tolist()
    except (TypeError, ValueError):
        return None
    known = (value for value in values if not isinstance(value, str))
    return values if all(_is_number(value) or _is_absent(value) for value in known) else None


def _is_number(value):
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _is_absent(value):
    try:
        return is_missing(value)
    except (TypeError, ValueError):
        return False
