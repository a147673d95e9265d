"""Batches of a stream in which sensors were silent: targets that are NaN, or no rows at all."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from ..data.checks import check_consistent_length, check_sample_weight
from ..data.inputs import Inputs
from ..data.readable import is_absent, refuse_dates
from ..data.readable_targets import readable_targets
from ..likelihoods._names import regression_likelihood
from .base import inputs_at
from .mixed_outputs import check_weighed, mixes_outputs, with_gaps
from .numbers import checked_numbers


class Batch(NamedTuple):
    """The rows of a batch that have a target.

    Attributes
    ----------
    inputs : Inputs
    y : ndarray of shape (n,) or (n, t)
    weight : ndarray of shape (n,) or None
    n_missing : int
        Rows that were left out.
    given : tuple
        X and y of the others as the user gave them.
    """

    inputs: Inputs
    y: np.ndarray
    weight: np.ndarray | None
    n_missing: int
    given: tuple


def is_empty(estimator, X, y):
    """Return whether a later batch has no rows at all; its columns must be those of the first."""
    if estimator._fitted is None or _shape(X)[:1] != (0,) or _shape(y)[:1] != (0,):
        return False
    return len(_shape(X)) < 2 or _shape(X)[1] == estimator.n_features_in_


def _shape(table):
    """Return the shape of an array, a dataframe, lists, or what can be made an array."""
    return table.shape if hasattr(table, "shape") else np.asarray(table).shape


def present_rows(estimator, X, y, sample_weight, *, reset):
    """Check a batch, and leave out rows whose targets are all NaN; None where none is left."""
    with readable_targets(y):
        y = _with_nan(_without_words(y))
    missing = _missing(estimator, y)
    if missing is None:
        return Batch(*checked_numbers(estimator, X, y, sample_weight, reset=reset), 0, (X, y))
    if sample_weight is not None and np.ndim(sample_weight) == 0:
        sample_weight = np.full(len(missing), sample_weight)
    check_consistent_length(X, y, sample_weight)
    present = np.flatnonzero(~missing.all(axis=1))
    n_missing = len(missing) - len(present)
    if not len(present):
        if reset:
            raise ValueError(
                "A stream must begin with a target that is not NaN. Got a y without any in "
                f"{n_missing} rows: leave them out."
            )
        _check_unobserved(estimator, X, y, sample_weight)
        return None
    X, y = _safe_indexing(X, present), _safe_indexing(y, present)
    if sample_weight is not None:
        sample_weight = _safe_indexing(sample_weight, present)
        check_weighed(sample_weight)
    if mixes_outputs(estimator) or not missing[present].any():
        checked = checked_numbers(estimator, X, y, sample_weight, reset=reset)
        return Batch(*checked, n_missing, (X, y))
    _check_gaps(estimator)
    return Batch(*with_gaps(estimator, X, y, sample_weight, reset), n_missing, (X, y))


def _check_unobserved(estimator, X, y, sample_weight):
    """Check the columns and weights of a later batch of which no target was observed."""
    inputs = inputs_at(estimator, X)
    estimator._fitted.targets.columns(np.zeros(np.shape(y)))
    check_sample_weight(sample_weight, inputs.X)


def _without_words(y):
    """Return numbers that were written as words as numbers, and all else as it is."""
    words = np.asarray(y)
    if not words.ndim or words.dtype.kind not in "US":
        return y
    try:
        return words.astype(np.float64)
    except ValueError:  # the checks of y say so
        return y


def _with_nan(y):
    """Return targets with NaN where a dataframe has a value of its own for what is missing."""
    table = np.asarray(y)
    if table.dtype.kind != "O":
        return y
    # such a value compares with nothing, not even with itself
    is_none = [is_absent(one) and not isinstance(one != one, bool | np.bool_) for one in table.flat]
    if not any(is_none):
        return y
    table = table.copy()
    table.flat[np.flatnonzero(is_none)] = np.nan
    return table


def _missing(estimator, y):
    """Return which targets are NaN, (n, t), or None for none, and for what the checks refuse."""
    given, y = y, np.asarray(y)
    if not y.ndim or y.dtype.kind not in "Of":
        return None
    if y.dtype.kind == "O":
        refuse_dates(given, name="y")  # NaT is not NaN
        if not mixes_outputs(estimator):
            _refuse_none(y)
    try:
        missing = np.asarray(y != y, dtype=bool)
    except (TypeError, ValueError):  # a missing value that is no number
        return None
    return missing.reshape(len(y), -1) if missing.any() else None


def _refuse_none(y):
    places = [k for k, row in enumerate(y) if any(value is None for value in np.ravel(row))]
    if places:
        raise ValueError(
            "y must hold numbers, and NaN where nothing was observed. Got None in "
            f"{len(places)} of {len(y)} rows, the first at index {places[0]}: write NaN there, "
            "or leave these rows out."
        )


def _check_gaps(estimator):
    """Refuse NaN in independent outputs that do not take it."""
    likelihood, warps = regression_likelihood(estimator.likelihood), estimator.normalize_y
    if isinstance(warps, str) or not likelihood.conjugate or likelihood.allows_outliers:
        raise ValueError(
            "Targets of several outputs may be NaN in some of them with likelihood='gaussian' and "
            "targets that are at most centred and scaled. Got "
            f"likelihood={estimator.likelihood!r}, normalize_y={estimator.normalize_y!r}: "
            "fit a stream for each output."
        )
