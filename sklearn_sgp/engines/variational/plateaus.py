"""Learning again where a fit has ended on a plateau, if what it has left over says so."""

from dataclasses import replace
from functools import partial

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ..._parallel import blas_threads_for
from ...data.column_spread import column_mean_std
from ...data.distinct import DistinctRows
from ...data.rows import each_weight
from ...kernels._defaults import SHORTER
from ...kernels._length_scales import scales_by_column
from ...kernels.categories._node import category_slots
from ...objectives.exact import left_out_means
from ..ascent import FEW_ROWS
from ..exact_fits import learn_exactly
from ..explained import EXPLAINED_ROWS, has_own_mean
from ..other_starts import default_starts, shorter_start

# The share of what is left, in squares, that a cubic of the column explains at least. Four of eight
# fits of 40,000 rows of four stations in turn, with 60 inducing inputs, stood where it is 0.15 to
# 0.17; near the best bound it is 0.001. Twelve tables have 0.045 at most with 50 inducing inputs,
# ten of them 0.002, and where it is 0.036 and 0.045 nothing is to be gained.
_LEFT_ALONG_COLUMN = 0.08
# Rows far out say as much as those at so many standard deviations.
_FURTHEST_INPUT = 3.0
# Random rows whose exact process is learned, by so many steps at most.
_KNOWING_ROWS, _KNOWING_STEPS = 400, 60
# The share of what is left of these, in squares, that predictions of each from the others tell.
# Four of six fits of 24 and 100 stations in turn, 60 inducing inputs, had 0.8 and more with errors
# of 0.2 to 0.71, and have 0.01 at most; power_plant, kin40k, kin8nm and houses have none.
_LEFT_FOR_FEW = 0.25
# Less than so many squares of a row, of an output that never changes, is rounding.
_NOTHING_LEFT = 1e-12


def or_off_the_plateau(problem, best, fit):
    """Return the better of what was learned and a fit that begins beside its plateau.

    A run on many rows ends where its last iterations gained nothing visible. So does one on a
    plateau, where length scales are so long that a part of the function is noise: the bound rises
    only after 50 iterations more, if at all. What such a fit leaves of the targets is smooth along
    a column, or a few hundred rows predict it, each from the others, by their exact process, which
    begins with short length scales. Learning begins anew with the kernels and the noise of these
    few rows. ``fit(problem)`` returns a problem and a `Fitted`.
    """
    return best.or_from(partial(_beside, problem, best.fitted), fit)


def _beside(problem, fitted):
    """Pose the problem anew, with what few rows learn; None where nothing is left for them."""
    if not _may_stand_still(problem, fitted):
        return None
    rows = DistinctRows.of(problem.rows.fixed_subset(_KNOWING_ROWS))
    if rows is None or np.isnan(rows.means).any():
        return None
    starts = {id(one.kernel): one for one in default_starts(problem.start)[::-1]}
    starts[id(fitted.start.kernel)] = fitted.start
    # what a sum of two kernels of numbers learns is as much as either would
    starts = sorted(starts.values(), key=_n_of_numbers, reverse=True)
    with blas_threads_for(len(rows.X)):
        learned = (one for one in (_learned_from(rows, one) for one in starts) if one is not None)
        start = next(learned, None)
        if start is None or not (_knows_more(start, rows, fitted) or _is_left(problem, fitted)):
            return None
        start = replace(start, alternatives=tuple(learned))
    settings = replace(problem.settings, n_restarts_optimizer=0)
    return replace(problem, start=start, settings=settings)


def _n_of_numbers(start):
    """Return how many parameters the kernel has besides those of categories."""
    parameters = start.parameters
    slots = category_slots(parameters.expression)
    return len(parameters.theta) - sum(b.size + factor.size for b, factor, _ in slots)


def _may_stand_still(problem, fitted):
    rows, settings = problem.rows, problem.settings
    is_plain = problem.start.has_equal_noise and has_own_mean(fitted.likelihood)
    has_ended = fitted.cut_by in (None, "max_iter") and fitted.n_used is None
    is_whole = is_plain and has_ended and not fitted.parameters.mixes_outputs
    is_short = problem.learns and settings.optimizer == "auto" and len(rows) > FEW_ROWS
    has_time = problem.trace.clock.left() > 0.0
    is_told = rows.live_elsewhere or rows.offset is None
    return is_whole and is_short and is_told and has_time and not problem.is_exact


def _learned_from(rows, start):
    """Return a start with what the exact process of some rows learns from short length scales.

    None where that is not positive definite, or learns nothing.
    """
    space, begun = start.space.without("Z"), shorter_start(start, SHORTER)
    if not len(space.pack(begun)):  # inducing inputs alone are learned
        return None
    try:
        learned = learn_exactly(space, begun, rows, _KNOWING_STEPS)
    except NotPositiveDefiniteError:
        return None
    return replace(start, parameters=learned.parameters, alternatives=())


def _knows_more(start, rows, fitted):
    """Return whether rows, each predicted from the others, tell much of what a fit leaves of them.

    Where it has missed nothing that is noise, and has nothing in common with how far predictions
    from other rows are from its own.
    """
    mean = fitted.posterior.mean(rows.X)
    left, other = rows.means - mean, left_out_means(start.parameters, rows) - mean
    is_any = (left**2).mean(axis=0) > _NOTHING_LEFT
    size = np.linalg.norm(left, axis=0) * np.linalg.norm(other, axis=0)
    in_common = (left * other).sum(axis=0)  # of each output: noise of others hides nothing
    return bool((is_any & (in_common > np.sqrt(_LEFT_FOR_FEW) * size)).any())


def _is_left(problem, fitted):
    """Return whether a cubic of a column explains much of what a fit leaves."""
    pairs = scales_by_column(fitted.parameters.expression)
    if not pairs:
        return False
    numbers = np.unique(np.concatenate([columns for _, columns in pairs]))
    rows = problem.rows.fixed_subset(EXPLAINED_ROWS)
    X, weight = np.asarray(rows.X, dtype=np.float64), each_weight(rows.observations, len(rows))
    left = rows.targets - fitted.posterior.mean(X)
    mean, std = column_mean_std(X, None)
    X = np.clip((X - mean) / std, -_FURTHEST_INPUT, _FURTHEST_INPUT)[:, numbers]
    root = np.sqrt(weight)[:, None]
    explained = (_explained(root * np.vander(x, 4), root * left) for x in X.T)
    return max(explained) > _LEFT_ALONG_COLUMN


def _explained(features, y):
    """Return the largest share of squares that a regression explains, of columns of y (n, t)."""
    coefficients, _, rank, _ = np.linalg.lstsq(features, y, rcond=1e-8)
    unexplained, squares = ((each**2).sum(axis=0) for each in (y - features @ coefficients, y))
    share = 1.0 - unexplained * len(y) / (max(len(y) - rank, 1) * np.maximum(squares, 1e-300))
    return np.max(share, initial=0.0, where=squares > _NOTHING_LEFT * len(y))
