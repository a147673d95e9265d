"""A kernel of learned directions in the place of a default one, where rows ask for it.

Length scales stretch columns. They cannot say that a function depends on the difference of two
columns, or on one weighted sum of ten. The smooth term of the kernel that a fit has learned is a
function of as many weighted sums as there are columns. Some rows and few steps tell whether other
weights gain anything, and most tables end there. Where they do, the strongest directions are tried
by themselves, too, and what is best begins a fit of all rows.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from .._linalg import NotPositiveDefiniteError
from ..data.column_spread import column_summary
from ..data.distinct import DistinctRows
from ..kernels._compile import compile_without_noise
from ..kernels._length_scales import units_of_theta, variance_mask
from ..kernels._parts import in_words
from ..kernels._turned import (
    columns_of_directions,
    count_of_weights,
    directions_of,
    scales_of_smooth_term,
    turned,
)
from ..objectives.exact import left_out_score
from ..objectives.scores import Score, bic_nats
from ..optimize.choices import Tried, tell
from ..optimize.parameters import Group, Parameters, ParameterSpace
from ..optimize.progress import VISIBLE_GAIN, Trace
from .exact_fits import learn_exactly

# Random rows whose evidence, that of the exact process, tells; fewer are never asked. 2,000 and
# 6,000 rows of kin40k gain 0.8 nats a row by what 400 have found.
_TELLING_ROWS, _LEAST_TELLING = 400, 60
# More rows keep columns: 36,000 rows of kin40k gain 0.9 nats a row, while 700,000 flights took 116
# seconds in the place of 48 for a second fit that was no better.
_MOST_TURNED_ROWS = 100_000
# Steps of the first look, after which less than what a second direction costs is no gain: tables
# that depend on columns gained 4 to 38 nats in them, those of directions 115 to 220, and half of
# all fits end there. Length scales of so few rows may gain as much: of 9 made tables of columns or
# noise that went on 6 end where less is left beyond that; 33 of directions, 120 to 500 rows, which
# took them, have 1.9 to 22 times as much. Then the most steps.
_LOOKING_STEPS, _SEARCH_STEPS = 10, 60
# Numbers of the strongest directions that are tried.
_FEW_DIRECTIONS = (3, 2, 1)
# With more columns 400 rows say little of all weights.
_MOST_TURNED = 20
# Rows for each number that weights say. Made tables with 4 and 9 lost 0.23 and 0.1 nats a row where
# errors became smaller, as weights are taken for certain; with 10 and more they gained.
_ROWS_OF_A_WEIGHT = 10
# Of the gain of left-out rows, the best of four that the same rows have learned. 20 made tables of
# 120 to 500 rows that gained test density had 2.4 to 32, one more 1.8; two draws of 215 rows of the
# yacht data that lost 0.29 and 0.09 nats a row had 1.4 and 1.3.
_ERRORS_OF_GAIN = 2.0
# The unit of weights that were found, in shares of their size: with one over the spread of columns
# steps of Adam undid what 400 rows had found. 10,000 rows of 15 columns, three directions and 1 %
# noise: noise twice too large and 2.63 nats a row, the same with their size, 3.01 with a fifth.
# 3,000 rows of kin40k 1.059, 1.069 and 1.073, of kin8nm -0.041, -0.032 and -0.035. L-BFGS may move
# them by three times their size: by three fifths 600 rows of ten columns ended 17 nats lower.
_UNIT_OF_WEIGHTS = 0.2
# A limit of time has to leave so many times as much as the fit took so far: another fit with
# directions takes one to three times as long.
_TIMES_AS_LONG = 4.0


def or_along_directions(problem, best, fit):
    """Return the better of what was learned and a fit with a kernel of directions.

    The problem is as it was posed, and ``fit(problem)`` returns a problem and a `Fitted`.
    """

    def turned_problem():
        start = turned_start(problem, best.fitted)
        return None if start is None else replace(problem, start=start)

    again = best.or_from(turned_problem, fit, partial(_gain, problem))
    return again if again.problem is best.problem else _with_room_for_weights(again, fit)


def _gain(problem, fitted, again, seconds):
    """Return whether directions are better than columns, which the trace is told."""
    words = in_words(fitted.start.kernel)
    columns = _tried(words, fitted, problem, 0.0)
    directions = _tried(f"{words}, directions", again, problem, seconds)
    gains = directions.score.mean > columns.score.mean + VISIBLE_GAIN
    taken = directions if gains else columns
    tell("columns or directions", [columns, directions], taken, problem.trace)
    return gains


def _tried(name, fitted, problem, seconds):
    value = fitted.merit - _penalty(fitted.parameters, len(problem.rows))
    return Tried(name, None, Score.of_objective(value, problem.n_observations), seconds)


def _penalty(parameters, n_rows):
    """Return the BIC penalty of the weights, in nats; other terms are the same ones.

    Length scales cost nothing: that of a column which says little grows until the evidence is flat,
    while a weight of either sign fits noise. 106 made tables of 80 to 400 rows: weights that paid
    only beside the cost of length scales were taken in twelve, four of which lost .06 to .64 nats a
    row of new rows, and eight gained .01 to .09.
    """
    return bic_nats(count_of_weights(parameters.kernel.sklearn_kernel), n_rows)


def _with_room_for_weights(best, fit):
    """Return a fit with larger variances, as weights of directions are not certain.

    A fit of p numbers to n targets has squared errors that are to those of new ones as n - p to
    n + p (Akaike 1969, final prediction error). Variances of a default kernel and noise grow by
    that, and means stay, as does the objective, that of what was learned. 27 fits of made tables,
    150 to 700 rows: 0.006 nats a row more in the mean, -0.009 to 0.10, and 90 % bands hold 0.896,
    not 0.881; eight of kin40k and kin8nm, 500 and 1,000 rows: 0.007 to 0.031, and 0.878, not 0.860.
    What the Fisher information of the weights adds to left-out rows asks for about half as much,
    and gains half. There is none where no time is left for another pass over as many rows.
    """
    wider = best.or_from(partial(_wider, *best), fit, _rests_on_as_many_rows).fitted
    changed = "parameters", "predictor", "jitter", "state", "interrupted"
    fitted = replace(best.fitted, **{name: getattr(wider, name) for name in changed})
    return best._replace(fitted=fitted)


def _wider(problem, fitted):
    """Return a problem that holds what was learned, with that room; None where noise was given."""
    start = fitted.start
    if not start.is_by_default:
        return None
    parameters, n = fitted.parameters, problem.rows.targets.size
    count = count_of_weights(parameters.kernel.sklearn_kernel)
    log_factor = np.log((n + count) / (n - count))
    theta = parameters.theta + log_factor * variance_mask(parameters.expression)
    wider = parameters.with_values(theta=theta, log_noise=parameters.log_noise + log_factor)
    return replace(
        problem,
        start=replace(start, parameters=start.space.without("Z").clipped(wider)),
        settings=replace(problem.settings, optimizer=None),
        trace=Trace(problem.trace.clock),
        previous=fitted,
    )


def _rests_on_as_many_rows(fitted, wider, _):
    return wider.n_used == fitted.n_used


def turned_start(problem, fitted):
    """Return a start with a kernel of directions that promises more than a fit, or None."""
    if not _may_turn(problem, fitted):
        return None
    kernel = fitted.parameters.kernel.sklearn_kernel
    scales = scales_of_smooth_term(kernel, problem.rows.X.shape[1])
    if scales is None:
        return None
    center, spread, _ = column_summary(problem.rows.X, problem.rows.observations)
    if not 1 < np.count_nonzero(spread) <= _MOST_TURNED:
        return None
    if len(problem.rows) < _ROWS_OF_A_WEIGHT * np.count_nonzero(spread):
        return None
    found = _Search(problem.rows, fitted, center, spread).best(scales)
    return None if found is None else _start_at(fitted.start, found.parameters, spread)


def _may_turn(problem, fitted):
    start, has_time = problem.start, problem.trace.clock.has_time_for(_TIMES_AS_LONG)
    of_numbers = not problem.rows.live_elsewhere and start.columns.are_plain
    is_plain = of_numbers and has_time and not start.parameters.has_features
    has_rows = _LEAST_TELLING <= len(problem.rows) <= _MOST_TURNED_ROWS
    return is_plain and has_rows and problem.is_left_open(fitted)


class _Found(NamedTuple):
    """Hold what an ascent has come to.

    Parameters
    ----------
    value : float
        The evidence.
    gain : float
        Of it, since the ascent began.
    score : float
        The evidence less the cost of the weights.
    """

    parameters: Parameters
    value: float
    gain: float
    score: float

    @property
    def kernel(self):
        return self.parameters.kernel.sklearn_kernel


class _Search:
    """Ascents of the evidence of some rows.

    Parameters
    ----------
    rows : Rows
        All of them.
    center, spread : ndarray of shape (d,)
        Means and standard deviations of the columns; 0 for a column of one value.
    """

    def __init__(self, rows, fitted, center, spread):
        self.learned, self.center, self.spread = fitted.parameters, center, spread
        self.noise = fitted.start.space.only("log_noise").groups
        self.columns = np.flatnonzero(spread)
        some, self.n_all = rows.fixed_subset(_TELLING_ROWS), len(rows)
        self.own, self.n_rows = spread[self.columns], len(some)
        self.rows = DistinctRows.of(some)

    def best(self, scales):
        """Return the best of directions, None where it is not clearly better than columns.

        Its evidence has to pay for the weights, and each row, given the others, to be more likely
        by more than two standard errors. Of several that one is best whose weights pay most where
        all rows gain as much as these. ``scales`` are those of the columns, learned.
        """
        kernel = self.learned.kernel.sklearn_kernel
        first = self.ascent(
            self.turned(kernel, np.diag(1.0 / scales[self.columns])), _LOOKING_STEPS
        )
        least = bic_nats(len(self.own) - 1, self.n_rows)
        if first.gain < least:
            return None
        columns = self.ascent(self.learned)
        if first.value - columns.value < least:
            return None
        whole = self.ascent(first.parameters)
        found = [
            one
            for one in self.each(whole, columns.score)
            if one.score > columns.score and self.affords(one.parameters)
        ]
        if not found:
            return None
        left_out = [left_out_score(one.parameters, self.rows) for one in found]
        costs = [self.cost(one.parameters) / self.n_rows for one in found]
        best = int(np.argmax(np.subtract([one.mean for one in left_out], costs)))
        gain, error = left_out[best].gain(left_out_score(columns.parameters, self.rows))
        return found[best] if gain > _ERRORS_OF_GAIN * error else None

    def each(self, whole, least):
        """Yield all directions, then what the strongest ones come to, where these may be better.

        The strongest ones are those of columns of unit spread. Fewer have less evidence, but cost
        less.
        """
        yield whole
        kernel, most = whole.kernel, whole.value
        best = max(least, whole.score) if self.affords(whole.parameters) else least
        _, sizes, turns = np.linalg.svd(directions_of(kernel) * self.own)
        for count in (count for count in _FEW_DIRECTIONS if count < len(self.own)):
            strongest = self.turned(kernel, sizes[:count, None] * turns[:count] / self.own)
            begun = strongest.with_values(log_noise=whole.parameters.log_noise)
            if self.affords(begun) and most - self.cost(begun) > best:
                try:
                    found = self.ascent(begun, least=best)
                except NotPositiveDefiniteError:
                    continue
                yield found
                best, most = max(best, found.score), min(most, found.value)

    def cost(self, parameters):
        """Return these rows' share of the penalty, which all rows pay together."""
        return _penalty(parameters, self.n_all) * self.n_rows / self.n_all

    def affords(self, parameters):
        """Return whether rows are enough for the weights."""
        count = count_of_weights(parameters.kernel.sklearn_kernel)
        return _ROWS_OF_A_WEIGHT * count <= self.n_all

    def turned(self, kernel, directions):
        """Return parameters with what was learned, and a kernel of directions."""
        expression, _, _ = compile_without_noise(
            turned(kernel, self.columns, directions, self.own), self.center
        )
        return Parameters(expression, {**self.learned.values, "theta": expression.theta})

    def ascent(self, parameters, n_steps=_SEARCH_STEPS, least=-np.inf):
        """Follow the evidence by some steps, by the first few where it is below the least then."""
        space = ParameterSpace((_group_of_theta(parameters, self.spread), *self.noise))

        def ends(trace):
            return len(trace.objectives) == _LOOKING_STEPS and trace.objectives[-1] < least

        found = learn_exactly(space, parameters, self.rows, n_steps, ends)
        return _Found(*found, found.value - self.cost(found.parameters))


def _group_of_theta(parameters, spread):
    expression = parameters.expression
    units = units_of_theta(expression, spread)
    return Group("theta", expression.kernel.bounds, units)


def _start_at(start, parameters, spread):
    """Return a start at parameters of a kernel of directions, in steps of the size of weights."""
    kernel = parameters.kernel.sklearn_kernel
    weights = directions_of(kernel) * spread[columns_of_directions(kernel)]
    size = np.sqrt(np.mean(weights**2))
    group = _group_of_theta(parameters, spread / (_UNIT_OF_WEIGHTS * size))
    reach = np.where(group.unit == 1.0, 1.0, 1.0 / _UNIT_OF_WEIGHTS)  # logarithms have a unit of 1
    return start.with_kernel(kernel, parameters, bounds=group.bounds, unit=group.unit, reach=reach)
