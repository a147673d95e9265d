"""Learning with noise of each row: function and noise in turn, along one bound.

Given a precision of each row's noise the model is the Gaussian one, learned as ever. What it then
expects of the squared errors gives new precisions in closed form (docs/theory.md, section 13).
"""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..fitting.problem import FitResult
from ..predictions.noise import VaryingNoise
from .log_noise import learn_log_noise

# Updates of the noise at most, and a gain of the bound, in nats a row, with which they end.
_ROUNDS, _LEAST_GAIN = 6, 1e-3
# After so many of them kernel and noise learn for so many iterations, from where they are.
_LEARNING_ROUNDS, _ITERATIONS = 2, 20
# Targets so many standard deviations from their median are not believed at first.
_FAR = 6.0
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
    log_noise : FitResult or None
        Of the function that the logarithm of the noise variance is, besides a constant.
    """

    likelihood: object
    constant: float = 0.0
    log_noise: FitResult | None = None

    @property
    def n_parameters(self):
        """Of tails and of the kernel of the log noise."""
        of_tails = int("df" in self.likelihood.get_params())
        return of_tails + (0 if self.log_noise is None else len(self.log_noise.parameters.theta))

    def noise_at(self, X, noise_variance, n_outputs, n_jobs):
        """The noise at some inputs, as the likelihood's methods take it."""
        if self.log_noise is None:
            return noise_variance
        mean, variance = self.log_noise.moments_at(X, n_jobs)
        shape = (len(X), n_outputs)
        log_mean = np.broadcast_to(np.log(noise_variance) + mean, shape)
        return VaryingNoise(log_mean, np.broadcast_to(variance, shape))

    def with_more(self, other):
        """The noise of these rows and of others, which has the same log noise."""
        twice = 0.0 if self.log_noise is None else self.log_noise.posterior.kl()
        return replace(self, constant=self.constant + other.constant + twice)

    def common_precision(self, X, n_jobs):
        """E exp(-g) of the log noise g at some inputs, (n,), or 1."""
        if self.log_noise is None:
            return 1.0
        mean, variance = self.log_noise.moments_at(X, n_jobs)
        return np.exp(0.5 * variance - mean)[:, 0]

    def updated(self, rows, squares, n_jobs, *, learns=False, learns_scale=False):
        """The noise of rows whose expected squared errors are known, at a given log noise.

        Parameters
        ----------
        rows : Rows
        squares : ndarray of shape (n,)
            In units of the noise variance, summed over outputs.
        n_jobs : int or None
        learns, learns_scale : bool
            Whether the tails, and a factor of the noise variance, are learned.

        Returns
        -------
        update : Update
        """
        t, weight = rows.y.shape[1], rows.observations
        weight = np.ones(len(rows)) if weight is None else weight
        common, constant = 1.0, 0.0
        if self.log_noise is not None:
            mean, variance = (part[:, 0] for part in self.log_noise.moments_at(rows.X, n_jobs))
            common = np.exp(0.5 * variance - mean)
            constant = -0.5 * t * float(np.dot(weight, mean)) - self.log_noise.posterior.kl()
        found = self.likelihood.updated(
            common * squares, weight, t, learns=learns, learns_scale=learns_scale
        )
        noise = replace(self, likelihood=found.likelihood, constant=found.constant + constant)
        precision = common * found.precision
        errors = float(np.dot(weight, precision * squares)) / found.scale
        bound = noise.constant - 0.5 * (t * float(weight.sum()) * np.log(found.scale) + errors)
        return Update(noise, found.scale, precision, bound)


class Update(NamedTuple):
    """What squared errors say of the noise.

    Attributes
    ----------
    noise : FoundNoise
    scale : float
        What the noise variances are multiplied by.
    precision : ndarray of shape (n,)
    likelihood_bound : float
        Its part of the bound, but for a constant that all noise has.
    """

    noise: FoundNoise
    scale: float
    precision: np.ndarray
    likelihood_bound: float


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
    trace, best = problem.trace, None
    given, drawn = _without_far_targets(problem), problem.rng.get_state()
    with _first_share(trace):
        found = learner(given)
    update = _chosen(given, likelihood.candidates or [likelihood], found)
    if not update.noise.likelihood.has_row_precision:
        return found if given is problem else learner(problem)
    for round_number in range(_ROUNDS):
        noise, trace.constant = update.noise, update.noise.constant
        learns = round_number < _LEARNING_ROUNDS
        given = _given(problem, result_of(found), update, learns)
        problem.rng.set_state(drawn)  # the same groups of rows
        found = learner(given).with_noise(noise)
        gain = np.inf if best is None else _bound(found) - _bound(best)
        best = found if gain > 0.0 else best
        is_over = trace.stopped or getattr(found, "interrupted", False)
        if is_over or trace.clock.left() <= 0.0:
            break
        if gain < _LEAST_GAIN * problem.rows.total_weight or round_number == _ROUNDS - 1:
            break
        update = _updated(given, noise, _squared_errors(given, found))
    return best


def _without_far_targets(problem):
    """The problem with small precisions where targets are far from all others.

    Learning with Gaussian noise may otherwise end at a function that goes through them, from which
    no update of the noise leads away.
    """
    targets = problem.rows.targets
    middle = np.median(targets, axis=0)
    away = np.abs(targets - middle)
    usual = 1.4826 * np.median(away, axis=0)  # the standard deviation, if they are normal
    times = (away / np.where(usual > 0.0, usual, np.inf)).max(axis=1)
    if times.max() <= _FAR:
        return problem
    return replace(problem, rows=problem.rows.with_precision(np.minimum(1.0, (_FAR / times) ** 2)))


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


def _chosen(given, candidates, found):
    """The `Update` of the candidate whose bound is best where the function stays as it is.

    More parameters have to be worth it, as by the Bayesian information criterion.
    """
    squares, price = _squared_errors(given, found), 0.5 * np.log(given.rows.total_weight)
    updates = [_updated(given, FoundNoise(one), squares) for one in candidates]
    return max(updates, key=lambda each: each.likelihood_bound - price * each.noise.n_parameters)


def _squared_errors(given, found):
    """Expected ones of each row, in units of the noise variance, summed over outputs."""
    rows = given.rows
    mean, variance = found.moments_of(rows, given.settings.n_jobs)
    squares = (rows.targets - mean) ** 2 + variance
    return (squares / result_of(found).parameters.noise_variance).sum(axis=1)


def _updated(given, noise, squares):
    """What squared errors say of the noise; see `FoundNoise.updated`."""
    rows, n_jobs = given.rows, given.settings.n_jobs
    free = {
        "learns": given.learns,
        "learns_scale": given.learns and given.space.learns("log_noise"),
    }
    if noise.likelihood.varies:
        before = noise.updated(rows, squares, n_jobs, **free)
        of_tails = before.precision / noise.common_precision(rows.X, n_jobs)
        scaled = of_tails * squares / before.scale
        found = learn_log_noise(given, noise.likelihood, scaled, noise.log_noise)
        noise = replace(noise, log_noise=found)
    return noise.updated(rows, squares, n_jobs, **free)


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
