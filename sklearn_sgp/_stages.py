"""How a fit goes: warm start on a subset, refinement on all rows, exact finish.

The stages hand one another `Parameters`; only the last makes the posterior that is kept.
"""

import time
import warnings
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ._core import _linalg as la
from ._core._memory import empty
from .factors import CHUNK, accumulate
from .learning import Adam, Parameters, ParameterSpace, Plateau, Trace, ascend_lbfgs
from .linalg import NotPositiveDefiniteError
from .minibatch import minibatch_bound
from .objectives import (
    collapsed_bound,
    collapsed_value,
    optimal_state,
    suitable_form,
)
from .parallel import one_blas_thread_each
from .posterior import DIRECT_GRADIENT_LIMIT, Posterior, Prior, settle_jitter, warn_about_jitter
from .rows import Rows
from .states import WhitenedState

# A refinement by L-BFGS on all rows gains more per second than stochastic steps up to so many
# times the rows of the warm start.
_FULL_DATA_FACTOR = 6
# Share of the time left that the warm start may use where a refinement follows.
_WARM_START_SHARE = 0.5
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
        stages = {"auto": _auto, "lbfgs": _full_lbfgs, "adam": _adam_alone}
        parameters, n_iter, n_steps = stages[settings.optimizer](problem, parameters, reserve)
    return _finish(problem, parameters, n_iter, n_steps)


def _auto(problem, parameters, reserve):
    n, size = len(problem.rows), problem.settings.init_size
    refine = n > size
    share = _WARM_START_SHARE if refine else 1.0
    rows = subset(problem.rows, size, problem.rng) if refine else problem.rows
    seconds = share * (problem.trace.clock.left() - reserve)
    parameters, n_iter = _lbfgs(problem, parameters, rows, seconds)
    if not refine or problem.trace.stopped:
        return parameters, n_iter, 0
    if n <= _FULL_DATA_FACTOR * size:
        parameters, more, n_steps = _full_lbfgs(problem, parameters, reserve)
    else:
        parameters, more, n_steps = _stochastic(problem, parameters, rows, reserve)
    return parameters, n_iter + more, n_steps


def _full_lbfgs(problem, parameters, reserve):
    seconds = problem.trace.clock.left() - reserve
    parameters, n_iter = _lbfgs(problem, parameters, problem.rows, seconds)
    return parameters, n_iter, 0


def _adam_alone(problem, parameters, reserve):
    return _stochastic(problem, parameters, None, reserve)


def subset(rows, size, rng):
    """Random rows without replacement, in their order."""
    if len(rows) <= size:
        return rows
    return rows.select(np.sort(rng.choice(len(rows), size, replace=False)))


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


class StochasticState:
    """q(u) and hyperparameters between stochastic steps.

    The data part of q(u) stays fixed, in the coordinates of the form in use, when the
    hyperparameters move: q(u) follows the kernel at once.
    """

    def __init__(self, parameters, q, choose_form):
        self.parameters, self.delta = parameters, q.prior.delta
        self.choose_form = choose_form
        self.q = self._in_form(q, parameters)

    def _in_form(self, q, parameters):
        form = self.choose_form(q.prior, parameters.noise_variance)
        return q if isinstance(q, form) else form.hold(q.posterior)

    def natural_step(self, terms, rho):
        """(H, h) towards the batch's target: a convex combination, so I + H stays definite."""
        H = np.multiply(self.q.H, 1.0 - rho, out=empty(self.q.H.shape))
        la.axpy(rho, terms.target_H, H)
        h = (1.0 - rho) * self.q.h + rho * terms.target_h
        self.q = replace(self.q, H=H, h=h)

    def move(self, parameters):
        """To other hyperparameters; raises NotPositiveDefiniteError and stays where it is."""
        prior = Prior.build(parameters.kernel, parameters.Z, self.delta)
        self.q = self._in_form(replace(self.q, prior=prior), parameters)
        self.parameters = parameters


def _stochastic(problem, parameters, warm_rows, reserve):
    """Natural gradient on q(u), Adam on the rest; epochs until the smoothed bound is flat."""
    settings, rows, trace = problem.settings, problem.rows, problem.trace
    prior, _ = settle_jitter(parameters.kernel, parameters.Z, settings.jitter)
    state = StochasticState(
        parameters,
        _starting_state(prior, parameters, rows, warm_rows, settings.n_jobs),
        partial(_stochastic_form, rows, settings.learning_rate),
    )
    stepper = _Stepper(problem, state)
    plateau, n_iter = problem.plateau(rows.total_weight), 0
    held_epochs = 1 if warm_rows is None else 0
    for epoch in range(settings.max_iter):
        complete = stepper.epoch(move=epoch >= held_epochs, reserve=reserve)
        n_iter += 1
        if stepper.values and trace.add(np.mean(stepper.values), stepper.parameters):
            break
        if not complete or plateau.reached(np.mean(stepper.values)):
            break
    return stepper.parameters(), n_iter, stepper.n_steps


def _stochastic_form(rows, learning_rate, prior, noise_variance):
    """Direct coordinates only where a step in kernel or Z cannot throw q(u) off.

    Held as L H L^T, the data part takes a relative change of K(Z, Z) times its condition number
    (docs/theory.md, eq. 14); whitened, none of it.
    """
    if learning_rate * prior.condition > 1.0:
        return WhitenedState
    return suitable_form(rows, prior, noise_variance, DIRECT_GRADIENT_LIMIT)


def _starting_state(prior, parameters, rows, warm_rows, n_jobs):
    """The prior, or the optimum for the warm start's rows counted as all rows."""
    m, t = len(prior.Z), rows.y.shape[1]
    if warm_rows is None:
        return WhitenedState(prior, np.zeros((m, m)), np.zeros((m, t)))
    s2 = parameters.noise_variance
    _, sums = optimal_state(prior, warm_rows, s2, form=WhitenedState, n_jobs=n_jobs)
    sums = sums.scaled(rows.total_weight / warm_rows.total_weight)
    return WhitenedState.from_sums(prior, sums, s2)


class _Stepper:
    """Runs stochastic steps and keeps what lasts from one to the next."""

    def __init__(self, problem, state):
        self.problem, self.state = problem, state
        self.space = problem.space
        self.x = self.space.pack(state.parameters)
        self.bounds = self.space.bounds(state.parameters)
        self.adam = Adam(len(self.x), problem.settings.learning_rate)
        self.n_steps, self.values = 0, []

    def parameters(self):
        return self.state.parameters

    def epoch(self, move, reserve):
        """One pass over all rows in random order; False if a budget ended it."""
        settings, rows, self.values = self.problem.settings, self.problem.rows, []
        order = self.problem.rng.permutation(len(rows))
        for lo in range(0, len(rows), settings.batch_size):
            spent = settings.max_steps is not None and self.n_steps >= settings.max_steps
            if spent or self.problem.trace.clock.left() < reserve:
                return False
            self.step(rows.select(np.sort(order[lo : lo + settings.batch_size])), move)
        return True

    def step(self, batch, move):
        state, settings = self.state, self.problem.settings
        terms = minibatch_bound(
            state.q,
            self.problem.likelihood,
            state.parameters.noise_variance,
            batch,
            self.problem.rows.total_weight / batch.total_weight,
            with_inputs=self.space.learns_inputs,
        )
        self.n_steps += 1
        self.values.append(terms.value)
        state.natural_step(terms, settings.natural_step)
        if not move:
            return
        x = self.adam.step(self.x, self.space.pack_gradient(terms.gradient), self.bounds)
        try:
            state.move(self.space.unpack(x, state.parameters))
        except NotPositiveDefiniteError:
            # the hyperparameters stay; a shorter step is tried from the next batch on
            self.adam.learning_rate *= 0.5
        else:
            self.x = x


def _finish_seconds(problem, parameters):
    """Measured time of the exact finish, a little more to be safe; 0 without a budget."""
    if not np.isfinite(problem.trace.clock.max_time):
        return 0.0
    sample = problem.rows.select(slice(0, 4 * CHUNK))
    prior, _ = settle_jitter(parameters.kernel, parameters.Z, problem.settings.jitter)
    seconds = np.inf
    for _ in range(2):  # the first may pay for cold caches
        begin = time.perf_counter()
        accumulate(prior.kernel, prior.Z, prior.L_inv, sample, n_jobs=problem.settings.n_jobs)
        seconds = min(seconds, time.perf_counter() - begin)
    return 1.1 * seconds * len(problem.rows) / len(sample) + _MIN_SECONDS


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
    if needed <= max(left, _MIN_SECONDS) or len(rows) <= 4 * CHUNK:
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
