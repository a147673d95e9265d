"""Learning with noise of each row: function and noise in turn, along one bound.

Given a precision of each row's noise the model is the Gaussian one, learned as ever. What it then
expects of the squared errors gives new precisions in closed form (docs/theory.md, section 13).
"""

from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..data.rows import Rows
from ..data.winsorize import median_mad
from .ceiling import largest_log_noise
from .found_noise import FoundNoise, squared_errors
from .left_out import with_spread
from .log_noise import LARGEST_SAMPLE, learn_log_noise

# Updates of the noise at most, and a gain of the bound, in nats a row, with which they end.
_ROUNDS, _LEAST_GAIN = 6, 1e-3
# After so many of them kernel and noise learn for so many iterations, from where they are.
_LEARNING_ROUNDS, _ITERATIONS = 2, 20
# Targets so many standard deviations from their median are not believed at first.
_FAR = 6.0
# Share of a time budget that is for function and noise, of this for the first fit, with the same
# noise everywhere, and of what is left then that the errors of all rows may take.
_LEARNING_SHARE, _FIRST_SHARE, _TAILS_SHARE = 0.95, 0.65, 0.3


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
    with _share(problem.trace, _LEARNING_SHARE):
        found, rows = _learned(problem, likelihood, learner)
    if problem.trace.stopped or found.interrupted:
        return found
    return with_spread(problem, likelihood, found, rows)


def _learned(problem, likelihood, learner):
    """What is found in turn, and the rows with the precisions that its q(u) rests on."""
    trace, best = problem.trace, None
    given, drawn = _without_far_targets(problem), problem.rng.get_state()
    with _share(trace, _FIRST_SHARE):
        first = found = learner(given)
    before = given
    learns_scale = problem.learns and problem.space.learns("log_noise")
    free = {"learns": problem.learns, "learns_scale": learns_scale}
    trace.begin("noise of each row")
    begun, candidates = trace.clock.elapsed(), likelihood.candidates or [likelihood]
    update, errors = _first_update(given, found, candidates, free)
    if not update.noise.likelihood.has_row_precision:
        if given is problem:
            return found, given.rows
        whole = _of_all_rows(given, update, errors)  # far targets count as others do
        given = replace(_given(problem, found, whole, True), is_interim=False)
        return learner(given), given.rows
    if len(candidates) > 1 and given is problem:
        best, of_best = first, given.rows  # with the same noise everywhere, which is to be improved
    for round_number in range(_ROUNDS if errors.of_all or not update.noise.has_tails else 0):
        if found is first and trace.clock.left() <= 0.0:
            break
        whole = _of_all_rows(given, update, errors)
        noise, trace.constant = whole.noise, whole.noise.constant
        learns = round_number < _LEARNING_ROUNDS
        given = _given(problem, found, whole, learns)
        problem.rng.set_state(drawn)  # the same groups of rows
        found = learner(given).with_noise(noise)
        gain = np.inf if best is None else found.result.objective - best.result.objective
        # the objective of a part of the rows is scaled up, and says less
        is_whole = found.result.n_used is None or first.result.n_used is not None
        if not (is_whole or found.interrupted):
            found = first if best is None or best is first else best
            break
        if gain > 0.0:
            best, of_best = found, given.rows
        is_over = trace.stopped or found.interrupted
        if is_over or trace.clock.left() < trace.clock.elapsed() - begun:
            break
        if gain < _LEAST_GAIN * problem.rows.total_weight or round_number == _ROUNDS - 1:
            break
        begun = trace.clock.elapsed()
        trace.begin("noise of each row")
        errors = _errors_at(given, found, errors.places)
        update = _updated(given, noise, update.at_rows, errors, free)
    if found is first:
        return _without_rounds(given, first, update, errors, free), before.rows
    return best, of_best


def _without_far_targets(problem):
    """The problem with small precisions where targets are far from all others.

    Learning with Gaussian noise may otherwise end at a function that goes through them, from which
    no update of the noise leads away.
    """
    targets = problem.rows.targets
    middle, deviation = median_mad(targets)
    deviation[deviation == 0.0] = np.inf
    times = (np.abs(targets - middle) / deviation).max(axis=1)
    if times.max() <= _FAR:
        return problem
    return replace(problem, rows=problem.rows.with_precision((_FAR / np.maximum(times, _FAR)) ** 2))


@contextmanager
def _share(trace, share):
    """A shorter clock, for what comes first, and none of its reasons to end."""
    clock = trace.clock
    trace.clock = clock.shortened(share)
    try:
        yield
    finally:
        trace.clock = clock


class _Errors(NamedTuple):
    """Expected squared errors at some rows.

    Attributes
    ----------
    rows : Rows
    squares : ndarray of shape (n, t)
    places : ndarray of int or None
        Of these rows among all, None for all of them.
    """

    rows: Rows
    squares: np.ndarray
    places: np.ndarray | None

    @property
    def of_all(self):
        return self.places is None


def _first_update(given, found, candidates, free):
    """The noise that is chosen, and the errors that it was learned from.

    Tails give each row a precision of its own. Where there is no time for the errors of all rows
    they are no candidates, and where they were asked for, errors of some rows tell what they are.
    """
    clock, n_rows, places = given.trace.clock, len(given.rows), None
    begun, has_time = clock.elapsed(), True
    if n_rows > LARGEST_SAMPLE:
        places = found.drawn(n_rows, LARGEST_SAMPLE, given.rng)
    errors = _errors_at(given, found, places)
    if not errors.of_all:
        seconds = (clock.elapsed() - begun) * n_rows / len(errors.rows)
        has_time = seconds < _TAILS_SHARE * clock.left()
    if len(candidates) > 1 and not has_time:
        candidates = [one for one in candidates if not FoundNoise(one).has_tails]
    update = _chosen(given, errors, candidates, free)
    if update.noise.has_tails and not errors.of_all and has_time:
        errors = _errors_at(given, found, None)
        update = _updated(given, update.noise, None, errors, free)
    return update, errors


def _errors_at(given, found, places):
    rows = given.rows if places is None else given.rows.select(places)
    mean, variance = found.moments_of(rows, given.settings.n_jobs)
    noise_variance = found.result.parameters.noise_variance
    return _Errors(rows, squared_errors(rows, mean, variance, noise_variance), places)


def _chosen(given, errors, candidates, free):
    """The `Update` of the candidate whose bound is best where the function stays as it is.

    More parameters have to be worth it, as by the Bayesian information criterion.
    """
    price = 0.5 * np.log(max(given.rows.total_weight, len(given.rows)))
    share = errors.rows.total_weight / given.rows.total_weight
    updates, log_noise, at_rows = [], None, None
    for one in candidates:
        noise = FoundNoise(one, log_noise=log_noise)  # tails take what g has left, not all of it
        update = _updated(given, noise, at_rows, errors, free)
        updates.append(update)
        log_noise, at_rows = update.noise.log_noise, update.at_rows

    def value(update):
        return update.likelihood_bound - share * price * update.noise.n_parameters

    return max(updates, key=value)


def _updated(given, noise, at_rows, errors, free):
    """What squared errors say of the noise.

    Parameters
    ----------
    given : Problem
    noise : FoundNoise
    at_rows : LogNoiseMoments or None
        Of the noise, at the rows of the errors; None to compute them.
    errors : _Errors
    free : dict
        What `FoundNoise.updated` learns.

    Returns
    -------
    update : Update
    """
    (rows, squares, _), n_jobs = errors, given.settings.n_jobs
    if at_rows is None:
        at_rows = noise.log_noise_at(rows.X, n_jobs)
    if noise.likelihood.varies:
        before = noise.updated(rows, squares, at_rows, **free)
        scaled = before.of_tails[:, None] * squares / before.scale
        of_rows = replace(given, rows=rows)
        log_noise = learn_log_noise(of_rows, noise.likelihood, scaled, noise.log_noise)
        noise = replace(noise, log_noise=log_noise)
        at_rows = noise.log_noise_at(rows.X, n_jobs)
        noise = replace(noise, ceiling=largest_log_noise(at_rows, scaled, rows.weights[1]))
    return noise.updated(rows, squares, at_rows, **free)


def _of_all_rows(given, update, errors):
    """An update for all rows, where noise without tails was learned from some of them."""
    if errors.of_all:
        return update
    noise, rows = update.noise, given.rows
    at_rows = noise.log_noise_at(rows.X, given.settings.n_jobs)
    return noise.updated(rows, np.zeros(rows.y.shape), at_rows)._replace(scale=update.scale)


def _without_rounds(given, first, update, errors, free):
    """The first fit with noise of each row, where there is no time to go on from it.

    Its bound is that of the same q(u): only the likelihood of the rows is another.
    """
    free = free | {"learns_scale": False}
    update = _updated(given, update.noise, update.at_rows, errors, free)
    share = errors.rows.total_weight / given.rows.total_weight
    of_all = 0.0 if update.noise.log_noise is None else update.noise.log_noise.posterior.kl()
    constant = (update.noise.constant + of_all) / share - of_all
    weight, precision = errors.rows.weights[1], update.precision.reshape(len(errors.rows), -1)
    gain = 0.5 * float((weight @ ((1.0 - precision) * errors.squares)).sum()) / share
    return first.with_noise(replace(update.noise, constant=constant), constant + gain)


def _given(problem, found, update, learns):
    """The problem given precisions, on from what was found."""
    result, parameters = found.result, found.result.parameters
    space = result.start.space  # of the kernel that was chosen
    if problem.learns and space.learns("log_noise"):
        log_noise = parameters.values["log_noise"] + np.log(update.scale)
        parameters = space.clipped(parameters.with_values(log_noise=log_noise))
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
        before=found,
    )
