"""Learning latent inputs: L-BFGS on the collapsed bound, and what follows it."""

import time
from dataclasses import replace
from functools import partial

import numpy as np

from ...latents.bound import inputs_of, latent_bound
from ...latents.row_posteriors import find_inputs
from ...optimize import time_shares
from ...optimize.budget import Budget, measured_seconds
from ...optimize.lbfgs import ascend_lbfgs
from ..fitted import Fitted
from .calibration import calibration_factors, factors_of_hidden, with_hidden
from .final_posterior import (
    choose_candidates,
    final_posteriors,
    optimal_model,
    with_inputs,
    without_inputs,
)
from .start import free_space, learned_space, sample_rows, start_at, with_learning_units
from .state import LatentState
from .stochastic import learn_from_minibatches

# L-BFGS moves q(x), kernel, noise and Z together, and after each round every row's q(x) moves alone
# given q(u), which knows its curvature: after 200 iterations on oil flow the bound is 1,800 nats
# higher.
# Rows that principal components put into a wrong place get out of it only by a jump, never by
# L-BFGS: 600 rows of a manifold of three dimensions end 0.2 nats a row higher with jumps.
# Rounds become longer, as L-BFGS begins each of them without memory.
_ROUND, _GROWTH, _LOCAL_ITERATIONS, _LOCAL_TOL = 30, 1.5, 5, 1e-6
# Least gain of L-BFGS since it last came to an end, in nats a row, for another jump.
_RESTART_GAIN = 0.01
# Rounds in which the noise keeps its start, or it takes the signal for noise, and the share of
# iterations and seconds that they have.
_HELD_ROUNDS, _HELD_SHARE = 3, 0.3
# What follows L-BFGS takes the time of so many evaluations of the bound of all rows.
_FINISH_EVALUATIONS = 40


def fit(problem, choices, previous=None):
    """Learn kernel, noise, inducing inputs and q(x), then find q(u) and q(x) of all rows.

    The rows of the problem are a `Table`; ``previous`` is an earlier fit to go on from, or None.
    """
    table, settings, trace = problem.rows, problem.settings, problem.trace
    size = len(table) if settings.optimizer in ("lbfgs", None) else settings.init_size
    index = sample_rows(table, size, problem.rng)
    is_sample = index is not None
    sample = table.select(index) if is_sample else table
    share = time_shares.LBFGS_OF_SAMPLE if is_sample else time_shares.LBFGS
    cut = None if is_sample or settings.optimizer == "adam" else with_hidden(table, problem.rng)
    learned_from = sample if cut is None else cut[0]
    trace.follow(learned_from, len(table))
    parameters, n_iter = _best_start(problem, choices, previous, learned_from, share)
    calibration = None
    if cut is not None:
        seconds = time_shares.LEFT_OUT_ENTRIES * trace.clock.left()
        calibration = _calibration(parameters, *cut, table, settings, seconds)
    q, n_steps = inputs_of(parameters), 0
    if is_sample or settings.optimizer == "adam":
        parameters, q, epochs, n_steps = learn_from_minibatches(
            problem, parameters, index, trace.clock.shortened(time_shares.MINIBATCHES)
        )
        n_iter += epochs
    return _finished(problem, parameters, q, n_iter + 1, n_steps, calibration)


def _calibration(parameters, cut, hidden, table, settings, seconds):
    """Find factors of variances from entries that nothing was learned from."""
    bare, q = without_inputs(parameters), inputs_of(parameters)
    end = time.perf_counter() + seconds
    for share in (0.5, 1.0):
        model = optimal_model(bare, q, cut, settings)
        left = end - time.perf_counter()
        q, _ = find_inputs(
            model,
            cut,
            start=q,
            max_iter=30,
            tol=_LOCAL_TOL,
            n_jobs=settings.n_jobs,
            seconds=share * left,
        )
        if left <= 0.0:
            break
    return factors_of_hidden(model, q, table, hidden)


def _finished(problem, parameters, q, n_iter, n_steps, calibration):
    """Find q(u) and q(x) of all rows, and what variances lack; return the `Fitted`."""
    settings, table, trace = problem.settings, problem.rows, problem.trace
    parameters, clock = without_inputs(parameters), trace.clock
    share = 1.0 if calibration is not None else time_shares.LAST_PASSES
    trace.begin(f"q(u) and latent inputs of {len(table)} rows")
    model, q, candidates, objective = final_posteriors(
        parameters, q, table, settings, problem.rng, share * clock.left()
    )
    if calibration is None:
        space = free_space(trace.start, settings)
        calibration = calibration_factors(
            parameters, q, table, model, space, settings, problem.rng, clock.left()
        )
    state = LatentState(q, candidates, calibration, float(table.log_scales().sum()))
    return _fitted(problem, parameters, model, objective, n_iter, n_steps, state)


def _fitted(problem, parameters, model, objective, n_iter, n_steps, state):
    start, n = problem.trace.start, len(state.q.mean)
    start = replace(
        start, parameters=without_inputs(start.parameters), space=learned_space(start.space)
    )
    return Fitted(
        start,
        parameters,
        model,
        objective,
        model.posterior.prior.jitter,
        n_iter,
        n_steps,
        weight=float(n),
        n_samples=n,
        state=state,
    )


def snapshot(problem, parameters):
    """Return the `Fitted` amid a fit, with q(x) as it is, of the rows that the trace follows."""
    q, bare, trace = inputs_of(parameters), without_inputs(parameters), problem.trace
    model = optimal_model(bare, q, trace.table, problem.settings)
    candidates = choose_candidates(q, np.random.RandomState(0))
    state = LatentState(q, candidates, np.ones(2), float(problem.rows.log_scales().sum()))
    objectives = trace.objectives
    return _fitted(problem, bare, model, objectives[-1], len(objectives), 0, state)


def _best_start(problem, choices, previous, sample, share):
    """Learn from several starts; return the best parameters, and iterations of all.

    The trace has the start that they were learned from.
    """
    best, n_iter, trace = None, 0, problem.trace
    for attempt in range(choices.n_starts):
        earlier = None if attempt else previous
        start = trace.start = start_at(problem, choices, sample, earlier, disturbs=attempt > 0)
        if problem.settings.optimizer == "adam":
            return start.parameters, 0
        budget, clock = _budget(problem, start, sample), trace.clock
        seconds = share * clock.max_time * (attempt + 1) / choices.n_starts - clock.elapsed()
        seconds = min(seconds, budget.left())
        holds_noise = earlier is None  # a guess, until the map has its form
        parameters, value, iterations = _rounds(problem, start, sample, seconds, holds_noise)
        n_iter += iterations
        if best is None or value > best[0]:
            best = value, start, parameters
        if trace.stopped:
            break
    _, trace.start, parameters = best
    return parameters, n_iter


def _budget(problem, start, sample):
    """Return the time budget, with what the end of the fit needs kept free."""
    budget = Budget(problem.trace.clock)
    if budget.is_limited:
        delta = problem.settings.prior(start.parameters).delta
        seconds = measured_seconds(
            partial(latent_bound, start.parameters, sample, delta, n_jobs=problem.settings.n_jobs)
        )
        rows = len(problem.rows) / len(sample)
        budget.keep_for_finish(_FINISH_EVALUATIONS * seconds * rows)
    return budget


def _rounds(problem, start, table, seconds, holds_noise):
    """Run L-BFGS in rounds, and move q(x) of each row alone after each.

    Once the noise is free rows may jump to where others are, and L-BFGS goes on as long as that
    leads it higher.
    """
    settings, trace = problem.settings, problem.trace
    deadline = time.perf_counter() + seconds
    free_from = deadline - (1.0 - _HELD_SHARE) * seconds if seconds < np.inf else np.inf
    trace.begin(f"learning from {len(table)} of {len(problem.rows)} rows")
    parameters, value, n_iter = start.parameters, -np.inf, 0
    space = with_learning_units(free_space(start, settings), table.counts()[0].sum())
    plateau, size, before = settings.plateau(len(table)), _ROUND, -np.inf
    held = min(_HELD_ROUNDS * _ROUND, int(_HELD_SHARE * settings.max_iter))
    held = held if holds_noise and space.learns("log_noise") else 0
    while n_iter < settings.max_iter:
        delta = settings.prior(parameters).delta
        is_held = n_iter < held
        free = space.without("log_noise") if is_held else space
        interim = settings.plateau(len(table), interim=True) if is_held else plateau
        parameters, value, iterations, cut_by = ascend_lbfgs(
            partial(latent_bound, table=table, delta=delta, n_jobs=settings.n_jobs),
            free,
            parameters,
            max_iter=min(size, (held if is_held else settings.max_iter) - n_iter),
            plateau=interim,
            trace=trace,
            seconds=max((free_from if is_held else deadline) - time.perf_counter(), 0.0),
        )
        n_iter += max(iterations, 1)
        left = deadline - time.perf_counter()
        if trace.stopped or left <= 0.0 or (cut_by == "max_time" and not is_held):
            break
        if is_held and (iterations < size or cut_by == "max_time"):
            held = 0
        is_done = not is_held and iterations < size
        if is_done:
            if value < before + _RESTART_GAIN * len(table):
                break
            before, plateau = value, settings.plateau(len(table))
        elif not is_held:
            size = int(_GROWTH * size)
        candidates = None if is_held else choose_candidates(inputs_of(parameters), problem.rng)
        parameters = _with_rows_alone(parameters, table, settings, left, candidates)
    return parameters, value, n_iter


def _with_rows_alone(parameters, table, settings, seconds, candidates):
    """Move q(x) of each row alone for a few iterations, from the best of starts."""
    q = inputs_of(parameters)
    model = optimal_model(parameters, q, table, settings)
    q, _ = find_inputs(
        model,
        table,
        start=q,
        candidates=candidates,
        max_iter=_LOCAL_ITERATIONS,
        tol=_LOCAL_TOL,
        n_jobs=settings.n_jobs,
        seconds=seconds,
    )
    return with_inputs(parameters, q)
