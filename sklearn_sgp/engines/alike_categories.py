"""Categories with few rows each: whether learning what they share says more than it overfits.

F has some numbers for each category. Of a level for each, which rows tell, it makes parameters
without uncertainty, so that a function of each category seems known that no row has told. Held at
its start, any two categories share as much, and what each has alone is in the posterior.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from ..kernels._parts import in_words
from ..kernels.categories._node import category_leaves, category_slots
from ..objectives.scores import Score
from ..optimize.choices import Tried, tell

# Rows of each category on average up to which both are learned. With 30 of each the better one has
# 0.03 to 0.06 nats a row more.
_ROWS_TO_COMPARE = 40
# F has to gain so many times what a number for each category does. 144 made tables of 15 to 100
# categories with 12 to 30 rows of each, noise 0.05 to 1: by levels alone F gains 1.0 to 1.7 times
# as much (and other rows lose 0 to 0.16 nats each), by slopes and functions 2.0 to 6 times (and
# they win up to 0.7 nats, or lose 0.05). With FITC's evidence, which is no bound, alike categories
# explain what they do not know by noise of each row: functions lose 0.25 nats a row.
_TIMES_A_NUMBER = 2.0


def or_with_alike_categories(problem, best, fit):
    """Return the better of what was learned and a fit whose categories are all equally alike.

    The other one has more evidence, as what is a parameter has no uncertainty: F has to gain more
    than that alone would. The problem is as it was posed, and ``fit(problem)`` returns a problem
    and a `Fitted`.
    """
    return best.or_from(partial(_alike, problem, best.fitted), fit, partial(_says_less, problem))


def _alike(problem, fitted):
    """Pose the problem with F held in every start; None where the rows may learn it.

    Where learning began elsewhere, as along a column that it had missed, it may so again.
    """
    if not _may_be_alike(problem, fitted):
        return None
    begun = replace(fitted.start, alternatives=())
    starts = problem.start, *problem.start.alternatives
    thetas = [one.parameters.theta for one in starts]
    if not any(np.array_equal(begun.parameters.theta, theta) for theta in thetas):
        starts += (begun,)
    first, *others = (_held(problem, one) for one in starts)
    return replace(problem, start=replace(first, alternatives=tuple(others)))


def _may_be_alike(problem, fitted):
    """Return whether F was learned from few rows of each, with a default kernel and equal noise."""
    start, rows = problem.start, problem.rows
    is_plain = start.has_equal_noise and not start.parameters.mixes_outputs and rows.counts is None
    is_whole = fitted.cut_by in (None, "max_iter") and not start.sees_more_rows
    is_default = problem.learns and start.learns_default_kernel
    if not (is_plain and is_whole and is_default and _few(problem, fitted.parameters.expression)):
        return False
    return problem.trace.clock.has_time_for(1.0)


def _few(problem, expression):
    """Return, by columns of categories with few rows each, the places of F in theta."""
    few, n_rows = {}, problem.n_observations
    columns = (column for _, column in category_leaves(expression))
    for column, (_, factor, _) in zip(columns, category_slots(expression), strict=True):
        if n_rows < _ROWS_TO_COMPARE * len(factor):
            few.setdefault(column, []).append(factor)
    return few


def _held(problem, start):
    """Hold F as kernels of unknown categories begin."""
    expression = start.parameters.expression
    few = [each.ravel() for factors in _few(problem, expression).values() for each in factors]
    places = np.concatenate([np.empty(0, dtype=np.intp), *few])
    theta = start.parameters.theta.copy()
    theta[places] = expression.theta[places]
    space = start.space.holding("theta", places, theta[places])
    return replace(start, parameters=start.parameters.with_values(theta=theta), space=space)


def _says_less(problem, fitted, again, seconds):
    """Return whether F gains no more than parameters do, which the trace is told."""
    weight, least = problem.rows.total_weight, _gain_of_parameters(problem, fitted, again)
    scores = [Score.of_objective(value, weight) for value in (fitted.merit - least, again.merit)]
    learned, alike = (in_words(each.start.kernel) for each in (fitted, again))
    learned = Tried(learned, None, scores[0], 0.0)
    alike = Tried(f"{alike}, all categories alike", None, scores[1], seconds)
    taken = alike if scores[1].mean > scores[0].mean else learned
    tell("what categories share", [learned, alike], taken, problem.trace)
    return taken is alike


def _gain_of_parameters(problem, fitted, again):
    """Return how many nats F has to gain.

    A level for each category costs log(1 + n_c v / s2) / 2 of the evidence, with n_c rows of it,
    noise s2 of a row, and the variance v of the function, here that of the noise at least. Outputs
    that never change have no levels.
    """
    rows, n_rows = problem.rows, problem.n_observations
    noise = again.noise_variance * n_rows / rows.total_weight  # weights may be precisions
    variance = np.nanvar(rows.targets, axis=0)
    ratio = np.maximum(variance / noise - 1.0, 1.0)[variance > 0.0]
    counts = [len(factors[0]) for factors in _few(problem, fitted.parameters.expression).values()]
    costs = (0.5 * count * np.log1p(n_rows / count * ratio).sum() for count in counts)
    return _TIMES_A_NUMBER * sum(costs)
