"""Fits of so few rows that they say nothing of a kernel: what they can bear out of its scale."""

from dataclasses import replace

import numpy as np
from scipy.special import ndtri, stdtrit

from ..data.checks import SMALLEST
from ..data.target_units import UNIT
from .other_starts import shorter_start

# With fewer rows nothing is learned: hyperparameters of 2 to 5 rows that explain these best had
# 90 % intervals that held 0.45 to 0.74 of new rows among them, held ones 0.81 to 0.96 (draws of
# functions of one and three columns, noise of 1e-3 to 0.5, any unit and mean).
ROWS_TO_LEARN = 6
# What the rows' own spread is multiplied by for length scales: where new rows are beyond those that
# are there, the prior's width is reached sooner. 0.01 to 0.4 nats a row with three rows and more.
_SHARE_OF_SCALES = 0.5
# The level up to which intervals of 90 % reach, those of Student's t.
_UPPER = 0.95


def borne_out(problem):
    """Return the start of so few rows, of which nothing is learned, or the same start.

    The scale of the function is that of the rows, which is unknown itself: with a prior 1 / s of it
    predictions of n rows are Student's t with n - 1 degrees of freedom. So deviations are as much
    wider that intervals of 90 % are those. The scale of one row, or of equal targets, is their
    size, or 1 where they are 0. An earlier fit of more rows has learned kernel and noise, which
    stay: where targets are scaled to deviations of these rows, in units that are as unknown.

    Functions of counts, amounts and shares have a scale of their own, with which they start: a
    deviation of 1, of the logarithm of a rate. The bound of few rows is highest where they have
    none at all, and nothing is uncertain. One to five counts of four functions, 128 fits: 90 %
    intervals held .14 to .95 and hold .57 to .99, with half of that variance .46 to .98.
    """
    start, rows = problem.start, problem.rows
    if rows.live_elsewhere or not _is_unsure(problem):
        return start
    has_learned = start.earlier is not None
    factor = 1.0 if has_learned and start.units is not UNIT else _factor(start, rows) ** 2
    parameters = start.parameters if has_learned else shorter_start(start, _SHARE_OF_SCALES)
    parameters, space = start.times(factor, parameters), start.space.without("theta")
    if "log_noise" in start.with_default_bounds:
        space = space.without("log_noise")
    if not _has_scale(start):
        space = space.without("likelihood")
    return replace(start, parameters=parameters, space=space, alternatives=(), wider=factor)


def _is_unsure(problem):
    start = problem.start
    by_default = "theta" in start.with_default_bounds
    is_told = getattr(start.likelihood, "has_noise", False) or not _has_scale(start)
    is_plain = is_told and not start.parameters.has_features
    # functions of numbers that are levels, too, have no scale of their own
    is_simple = not (start.columns.categorical and _has_scale(start))
    is_simple = is_simple and not start.parameters.mixes_outputs
    return by_default and is_plain and is_simple and _are_few(problem)


def _has_scale(start):
    """Return whether the function has that of the targets, not one of logarithms or the like."""
    return getattr(start.likelihood, "scales_targets", False)


def _are_few(problem):
    return problem.n_observations < ROWS_TO_LEARN


def _factor(start, rows):
    """Return what deviations as they start, in units of the targets, are multiplied by."""
    n = len(rows)
    if not _has_scale(start):
        return 1.0
    wider = stdtrit(max(n - 1, 1), _UPPER) / ndtri(_UPPER)
    if n > 1:
        wider *= np.sqrt(n / (n - 1))
    if start.units is not UNIT or np.ptp(rows.y, axis=0).any():
        return wider
    sizes = np.abs(rows.y[0]) / rows.y_scale
    return wider * float(np.max(np.where(sizes > 0.0, np.maximum(sizes, SMALLEST), 1.0)))


def says_little(problem):
    """Return whether rows are so few that nothing is learned, nor chosen by a kernel's errors.

    Amid a fit kernels of many rows are held, too, for callbacks.
    """
    return is_held(problem.start) and _are_few(problem)


def is_held(start):
    """Return whether nothing was learned of the default kernel, as of rows that are few."""
    return "theta" in start.with_default_bounds and not start.space.learns("theta")
