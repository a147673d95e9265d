"""A start for sites: the kernel that a variational bound of a few rows has found."""

from dataclasses import replace

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ..._sampling import fixed_index
from ...kernels._length_scales import variance_mask
from ...optimize import time_shares
from ...optimize.momentum import STOCHASTIC
from ...optimize.progress import Clock, Trace
from ..other_starts import bic_penalty
from ..proportions import with_own_scales
from ..variational import schedule
from ..variational.engine import Variational

# Rows and inducing inputs of the bound.
_BOUND_ROWS, _BOUND_INDUCING = 2048, 128
# Share of the variance with which a second term of a default kernel begins.
_SECOND_TERM = 0.1


def with_variational_start(problem, budget, looks_elsewhere=True):
    """Return a problem whose start, and alternatives, have the kernel that a bound has found.

    Evidences of groups of near rows hardly lead from the usual kernel to those that classes ask for
    which hardly overlap: variances of 400 and length scales as much longer, over which sites change
    little at a time. L-BFGS on the bound of independent rows given inducing inputs goes there in a
    second.

    Length scales in a common proportion, as classes have, stay where one for each column, unless
    they are too many, does not gain its BIC penalty. With one for all, 3,000 rows of which three
    columns of five count had -.469 nats a row by sites, now -.374.

    The same problem where likelihood or kernel have no such bound, or categories are learned.
    ``looks_elsewhere`` lets a bound that explains little begin at other starts as well.
    """
    start, likelihood = problem.start, problem.start.likelihood
    if start.columns.categorical or not hasattr(likelihood, "expected_log_density"):
        return problem
    seconds, rows = time_shares.BOUND_BEFORE_SITES * budget.left(), problem.rows
    if seconds <= 0.0 or not start.space.learns("theta"):
        return problem
    few, Z = rows.random_subset(_BOUND_ROWS, problem.rng), start.parameters.Z
    if not len(Z):
        Z = np.asarray(few.X[fixed_index(len(few), _BOUND_INDUCING)], dtype=np.float64)
    some = start.parameters.with_values(Z=Z[fixed_index(len(Z), _BOUND_INDUCING)])
    optimizer = problem.settings.optimizer
    optimizer = "auto" if optimizer in STOCHASTIC else optimizer  # of few rows
    bound = replace(
        problem,
        rows=few,
        settings=replace(problem.settings, optimizer=optimizer, n_restarts_optimizer=0),
        is_interim=True,
        inputs_are_rows=False,
    )
    starts = [replace(start, parameters=some, alternatives=())]
    if not all(other.in_proportion for other in start.alternatives):
        starts += with_own_scales(starts)
    try:
        fit = Variational("kmeans", len(some.Z)).fit if looks_elsewhere else _by_bound_alone
        each = seconds / len(starts)
        found = [_by_bound(replace(bound, start=one), fit, each) for one in starts]
    except NotPositiveDefiniteError:  # sites will do without, or say what is wrong
        return problem
    if any(one.interrupted for one in found):  # nothing with sites is there
        raise KeyboardInterrupt
    costs = [bic_penalty(one, len(few)) for one in starts]
    best = int(np.argmax([one.objective - cost for one, cost in zip(found, costs, strict=True)]))
    learned = found[best].parameters
    others = tuple(_moved(other, learned) for other in start.alternatives)
    begun = _moved(replace(start, space=starts[best].space), learned)
    return replace(problem, start=replace(begun, alternatives=others))


def _by_bound(problem, fit, seconds):
    """Learn the kernel of a few rows given inducing inputs in these seconds."""
    clock = Clock(None if seconds == np.inf else seconds)
    return fit(replace(problem, trace=Trace(clock)))


def _by_bound_alone(problem):
    return schedule.run(problem)[1]


def _moved(start, learned):
    """Return a start at learned parameters, which its first terms have, too.

    A second term of a default kernel begins at the same length scales.
    """
    theta, n = start.parameters.theta, len(learned.theta)
    values = {"likelihood": learned.likelihood_theta} if len(learned.likelihood_theta) else {}
    if len(theta) in (n, 2 * n):
        terms = np.tile(learned.theta, len(theta) // n)
        second = (np.arange(len(theta)) >= n) & variance_mask(start.parameters.expression)
        values["theta"] = terms + np.log(_SECOND_TERM) * second
    return replace(start, parameters=start.space.clipped(start.parameters.with_values(**values)))
