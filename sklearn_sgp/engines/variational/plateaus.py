"""Learning again where a fit has ended on a plateau, if what it has left over says so."""

from dataclasses import replace
from functools import partial

import numpy as np

from ...data.column_spread import column_mean_std
from ...data.rows import each_weight
from ...kernels._length_scales import scales_by_column
from ...optimize.progress import VISIBLE_GAIN
from ..ascent import FEW_ROWS
from ..explained import EXPLAINED_ROWS, has_own_mean

# The share of what is left, in squares, that a cubic of the column explains at least. Four of eight
# fits of 40,000 rows of four stations in turn, with 60 inducing inputs, stood where it is 0.15 to
# 0.17; near the best bound it is 0.001. Twelve tables have 0.045 at most with 50 inducing inputs,
# ten of them 0.002, and where it is 0.036 and 0.045 nothing is to be gained.
_LEFT_ALONG_COLUMN = 0.08
# A fit that has begun again may end on another plateau: one of the four did.
_MOST_PLATEAUS = 3
# Shares of other length scales, tried in turn: those of a rough kernel are too long for a smooth
# one, which ended far off from there, and with a quarter of them at the best bound.
_SHARES_OF_OTHERS = 1.0, 0.25
# Rows far out say as much as those at so many standard deviations.
_FURTHEST_INPUT = 3.0


def or_off_the_plateau(problem, best, fit):
    """Return the best of what was learned and fits that begin beside its plateau.

    A run on many rows ends where its last iterations gained nothing visible. So does one on a
    plateau, where the length scale along a column is so long that a smooth part of the function is
    noise: the bound rises only after 50 iterations more, if at all. What such a fit leaves of the
    targets is smooth along that column. Its length scale begins anew, and so do inducing inputs,
    with all else as it was learned.

    Parameters
    ----------
    problem : Problem
        As it was posed.
    best : BestSoFar
    fit : callable
        ``fit(problem)``: a problem and a `Fitted`.
    """
    for _ in range(_MOST_PLATEAUS):
        before = best.fitted
        for share in _SHARES_OF_OTHERS:
            best = best.or_from(partial(_beside, problem, before, share), fit)
            if best.fitted.merit > before.merit + VISIBLE_GAIN * before.weight:
                break
        else:
            break
    return best


def _beside(problem, fitted, share):
    """Pose the problem anew, with kernels of the same form; None where nothing is left.

    Length scales of other columns begin at a share of what they are.
    """
    start, learned = fitted.start, fitted.parameters
    pairs = _may_stand_still(problem, fitted) and scales_by_column(learned.expression)
    if not pairs:
        return None
    numbers = np.unique(np.concatenate([columns for _, columns in pairs]))
    column = _column_of_more(problem, fitted, numbers)
    if column is None:
        return None
    theta = learned.theta.copy()
    for places, columns in pairs:
        usual = np.minimum(theta[places], start.parameters.theta[places])
        theta[places] = np.where(columns == column, usual, theta[places] + np.log(share))
    values = learned.with_values(theta=theta, Z=start.parameters.Z).values
    others = [
        replace(one, alternatives=(), parameters=one.parameters.with_values(**values))
        for one in (problem.start, *problem.start.alternatives)
        if one.kernel is not start.kernel and _has_form(one, start)
    ]
    parameters = start.parameters.with_values(**values)
    start = replace(start, parameters=parameters, alternatives=tuple(others))
    settings = replace(problem.settings, n_restarts_optimizer=0)
    return replace(problem, start=start, settings=settings)


def _has_form(one, other):
    """Return whether what two starts learn has the same shapes."""
    shapes = [{k: np.shape(v) for k, v in each.parameters.values.items()} for each in (one, other)]
    return shapes[0] == shapes[1] and one.in_proportion == other.in_proportion


def _may_stand_still(problem, fitted):
    rows, settings = problem.rows, problem.settings
    is_plain = problem.start.has_equal_noise and has_own_mean(fitted.likelihood)
    is_whole = is_plain and fitted.cut_by is None and not fitted.parameters.mixes_outputs
    is_short = problem.learns and settings.optimizer == "auto" and len(rows) > FEW_ROWS
    has_time = problem.trace.clock.left() > 0.0
    return is_whole and is_short and has_time and not (problem.is_exact or rows.live_elsewhere)


def _column_of_more(problem, fitted, numbers):
    """Return the column whose cubic explains most of what a fit leaves, None if that is little.

    ``numbers`` are the columns that are asked.
    """
    rows = problem.rows.fixed_subset(EXPLAINED_ROWS)
    X, weight = np.asarray(rows.X, dtype=np.float64), each_weight(rows.observations, len(rows))
    left = rows.targets - rows.shifted(fitted.posterior.mean(X))
    if np.isnan(left).any():
        return None
    mean, std = column_mean_std(X, None)
    X = np.clip((X - mean) / std, -_FURTHEST_INPUT, _FURTHEST_INPUT)[:, numbers]
    root = np.sqrt(weight)[:, None]
    explained = [_explained(root * np.vander(x, 4), root * left) for x in X.T]
    best = int(np.argmax(explained))
    return int(numbers[best]) if explained[best] > _LEFT_ALONG_COLUMN else None


def _explained(features, y):
    """Return the share of the squares of y (n, t) that a regression on some features explains."""
    coefficients, _, rank, _ = np.linalg.lstsq(features, y, rcond=1e-8)
    unexplained = ((y - features @ coefficients) ** 2).sum()
    return 1.0 - unexplained * len(y) / (max(len(y) - rank, 1) * max((y**2).sum(), 1e-300))
