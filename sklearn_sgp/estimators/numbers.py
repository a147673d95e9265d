"""Targets that are numbers: rows of regressors, and later batches of them."""

import copy
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..data.checks import check_lowest, check_scaled
from ..data.inputs import Inputs
from ..data.observed_outputs import check_observed
from ..data.rows import Rows, drop_zero_weight, make_rows, merge_equal
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


class LaterRows(NamedTuple):
    """A later batch of numbers, and what it has to join.

    Attributes
    ----------
    rows : Rows
        With the precisions of their noise.
    inputs : Inputs
        Of the rows as they came.
    noise : RowNoise or EqualNoise
        That of all rows.
    targets : Targets
    constant : float
        What the rows add to the bound besides; see `with_doubts`.
    """

    rows: Rows
    inputs: Inputs
    noise: object
    targets: object
    constant: float


def checked_batch(estimator, X, y, sample_weight, merges=False):
    """Return `LaterRows`, equal ones merged if so wished and none lacks what no first row did."""
    fitted = estimator._fitted
    batch = checked_numbers(estimator, X, y, sample_weight, reset=False)
    inputs, y, weight = rows_of_weight(*batch)
    rows, targets = later_rows(fitted, inputs, y, weight), fitted.targets
    if merges and inputs.unforeseen is None:
        rows = merged(rows)
    rows, constant = with_doubts(estimator, fitted, rows, inputs)
    if estimator._drift is not None:
        n_rows = estimator.n_samples_seen_ + len(rows)
        estimator._drift = estimator._drift.after(rows, n_rows, estimator._model())
    counting = _counting(estimator, len(rows))
    rows, noise = with_precisions(fitted, rows, estimator.n_jobs, counting)
    return LaterRows(rows, inputs, noise, targets.joined(targets.columns(y), weight), constant)


def merged(rows):
    """Return rows, equal ones as one that counts as often, as in `fit`; as they are without any.

    They would take the places of other rows near by.
    """
    if np.isnan(rows.y).any():
        return rows
    X, y, weight, offset = merge_equal(rows.X, rows.y, rows.weight, rows.offset)
    return replace(rows, X=X, y=y, weight=weight, offset=offset)


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
    if inputs.unforeseen is not None and not fitted.state.keeps_rows:
        raise ValueError(
            "X must have values in all columns that had all of theirs in the first batch, or the "
            "model must keep its rows. Got a row without: what it has taught is not known. Leave "
            "out such rows, or call fit with all of them."
        )
    return later_rows(fitted, inputs, y, weight), fitted.targets.of_rows(y, weight)
