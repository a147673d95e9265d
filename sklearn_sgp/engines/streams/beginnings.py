"""Other ways to begin a stream than at the starting values: the best of them is taken."""

from dataclasses import replace

import numpy as np

from ...kernels._length_scales import has_lines
from ...kernels._parts import in_words
from ...objectives.scores import Score
from ..explained import is_doubtful
from ..lines import line_starts
from ..other_starts import bic_penalty
from ..variational.class_regressions import learns_by_regressions
from ..variational.class_start import begun_with_regressions, with_iterations_of_regressions
from ..variational.schedule import run
from .inducing import NO_PAIRS
from .plan import Batch
from .rounds import (
    best_of_rounds,
    choose_inducing,
    fitted_from,
    propose,
    sees_signal,
    without_learning,
)
from .shorter_scales import better_start, with_best_units
from .wandering import LEAD_TO_COME

# Rows of a first batch of several classes whose labels judge. Of four draws of red wine in three
# classes streams of 900 rows lose 0.027 nats a row with first batches of 150, gain 0.004 with 200
# and nothing with 300; three classes of two periods in the plane gain 0.1 with 300.
_ROWS_THAT_JUDGE = 256
# Nats by which lines have to explain rows better, besides what a parameter costs: very strong
# evidence, as lines go on beyond the rows. Two series without noise have 10 to 15 after 60 and 120
# rows, and gain 1.7 and 3.6 nats a row; the flow of water, whose outliers are lags of the next row,
# had 1 after 48 rows and lost 1.1 nats a row.
_LEAD_OF_LINES = 5.0
# Variance of lines, in units of the targets', at a row a thousand deviations away.
_FAR_OUT = 1e6


def by_labels(rows, plan):
    """Return a plan and what is `Learned`, as `or_elsewhere`; None where that is no way.

    Kernel and inducing inputs of several classes begin as in a fit of all rows: at regressions of
    the labels, whose length scales and variance labels held out then choose.
    """
    problem = with_iterations_of_regressions(plan.problem(rows))
    may_begin = plan.learns and not plan.start.parameters.has_features
    if not (may_begin and learns_by_regressions(problem)) or len(rows) < _ROWS_THAT_JUDGE:
        return None
    try:
        fitted, batch = run(problem)[1], Batch(rows)
        parameters, kept = fitted.parameters, NO_PAIRS
        if plan.inducing is not None:
            parameters, kept = _with_inputs(parameters, batch, plan)
        found = without_learning(propose(parameters, kept, plan), batch, plan)
        return plan, found._replace(n_iter=fitted.n_iter)
    except np.linalg.LinAlgError:  # huge weights: the bound says more of them
        return None


def or_elsewhere(found, batch, plan):
    """Return a plan and what is `Learned`; from another start if that is better.

    That is asked of classes that a default kernel hardly explains, where a stream begins.
    """
    begins = batch.old is None or plan.restarts or plan.forget_factor == 0.0
    if not plan.learns or not begins:
        return plan, found
    found = _or_as_before(found, batch, plan)
    rows, better = batch.rows, None
    if plan.inducing is not None:
        better = better_start(plan.start, found.parameters, rows, plan.inducing.n_inducing)
    if better is not None:
        return plan, _better_from(better, found, batch, plan)
    problem, fitted = plan.problem(rows), fitted_from(plan, found)
    if not is_doubtful(problem, fitted, found.value):
        return plan, found
    elsewhere = begun_with_regressions(problem, fitted.parameters)
    if elsewhere is None:
        return plan, found
    start = elsewhere.start
    other = replace(plan, start=replace(start, parameters=plan.start.parameters))
    best = _better_from(start.parameters, found, batch, other)
    return (plan if best.proposal is found.proposal else other), best


def with_each_kernel(rows, plan):
    """List names of default kernels, each with a plan and parameters to begin with.

    Lines that are far out at some row have nothing to say of the others. The kernel that a stream
    is about to give up is tried, too: what the next rows spoke for may hold nothing of those so
    far with so few inducing inputs.
    """
    start = replace(plan.start, alternatives=())
    ways = [(replace(plan, start=start), start.parameters)]
    lines = line_starts(plan.start) if plan.learns else ()
    for one in (one for one in lines if one.parameters.kernel.diag(rows.X).max() < _FAR_OUT):
        begin = replace(plan, start=one)
        ways.append((begin, _with_inputs(one.parameters, Batch(rows), begin)[0]))
    if plan.before is not None and plan.learns:
        start = replace(plan.before.start, alternatives=())
        parameters = start.space.clipped(plan.before.parameters)
        begin = replace(plan, start=start)
        ways.append((begin, _with_inputs(parameters, Batch(rows), begin)[0]))
    return [(in_words(way[0].start.kernel), way) for way in ways]


def score_of(begun, rows):
    """Return the bound less what parameters cost, a row; see `other_starts.bic_penalty`.

    Lines must see a signal, and have a lead; so must a kernel that takes the place of another, by
    what it has said of the next rows. ``begun`` is as of `or_elsewhere`.
    """
    plan, found = begun
    n_rows, value = rows.total_weight, found.value
    are_lines = has_lines(plan.start.parameters.expression)
    if are_lines or plan.gives_up_kernel:
        if not sees_signal(fitted_from(plan, found), rows, n_rows):
            return Score.none()
    value -= _LEAD_OF_LINES if are_lines else 0.0
    value += LEAD_TO_COME * n_rows if plan.gives_up_kernel else 0.0
    return Score.of_objective(value - bic_penalty(plan.start, n_rows), n_rows)


def _or_as_before(found, batch, plan):
    """Return what is `Learned`; from what was learned before if that begins better.

    One of 7 streams of a fast sine had found it, and in 960 rows found it with half its length
    scale, too short for the inducing inputs.
    """
    if np.shape(plan.earlier_theta) != np.shape(plan.start.parameters.theta):
        return found
    parameters = plan.start.parameters.with_values(theta=plan.earlier_theta)
    parameters = plan.start.space.clipped(with_best_units(parameters, batch.rows))
    try:
        begin, kept = _with_inputs(parameters, batch, plan)
        is_better = without_learning(propose(begin, kept, plan), batch, plan).value > found.value
    except np.linalg.LinAlgError:
        return found
    if not is_better:
        return found
    return _better_of(begin, found, batch, plan)


def _better_from(parameters, found, batch, plan):
    """Return what is `Learned`; from other parameters if that is better."""
    try:
        begin, _ = _with_inputs(parameters, batch, plan)
    except np.linalg.LinAlgError:
        return found
    return _better_of(begin, found, batch, plan)


def _better_of(begin, found, batch, plan):
    """Return the same where the inducing inputs were chosen already."""
    try:
        again = best_of_rounds(begin, batch, plan)
    except np.linalg.LinAlgError:
        return found
    space = plan.start.space
    best = again if again.merit(space) > found.merit(space) else found
    return best._replace(n_iter=found.n_iter + again.n_iter)


def _with_inputs(parameters, batch, plan):
    """Return parameters with inducing inputs for a batch, and which of the old ones are kept."""
    Z, kept = choose_inducing(parameters, batch, replace(plan, learns=False))
    return parameters.with_values(Z=Z), kept
