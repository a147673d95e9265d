"""Other starts where one column alone explains far more than a fit does: fast along that column.

A function that goes up and down along one of many columns is noise at the usual length scales, and
at short ones of all columns no row has a neighbour. No gradient leads away from either.
"""

from dataclasses import replace

import numpy as np

from ..kernels._length_scales import scales_by_column
from ..optimize.progress import VISIBLE_GAIN
from .explained import EXPLAINED_ROWS
from .proportions import with_own_scales

# Length scales to begin with, by those that are usual: of the column, tried in turn, and of others.
# 16 made tables of 150 to 600 rows and 3 to 20 columns, 3 to 10 periods along one: 11 had errors of
# 0.99 to 1.1 deviations of the function, now 0.05 to 0.2; boosting has 0.14 to 1.05.
_OF_COLUMN, _OF_OTHERS = (0.1, 0.025), 10.0
# The column has to explain so much more than is taken for no noise, and at least.
_LEAST_SHARE, _STANDARD_ERRORS = 0.1, 4.0
# Or the evidence is so many nats a row below that of normal noise which the column leaves.
_WORSE = 0.25


def fast_along_a_column(problem, fitted):
    """Return problems that begin fast along the column that a fit has missed, most often none.

    Parameters
    ----------
    problem : Problem
    fitted : Fitted
        What was learned of it.
    """
    start = problem.start
    if not _may_have_missed(problem, fitted):
        return []
    pairs = scales_by_column(start.parameters.expression)
    if not pairs:
        return []
    column = _missed(problem, fitted, np.concatenate([columns for _, columns in pairs]))
    if column is None:
        return []
    begun = replace(start, alternatives=())
    begun = (with_own_scales([begun]) or [begun])[0]
    return [replace(problem, start=_along(begun, pairs, column, share)) for share in _OF_COLUMN]


def gains_visibly(again, fitted):
    """Return whether another fit of the same rows is better by what can be seen in predictions."""
    return again.merit > fitted.merit + VISIBLE_GAIN * fitted.weight


def _may_have_missed(problem, fitted):
    start, trace = problem.start, problem.trace
    is_default = "theta" in start.with_default_bounds and start.earlier is None
    has_precisions = problem.rows.counts is not None
    is_plain = start.has_equal_noise and not (has_precisions or start.parameters.mixes_outputs)
    ended = trace.stopped or fitted.interrupted or fitted.cut_by is not None
    return problem.learns and is_default and is_plain and not ended


def _missed(problem, fitted, numbers):
    """Return the column of numbers that alone explains far more than the fit does, or None."""
    rows = problem.rows.fixed_subset(EXPLAINED_ROWS)
    variance = np.maximum(rows.targets.var(axis=0), np.finfo(float).tiny)
    by_columns = _explained_by_columns(np.asarray(rows.X, dtype=np.float64), rows.targets)
    column = int(max(numbers, key=by_columns.__getitem__))
    left, least = 1.0 - by_columns[column], max(_LEAST_SHARE, _STANDARD_ERRORS / np.sqrt(len(rows)))
    if not 1.0 - left > least:
        return None
    noise = np.mean(fitted.noise_variance / variance)
    value = fitted.objective / (problem.rows.total_weight * rows.targets.shape[1])
    value += 0.5 * np.mean(np.log(variance))
    of_column = -0.5 * np.log(2.0 * np.pi * np.e * max(left, np.finfo(float).tiny))
    return column if noise > left + least or value < of_column - _WORSE else None


def _along(start, pairs, column, share):
    theta = start.parameters.theta.copy()
    for places, columns in pairs:
        theta[places] += np.log(np.where(columns == column, share, _OF_OTHERS))
    return replace(start, parameters=start.space.clipped(start.parameters.with_values(theta=theta)))


def _explained_by_columns(X, y):
    """Return the share of the variance of y that the next row along each column explains, (d,).

    Half the mean square of successive differences is what is left: of pure noise about all.
    """
    order = np.random.RandomState(0).permutation(len(X))  # of rows with equal values
    X, y = X[order], y[order]
    total = 2.0 * ((y - y.mean(axis=0)) ** 2).sum() or 1.0
    steps = (np.diff(y[np.argsort(column, kind="stable")], axis=0) for column in X.T)
    return np.array([1.0 - (step**2).sum() / total for step in steps])
