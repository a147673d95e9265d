"""Learning with noise of each row: function and noise in turn, along one bound.

Given a precision of each row's noise the model is the Gaussian one, learned as ever. What it then
expects of the squared errors gives new precisions in closed form (docs/theory.md, section 13).
"""

from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

# Updates of the noise at most, and a gain of the bound, in nats a row, with which they end.
_ROUNDS, _LEAST_GAIN = 5, 1e-3
# Iterations for kernel and noise after an update, on what was found before it.
_ITERATIONS = 20
# Share of a time budget that is for the first fit, with the same noise everywhere.
_FIRST_SHARE = 0.5


@dataclass(frozen=True)
class FoundNoise:
    """What was found of the noise of each row.

    Parameters
    ----------
    likelihood : Likelihood
        That predicts.
    constant : float
        What the bound has besides the Gaussian one.
    """

    likelihood: object
    constant: float


def learn_with_row_noise(problem, likelihood, learner):
    """Learn function and noise in turn.

    Parameters
    ----------
    problem : Problem
        With Gaussian noise.
    likelihood : Likelihood
        One with ``row_precision``.
    learner : callable
        ``learner(problem)`` returns a `FitResult`, or an object that has one as ``result``.

    Returns
    -------
    found : object
        What the learner returns, with the bound and the likelihood of function and noise.
    """
    trace, given, best = problem.trace, problem, None
    with _first_share(trace):
        found = learner(problem)
    for _ in range(_ROUNDS):
        update = _updated(given, likelihood, found)
        likelihood, trace.constant = update.likelihood, update.constant
        given = _given(problem, result_of(found), update)
        found = learner(given).with_noise(FoundNoise(likelihood, update.constant))
        gain = np.inf if best is None else _bound(found) - _bound(best)
        best = found if gain > 0.0 else best
        out_of_time = trace.stopped or trace.clock.left() <= 0.0
        if out_of_time or gain < _LEAST_GAIN * problem.rows.total_weight:
            break
    return best


def result_of(found):
    return getattr(found, "result", found)


def _bound(found):
    return result_of(found).objective


@contextmanager
def _first_share(trace):
    """A shorter clock for the first fit, and none of its reasons to end."""
    clock = trace.clock
    trace.clock = clock.shortened(_FIRST_SHARE)
    try:
        yield
    finally:
        trace.clock = clock


def _updated(given, likelihood, found):
    """What the squared errors that are expected say of the noise."""
    rows = given.rows
    mean, variance = found.moments_of(rows, given.settings.n_jobs)
    squares = ((rows.targets - mean) ** 2 + variance) / result_of(found).parameters.noise_variance
    counts = rows.weight if rows.counts is None else rows.counts
    return likelihood.updated(
        squares.sum(axis=1),
        np.ones(len(rows)) if counts is None else counts,
        rows.y.shape[1],
        learns=given.learns,
        learns_scale=given.learns and given.space.learns("log_noise"),
    )


def _given(problem, result, update):
    """The problem given precisions, on from what was found."""
    parameters = result.parameters
    if problem.space.learns("log_noise"):
        log_noise = parameters.values["log_noise"] + np.log(update.scale)
        parameters = problem.space.clipped(parameters.with_values(log_noise=log_noise))
    settings = problem.settings
    return replace(
        problem,
        rows=problem.rows.with_precision(update.precision),
        start=replace(result.start, parameters=parameters, alternatives=()),
        settings=replace(
            settings, max_iter=min(_ITERATIONS, settings.max_iter), n_restarts_optimizer=0
        ),
        is_interim=True,
    )
