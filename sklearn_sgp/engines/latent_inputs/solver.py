"""Learning latent inputs: L-BFGS on the collapsed bound, and what follows it."""

import time
from dataclasses import replace
from functools import partial

import numpy as np

from ...latents.bound import inputs_of, latent_bound
from ...latents.passes import LatentInputs
from ...latents.row_posteriors import find_inputs
from ...optimize.budget import Budget, measured_seconds
from ...optimize.lbfgs import ascend_lbfgs
from ...optimize.parameters import ParameterSpace
from .calibration import calibration_factors, factors_of_hidden, with_hidden
from .problem import free_space, in_units, sample_rows, start_at
from .result import (
    LatentResult,
    choose_candidates,
    finish,
    optimal_model,
    with_inputs,
    without_inputs,
)
from .stochastic import learn_from_minibatches, learned_space

# L-BFGS moves q(x), kernel, noise and Z together, and after each round every row's q(x) moves alone
# given q(u), which knows its curvature: after 200 iterations on oil flow the bound is 1,800 nats
# higher.
# Rows that principal components put into a wrong place get out of it only by a jump, never by
# L-BFGS: 600 rows of a manifold of three dimensions end 0.2 nats a row higher with jumps.
# Rounds become longer, as L-BFGS begins each of them without memory.
_ROUND, _GROWTH, _LOCAL_ITERATIONS, _LOCAL_TOL = 30, 1.5, 5, 1e-6
# Least gain of L-BFGS since it last came to an end, in nats a row, for another jump.
_RESTART_GAIN = 0.01
# Rounds in which the noise keeps its start, or it takes the signal for noise.
_HELD_ROUNDS, _HELD_SHARE = 3, 0.3
# Shares of a time budget after which L-BFGS ends, where rows follow that it has not seen, and where
# none do; and after which minibatches end.
_FIRST_SHARE, _LBFGS_SHARE, _MINIBATCH_SHARE = 0.35, 0.85, 0.75
# What follows L-BFGS takes the time of so many evaluations of the bound of all rows.
_FINISH_EVALUATIONS = 40
# Of the time left: for entries that nothing was learned from, and for the last passes where
# calibration follows them.
_CUT_SHARE, _FINISH_SHARE = 0.25, 0.75


def learn(problem):
    """Learn from a table.

    Parameters
    ----------
    problem : LatentProblem

    Returns
    -------
    result : LatentResult
    start : LatentStart
        What was learned from, without q(x).
    """
    table, settings, trace = problem.table, problem.settings, problem.trace
    size = len(table) if settings.optimizer in ("lbfgs", None) else settings.init_size
    index = sample_rows(table, size, problem.rng)
    is_sample = index is not None
    sample = table.select(index) if is_sample else table
    share = _FIRST_SHARE if is_sample else _LBFGS_SHARE
    cut = None if is_sample or settings.optimizer == "adam" else with_hidden(table, problem.rng)
    learned_from = sample if cut is None else cut[0]
    trace.follow(learned_from, len(table))
    start, parameters, n_iter = _best_start(problem, learned_from, share)
    factors = None
    if cut is not None:
        factors = _factors(parameters, *cut, table, settings, _CUT_SHARE * trace.clock.left())
    q, n_steps = inputs_of(parameters), 0
    if is_sample or settings.optimizer == "adam":
        parameters, q, epochs, n_steps = learn_from_minibatches(
            problem, start, parameters, index, problem.trace.clock.shortened(_MINIBATCH_SHARE)
        )
        n_iter += epochs
    counts = n_iter + 1, n_steps
    result = _result(problem, start, parameters, q, counts, factors)
    bare = replace(
        start, parameters=without_inputs(start.parameters), space=learned_space(start.space)
    )
    return result, bare


def _factors(parameters, cut, hidden, table, settings, seconds):
    """Factors of variances from entries that nothing was learned from."""
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


def _result(problem, start, parameters, q, counts, factors):
    parameters = without_inputs(parameters)
    settings, table, clock = problem.settings, problem.table, problem.trace.clock
    share = 1.0 if factors is not None else _FINISH_SHARE
    problem.trace.begin(f"q(u) and latent inputs of {len(table)} rows")
    model, q, candidates, objective, jitter = finish(
        parameters, q, table, settings, problem.rng, share * clock.left()
    )
    if factors is None:
        factors = calibration_factors(
            parameters,
            q,
            table,
            model,
            free_space(start, settings),
            settings,
            problem.rng,
            clock.left(),
        )
    return LatentResult(
        start.kernel,
        parameters,
        model,
        q,
        candidates,
        table.scaling,
        objective,
        jitter,
        *counts,
        len(table),
        float(table.log_scales().sum()),
        factors,
    )


def snapshot(problem, parameters):
    """A `LatentResult` amid a fit, with q(x) as it is, of the rows that the trace follows."""
    q, bare, table = inputs_of(parameters), without_inputs(parameters), problem.trace.table
    kernel = problem.choices.kernel or parameters.expression.kernel
    model = optimal_model(bare, q, table, problem.settings)
    return LatentResult(
        kernel,
        bare,
        model,
        q,
        choose_candidates(q, np.random.RandomState(0)),
        table.scaling,
        problem.trace.objectives[-1],
        model.posterior.prior.jitter,
        len(problem.trace.objectives),
        0,
        len(table),
        float(problem.table.log_scales().sum()),
        np.ones(2),
    )


def _best_start(problem, sample, share):
    """The best of several attempts: its start, what was learned from it, and iterations."""
    best, n_iter = None, 0
    count = problem.choices.n_starts
    for attempt in range(count):
        start = start_at(problem, sample, attempt)
        if problem.settings.optimizer == "adam":
            return start, start.parameters, 0
        budget = _budget(problem, start, sample)
        clock = problem.trace.clock
        seconds = share * clock.max_time * (attempt + 1) / count - clock.elapsed()
        seconds = min(seconds, budget.left())
        parameters, value, iterations = _rounds(problem, start, sample, seconds)
        n_iter += iterations
        if best is None or value > best[0]:
            best = value, start, parameters
        if problem.trace.stopped:
            break
    return best[1], best[2], n_iter


def _budget(problem, start, sample):
    """The time budget, with what the finish needs kept free."""
    budget = Budget(problem.trace.clock)
    if budget.is_limited:
        delta = problem.settings.prior(start.parameters).delta
        seconds = measured_seconds(
            partial(latent_bound, start.parameters, sample, delta, n_jobs=problem.settings.n_jobs)
        )
        rows = len(problem.table) / len(sample)
        budget.keep_for_finish(_FINISH_EVALUATIONS * seconds * rows)
    return budget


def _rounds(problem, start, table, seconds):
    """L-BFGS in rounds, q(x) of each row alone after each.

    Once the noise is free rows may jump to where others are, and L-BFGS goes on as long as that
    leads it higher.
    """
    settings, trace = problem.settings, problem.trace
    deadline = time.perf_counter() + seconds
    trace.begin(f"learning from {len(table)} of {len(problem.table)} rows")
    parameters, value, n_iter = start.parameters, -np.inf, 0
    space = in_units(free_space(start, settings), table.counts()[0].sum())
    plateau, size, before = settings.plateau(len(table)), _ROUND, -np.inf
    held = min(_HELD_ROUNDS * _ROUND, int(_HELD_SHARE * settings.max_iter))
    held = held if start.holds_noise and space.learns("log_noise") else 0
    while n_iter < settings.max_iter:
        delta = settings.prior(parameters).delta
        is_held = n_iter < held
        free = _without(space, "log_noise") if is_held else space
        interim = settings.plateau(len(table), interim=True) if is_held else plateau
        parameters, value, iterations = ascend_lbfgs(
            partial(latent_bound, table=table, delta=delta, n_jobs=settings.n_jobs),
            free,
            parameters,
            max_iter=min(size, settings.max_iter - n_iter),
            plateau=interim,
            trace=trace,
            seconds=max(deadline - time.perf_counter(), 0.0),
        )
        n_iter += max(iterations, 1)
        if is_held and iterations < size:
            held = 0
        left = deadline - time.perf_counter()
        if trace.stopped or trace.cut_by == "max_time" or left <= 0.0:
            break
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


def _without(space, name):
    return ParameterSpace(tuple(group for group in space.groups if group.name != name))


def _with_rows_alone(parameters, table, settings, seconds, candidates=None):
    """The parameters after a few iterations of each row's q(x) alone, from the best of starts."""
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
    return with_inputs(parameters, LatentInputs(*q))
