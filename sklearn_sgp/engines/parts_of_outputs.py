"""Outputs that share a kernel, where each asks for another: a sum with a smooth part for each.

Where a function changes along one column and another one along a second, a product over all columns
that serves both changes along both: few rows fill that plane, and are taken for a rough function or
noise. In a sum each output has its own part, and the rows say that the others are small in it. 150
rows with 10 % noise, sin(x0) and cos(x1) over three periods of two and three columns, eight draws:
errors were 0.05 to 0.74, and are 0.04 to 0.07; of each output alone 0.03 to 0.06.
"""

from dataclasses import replace
from functools import partial, reduce
from operator import add

import numpy as np
from sklearn.gaussian_process.kernels import Sum

from .._linalg import NotPositiveDefiniteError
from ..data.column_spread import column_summary
from ..data.distinct import DistinctRows
from ..kernels._compile import compile_without_noise
from ..kernels._defaults import SHORTER
from ..kernels._length_scales import units_of_theta
from ..kernels._parts import in_words
from ..kernels._turned import scales_of_smooth_term
from ..objectives.exact import exact_value
from ..objectives.scores import Score, bic_nats
from ..optimize.choices import Tried, tell
from ..optimize.parameters import Parameters
from .exact_fits import learn_exactly
from .fingerprints import structure
from .other_starts import shorter_start

# Random rows from which each output alone learns, by so many steps at most: twice as many steps
# changed none of 24 fits. Where outputs share a kernel, fits of 150 rows take 1.1 to 1.3 times the
# CPU time, and of 600 rows 1.0 to 1.1.
_OWN_ROWS, _OWN_STEPS = 200, 25
# A sum has a part for each. Five and eight outputs of 300 and 600 rows: of different columns, RMSE
# was .04 to .15, .7 where an output was lost, and is .02 to .06 in 1.2 to 1.8 times the CPU time
# (two tables of eight with a column for each stay lost); of the same columns as before, in 1.4 to
# 1.7 times. More were not tried.
_MOST_OUTPUTS = 8


def or_with_parts_of_outputs(problem, best, fit):
    """Return the better of what was learned and a fit whose kernel has a part for each output.

    Each output alone learns from some rows. Where these kernels are together better than the one
    they share, by more than their parameters cost, the fit begins anew with the sum of the smooth
    parts, and stays if all rows say the same. The problem is as it was posed, and ``fit(problem)``
    returns a problem and a `Fitted`.
    """

    def posed():
        start = _start_of_parts(problem, best.fitted)
        if start is None:
            return None
        settings = replace(problem.settings, n_restarts_optimizer=0)
        return replace(problem, start=start, settings=settings)

    return best.or_from(posed, fit, partial(_gain, problem))


def has_parts(kernel, n_outputs):
    """Return whether a kernel is such a sum, of a smooth part for each of some outputs."""
    terms = []
    while isinstance(kernel, Sum):
        kernel, last = kernel.k1, kernel.k2
        terms.append(structure(last))
    terms.append(structure(kernel))
    smooth = terms[-n_outputs:]
    return 1 < n_outputs <= len(terms) <= n_outputs + 1 and len(set(smooth)) == 1


def _gain(problem, fitted, again, seconds):
    """Return whether parts are better than one kernel, which the trace is told."""
    words, weight = in_words(fitted.start.kernel), problem.rows.total_weight
    n_more = len(again.parameters.theta) - len(fitted.parameters.theta)
    value = again.merit - bic_nats(n_more, len(problem.rows))
    one = Tried(words, None, Score.of_objective(fitted.merit, weight), 0.0)
    parts = Tried(f"{words}, parts", None, Score.of_objective(value, weight), seconds)
    taken = parts if parts.score.mean > one.score.mean else one
    tell("one kernel or a part for each output", [one, parts], taken, problem.trace)
    return taken is parts


def _start_of_parts(problem, fitted):
    """Return a start with a part for each output, None where some rows do not ask for that."""
    if not (_may_differ(problem.start) and _may_begin_anew(problem, fitted)):
        return None
    some = problem.rows.fixed_subset(_OWN_ROWS)
    t = some.targets.shape[1]
    own = [DistinctRows.within_inputs(some.X, _of_output(some, k)) for k in range(t)]
    if any(rows is None or not len(rows.X) for rows in own):
        return None
    try:
        learned = _learned_alone(problem, fitted, own)
        each = (_with_noise_of(fitted.parameters, k) for k in range(t))
        least = sum(map(exact_value, each, own))
    except NotPositiveDefiniteError:
        return None
    n_theta = len(learned[0].parameters.theta)
    gain = _evidence(learned) - least
    if not gain > bic_nats((t - 1) * n_theta, len(some)):
        return None
    return _start_at(problem, [one.parameters for one in learned])


def _may_differ(start):
    """Return whether some outputs share a kernel, and each learns a noise variance of its own."""
    if start.shares_noise or not start.space.learns("log_noise"):
        return False
    is_tied = len(start.space.group("log_noise").shared) > 0
    return 1 < len(start.parameters.log_noise) <= _MOST_OUTPUTS and not is_tied


def _may_begin_anew(problem, fitted):
    """Return whether whole rows have learned a default kernel of columns, with time for more."""
    start, rows = problem.start, problem.rows
    if rows.live_elsewhere or rows.of_classes or rows.offset is not None:
        return False
    if start.in_proportion or start.parameters.has_features or not problem.is_left_open(fitted):
        return False
    kernel = start.parameters.kernel.sklearn_kernel
    if has_parts(kernel, rows.y.shape[1]):  # of a fit before
        return False
    has_scales = scales_of_smooth_term(kernel, rows.X.shape[1]) is not None
    return has_scales and problem.trace.clock.has_time_for(1.0)


def _of_output(rows, k):
    """Return the rows that have a target of an output, with it alone."""
    own = rows.of_outputs(slice(k, k + 1))
    return own.select(np.flatnonzero(~np.isnan(own.targets[:, 0])))


def _with_noise_of(parameters, k):
    """Return parameters of one output of several."""
    return parameters.with_values(log_noise=float(parameters.log_noise[k]))


def _learned_alone(problem, fitted, own):
    """Return what some rows of each output learn alone, of the better begin, by their evidence.

    They begin with shorter length scales, and with what all outputs have learned: weighted rows of
    150, six draws, had errors of 0.19 to 0.29 by the former, and have 0.11 to 0.14.
    """
    begins = [(problem.start, shorter_start(problem.start, SHORTER))]
    kernel = fitted.parameters.kernel.sklearn_kernel
    if scales_of_smooth_term(kernel, own[0].X.shape[1]) is not None:
        begins.append((fitted.start, fitted.parameters))
    every = [
        [_learned_from(start.space, begun, rows, k) for k, rows in enumerate(own)]
        for start, begun in begins
    ]
    return max(every, key=_evidence)


def _evidence(learned):
    """Return the evidence of all outputs, which share nothing."""
    return sum(one.value for one in learned)


def _learned_from(space, begun, rows, k):
    """Return what some rows of one output learn from some parameters."""
    group = space.group("log_noise")
    space = space.without("Z").with_group("log_noise", bounds=group.bounds[k : k + 1])
    return learn_exactly(space, _with_noise_of(begun, k), rows, _OWN_STEPS)


def _start_at(problem, learned):
    """Return a start with the smooth parts that outputs have learned, and one rough part."""
    start, rows = problem.start, problem.rows
    center, spread, _ = column_summary(rows.X, rows.observations)
    kernels = [parameters.kernel.sklearn_kernel for parameters in learned]
    if isinstance(kernels[0], Sum):
        smooth = reduce(add, [kernel.k1 for kernel in kernels])
        kernel = smooth + max((kernel.k2 for kernel in kernels), key=lambda one: one.theta[0])
    else:
        kernel = reduce(add, kernels)
    expression, _, bounds = compile_without_noise(kernel, center)
    units = units_of_theta(expression, spread)
    log_noise = np.array([float(parameters.log_noise) for parameters in learned])
    values = {**start.parameters.values, "theta": expression.theta, "log_noise": log_noise}
    return start.with_kernel(kernel, Parameters(expression, values), bounds=bounds, unit=units)
