"""When straight lines take the place of the smooth part of a default kernel.

A smooth kernel that has learned a trend returns to the mean beyond the data. Lines go on, have
fewer parameters, and are taken where they explain the rows better by more than what a parameter
costs. Monthly passengers of an airline, 1949 to 1960, predicted from the 12 months before: the last
year, from predictions alone, has a mean absolute error of 42.6 with kernels that are not lines,
14.3 with lines (linear regression 14.7). To count all parameters would prefer lines too often: of
390 rows of diabetes they have a bound 0.7 nats lower, and 0.04 nats a row less on others.
"""

from dataclasses import replace

import numpy as np

from ..data.column_spread import column_mean_spread
from ..kernels._defaults import LENGTH_SCALE_RANGE, starting_length_scale
from ..objectives.scores import bic_nats
from .other_starts import lines_in_the_place

# Steps of `_evidence`: on six tables of 100 and 300 rows with 4 to 32 columns 5 came to within 0.2
# nats of what 1,000 do and 10 to within 0.05, in a millisecond. A trial that lines do not win made
# fits of 100 to 300 rows take up to 1.3 times the CPU time.
_EVIDENCE_STEPS = 10
# Share of what a kernel explains, and levels do not, that lines have to explain before they are
# tried beside a rough part. Of 27 made tables of 100 and 200 rows with one or two columns of
# categories lines were taken of 4, which had shares of .82 and more; the others had a median of
# .43. Always tried, they took 8 to 11 % of the CPU time of 40 fits; now 2 to 5 % of 54.
_MOST = 0.75
# Rows that a level and the slopes of numbers must have each. With more than one, lines were taken
# of 52 of 160 made tables of 6 to 30 rows; 15 of these have fewer than two, and without a line +.42
# nats a row (differences of at most 3): -.41 where the function is one, +.2 to +.7 where it is not.
_ROWS_OF_A_NUMBER = 2


def line_starts(start):
    """Return starts with lines in the place of the smooth part, lines alone the last.

    An empty list where all inducing inputs are at the center, as those of equal rows are: there
    lines are 0.
    """
    lines = lines_in_the_place(start)
    if any(not one.parameters.kernel.diag(one.parameters.Z).any() for one in lines):
        return []
    return [replace(one, alternatives=()) for one in lines]


def may_be_lines(rows, value, categorical):
    """Return whether lines explain some rows better than a log density says.

    That costs next to nothing, so that tables which are no lines are not slower. As many rows as a
    line has numbers are on one, whatever they are of, and a few more are near one.

    Parameters
    ----------
    rows : Rows
        Of few columns, with equal noise.
    value : float
        Log density of all rows.
    categorical : tuple of int
        Columns of categories, each of which has a level beside the lines.
    """
    levels, columns = _levels_and_lines(rows, categorical)
    if _are_few(columns, levels):
        return False
    reduced = _each_reduced(rows, columns)
    return all(
        gains_enough(sum(density(*part) for part in reduced), value, len(rows))
        for density in (_least_squares_density, _evidence)
    )


def explain_most(rows, value, categorical):
    """Return whether lines explain most of what levels leave to a log density."""
    levels, columns = _levels_and_lines(rows, categorical)
    if _are_few(columns, levels):
        return False
    least, lines = (
        sum(_evidence(*part) for part in _each_reduced(rows, X)) for X in (levels, columns)
    )
    return gains_enough(lines, least + _MOST * (value - least), len(rows))


def _are_few(columns, levels):
    """Return whether rows hardly tell a line's level, slopes and, of each category, its level."""
    n_levels, n_columns = (np.count_nonzero(X.std(axis=0)) for X in (levels, columns))
    return len(columns) <= _ROWS_OF_A_NUMBER * (n_columns - n_levels + 1) + n_levels


def _levels_and_lines(rows, categorical):
    """Return a column of 0 and 1 for each category that some row has, and those behind numbers.

    These are from their means on, in units of length scales.
    """
    center, spread = column_mean_spread(rows.X, rows.observations)
    numbers = np.delete(np.arange(len(spread)), categorical)
    length_scale = starting_length_scale(spread[numbers])
    X = np.asarray(rows.X, dtype=np.float64)
    each = [X[:, [c]] == np.unique(X[:, c]) for c in categorical]
    levels = np.hstack([np.empty((len(X), 0)), *each])
    return levels, np.hstack([(X[:, numbers] - center[numbers]) / length_scale, levels])


def gains_enough(value, before, n_rows):
    """Return whether a log density is larger by more than the BIC penalty of a parameter."""
    return bool(value - before > bic_nats(1, n_rows))


def _each_reduced(rows, X):
    """Return a list of what lines see of all targets, or of each where its precisions are its own.

    See `_reduced`.
    """
    if np.ndim(rows.weight) < 2:
        return [_reduced(rows, X)]
    each = (rows.of_outputs(slice(own, own + 1)) for own in range(rows.weight.shape[1]))
    return [_reduced(replace(one, weight=one.weight[:, 0]), X) for one in each]


def _reduced(rows, X):
    """Return what lines see of some rows: their columns turned to a triangle, and the targets.

    X, (n, d), has the columns of the lines, which are 0 at their centers.

    Returns
    -------
    columns : ndarray of shape (k, d)
        Where k is the smaller one of the numbers of rows and columns.
    y : ndarray of shape (k, t)
    rest : float
        Squares of the targets that no line explains.
    weight : float
        Numbers of observations, all targets together.
    """
    y, root = rows.targets, rows.root_weight
    if root is not None:
        X, y = X * root[:, None], y * root[:, None]
    turn, columns = np.linalg.qr(X)
    seen = turn.T @ y
    rest = max(float(((y - turn @ seen) ** 2).sum()), np.finfo(float).eps * float((y**2).sum()))
    return columns, seen, rest + np.sqrt(np.finfo(float).tiny), rows.total_weight * y.shape[1]


def _least_squares_density(columns, y, rest, weight):
    """Return the largest log density that lines can give: no evidence is above it."""
    return -0.5 * weight * (np.log(2.0 * np.pi * rest / weight) + 1.0)


def _evidence(columns, y, rest, weight):
    """Return the log evidence of lines after some fixed-point steps (MacKay, 1992).

    These find the best scales and noise.
    """
    slopes, noise = np.ones(columns.shape[1]), (float((y**2).sum()) + rest) / weight
    best, n_targets = -np.inf, y.shape[1]
    for _ in range(_EVIDENCE_STEPS):
        left, s, right = np.linalg.svd(columns * slopes, full_matrices=False)
        spread = 1.0 + s**2 / noise
        along = left.T @ y
        square = float((along**2 / spread[:, None]).sum()) + rest
        log_det = n_targets * np.log(spread).sum()
        value = -0.5 * (weight * np.log(2.0 * np.pi * noise) + log_det + square / noise)
        best = max(best, value)
        mean = slopes[:, None] * (right.T @ (along * (s / (noise * spread))[:, None]))
        known = n_targets * ((1.0 - 1.0 / spread) @ right**2)
        slopes = np.sqrt((mean**2).sum(axis=1) / np.maximum(known, np.finfo(float).tiny))
        slopes = np.clip(slopes, *LENGTH_SCALE_RANGE)
        unsure = n_targets * (s**2 / spread).sum()
        noise = (float(((along / spread[:, None]) ** 2).sum()) + rest + unsure) / weight
    return float(best)
