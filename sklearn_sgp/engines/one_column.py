"""Other starts where one column or two explain far more than a fit does: fast along these.

A function that goes up and down along one or two of many columns is noise at the usual length
scales, and at short ones of all columns no row has a neighbour. No gradient leads away from either.
"""

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
from scipy.spatial import cKDTree

from ..data.column_spread import column_mean_std
from ..kernels._length_scales import scales_by_column
from ..optimize.progress import VISIBLE_GAIN
from .explained import EXPLAINED_ROWS
from .proportions import with_own_scales

# Length scales to begin with, by those that are usual: of the column, tried in turn, and of others.
# 16 made tables of 150 to 600 rows and 3 to 20 columns, 3 to 10 periods along one: 11 had errors of
# 0.99 to 1.1 deviations of the function, now 0.05 to 0.2; boosting has 0.14 to 1.05.
_OF_COLUMN, _OF_OTHERS = (0.1, 0.025), 10.0
# Two columns: 16 tables with 2 to 5 periods along two of 8 and 16, sums and products: 25 of 32 fits
# had errors of 0.7 to 1.06, now 30 have 0.06 to 0.3; boosting has 0.2 to 0.4 of sums, 1.03 to 1.13
# of products.
# The column has to explain so much more than is taken for no noise, and at least. Two of them are
# the best of many pairs, by differences that scatter more.
_LEAST_SHARE, _STANDARD_ERRORS, _ERRORS_OF_PAIRS = 0.1, 4.0, 6.0
# Share of the squares of targets that a fit leaves, at least, to be asked what it has missed. With
# short length scales along all columns it may follow each row and leave 0.03.
_LEFT_OF_TARGETS = 0.01
# Rows whose neighbours in the plane of two columns are looked for, and the most pairs.
_PAIR_ROWS, _MOST_PAIRS = 600, 500
# Or the evidence is so many nats a row below that of normal noise which the column leaves.
_WORSE = 0.25
# And this more of one column: half the mean square of a walk's steps is half of what no model knows
# of them, so that the walk itself has so many nats a row less.
_OF_STEPS = 0.5 * np.log(2.0)


def or_fast_along_columns(problem, best, fit):
    """Return the best of what was learned and fits that begin fast along columns it has missed.

    Where one is better, a further column is looked for in what it leaves. Six draws of
    sin(4 x3) + .5 |x7|, 30 columns and 400 rows: five had R2 of .70 to .77, now .83 to .86.

    The problem is as it was posed, and ``fit(problem)`` returns a problem and a `Fitted`.
    """
    first = best.fitted
    posed = _fast_along_columns(problem, first)
    for _ in _OF_COLUMN:
        best = best.or_from(partial(next, posed, None), fit)
        if best.fitted.merit > first.merit + VISIBLE_GAIN * problem.n_observations:
            return best.or_from(partial(_beside_what_was_found, problem, best), fit)
    return best


def _beside_what_was_found(problem, best):
    """Return the problem of another column that explains what is left, or None.

    It begins with what was learned, and with the usual length scale along that column.
    """
    fitted, rows = best.fitted, problem.rows.fixed_subset(EXPLAINED_ROWS)
    start, usual = fitted.start, best.problem.start.parameters
    pairs = scales_by_column(start.parameters.expression)
    if not (fitted.likelihood.conjugate and pairs):
        return None
    column = _column_of(_left(problem, fitted, rows), rows, pairs)
    if column is None:
        return None
    theta = fitted.parameters.theta.copy()
    for places, columns in pairs:
        own = places[columns == column]
        theta[own] = usual.theta[own] - np.log(_OF_OTHERS)
    parameters = start.space.clipped(fitted.parameters.with_values(theta=theta))
    begun = replace(start, parameters=parameters, alternatives=())
    return replace(best.problem, start=begun)


def _fast_along_columns(problem, fitted):
    """Yield problems that begin fast along the columns that a fit has missed, most often none."""
    start = problem.start
    pairs = problem.is_left_open(fitted) and scales_by_column(start.parameters.expression)
    has_time = problem.trace.clock.has_time_for(1.0)
    if not (pairs and has_time) or np.isnan(problem.rows.fixed_subset(EXPLAINED_ROWS).y).any():
        return  # gaps have no differences
    missed = _missed(problem, fitted, np.concatenate([columns for _, columns in pairs]))
    missed = missed or _missed_beside_others(problem, fitted, pairs)
    if missed is None:
        return
    begun = replace(start, alternatives=())
    begun = (with_own_scales([begun]) or [begun])[0]
    for share in _OF_COLUMN:
        yield replace(problem, start=_along(begun, pairs, missed, share))


def _missed_beside_others(problem, fitted, pairs):
    """Return the column that explains much of what a fit leaves of the targets, or None.

    Levels of categories, or a slope, may hide it in these: of 300 rows of 20 categories and six
    columns, sin(9 x0) beside levels as large, three draws, R2 was .62 to .71, now .99.
    """
    rows = problem.rows.fixed_subset(EXPLAINED_ROWS)
    left = _left(problem, fitted, rows)
    if not (left.var(axis=0) > _LEFT_OF_TARGETS * rows.targets.var(axis=0)).any():
        return None
    column = _column_of(left, rows, pairs)
    return None if column is None else (column,)


def _left(problem, fitted, rows):
    return rows.targets - fitted.predictor.mean(rows, problem.settings.n_jobs)


def _column_of(left, rows, pairs):
    """Return the column that explains most of what is left, None where that is too little."""
    numbers = np.unique(np.concatenate([columns for _, columns in pairs]))
    (column,), explained, least = _best_column(_inputs(rows), left, numbers)
    return column if explained > least else None


def _missed(problem, fitted, numbers):
    """Return the one or two columns of numbers that explain far more than the fit, or None."""
    rows = problem.rows.fixed_subset(EXPLAINED_ROWS)
    variance = rows.targets.var(axis=0)
    varies = (variance > 0.0) | ~variance.any()
    variance = np.maximum(variance, np.finfo(float).tiny)[varies]
    of_each, value = _of_rows(problem, fitted, varies.shape)
    with np.errstate(over="ignore"):  # of targets that vary by rounding alone, or not at all
        noise = np.mean(of_each[varies] / variance)
    # of constants, which are learned beside endless noise, the fit says nothing else
    of_constants = -0.5 * np.log(2.0 * np.pi * of_each[~varies]).sum()
    value = (value - of_constants) / varies.sum() + 0.5 * np.mean(np.log(variance))
    found = [_best_column(_inputs(rows), rows.targets, numbers)]
    some = rows.fixed_subset(_PAIR_ROWS)
    if _least(len(some), _ERRORS_OF_PAIRS) < min(noise, 1.0):  # no share is more than one
        found += _best_pair(_inputs(some), some.targets, np.unique(numbers))
    columns, explained, least = max(found, key=lambda one: one[1] - one[2])
    left = 1.0 - explained
    if not explained > least:
        return None
    of_columns = -0.5 * np.log(2.0 * np.pi * np.e * max(left, np.finfo(float).tiny))
    worse = _WORSE + (_OF_STEPS if len(columns) == 1 else 0.0)
    return columns if noise > left + least or value < of_columns - worse else None


def _of_rows(problem, fitted, shape):
    """Return noise variances of a row, (t,), and the evidence of one in nats.

    Weights beside a noise that is known may be precisions, of which the objective has the density
    of as many rows: here it is that of rows of their mean.
    """
    share = problem.rows.total_weight / problem.n_observations
    noise = np.broadcast_to(fitted.noise_variance, shape)
    of_repeated = share * np.log(2.0 * np.pi * noise) - np.log(2.0 * np.pi * noise / share)
    value = fitted.objective / problem.n_observations + 0.5 * of_repeated.sum()
    return noise / share, value


def _inputs(rows):
    return np.asarray(rows.X, dtype=np.float64)


def _least(n_rows, errors):
    return max(_LEAST_SHARE, errors / np.sqrt(n_rows))


def _best_column(X, y, numbers):
    """Return the column that explains most, how much, and what is the least to be told."""
    explained = _explained_by_columns(X, y)
    column = int(max(numbers, key=explained.__getitem__))
    return (column,), explained[column], _least(len(X), _STANDARD_ERRORS)


def _best_pair(X, y, numbers):
    """Return a list of the same of two columns; empty where pairs are too many, or none."""
    pairs = list(combinations(numbers.tolist(), 2))
    if not 0 < len(pairs) <= _MOST_PAIRS:
        return []
    X = X / column_mean_std(X, None)[1]
    each = {pair: _explained_by_nearest(X[:, pair], y) for pair in pairs}
    best = max(each, key=each.get)
    return [(best, each[best], _least(len(X), _ERRORS_OF_PAIRS))]


def along_columns_of_labels(start, X, place):
    """Return parameters that are fast along the one or two columns that explain most of labels.

    Whatever that is: they are to be compared with others. Columns without length scales have none.

    Parameters
    ----------
    start : engines.base.Start
    X : ndarray of shape (n, d)
        Of few rows.
    place : ndarray of int, shape (n,)
        Their classes.

    Returns
    -------
    parameters : list of Parameters
    """
    pairs = scales_by_column(start.parameters.expression)
    if not pairs:
        return []
    numbers = np.unique(np.concatenate([columns for _, columns in pairs]))
    y = np.eye(place.max() + 1)[place]
    found = [_best_column(X, y, numbers), *_best_pair(X, y, numbers)]
    every = [(columns, share) for columns, *_ in found for share in _OF_COLUMN]
    return [_along(start, pairs, *one).parameters for one in every]


def _along(start, pairs, missed, share):
    theta = start.parameters.theta.copy()
    for places, columns in pairs:
        theta[places] += np.log(np.where(np.isin(columns, missed), share, _OF_OTHERS))
    return replace(start, parameters=start.space.clipped(start.parameters.with_values(theta=theta)))


def _explained_by_columns(X, y):
    """Return the share of the variance of y that the next row along each column explains, (d,).

    Half the mean square of successive differences is what is left: of pure noise about all.
    """
    order = np.random.RandomState(0).permutation(len(X))  # of rows with equal values
    X, y = X[order], y[order]
    total = _unexplained(y)
    steps = (np.diff(y[np.argsort(column, kind="stable")], axis=0) for column in X.T)
    return np.array([1.0 - (step**2).sum() / total for step in steps])


def _explained_by_nearest(X, y):
    """Return the share of the variance of y that the nearest other row explains."""
    _, near = cKDTree(X).query(X, k=2)
    other = np.where(near[:, 1] == np.arange(len(X)), near[:, 0], near[:, 1])
    return 1.0 - ((y - y[other]) ** 2).sum() / _unexplained(y)


def _unexplained(y):
    """Return what squared differences of targets of pure noise add up to, about; positive."""
    return 2.0 * ((y - y.mean(axis=0)) ** 2).sum() or 1.0
