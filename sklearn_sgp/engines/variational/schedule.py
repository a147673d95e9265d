"""How a fit goes: warm start on a subset, refinement on larger ones, exact finish.

The stages hand one another `Parameters`; only the last makes the posterior that is kept.
"""

import time

import numpy as np

from ..._warnings import warn_caller
from ...data.rows import random_index
from ...factors.passes import CHUNK
from ...optimize import time_shares
from ...optimize.budget import LEAST_EVALUATIONS, MIN_SECONDS, Budget, measured_seconds
from ...optimize.momentum import STOCHASTIC
from ...optimize.progress import Steps
from ..ascent import Run, ascend, best_of_priors, expect_ascent, seconds_of_rows
from ..fitted import Fitted
from ..standard_units import learning_units
from .candidates import WARM_ITERATIONS, likely_starts
from .class_regressions import learns_by_regressions
from .class_starts import from_regressions
from .inference import knowing
from .partial_fit import RowState
from .stochastic import ascend_stochastic
from .warm_start import learn_from_starts

# Refinements are on so many times the rows of the warm start.
_REFINEMENTS = (2, 16)
# In a refinement each row has weight n / size, at most this. Without that a subset is fitted as the
# small data set it is, too smoothly for all rows: after 24 s on kin40k the test density is -0.345
# with refinement on 16,384 such rows and -0.281 on all rows as they are; on the synthetic problem
# 0.070 and 0.082, on California housing 0.575 and 0.584. The warm start counts rows once: with 4
# from the beginning irrelevant inputs of flights stay in (1.356 against 1.349).
LARGEST_WEIGHT = 4.0
# Labels of fewer rows may be explained by nothing at all, an optimum that L-BFGS does not leave.
_LEAST_START = 2048
# A refinement is left out where it could not make `LEAST_EVALUATIONS`, each the work of so many
# exact passes.
_PASSES = 3
# Rows whose pass is timed: so many with one latent function, fewer with more, and at least.
_TIMED, _LEAST_TIMED = 4 * CHUNK, 256
# The part of a fit that a `Forecast` has last.
_LAST = "q(u)"


def run(problem):
    """Run the stages that ``optimizer`` asks for, then the exact finish.

    Returns
    -------
    problem : Problem
        With its kernel chosen.
    fitted : Fitted
    """
    given, trace, budget = problem.start.parameters, problem.trace, Budget(problem.trace.clock)
    trace.known_now = lambda: problem.inference.known
    budget.keep_for_finish(_finish_seconds(problem, given, budget))
    learned, n_steps = Run(given, -np.inf, 0), 0
    if problem.learns:
        units, optimizer = learning_units(problem), problem.settings.optimizer
        with units.told(trace):
            found = units.posed(problem, looks_at_all(problem))
            if optimizer in STOCHASTIC:
                learned, n_steps = ascend_stochastic(found, found.start.parameters, budget)
                found = knowing(found, learned.known)
            elif learns_by_regressions(problem):
                found, learned = from_regressions(found, budget, _on_growing_subsets)
            elif optimizer == "lbfgs":
                found, learned = learn_from_starts(found, found.rows.resident(), budget.left())
            else:
                found, learned = _on_growing_subsets(found, budget)
        problem, learned = units.again(problem, found), units.run_again(learned)
        trace.known_now = lambda: problem.inference.known
    fitted = _final_posterior(problem, learned, budget, n_steps)
    trace.known_now = None  # it has the rows, which are not to outlive a fit
    return problem, fitted


def looks_at_all(problem):
    """Return whether rows are so few that the last refinement is on all of them."""
    n_rows = len(problem.rows)
    return refinement_sizes(n_rows, problem.settings.init_size)[-1] >= n_rows


def _on_growing_subsets(problem, budget):
    """Learn by L-BFGS on nested random subsets that grow."""
    rows, init_size = problem.rows, _warm_start_rows(problem)
    is_only = len(rows) <= init_size
    if is_only:
        used, seconds = rows.in_memory(), budget.left()
    else:
        order = random_index(len(rows), refinement_sizes(len(rows), init_size)[-1], problem.rng)
        rows = rows.holding(order)
        used = rows.select(np.sort(order[:init_size]))
        seconds = budget.stage_seconds(is_last=False)
    begin = time.perf_counter()
    starts, n_before = likely_starts(problem, used, time_shares.STAGE * seconds)
    seconds -= time.perf_counter() - begin
    _expect(problem, used, len(starts), [] if is_only else refinement_sizes(len(rows), init_size))
    problem, run = learn_from_starts(problem, used, seconds, not is_only, starts, is_short=True)
    expect_ascent(problem.trace, used, run.parameters, 0)
    n_iter = run.n_iter + n_before
    if is_only:
        return problem, run._replace(n_iter=n_iter)
    # a pass may take half the time with the kernel that was found
    pass_seconds = _finish_seconds(problem, run.parameters, budget)
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
        run = ascend(problem, run.parameters, used, seconds, interim=not is_last, is_short=True)
        problem, n_iter = knowing(problem, run.known), n_iter + run.n_iter
    return problem, run._replace(n_iter=n_iter)


def _expect(problem, used, n_starts, sizes):
    """Tell the forecast of starts on some rows, stages on so many, and of the last pass."""
    trace, parameters, most = problem.trace, problem.start.parameters, problem.settings.max_iter
    first = n_starts * WARM_ITERATIONS + (1 + problem.settings.n_restarts_optimizer) * most
    expect_ascent(trace, used, parameters, first)
    for n_rows in sizes:
        expect_ascent(trace, range(n_rows), parameters, most)
    trace.forecast.expect(_LAST, seconds_of_rows(problem.rows, parameters))


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
    seconds = time_shares.REFINEMENT * budget.left()
    return seconds / max(LEAST_EVALUATIONS * _PASSES * row, 1e-300)


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


def _final_posterior(problem, learned, budget, n_steps):
    """Find the optimal q(u) from all rows, or as many as the budget allows."""
    settings, rows, trace = problem.settings, problem.rows, problem.trace
    parameters = learned.parameters
    used, times = rows, None
    index = None if trace.stopped else _affordable(problem, parameters, budget)
    if index is not None:
        used = rows.select(index)
        factor = rows.total_weight / used.total_weight
        used, times = used.weighted(factor), np.zeros(len(rows))
        times[index] = factor
    each = seconds_of_rows(used, parameters)
    trace.begin(f"q(u) from {len(used)} of {len(rows)} rows", Steps("", 1, _LAST, each))

    def find(prior):
        seconds = trace.clock.left()
        found = problem.inference.posterior(prior, parameters, used, settings.n_jobs, seconds)
        return prior, *found

    prior, posterior, objective, scalars = best_of_priors(find, problem, learned)
    posterior.warm_cache()
    trace.add(objective, lambda: parameters)
    is_whole = len(used) == len(rows)
    return Fitted(
        problem.start,
        parameters,
        problem.inference.predictor(posterior, parameters.noise_variance),
        objective,
        prior.jitter,
        learned.n_iter + 1,
        n_steps,
        rows.total_weight,
        n_samples=len(rows) if problem.n_samples is None else problem.n_samples,
        n_used=None if is_whole else len(used),
        times=times,
        state=RowState.after_fit(scalars, rows.total_weight, is_whole),
        cut_by=learned.cut_by,
    )


def _affordable(problem, parameters, budget):
    """Return the places of a random part of the rows if there is no time for all, else None."""
    rows = problem.rows
    if not budget.is_limited or rows.live_elsewhere:  # workers make that pass
        return None
    seconds = _finish_seconds(problem, parameters, budget)
    least = max(CHUNK, 4 * CHUNK // problem.inference.last_cost)
    size = max(least, budget.affordable(len(rows), seconds / len(rows)))
    if size >= len(rows):
        return None
    if problem.warns:
        warn_caller(
            f"max_time={problem.trace.clock.max_time:g} seconds leave no time for a pass over all "
            f"{len(rows)} rows: the posterior rests on {size} of them, weighted up. Raise max_time "
            "or lower n_inducing."
        )
    return np.sort(random_index(len(rows), size, problem.rng))
