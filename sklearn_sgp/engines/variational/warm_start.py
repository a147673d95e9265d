"""The warm start: a kernel is chosen, and L-BFGS learns from each start, to the end of a stage."""

import time

from ...objectives.scores import Score
from ...optimize.choices import Comparison
from ..ascent import ascend, better
from ..other_starts import random_starts
from .candidates import WARM_ITERATIONS, starts_of, with_best_kernel
from .inference import knowing


def learn_from_starts(problem, rows, seconds, interim=False, starts=None, is_short=False):
    """Learn from the starts; return the problem with its kernel chosen, and the best `Run`.

    From the starting values and from random ones, if asked for. The iterations are those of all.
    The kernel is chosen among ``starts``, or all default ones. With ``is_short`` runs end where
    more iterations would gain nothing that can be seen.
    """
    deadline, trace = time.perf_counter() + seconds, problem.trace
    starts = starts_of(problem) if starts is None else starts
    problem, first, n_iter = with_best_kernel(problem, starts, rows, seconds, interim)
    starts = [problem.start.parameters, *random_starts(problem)]
    most = problem.settings.max_iter
    if problem.space.learns("Z"):
        most = min(WARM_ITERATIONS, most)

    names = ["as chosen", *(f"random ({k})" for k in range(1, len(starts)))]
    restarts = Comparison("restart", trace)
    for k, start in restarts.over(zip(names, enumerate(starts), strict=True)):
        begun = knowing(problem, None) if k else problem  # at no q(u) of another start
        share = (deadline - time.perf_counter()) / (len(starts) - k)
        begin, run = time.perf_counter(), first
        with restarts:
            if k or first is None:
                run = ascend(begun, start, rows, share, most, interim)
            share -= time.perf_counter() - begin
            left = problem.settings.max_iter - run.n_iter
            goes_on = left > 0 and run.n_iter >= WARM_ITERATIONS and not trace.stopped
            if goes_on and share <= 0:
                run = run._replace(cut_by="max_time")
            elif goes_on:  # the first run gives units of inducing inputs
                begun = knowing(problem, run.known), run.parameters
                second = ascend(*begun, rows, share, left, interim, is_short)
                run = _joined(problem.space, run, second)
            value = problem.with_expected(run.parameters, run.value)
            restarts.add(run, Score.of_objective(value, problem.rows.total_weight))
    tried = restarts.best_first()
    best = tried[0].result
    n_iter += sum(one.result.n_iter for one in tried)
    return knowing(problem, best.known), best._replace(n_iter=n_iter)


def _joined(space, first, second):
    """Return two runs, the second of which went on, as one that ends at the better place."""
    best, n_iter = better(space, first, second), first.n_iter + second.n_iter
    return second._replace(parameters=best.parameters, value=best.value, n_iter=n_iter)
