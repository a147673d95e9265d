"""How a fit goes: warm start on a subset, refinement on larger ones, exact finish.

The stages hand one another `Parameters`; only the last makes the posterior that is kept.
"""

import time
from dataclasses import dataclass

import numpy as np

from .._warnings import warn_caller
from ..factors.row_sums import CHUNK
from ..optimize.learning import Parameters, ParameterSpace, Plateau, Trace, ascend_lbfgs
from .._parallel import one_blas_thread_each
from ..gp.posterior import Posterior, settle_jitter, warn_about_jitter
from ..data.rows import Rows, random_index

# Refinements are on so many times the rows of the warm start.
_REFINEMENTS = (2, 16)
# Rows of a refinement count for the rows they stand for, up to so many each. Without that a subset
# is fitted as the small data set it is, too smoothly for all rows: after 24 s on kin40k the test
# density is -0.345 with refinement on 16,384 such rows and -0.281 on all rows as they are; on the
# synthetic problem 0.070 and 0.082, on California housing 0.575 and 0.584. The warm start counts
# rows once: with 4 from the beginning irrelevant inputs of flights stay in (1.356 against 1.349).
LARGEST_WEIGHT = 4.0
# A stage that another follows stops at so many times `tol`: a larger subset moves its optimum more.
_INTERIM_TOL = 10.0
# Iterations of the warm start after which the units of its variables are taken anew.
_FIRST_ITERATIONS = 20
# Labels of fewer rows may be explained by nothing at all, an optimum that L-BFGS does not leave.
_LEAST_START = 2048
# Share of the time left that a stage may use where another follows.
STAGE_SHARE = 0.3
# A refinement is left out where it could not make so many evaluations, each the work of so many
# exact passes, in such a share of the budget.
_LEAST_EVALUATIONS, _PASSES, _REFINEMENT_SHARE = 25, 3, 0.6
# Largest share of a time budget that is kept for the exact finish.
MAX_RESERVE_SHARE = 0.5
_MIN_SECONDS = 0.05
# No line search has to succeed any more: the last factorisation first tries so much less jitter,
# which brings Z = X with noise 1e-3 within 1e-6 of the exact GP (7e-5 with 1e-3 of the jitter; with
# 1e-7 rounding costs as much again).
_FINAL_JITTER_SHARE = 1e-5


@dataclass(frozen=True)
class Settings:
    """What the user chose; names as in the public interface."""

    optimizer: str | None
    init_size: int
    batch_size: int
    max_iter: int
    max_steps: int | None
    tol: float
    n_iter_no_change: int
    learning_rate: float
    natural_step: float
    jitter: float
    n_jobs: int | None


@dataclass(frozen=True)
class Problem:
    """Everything a fit needs to know.

    ``followed`` is the bound that is followed: one of _followed.py.
    """

    rows: Rows
    start: Parameters
    space: ParameterSpace
    likelihood: object
    followed: object
    settings: Settings
    trace: Trace
    rng: np.random.RandomState

    def plateau(self, weight, interim=False):
        tol = self.settings.tol * (_INTERIM_TOL if interim else 1.0)
        return Plateau(tol * weight, self.settings.n_iter_no_change)


@dataclass(frozen=True)
class Learned:
    """What a fit found. ``objective`` is in nats for targets as scaled."""

    parameters: Parameters
    posterior: Posterior
    objective: float
    jitter: float
    n_iter: int
    n_steps: int


def learn(problem):
    """Run the stages that ``optimizer`` asks for, then the exact finish.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    learned : Learned
    """
    settings, parameters = problem.settings, problem.start
    budget = problem.trace.clock.max_time
    reserve = min(_finish_seconds(problem, parameters), MAX_RESERVE_SHARE * budget)
    n_iter = n_steps = 0
    if settings.optimizer is not None and len(problem.space.pack(parameters)):
        stages = {"auto": _auto, "lbfgs": _full_lbfgs, "adam": problem.followed.stochastic}
        parameters, n_iter, n_steps = stages[settings.optimizer](problem, parameters, reserve)
    return _finish(problem, parameters, n_iter, n_steps)


def _auto(problem, parameters, reserve):
    """L-BFGS on nested random subsets that grow."""
    rows, clock = problem.rows, problem.trace.clock
    init_size = _warm_start_rows(problem)
    if len(rows) <= init_size:
        parameters, n_iter = _warm_start(problem, parameters, rows, clock.left() - reserve)
        return parameters, n_iter, 0
    largest = refinements(len(rows), init_size)[-1]
    order = random_index(len(rows), largest, problem.rng)
    used = rows.select(np.sort(order[:init_size]))
    seconds = STAGE_SHARE * (clock.left() - reserve)
    parameters, n_iter = _warm_start(problem, parameters, used, seconds, interim=True)
    # a pass may take half the time with the kernel that was found
    reserve = min(_finish_seconds(problem, parameters), reserve)
    affordable = _affordable_rows(len(rows), clock.left() - reserve, reserve)
    sizes = refinements(len(rows), init_size, affordable)
    for size in sizes:
        if problem.trace.stopped:
            break
        share = 1.0 if size == sizes[-1] else STAGE_SHARE
        used = rows if size == len(rows) else rows.select(np.sort(order[:size]))
        factor = min(len(rows) / size, LARGEST_WEIGHT if 2 * affordable >= size else 1.0)
        used = used if factor == 1.0 else used.weighted(factor)
        seconds = share * (clock.left() - reserve)
        parameters, more = _lbfgs(problem, parameters, used, seconds, interim=size != sizes[-1])
        n_iter += more
    return parameters, n_iter, 0


def _warm_start_rows(problem):
    """A row costs as many times as there are latent functions."""
    size = problem.settings.init_size
    return max(-(-size // problem.followed.n_latent), min(size, _LEAST_START))


def refinements(n_rows, init_size, affordable=np.inf):
    """Rows of each refinement; a last one that would be nearly everything takes everything.

    Where the time is too short for more rows, those of the warm start are taken again.
    """
    sizes = []
    for multiple in _REFINEMENTS:
        size = n_rows if 1.5 * multiple * init_size > n_rows else multiple * init_size
        size = int(min(size, affordable))
        if size >= (1.5 * sizes[-1] if sizes else init_size):
            sizes.append(size)
    return sizes or [init_size]


def _affordable_rows(n_rows, budget, reserve):
    """With how many rows a refinement still gets anywhere; ``reserve`` is a pass over all."""
    if not np.isfinite(budget):
        return np.inf
    row = max(reserve - _MIN_SECONDS, 0.0) / n_rows
    return _REFINEMENT_SHARE * budget / max(_LEAST_EVALUATIONS * _PASSES * row, 1e-300)


def _warm_start(problem, parameters, rows, seconds, interim=False):
    """Two runs of L-BFGS: what the first finds gives the units of the second."""
    begin, left = time.perf_counter(), problem.settings.max_iter
    first = min(left, _FIRST_ITERATIONS)
    parameters, n_iter = _lbfgs(problem, parameters, rows, seconds, first, interim)
    seconds -= time.perf_counter() - begin
    if n_iter < first or left == first or seconds <= 0 or problem.trace.stopped:
        return parameters, n_iter
    parameters, more = _lbfgs(problem, parameters, rows, seconds, left - first, interim)
    return parameters, n_iter + more


def _full_lbfgs(problem, parameters, reserve):
    seconds = problem.trace.clock.left() - reserve
    parameters, n_iter = _warm_start(problem, parameters, problem.rows, seconds)
    return parameters, n_iter, 0


def subset(rows, size, rng):
    """Random rows without replacement, in their order."""
    if len(rows) <= size:
        return rows
    return rows.select(np.sort(random_index(len(rows), size, rng)))


def _lbfgs(problem, parameters, rows, seconds, max_iter=None, interim=False):
    """Follow the collapsed bound of some rows; the trace is scaled to all rows."""
    settings, trace = problem.settings, problem.trace
    deadline = time.perf_counter() + max(seconds, _MIN_SECONDS)
    delta = settle_jitter(parameters.kernel, parameters.Z, settings.jitter)[0].delta
    scale = problem.rows.total_weight / rows.total_weight
    space, bound = problem.followed.run(
        problem.space,
        parameters,
        rows,
        delta,
        parameters is not problem.start,
        settings.n_jobs,
        deadline,
    )

    def objective(candidate):
        value, gradient = bound(candidate)
        return scale * value, gradient.scaled(scale)

    with one_blas_thread_each(settings.n_jobs):
        parameters, _, n_iter = ascend_lbfgs(
            objective,
            space,
            parameters,
            max_iter=settings.max_iter if max_iter is None else max_iter,
            plateau=problem.plateau(problem.rows.total_weight, interim),
            trace=trace,
            time_left=deadline - time.perf_counter(),
        )
    return parameters, n_iter


def _finish_seconds(problem, parameters):
    """Measured time of the exact finish, a little more to be safe; 0 without a budget."""
    if not np.isfinite(problem.trace.clock.max_time):
        return 0.0
    prior, _ = settle_jitter(parameters.kernel, parameters.Z, problem.settings.jitter)
    seconds = problem.followed.seconds(
        prior, parameters.noise_variance, problem.rows, problem.settings.n_jobs
    )
    return 1.1 * seconds + _MIN_SECONDS


def _finish(problem, parameters, n_iter, n_steps):
    """The optimal q(u) for the parameters, from all rows or as many as the budget allows."""
    settings, rows, trace = problem.settings, problem.rows, problem.trace
    prior, jitter = settle_jitter(
        parameters.kernel, parameters.Z, _FINAL_JITTER_SHARE * settings.jitter
    )
    warn_about_jitter(jitter, settings.jitter)
    used = rows if trace.stopped else _affordable(problem, parameters)
    if used is not rows:
        used = used.weighted(rows.total_weight / used.total_weight)
    posterior, objective = problem.followed.last(
        prior, parameters.noise_variance, used, settings.n_jobs, trace.clock.left()
    )
    posterior.prepare()
    trace.add(objective, lambda: parameters)
    return Learned(parameters, posterior, objective, jitter, n_iter + 1, n_steps)


def _affordable(problem, parameters):
    """All rows, or a random part of them if the time left does not allow for all."""
    rows, left = problem.rows, problem.trace.clock.left()
    if not np.isfinite(left):
        return rows
    needed = _finish_seconds(problem, parameters)
    if needed <= 1.2 * left + 0.5 or len(rows) <= 4 * CHUNK:
        return rows
    size = max(4 * CHUNK, int(len(rows) * max(left, 0.0) / needed))
    if size >= len(rows):
        return rows
    warn_caller(
        f"max_time={problem.trace.clock.max_time:g} seconds leave no time for a pass over all "
        f"{len(rows)} rows: the posterior rests on {size} of them, weighted up. Raise max_time or "
        "lower n_inducing.",
    )
    return subset(rows, size, problem.rng)
