"""Learning with noise of each row: function and noise in turn, along one bound.

Given a precision of each row's noise the model is the Gaussian one, learned as ever. What it then
expects of the squared errors gives new precisions in closed form (docs/theory.md, section 13).
"""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from ..data.heavy_tails import usual
from .found_noise import FoundNoise, LogNoiseMoments, squared_errors
from .log_noise import learn_log_noise

# Updates of the noise at most, and a gain of the bound, in nats a row, with which they end.
_ROUNDS, _LEAST_GAIN = 6, 1e-3
# After so many of them kernel and noise learn for so many iterations, from where they are.
_LEARNING_ROUNDS, _ITERATIONS = 2, 20
# Targets so many standard deviations from their median are not believed at first.
_FAR = 6.0
# Share of a time budget that is for the first fit, with the same noise everywhere.
_FIRST_SHARE = 0.5


def learn_with_row_noise(problem, likelihood, learner):
    """Learn function and noise in turn.

    Parameters
    ----------
    problem : Problem
        With Gaussian noise.
    likelihood : Likelihood
        One with ``has_row_precision``.
    learner : callable
        ``learner(problem)`` returns a `FitResult`, or what has one as ``result`` and its methods.

    Returns
    -------
    found : object
        What the learner returns, with the bound and the likelihood of function and noise.
    """
    trace, best = problem.trace, None
    given, drawn = _without_far_targets(problem), problem.rng.get_state()
    with _first_share(trace):
        found = learner(given)
    learns_scale = problem.learns and problem.space.learns("log_noise")
    free = {"learns": problem.learns, "learns_scale": learns_scale}
    update = _chosen(given, likelihood.candidates or [likelihood], found, free)
    if not update.noise.likelihood.has_row_precision:
        return found if given is problem else learner(problem)
    for round_number in range(_ROUNDS):
        begun = trace.clock.elapsed()
        noise, trace.constant = update.noise, update.noise.constant
        learns = round_number < _LEARNING_ROUNDS
        given = _given(problem, found.result, update, learns)
        problem.rng.set_state(drawn)  # the same groups of rows
        found = learner(given).with_noise(noise)
        gain = np.inf if best is None else found.result.objective - best.result.objective
        # the objective of a part of the rows is scaled up, and says less
        if best is None or (gain > 0.0 and found.result.n_used is None):
            best = found
        is_over = trace.stopped or found.interrupted
        if is_over or trace.clock.left() < trace.clock.elapsed() - begun:
            break
        if gain < _LEAST_GAIN * problem.rows.total_weight or round_number == _ROUNDS - 1:
            break
        update = _updated(given, noise, update.at_rows, _squared_errors(given, found), free)
    return best


def _without_far_targets(problem):
    """The problem with small precisions where targets are far from all others.

    Learning with Gaussian noise may otherwise end at a function that goes through them, from which
    no update of the noise leads away.
    """
    targets = problem.rows.targets
    middle, deviation = usual(targets)
    deviation[deviation == 0.0] = np.inf
    times = (np.abs(targets - middle) / deviation).max(axis=1)
    if times.max() <= _FAR:
        return problem
    return replace(problem, rows=problem.rows.with_precision((_FAR / np.maximum(times, _FAR)) ** 2))


@contextmanager
def _first_share(trace):
    """A shorter clock for the first fit, and none of its reasons to end."""
    clock = trace.clock
    trace.clock = clock.shortened(_FIRST_SHARE)
    try:
        yield
    finally:
        trace.clock = clock


def _chosen(given, candidates, found, free):
    """The `Update` of the candidate whose bound is best where the function stays as it is.

    More parameters have to be worth it, as by the Bayesian information criterion.
    """
    squares, n = _squared_errors(given, found), max(given.rows.total_weight, len(given.rows))
    price = 0.5 * np.log(n)
    updates, log_noise, at_rows = [], None, LogNoiseMoments.zeros(len(squares))
    for one in candidates:
        noise = FoundNoise(one, log_noise=log_noise)  # tails take what g has left, not all of it
        update = _updated(given, noise, at_rows, squares, free)
        updates.append(update)
        log_noise, at_rows = update.noise.log_noise, update.at_rows
    return max(updates, key=lambda each: each.likelihood_bound - price * each.noise.n_parameters)


def _squared_errors(given, found):
    mean, variance = found.moments_of(given.rows, given.settings.n_jobs)
    return squared_errors(given.rows, mean, variance, found.result.parameters.noise_variance)


def _updated(given, noise, at_rows, squares, free):
    """What squared errors say of the noise.

    Parameters
    ----------
    given : Problem
    noise : FoundNoise
    at_rows : LogNoiseMoments
        Of the noise, at the rows of the problem.
    squares : ndarray of shape (n,)
    free : dict
        What `FoundNoise.updated` learns.

    Returns
    -------
    update : Update
    """
    rows = given.rows
    if noise.likelihood.varies:
        before = noise.updated(rows, squares, at_rows, **free)
        scaled = before.of_tails * squares / before.scale
        log_noise = learn_log_noise(given, noise.likelihood, scaled, noise.log_noise)
        noise = replace(noise, log_noise=log_noise)
        at_rows = noise.log_noise_at(rows.X, given.settings.n_jobs)
    return noise.updated(rows, squares, at_rows, **free)


def _given(problem, result, update, learns):
    """The problem given precisions, on from what was found."""
    parameters = result.parameters
    if problem.learns and problem.space.learns("log_noise"):
        log_noise = parameters.values["log_noise"] + np.log(update.scale)
        parameters = problem.space.clipped(parameters.with_values(log_noise=log_noise))
    settings = problem.settings
    return replace(
        problem,
        rows=problem.rows.with_precision(update.precision),
        start=replace(result.start, parameters=parameters, alternatives=()),
        settings=replace(
            settings,
            optimizer=settings.optimizer if learns else None,
            max_iter=min(_ITERATIONS, settings.max_iter),
            n_restarts_optimizer=0,
        ),
        is_interim=True,
    )
