"""The first stage of a fit: starts and default kernels compared by their bounds, and learned."""

import time
from dataclasses import replace
from typing import NamedTuple

from ..._linalg import blas_threads_for
from ...kernels._words import in_words
from ...objectives.scores import Score
from ...optimize import shares
from ...optimize.budget import MIN_SECONDS
from ...optimize.choices import compare, numbered
from ...optimize.lbfgs import ascend_lbfgs
from ...optimize.progress import FURTHER, VISIBLE_GAIN
from ..ascent import Ascents, better, inputs_at_kinks, lbfgs_memory
from ..start import bic_penalty, default_starts, random_starts

# Iterations of the warm start after which the units of its variables are taken anew.
WARM_ITERATIONS = 20
# Default kernels that fits of no more iterations compare where there are categories: with a level
# for each, and with a function for each. Where functions differ, 60 stations of 12 rows have RMSE
# 0.61 with the first and 0.30 with the second after 20 iterations, where they do not 0.21 and 0.31.
_FEW_KERNELS = 2
# With no more rows all starts learn from all of them, and to the end: 2,000 rows take 1 to 5 s.
FEW_ROWS = 2048
# Iterations within which the bound of many rows is to rise. To the end of 200 iterations, which
# take two to three times as long, 5,000 rows of kin40k, kin8nm and california_housing gain 0.003 to
# 0.005 nats a row of test density, power_plant 0.006; ended at twice that pace kin40k lost 0.018.
_LOOK = 10


def best_start(problem, rows, seconds, interim=False, starts=None, is_short=False):
    """Return the problem with its kernel chosen, and the best of its warm starts.

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
    problem, first, kept, n_iter = _with_best_kernel(problem, starts, rows, seconds, interim)
    starts = [problem.start.parameters, *random_starts(problem)]
    few = problem.settings.max_iter
    if problem.space.learns("Z"):
        few = min(WARM_ITERATIONS, few)

    def run(numbered):
        k, start = numbered
        inference.kept = None if k else kept  # no start begins at the q(u) of another
        share = (deadline - time.perf_counter()) / (len(starts) - k)
        begin, result = time.perf_counter(), first
        if k or first is None:
            result = ascend(problem, start, rows, share, few, interim)
        share -= time.perf_counter() - begin
        result = _second_run(problem, result, rows, share, interim, is_short)
        score = Score.of_objective(result[1], problem.rows.total_weight)
        return (*result, trace.cut_by, inference.kept), score

    names = ["as chosen", *(f"random ({k})" for k in range(1, len(starts)))]
    tried = compare("restart", zip(names, enumerate(starts), strict=True), run, trace)
    parameters, _, _, trace.cut_by, inference.kept = tried[0].result
    return problem, parameters, n_iter + sum(one.result[2] for one in tried)


def starts_of(problem):
    """Return the default starts that a fit compares: few of them where it shall be short."""
    starts = default_starts(problem.start)
    if problem.settings.max_iter <= WARM_ITERATIONS:
        starts = starts[: _FEW_KERNELS if problem.start.columns.categorical else 1]
    return starts


def _with_best_kernel(problem, starts, rows, seconds, interim):
    """Choose the default kernel whose bound is best after a few iterations.

    More parameters have to gain their `bic_penalty`.

    Returns
    -------
    problem : Problem
    result : (Parameters, float, int) or None
        Of the first run with this kernel; None where there is nothing to choose.
    kept : object
        What the inference keeps of it.
    n_iter : int
        Iterations with other kernels.
    """
    trace = problem.trace
    if len(starts) == 1:
        return replace(problem, start=starts[0]), None, problem.inference.kept, 0
    every = trials(problem, starts, rows, shares.KERNELS * seconds, interim)
    best = every[0]
    trace.cut_by = best.cut_by
    n_iter = sum(one.result[2] for one in every) - best.result[2]
    return best.problem, best.result, best.kept, n_iter


class Trial(NamedTuple):
    """A start that was tried: its score, problem, result, the q(u) kept, and what cut it short."""

    score: float
    problem: object
    result: tuple
    kept: object
    cut_by: str | None


def trials(problem, starts, rows, seconds, interim):
    """Learn a little from each start; return a list of `Trial`, best first.

    Where time is over the others are not tried.
    """
    trace, inference = problem.trace, problem.inference
    scale = problem.rows.total_weight / rows.total_weight
    most = min(WARM_ITERATIONS, problem.settings.max_iter)

    names = numbered(in_words(start.kernel) for start in starts)

    def until_cut():
        for named in zip(names, starts, strict=True):
            yield named
            if trace.cut_by == "max_time":
                return

    def run(start):
        inference.kept, trial = None, replace(problem, start=start)
        result = ascend(trial, start.parameters, rows, seconds / len(starts), most, interim)
        cost = scale * bic_penalty(start, len(rows))
        score = inference.selection_score(result[0], rows, problem.settings, result[1], cost)
        trial = Trial(score, trial, result, inference.kept, trace.cut_by)
        return trial, Score.of_objective(score, problem.rows.total_weight)

    tried = compare(f"kernel and start, {len(rows)} rows", until_cut(), run, trace)
    return [one.result for one in tried]


def _second_run(problem, result, rows, seconds, interim, is_short):
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


def ascend(problem, parameters, rows, seconds, max_iter=None, interim=False, is_short=False):
    """Follow the bound of some rows, scaled to all; return parameters, value and iterations.

    Parameters
    ----------
    interim : bool
        Whether gains count only if they are ten times as large.
    is_short : bool
        Whether a run on many rows ends where more iterations would gain nothing visible.
    """
    settings, trace = problem.settings, problem.trace
    deadline = time.perf_counter() + max(seconds, MIN_SECONDS)
    scale = problem.rows.total_weight / rows.total_weight
    max_iter = settings.max_iter if max_iter is None else max_iter
    trace.begin(f"learning from {len(rows)} of {len(problem.rows)} rows")
    held = inputs_at_kinks(problem.space, parameters, rows)
    runs = Ascents(problem.space, parameters, max_iter, trace, held, settings, problem.is_exact)

    with blas_threads_for(len(rows) if problem.is_exact else 0):
        while not runs.is_over:
            has_learned = runs.parameters is not problem.start.parameters
            options = runs.delta, has_learned, settings.n_jobs, deadline
            space, bound = problem.inference.objective(
                problem.space, runs.parameters, rows, *options
            )
            found = ascend_lbfgs(
                bound,
                space,
                runs.parameters,
                max_iter=runs.left,
                plateau=problem.plateau(interim, problem.is_exact),
                trace=trace,
                seconds=deadline - time.perf_counter(),
                ends=_small_gain(problem, interim) if is_short else None,
                scale=scale,
                changed=runs.moves,
                **lbfgs_memory(problem.is_exact),
            )
            runs.add(*found)
    trace.reached = runs.value if len(rows) == len(problem.rows) else None
    return runs.result


def _small_gain(problem, interim):
    """Return what ends a run on many rows: True where more iterations would gain nothing.

    That is where so many more, at the pace of the last ten, would gain nothing visible; where
    another stage follows, where the last ten themselves gained nothing visible.

    Returns
    -------
    ends : callable or None
        See `ascend_lbfgs`; None for few rows, and for the evidence of the exact process.
    """
    if len(problem.rows) <= FEW_ROWS or problem.is_exact:
        return None
    trace, values = problem.trace, []
    least = VISIBLE_GAIN * problem.rows.total_weight * (1.0 if interim else _LOOK / FURTHER)

    def ends(_):
        values.append(trace.objectives[-1])
        return len(values) > _LOOK and values[-1] - values[-1 - _LOOK] < least

    return ends
