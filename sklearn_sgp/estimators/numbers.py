"""Targets that are numbers: rows of regressors, and later batches of them."""

import copy

from ..data.checks import check_lowest, check_scaled
from ..data.observed_outputs import check_observed
from ..data.rows import drop_zero_weight, make_rows
from ..noise.left_out_errors import with_precisions
from ..noise.row_noise import AS_NEW, Counting
from . import mixed_outputs
from .doubts import with_doubts
from .validation import checked_rows, rows_of_weight


def checked_numbers(estimator, X, y, sample_weight, *, reset):
    """Return validated `Inputs`, targets and weights."""
    if mixed_outputs.mixes_outputs(estimator) and y is not None:
        return mixed_outputs.checked_rows(estimator, X, y, sample_weight, reset=reset)
    return checked_rows(
        estimator, X, y, sample_weight, reset=reset, multi_output=True, y_numeric=True
    )


def later_rows(fitted, inputs, y, weight):
    """Make the `Rows` of a later batch, with the scaling of the first one."""
    X, labels, offset = inputs[:3]
    y = fitted.targets.columns(y)
    X, y, weight, labels, offset = drop_zero_weight(X, y, weight, labels, offset)
    check_observed(fitted.likelihood, y)
    if fitted.likelihood.scales_targets:
        check_lowest(fitted.targets, y)
        check_scaled(fitted.targets, y)
    return make_rows(X, fitted.targets.warped(y), weight, fitted.targets, labels, offset)


def checked_batch(estimator, X, y, sample_weight):
    """Return a later batch and what it has to join.

    Returns
    -------
    rows : Rows
        With the precisions of their noise.
    noise : RowNoise or None
        That of all rows, None where it is the same for each.
    targets : Targets
    """
    fitted = estimator._fitted
    batch = checked_numbers(estimator, X, y, sample_weight, reset=False)
    inputs, y, weight = rows_of_weight(*batch)
    rows = later_rows(fitted, inputs, y, weight)
    if not mixed_outputs.mixes_outputs(estimator):
        missing = estimator._format.missing
        rows = with_doubts(fitted, rows, inputs, missing, estimator.n_jobs)
    targets = fitted.targets.joined(fitted.targets.columns(y), weight)
    if estimator._drift is not None:
        n_rows = estimator.n_samples_seen_ + len(rows)
        estimator._drift = estimator._drift.after(rows, n_rows, estimator._model())
    counting = _counting(estimator, len(rows))
    return *with_precisions(fitted, rows, estimator.n_jobs, counting), targets


def _counting(estimator, n_rows):
    """Return how the rows of a later batch count: some of a known number may come again."""
    total = getattr(estimator, "total_samples", None)
    if total is None or not n_rows:
        return AS_NEW
    return Counting(total / n_rows, estimator.natural_step, is_new=False)


def training_rows(estimator, X, y, sample_weight):
    """Return the rows that an evidence is asked of, None for those kept, and their targets."""
    fitted = estimator._fitted
    if X is None:
        return None, fitted.targets
    asked = copy.copy(estimator)  # new categories stay unknown to the model itself
    inputs, y, weight = checked_numbers(asked, X, y, sample_weight, reset=False)
    return later_rows(fitted, inputs, y, weight), fitted.targets.of_rows(y, weight)
