"""`alpha_epsilon` and temperature of a classifier, from rows given all others near them."""

import time
from dataclasses import replace

import numpy as np

from .._linalg import NotPositiveDefiniteError, single_blas_thread
from ..blocks.near_rows import NearRows, can_learn
from ..fitting.budget import Budget
from ..objectives.classes.left_out import LeftOutClasses

# Values that `alpha_epsilon` is chosen from.
ALPHAS = (0.1, 0.01, 0.001, 0.0001)
# Rows that tell a temperature.
_ROWS = 4096


def best_alpha(problem_at, alphas, seconds):
    """The value whose probabilities of left-out rows are best, after as much learning for each.

    Parameters
    ----------
    problem_at : callable
        ``problem_at(alpha)`` returns a `Problem` with that value.
    alphas : sequence of float
    seconds : float
        For all of them.

    Returns
    -------
    alpha : float
    """
    found, limit = [], time.perf_counter() + seconds
    with single_blas_thread():  # groups are small
        for number, alpha in enumerate(alphas):
            problem = problem_at(alpha)
            rows, parameters = NearRows(problem), problem.start.parameters
            left = (limit - time.perf_counter()) / (len(alphas) - number)
            try:
                if can_learn(problem):
                    until, budget = time.perf_counter() + left, Budget(problem.trace.clock)
                    parameters, _, value = rows.trial(problem, parameters, until, budget)
                else:
                    value = rows.value(problem, parameters)
            except NotPositiveDefiniteError:
                value = -np.inf
            found.append((value, alpha))
            if time.perf_counter() > limit:
                break
    return max(found)[1]


def with_temperature(problem, found):
    """What was found, with the temperature that predicts left-out rows best.

    Parameters
    ----------
    problem : Problem
    found : BlockFitResult

    Returns
    -------
    found : BlockFitResult
    """
    result = found.result
    with single_blas_thread():
        evidence = NearRows(problem).left_out(result.parameters, _ROWS)
        left_out = LeftOutClasses.of_groups(evidence, result.parameters, result.start.likelihood)
        likelihood = left_out.calibrated()
    start = replace(result.start, likelihood=likelihood)
    return replace(found, result=replace(result, start=start))
