"""How a fit goes: warm start on a subset, refinement on larger ones, exact finish.

The stages hand one another `Parameters`; only the last makes the posterior that is kept.
"""

import time
from dataclasses import replace

import numpy as np

from ..._linalg import blas_threads_for
from ..._warnings import warn_caller
from ...data.rows import random_index
from ...factors.passes import CHUNK
from ...optimize.budget import LEAST_EVALUATIONS, MIN_SECONDS, Budget, measured_seconds
from ...optimize.lbfgs import ascend_lbfgs
from ..ascent import Ascents, best_of_priors, better, inputs_at_kinks, lbfgs_memory
from ..base import Fitted
from ..diagnostics import warn_of_weak_spots
from ..standard_units import learning_units
from ..start import bic_penalty, default_starts, random_starts, run_candidates
from .class_regressions import learns_by_regressions
from .class_variance import from_regressions
from .partial_fit import RowState
from .stochastic import ascend_stochastic

# Refinements are on so many times the rows of the warm start.
_REFINEMENTS = (2, 16)
# In a refinement each row has weight n / size, at most this. Without that a subset is fitted as the
# small data set it is, too smoothly for all rows: after 24 s on kin40k the test density is -0.345
# with refinement on 16,384 such rows and -0.281 on all rows as they are; on the synthetic problem
# 0.070 and 0.082, on California housing 0.575 and 0.584. The warm start counts rows once: with 4
# from the beginning irrelevant inputs of flights stay in (1.356 against 1.349).
LARGEST_WEIGHT = 4.0
# Iterations of the warm start after which the units of its variables are taken anew.
_WARM_ITERATIONS = 20
# Default kernels that fits of no more iterations compare where there are categories: with a level
# for each, and with a function for each. Where functions differ, 60 stations of 12 rows have RMSE
# 0.61 with the first and 0.30 with the second after 20 iterations, where they do not 0.21 and 0.31.
_FEW_KERNELS = 2
# Largest share of the time of a warm start in which default kernels are compared.
_TRIAL_SECONDS = 0.5
# Labels of fewer rows may be explained by nothing at all, an optimum that L-BFGS does not leave.
_LEAST_START = 2048
# A refinement is left out where it could not make `LEAST_EVALUATIONS`, each the work of so many
# exact passes, in such a share of the budget.
_PASSES, _REFINEMENT_SHARE = 3, 0.6
# Rows whose pass is timed: so many with one latent function, fewer with more, and at least.
_TIMED, _LEAST_TIMED = 4 * CHUNK, 256


def fit(problem):
    """Run the stages that ``optimizer`` asks for and the exact finish; warn of weak spots."""
    problem, fitted = run(problem)
    warn_of_weak_spots(problem, fitted)
    return fitted


def run(problem):
    """Run the stages that ``optimizer`` asks for, then the exact finish.

    Returns
    -------
    problem : Problem
        With its kernel chosen.
    fitted : Fitted
    """
    parameters, budget = problem.start.parameters, Budget(problem.trace.clock)
    problem.trace.reached = None  # by a fit before
    budget.keep_for_finish(_finish_seconds(problem, parameters, budget))
    n_iter = n_steps = 0
    if problem.learns:
        units, optimizer = learning_units(problem), problem.settings.optimizer
        with units.told(problem.trace):
            found = units.posed(problem, looks_at_all(problem))
            if optimizer == "adam":
                parameters, n_iter, n_steps = ascend_stochastic(
                    found, found.start.parameters, budget
                )
            elif learns_by_regressions(problem):
                found, parameters, n_iter = from_regressions(found, budget, _auto)
            else:
                stages = {"auto": _auto, "lbfgs": _full_lbfgs}[optimizer]
                found, parameters, n_iter = stages(found, budget)
        problem, parameters = units.again(problem, found), units.learned(parameters)
    return problem, _final_posterior(problem, parameters, budget, n_iter, n_steps)


def looks_at_all(problem):
    """Return whether rows are so few that the last refinement is on all of them."""
    n_rows = len(problem.rows)
    return refinement_sizes(n_rows, problem.settings.init_size)[-1] >= n_rows


def _auto(problem, budget):
    """Learn by L-BFGS on nested random subsets that grow."""
    rows = problem.rows
    init_size = _warm_start_rows(problem)
    if len(rows) <= init_size:
        return best_start(problem, rows.in_memory(), budget.left())
    largest = refinement_sizes(len(rows), init_size)[-1]
    order = random_index(len(rows), largest, problem.rng)
    rows = rows.holding(order)
    used = rows.select(np.sort(order[:init_size]))
    seconds = budget.stage_seconds(is_last=False)
    problem, parameters, n_iter = best_start(problem, used, seconds, interim=True)
    # a pass may take half the time with the kernel that was found
    pass_seconds = _finish_seconds(problem, parameters, budget)
    budget.reserve = min(pass_seconds, budget.reserve)
    affordable = _affordable_rows(len(rows), budget)
    sizes = refinement_sizes(len(rows), init_size, affordable)
    for size in sizes:
        if problem.trace.stopped:
            break
        is_last = size == sizes[-1]
        used = rows.in_memory() if size == len(rows) else rows.select(np.sort(order[:size]))
        factor = min(len(rows) / size, LARGEST_WEIGHT if 2 * affordable >= size else 1.0)
        used = used if factor == 1.0 else used.weighted(factor)
        seconds = budget.stage_seconds(is_last)
        parameters, _, more = _lbfgs(problem, parameters, used, seconds, interim=not is_last)
        n_iter += more
    return problem, parameters, n_iter


def _warm_start_rows(problem):
    """Return rows of the warm start: a row costs as many times as there are latent functions."""
    size = problem.settings.init_size
    return max(-(-size // problem.inference.cost), min(size, _LEAST_START))


def refinement_sizes(n_rows, init_size, affordable=np.inf):
    """Return rows of each refinement; one that would take nearly everything takes everything.

    Where the time is too short for more rows, those of the warm start are taken again.
    """
    sizes = []
    for multiple in _REFINEMENTS:
        size = n_rows if 1.5 * multiple * init_size > n_rows else multiple * init_size
        size = int(min(size, affordable))
        if size >= (1.5 * sizes[-1] if sizes else init_size):
            sizes.append(size)
    return sizes or [init_size]


def _affordable_rows(n_rows, budget):
    """Return with how many rows a refinement gets anywhere; the reserve is a pass over all."""
    if not budget.is_limited:
        return np.inf
    row = max(budget.reserve - MIN_SECONDS, 0.0) / n_rows
    seconds = _REFINEMENT_SHARE * budget.left()
    return seconds / max(LEAST_EVALUATIONS * _PASSES * row, 1e-300)


def best_start(problem, rows, seconds, interim=False):
    """Return the problem with its kernel chosen, and the best of its warm starts.

    From the starting values and from random ones, if asked for.
    """
    deadline, trace, inference = time.perf_counter() + seconds, problem.trace, problem.inference
    problem, first, kept, n_iter = _with_best_kernel(problem, rows, seconds, interim)
    starts = [problem.start.parameters, *random_starts(problem)]
    few = problem.settings.max_iter
    if problem.space.learns("Z"):
        few = min(_WARM_ITERATIONS, few)

    def run(numbered):
        k, start = numbered
        inference.kept = None if k else kept  # no start begins at the q(u) of another
        share = (deadline - time.perf_counter()) / (len(starts) - k)
        begin, result = time.perf_counter(), first
        if k or first is None:
            result = _lbfgs(problem, start, rows, share, few, interim)
        result = _second_run(problem, result, rows, share - (time.perf_counter() - begin), interim)
        return *result, trace.cut_by, inference.kept

    result = run_candidates(enumerate(starts), run, trace)
    parameters, _, _, trace.cut_by, inference.kept = max(result, key=lambda one: one[1])
    return problem, parameters, n_iter + sum(one[2] for one in result)


def _with_best_kernel(problem, rows, seconds, interim):
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
    starts, trace, inference = default_starts(problem.start), problem.trace, problem.inference
    max_iter = problem.settings.max_iter
    if max_iter <= _WARM_ITERATIONS:
        starts = starts[: _FEW_KERNELS if problem.start.columns.categorical else 1]
    if len(starts) == 1:
        return problem, None, inference.kept, 0
    scale = problem.rows.total_weight / rows.total_weight
    share = _TRIAL_SECONDS * seconds / len(starts)
    most = min(_WARM_ITERATIONS, max_iter)

    def until_cut():
        for start in starts:
            yield start
            if trace.cut_by == "max_time":
                return

    def run(start):
        inference.kept, trial = None, replace(problem, start=start)
        result = _lbfgs(trial, start.parameters, rows, share, most, interim)
        cost = scale * bic_penalty(start, len(rows))
        value = inference.selection_score(result[0], rows, problem.settings, result[1], cost)
        return value, trial, result, inference.kept, trace.cut_by

    trials = run_candidates(until_cut(), run, trace)
    _, chosen, result, kept, trace.cut_by = max(trials, key=lambda one: one[0])
    return chosen, result, kept, sum(one[2][2] for one in trials) - result[2]


def _second_run(problem, result, rows, seconds, interim):
    """Go on with L-BFGS: the first run gives units of inducing inputs."""
    (parameters, _, n_iter), trace = result, problem.trace
    left = problem.settings.max_iter - n_iter
    if n_iter < _WARM_ITERATIONS or left <= 0 or trace.stopped:
        return result
    if seconds <= 0:
        trace.cut_by = "max_time"
        return result
    second = _lbfgs(problem, parameters, rows, seconds, left, interim)
    parameters, value, _ = better(problem.space, result, second)
    return parameters, value, n_iter + second[2]


def _full_lbfgs(problem, budget):
    return best_start(problem, problem.rows.resident(), budget.left())


def _lbfgs(problem, parameters, rows, seconds, max_iter=None, interim=False):
    """Follow the bound of some rows, scaled to all; return parameters, value and iterations."""
    settings, trace = problem.settings, problem.trace
    deadline = time.perf_counter() + max(seconds, MIN_SECONDS)
    scale = problem.rows.total_weight / rows.total_weight
    max_iter = settings.max_iter if max_iter is None else max_iter
    trace.begin(f"learning from {len(rows)} of {len(problem.rows)} rows")
    held = inputs_at_kinks(problem.space, parameters, rows)
    runs = Ascents(problem.space, parameters, max_iter, trace, held, settings, problem.is_exact)

    def objective(candidate):
        value, gradient = bound(candidate)
        return scale * value, runs.moves(gradient.scaled(scale))

    with blas_threads_for(len(rows) if problem.is_exact else 0):
        while not runs.is_over:
            has_learned = runs.parameters is not problem.start.parameters
            options = runs.delta, has_learned, settings.n_jobs, deadline
            space, bound = problem.inference.objective(
                problem.space, runs.parameters, rows, *options
            )
            found = ascend_lbfgs(
                objective,
                space,
                runs.parameters,
                max_iter=runs.left,
                plateau=problem.plateau(interim, problem.is_exact),
                trace=trace,
                seconds=deadline - time.perf_counter(),
                **lbfgs_memory(problem.is_exact),
            )
            runs.add(*found)
    trace.reached = runs.value if len(rows) == len(problem.rows) else None
    return runs.result


def _finish_seconds(problem, parameters, budget):
    """Measure the time of the exact finish, a little more to be safe; 0 without a budget."""
    if not budget.is_limited:
        return 0.0
    rows, n_jobs = problem.rows, problem.settings.n_jobs

    def measure():
        sample = rows.fixed_subset(max(_LEAST_TIMED, _TIMED // problem.inference.last_cost))
        prior = problem.prior(parameters)
        task, n_passes = problem.inference.pass_task(prior, parameters, rows, sample, n_jobs)
        seconds = measured_seconds(task, repeats=2) * len(rows) / len(sample)
        return n_passes * seconds + MIN_SECONDS

    return budget.measure_finish(measure)


def _final_posterior(problem, parameters, budget, n_iter, n_steps):
    """Find the optimal q(u) from all rows, or as many as the budget allows."""
    settings, rows, trace = problem.settings, problem.rows, problem.trace
    used = rows if trace.stopped else _affordable(problem, parameters, budget)
    if used is not rows:
        used = used.weighted(rows.total_weight / used.total_weight)
    trace.begin(f"q(u) from {len(used)} of {len(rows)} rows")

    def find(prior):
        seconds = trace.clock.left()
        found = problem.inference.posterior(prior, parameters, used, settings.n_jobs, seconds)
        return prior, *found

    prior, posterior, objective, scalars = best_of_priors(find, problem, parameters)
    posterior.warm_cache()
    trace.add(objective, lambda: parameters)
    is_whole = len(used) == len(rows)
    return Fitted(
        problem.start,
        parameters,
        problem.inference.predictor(posterior, parameters.noise_variance),
        objective,
        prior.jitter,
        n_iter + 1,
        n_steps,
        rows.total_weight,
        n_samples=len(rows) if problem.n_samples is None else problem.n_samples,
        n_used=None if is_whole else len(used),
        state=RowState.after_fit(scalars, rows.total_weight, is_whole),
    )


def _affordable(problem, parameters, budget):
    """Return all rows, or a random part of them if the time left does not allow for all."""
    rows = problem.rows
    if not budget.is_limited or rows.live_elsewhere:  # workers make that pass
        return rows
    seconds = _finish_seconds(problem, parameters, budget)
    least = max(CHUNK, 4 * CHUNK // problem.inference.last_cost)
    size = max(least, budget.affordable(len(rows), seconds / len(rows)))
    if size >= len(rows):
        return rows
    warn_caller(
        f"max_time={problem.trace.clock.max_time:g} seconds leave no time for a pass over all "
        f"{len(rows)} rows: the posterior rests on {size} of them, weighted up. Raise max_time or "
        "lower n_inducing.",
    )
    return rows.random_subset(size, problem.rng)
