"""Validation of inputs, targets and weights, and codes in columns of categories."""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.sparse import issparse

from ..data.checks import (
    check_array,
    check_sample_weight,
    check_size,
    check_X_y,
    refuse_iterator,
    validate_data,
    warn_of_large_weights,
    warn_of_small_weights,
)
from ..data.columns_apart import check_labels, column_position, kernel_categories
from ..data.inputs import (
    InputFormat,
    Inputs,
    as_table,
    naming_kernels_of_things,
)
from ..data.missing import MAY_MISS, NO_MISSING
from ..data.readable import explain, explain_tables, refuse_dates
from ..data.readable_targets import explain_targets
from ..data.rows import drop_zero_weight
from ..kernels._white_noise import holds_noise
from .offsets import check_offset

_DTYPE = [np.float64, np.float32]


def checked_rows(estimator, X, y, sample_weight, *, reset, **check_y):
    """Return checked `Inputs`, targets and weights. Weights of None stay None.

    Parameters
    ----------
    estimator : BaseSGP
        Learns the format of its inputs if ``reset``.
    X, y, sample_weight : array-like
        As the user gave them.
    reset : bool
        Whether these are the rows of a first batch.
    **check_y : object
        As `sklearn.utils.check_X_y` takes it.
    """
    if issparse(y):
        raise TypeError("y must be a dense array. Got a sparse one: pass y.toarray().")
    refuse_iterator("y", y)
    X = as_table(X)
    with naming_kernels_of_things(X, estimator.kernel, estimator.categorical_features):
        return _checked_rows(estimator, X, y, sample_weight, reset, check_y)


def _checked_rows(estimator, X, y, sample_weight, reset, check_y):
    table, labels, offset = _split_apart(estimator, X, reset, sample_weight)[:3]
    coded, waits = estimator._format.coded(table)
    if check_y.get("y_numeric"):
        refuse_dates(y, name="y")
    finite = {"ensure_all_finite": estimator._format.all_finite}
    options = {"order": None, "dtype": _DTYPE, **finite, **check_y}
    try:
        if not estimator._format.apart:
            X, y = validate_data(estimator, coded, y, reset=reset, **options)
        else:
            X, y = check_X_y(coded, y, estimator=estimator, **options)
        if check_y.get("y_numeric") and y.dtype.kind in "US":
            y = y.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        explain_tables(table, error)
        explain(coded, error, estimator._format.apart)
        if check_y.get("y_numeric"):
            explain_targets(y, error)
        raise
    _learn_missing(estimator, X, sample_weight, reset)
    names = getattr(coded, "columns", None)
    filled = estimator._format.checked(X, waits, names, _kernel(estimator, reset))
    inputs = _inputs_with(estimator, filled, labels, offset, reset, given=X)
    return inputs, y, checked_weight(estimator, sample_weight, inputs.X)


def inputs_of_batch(estimator, X, *, reset, weight=None):
    """Return checked `Inputs` of a batch, whose categories are learned.

    Parameters
    ----------
    X : array-like
    reset : bool
        Whether the estimator is not fitted.
    weight : array-like or None
        Of these rows, not checked.
    """
    X = as_table(X)
    with naming_kernels_of_things(X, estimator.kernel, estimator.categorical_features):
        X, labels, offset = _split_apart(estimator, X, reset, weight)[:3]
        validated = estimator._format.validated(X, _validator(estimator, reset))
        _learn_missing(estimator, validated[0], weight, reset)
        X = estimator._format.checked(*validated, _kernel(estimator, reset))
        return _inputs_with(estimator, X, labels, offset, reset, given=validated[0])


def _validator(estimator, reset):
    """Return a function that makes inputs without labels of blocks an array."""
    if not estimator._format.apart:
        return partial(validate_data, estimator, reset=reset, dtype=_DTYPE)
    return partial(check_array, dtype=_DTYPE, estimator=estimator, input_name="X")


def takes_missing(estimator):
    """Return whether X may hold NaN, in some column at least."""
    return estimator.missing == "auto" or estimator.categorical_features is not None


def _learn_missing(estimator, X, weight, reset):
    form = estimator._format
    if reset:
        estimator._format = form.with_missing(X, weight)
        return
    missing = form.missing.extended(X, weight)
    if missing is not form.missing:
        estimator._format = replace(form, missing=missing)


def _kernel(estimator, reset):
    """Return the kernel of the fitted model that inputs are for; None for those of a first."""
    fitted = None if reset else estimator._fitted
    return None if fitted is None else fitted.predictor.posterior.prior.kernel


def checked_weight(estimator, sample_weight, X):
    """Return sample weights; None stays None."""
    if sample_weight is None:
        return None
    weight = check_sample_weight(sample_weight, X)
    check_size("sample_weight", weight)
    warn_of_weights(estimator, weight.sum(), np.count_nonzero(weight))
    return weight


def warn_of_weights(estimator, total, n_rows):
    """Warn of weights of rows, so many and with this sum, that are no counts of rows."""
    if not _has_known_noise(estimator):
        warn_of_small_weights(total, n_rows)
    if learns_from_counts(estimator):
        warn_of_large_weights(total / n_rows, "a mean")


def learns_from_counts(estimator):
    """Return whether what is learned, noise or classes, depends on how often a row counts."""
    return estimator.optimizer is not None and not _has_known_noise(estimator)


def _has_known_noise(estimator):
    """Return whether the noise variance is given, so that weights may be precisions."""
    return holds_noise(estimator.kernel, getattr(estimator, "noise_variance_bounds", None))


def _inputs_with(estimator, X, labels, offset, reset, given):
    """Return `Inputs` of an array and what was taken apart; learn the names of columns.

    Values that no row of a first batch lacked are missing where they are in the array ``given``.
    """
    fitted = None if reset else estimator._fitted
    names = getattr(estimator, "feature_names_in_", None)
    if reset and names is not None:
        estimator._format = replace(estimator._format, names=tuple(names))
    known = None if fitted is None else fitted.state.labels
    inputs = Inputs(X, check_labels(labels, len(X), known), offset)
    return inputs if reset else estimator._format.with_unforeseen(inputs, given)


def _split_apart(estimator, X, reset, weight):
    """Return `Inputs` of X without what the kernel does not see; learn codes from a batch."""
    names = ("block_column", "offset_column")
    given = {name: getattr(estimator, name, None) for name in names}
    if reset:
        if any(one is not None for one in given.values()) and np.ndim(X) != 2:
            _validator(estimator, reset)(X)  # refuses it
        block, offset = (column_position(X, one, name) for name, one in given.items())
        if offset is not None:
            check_offset(estimator)
        if offset is not None and block == offset:
            raise ValueError(
                "The 'offset_column' parameter must name another column than 'block_column'. Got "
                f"{given['offset_column']!r} for both."
            )
        missing = MAY_MISS if estimator.missing == "auto" else NO_MISSING
        estimator._format = InputFormat(block=block, offset=offset, missing=missing)
    form, whole = estimator._format, X
    check_names = partial(validate_data, estimator, reset=reset, skip_check_array=True)
    X, labels, offset = form.parted(X, _validator(estimator, reset), check_names)[:3]
    if reset:
        given = kernel_categories(whole, estimator.categorical_features, form.apart)
        form = form.with_codes(X, given, weight)
    if form.codes.are_found:
        # a kernel or inducing inputs that were given may know categories by their codes
        are_codes = estimator.kernel is not None or not isinstance(estimator.inducing, str)
        form = replace(form, codes=form.codes.extended(X, weight, are_codes))
    estimator._format = form
    return Inputs(X, labels, offset)


def rows_of_weight(inputs, y, weight):
    """Return checked rows without those of weight zero."""
    X, y, weight, *others, unforeseen = drop_zero_weight(inputs.X, y, weight, *inputs[1:])
    if unforeseen is not None and not unforeseen.any():
        unforeseen = None
    return Inputs(X, *others, unforeseen), y, weight
