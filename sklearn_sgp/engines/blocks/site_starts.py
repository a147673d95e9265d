"""Where learning by sites begins: at the kernel that a variational bound of some rows has found.

Evidences of groups of near rows hardly lead from the usual kernel to those that classes ask for
which hardly overlap: variances of 400 and length scales as much longer, over which sites change
little at a time. L-BFGS on the bound of independent rows given inducing inputs goes there in a
second.
"""

from dataclasses import replace

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ..._sampling import fixed_index
from ...kernels._length_scales import variance_mask
from ...optimize import shares
from ...optimize.progress import Clock, Trace
from ..variational.engine import Variational

# Rows and inducing inputs of the bound.
_BOUND_ROWS, _BOUND_INDUCING = 2048, 128
# Share of the variance with which a second term of a default kernel begins.
_SECOND_TERM = 0.1


def with_variational_start(problem, budget):
    """Return a problem whose start, and alternatives, have the kernel that a bound has found.

    The same problem where likelihood or kernel have no such bound, or categories are learned.
    """
    start, likelihood = problem.start, problem.start.likelihood
    if start.columns.categorical or not hasattr(likelihood, "expected_log_density"):
        return problem
    seconds, rows = shares.BOUND_BEFORE_SITES * budget.left(), problem.rows
    if seconds <= 0.0 or not start.space.learns("theta"):
        return problem
    few, Z = rows.random_subset(_BOUND_ROWS, problem.rng), start.parameters.Z
    if not len(Z):
        Z = np.asarray(few.X[fixed_index(len(few), _BOUND_INDUCING)], dtype=np.float64)
    some = start.parameters.with_values(Z=Z[fixed_index(len(Z), _BOUND_INDUCING)])
    bound = replace(
        problem,
        rows=few,
        start=replace(start, parameters=some, alternatives=()),
        settings=replace(problem.settings, n_restarts_optimizer=0),
        trace=Trace(Clock(None if seconds == np.inf else seconds)),
        is_interim=True,
        inputs_are_rows=False,
    )
    try:
        learned = Variational("kmeans", len(some.Z)).fit(bound).parameters
    except NotPositiveDefiniteError:  # sites will do without, or say what is wrong
        return problem
    others = tuple(_moved(other, learned) for other in start.alternatives)
    return replace(problem, start=replace(_moved(start, learned), alternatives=others))


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
