"""Learning latent inputs: L-BFGS on the collapsed bound, and what follows it."""

import time
from dataclasses import replace
from functools import partial

import numpy as np

from ...optimize.lbfgs import ascend_lbfgs
from ...optimize.parameters import ParameterSpace
from ..bound import inputs_of, latent_bound
from ..passes import LatentInputs
from ..row_posteriors import find_inputs
from .calibration import calibration_factors, factors_of_hidden, with_hidden
from .problem import sample_rows, start_at
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
_ROUND, _LOCAL_ITERATIONS, _LOCAL_TOL = 30, 5, 1e-6
# Rounds in which the noise keeps its start, or it takes the signal for noise.
_HELD_ROUNDS, _HELD_SHARE = 3, 0.3
# Shares of a time budget after which L-BFGS ends, where rows follow that it has not seen, and where
# none do; and after which minibatches end.
_FIRST_SHARE, _LBFGS_SHARE, _MINIBATCH_SHARE = 0.35, 0.85, 0.75


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
    factors = None if cut is None else _factors(parameters, *cut, table, settings)
    q, n_steps = inputs_of(parameters), 0
    if is_sample or settings.optimizer == "adam":
        parameters, q, epochs, n_steps = learn_from_minibatches(
            problem, start, parameters, index, problem.trace.clock.shortened(_MINIBATCH_SHARE)
        )
        n_iter += epochs
    counts = n_iter + 1, n_steps
    result = _result(problem, start, parameters, q, counts, factors, trace.clock.left())
    bare = replace(
        start, parameters=without_inputs(start.parameters), space=learned_space(start.space)
    )
    return result, bare


def _factors(parameters, cut, hidden, table, settings):
    """Factors of variances from entries that nothing was learned from."""
    bare, q = without_inputs(parameters), inputs_of(parameters)
    for _ in range(2):
        model = optimal_model(bare, q, cut, settings)
        q, _ = find_inputs(model, cut, start=q, max_iter=30, tol=_LOCAL_TOL, n_jobs=settings.n_jobs)
    return factors_of_hidden(model, q, table, hidden)


def _result(problem, start, parameters, q, counts, factors, seconds):
    parameters = without_inputs(parameters)
    settings, table = problem.settings, problem.table
    thorough = seconds > 0 and len(table) <= settings.init_size
    model, q, candidates, objective, jitter = finish(
        parameters, q, table, settings, problem.rng, seconds, thorough
    )
    if factors is None:
        factors = calibration_factors(parameters, q, table, model, settings, problem.rng)
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
        clock = problem.trace.clock
        seconds = share * clock.max_time * (attempt + 1) / count - clock.elapsed()
        parameters, value, iterations = _rounds(problem, start, sample, seconds)
        n_iter += iterations
        if best is None or value > best[0]:
            best = value, start, parameters
        if problem.trace.stopped:
            break
    return best[1], best[2], n_iter


def _rounds(problem, start, table, seconds):
    """L-BFGS in rounds, q(x) of each row alone after each."""
    settings, trace = problem.settings, problem.trace
    deadline = time.perf_counter() + seconds
    space, parameters, value, n_iter = start.space, start.parameters, -np.inf, 0
    if settings.optimizer is None:
        space = ParameterSpace((space.group("mean"), space.group("log_variance")))
    plateau = settings.plateau(len(table))
    held = min(_HELD_ROUNDS * _ROUND, int(_HELD_SHARE * settings.max_iter))
    held = held if space.learns("log_noise") else 0
    while n_iter < settings.max_iter:
        delta = settings.prior(parameters).delta
        is_held = n_iter < held
        free = _without(space, "log_noise") if is_held else space
        interim = settings.plateau(len(table), interim=True) if is_held else plateau
        parameters, value, iterations = ascend_lbfgs(
            partial(latent_bound, table=table, delta=delta, n_jobs=settings.n_jobs),
            free,
            parameters,
            max_iter=min(_ROUND, settings.max_iter - n_iter),
            plateau=interim,
            trace=trace,
            seconds=max(deadline - time.perf_counter(), 0.0),
        )
        n_iter += max(iterations, 1)
        if is_held and iterations < _ROUND:
            held = 0
        if trace.stopped or time.perf_counter() > deadline:
            break
        if not is_held and iterations < _ROUND:
            break
        parameters = _with_rows_alone(parameters, table, settings)
    return parameters, value, n_iter


def _without(space, name):
    return ParameterSpace(tuple(group for group in space.groups if group.name != name))


def _with_rows_alone(parameters, table, settings):
    """The parameters after a few iterations of each row's q(x) alone."""
    q = inputs_of(parameters)
    model = optimal_model(parameters, q, table, settings)
    q, _ = find_inputs(
        model,
        table,
        start=q,
        max_iter=_LOCAL_ITERATIONS,
        tol=_LOCAL_TOL,
        n_jobs=settings.n_jobs,
    )
    return with_inputs(parameters, LatentInputs(*q))
