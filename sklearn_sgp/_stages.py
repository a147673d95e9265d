"""How a fit goes: warm start on a subset, refinement on larger ones, exact finish.

The stages hand one another `Parameters`; only the last makes the posterior that is kept.
"""

import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.random import sample_without_replacement

from ._stochastic import ascend_stochastic
from .factors import CHUNK
from .learning import Parameters, ParameterSpace, Plateau, Trace, ascend_lbfgs
from .objectives import collapsed_bound, collapsed_value, optimal_state, suitable_form
from .parallel import one_blas_thread_each
from .posterior import Posterior, settle_jitter, warn_about_jitter
from .rows import Rows

# Each refinement has so many times the rows of the stage before, up to so many times the rows of
# the warm start. On 700,000 flights from a warm start on 8,192, L-BFGS on 65,536 rows raises the
# bound where 400 stochastic steps lower it (by 0.005 nats a row): heavy-tailed targets make small
# batches noisy.
_GROWTH = 4
_MOST_ROWS = 16
# Share of the time left that a stage may use where another follows.
_STAGE_SHARE = 0.4
# Largest share of a time budget that is kept for the exact finish.
_MAX_RESERVE_SHARE = 0.5
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
    """Everything a fit needs to know; nothing in it changes."""

    rows: Rows
    start: Parameters
    space: ParameterSpace
    likelihood: object
    settings: Settings
    trace: Trace
    rng: np.random.RandomState

    def plateau(self, weight):
        return Plateau(self.settings.tol * weight, self.settings.n_iter_no_change)


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
    reserve = min(_finish_seconds(problem, parameters), _MAX_RESERVE_SHARE * budget)
    n_iter = n_steps = 0
    if settings.optimizer is not None and len(problem.space.pack(parameters)):
        stages = {"auto": _auto, "lbfgs": _full_lbfgs, "adam": ascend_stochastic}
        parameters, n_iter, n_steps = stages[settings.optimizer](problem, parameters, reserve)
    return _finish(problem, parameters, n_iter, n_steps)


def _auto(problem, parameters, reserve):
    """L-BFGS on nested random subsets, each a multiple of the one before."""
    sizes, n_iter = _stage_sizes(len(problem.rows), problem.settings.init_size), 0
    order = sample_without_replacement(
        len(problem.rows), sizes[-1], random_state=problem.rng, method="reservoir_sampling"
    )
    problem.rng.shuffle(order)
    for size in sizes:
        share = 1.0 if size == sizes[-1] else _STAGE_SHARE
        rows = problem.rows
        if size < len(rows):
            rows = rows.select(np.sort(order[:size]))
        seconds = share * (problem.trace.clock.left() - reserve)
        parameters, more = _lbfgs(problem, parameters, rows, seconds)
        n_iter += more
        if problem.trace.stopped:
            break
    return parameters, n_iter, 0


def _stage_sizes(n_rows, init_size):
    """Rows of each stage; a last stage that is nearly everything takes everything."""
    most = min(n_rows, _MOST_ROWS * init_size)
    sizes = [min(init_size, most)]
    while sizes[-1] < most:
        grown = _GROWTH * sizes[-1]
        sizes.append(most if 1.5 * grown > most else grown)
    return sizes


def _full_lbfgs(problem, parameters, reserve):
    seconds = problem.trace.clock.left() - reserve
    parameters, n_iter = _lbfgs(problem, parameters, problem.rows, seconds)
    return parameters, n_iter, 0


def subset(rows, size, rng):
    """Random rows without replacement, in their order."""
    if len(rows) <= size:
        return rows
    index = sample_without_replacement(len(rows), size, random_state=rng)
    return rows.select(np.sort(index))


def _lbfgs(problem, parameters, rows, seconds):
    """Follow the collapsed bound of some rows; the trace is scaled to all rows."""
    settings, trace = problem.settings, problem.trace
    prior, _ = settle_jitter(parameters.kernel, parameters.Z, settings.jitter)
    scale = problem.rows.total_weight / rows.total_weight

    def objective(candidate):
        value, gradient = collapsed_bound(
            candidate,
            rows,
            prior.delta,
            with_inputs=problem.space.learns_inputs,
            n_jobs=settings.n_jobs,
        )
        return scale * value, type(gradient)(*(scale * part for part in gradient))

    with one_blas_thread_each(settings.n_jobs):
        parameters, _, n_iter = ascend_lbfgs(
            objective,
            problem.space,
            parameters,
            max_iter=settings.max_iter,
            plateau=problem.plateau(problem.rows.total_weight),
            trace=trace,
            time_left=max(seconds, _MIN_SECONDS),
        )
    return parameters, n_iter


def _finish_seconds(problem, parameters):
    """Measured time of the exact finish, a little more to be safe; 0 without a budget."""
    if not np.isfinite(problem.trace.clock.max_time):
        return 0.0
    rows, n_jobs, s2 = problem.rows, problem.settings.n_jobs, parameters.noise_variance
    sample = rows.select(slice(0, 4 * CHUNK))
    prior, _ = settle_jitter(parameters.kernel, parameters.Z, problem.settings.jitter)
    form, seconds = suitable_form(rows, prior, s2), np.inf
    for _ in range(2):  # the first may pay for cold caches
        begin = time.perf_counter()
        optimal_state(prior, sample, s2, form=form, n_jobs=n_jobs)
        seconds = min(seconds, time.perf_counter() - begin)
    return 1.1 * seconds * len(rows) / len(sample) + _MIN_SECONDS


def _finish(problem, parameters, n_iter, n_steps):
    """The optimal q(u) for the parameters, from all rows or as many as the budget allows."""
    settings, rows, trace = problem.settings, problem.rows, problem.trace
    prior, jitter = settle_jitter(
        parameters.kernel, parameters.Z, _FINAL_JITTER_SHARE * settings.jitter
    )
    warn_about_jitter(jitter, settings.jitter)
    s2 = parameters.noise_variance
    used = rows if trace.stopped else _affordable(problem, parameters)
    state, sums = optimal_state(prior, used, s2, n_jobs=settings.n_jobs)
    if used is not rows:
        sums = sums.scaled(rows.total_weight / used.total_weight)
        state = type(state).from_sums(prior, sums, s2)
    objective, posterior = collapsed_value(state, sums, s2), state.posterior
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
    warnings.warn(
        f"max_time={problem.trace.clock.max_time:g} seconds leave no time for a pass over all "
        f"{len(rows)} rows: the posterior rests on {size} of them, weighted up. Raise max_time or "
        "lower n_inducing.",
        ConvergenceWarning,
        stacklevel=2,
    )
    return subset(rows, size, problem.rng)
