"""The warm start: a kernel is chosen, and L-BFGS learns from each start, to the end of a stage."""

import time

from ...objectives.scores import Score
from ...optimize.choices import Comparison
from ..ascent import ascend, better
from ..start import random_starts
from .candidates import WARM_ITERATIONS, starts_of, with_best_kernel


def learn_from_starts(problem, rows, seconds, interim=False, starts=None, is_short=False):
    """Learn from the starts; return the problem with its kernel chosen, and the best parameters.

    From the starting values and from random ones, if asked for.

    Parameters
    ----------
    starts : list of Start or None
        Among which the kernel is chosen; None for all default ones.
    is_short : bool
        Whether runs end where more iterations would gain nothing that can be seen.
    """
    deadline, trace, inference = time.perf_counter() + seconds, problem.trace, problem.inference
    starts = starts_of(problem) if starts is None else starts
    problem, first, kept, n_iter = with_best_kernel(problem, starts, rows, seconds, interim)
    starts = [problem.start.parameters, *random_starts(problem)]
    few = problem.settings.max_iter
    if problem.space.learns("Z"):
        few = min(WARM_ITERATIONS, few)

    names = ["as chosen", *(f"random ({k})" for k in range(1, len(starts)))]
    restarts = Comparison("restart", trace)
    for k, start in restarts.over(zip(names, enumerate(starts), strict=True)):
        inference.kept = None if k else kept  # no start begins at the q(u) of another
        share = (deadline - time.perf_counter()) / (len(starts) - k)
        begin, result = time.perf_counter(), first
        with restarts:
            if k or first is None:
                result = ascend(problem, start, rows, share, few, interim)
            share -= time.perf_counter() - begin
            result = _go_on(problem, result, rows, share, interim, is_short)
            value = problem.with_expected(*result[:2])
            score = Score.of_objective(value, problem.rows.total_weight)
            restarts.add((*result, trace.cut_by, inference.kept), score)
    tried = restarts.best_first()
    parameters, _, _, trace.cut_by, inference.kept = tried[0].result
    return problem, parameters, n_iter + sum(one.result[2] for one in tried)


def _go_on(problem, result, rows, seconds, interim, is_short):
    """Go on with L-BFGS: the first run gives units of inducing inputs."""
    (parameters, _, n_iter), trace = result, problem.trace
    left = problem.settings.max_iter - n_iter
    if n_iter < WARM_ITERATIONS or left <= 0 or trace.stopped:
        return result
    if seconds <= 0:
        trace.cut_by = "max_time"
        return result
    second = ascend(problem, parameters, rows, seconds, left, interim, is_short)
    parameters, value, _ = better(problem.space, result, second)
    return parameters, value, n_iter + second[2]
