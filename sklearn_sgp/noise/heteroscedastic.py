"""Learning with noise of each row: coordinate ascent of one bound, in the function and its noise.

Given a precision of each row's noise the model is the Gaussian one, learned as ever. Given the
function, expected squared errors have new precisions in closed form (docs/theory.md, section 13).
"""

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from .._linalg import NotPositiveDefiniteError
from ..engines.few_rows import says_little
from ..likelihoods import NoiseChoice
from ..objectives.scores import Score, bic_nats
from ..objectives.sites import UnboundedSitesError
from ..optimize import time_shares
from ..optimize.choices import Comparison
from .far_targets import without_far_targets
from .given_noise import NoiseFit
from .left_out_errors import NOISE_ROWS, rows_within
from .log_noise import LARGEST_SAMPLE, learn_log_noise
from .own_errors import TURNS
from .row_noise import RowNoise

# Fits given the noise at most, and a gain of the bound, in nats a row, with which they end.
_NOISE_ROUNDS, _LEAST_NOISE_GAIN = 6, 1e-3
# In so many of them kernel and noise learn for so many iterations, from where they are. The
# function of 600 rows of three instruments has deviations of 0.28 where noise is largest; 0.33 with
# one round of 4, 0.16 with two of 8, which take 2 to 3 s more at 10,000 rows of four tables. With
# four rounds in all, heavy tails of 500 rows were not found.
_LEARNING_ROUNDS, _GIVEN_NOISE_ITERATIONS = 1, 8
# Fits and iterations where noise is learned from some of many rows (`Predictor.most_rows`). 10,000
# houses take 13 s instead of 19 with 0.0003 nats less, 20,000 and 100,000 flights 17 and 33 s
# instead of 20 and 47 with 0.0017 less and 0.0017 more. Half as many near rows for errors of all
# rows overestimate the noise: 5,000 houses had 0.024 nats less. A third round with near rows gives
# 10,000 of kin40k the same fit, 18,576 houses 0.001 nats less, 8,611 of power_plant 0.002 more.
_ROUNDS_OF_MANY = 3
# Passes with near rows, of which each draws new groups: four tables of 5,000 rows have 0.0005 nats
# more (none less) with two than with four, in 0.97 of the CPU time; with none 0.014 nats less.
_ITERATIONS_OF_MANY, _ITERATIONS_OF_NEAR = 4, 2
# Up to so many rows with near rows are few: the bound chooses, and rounds go on while it gains.
# Beyond, densities of rows given all others see noise that varies where the bound does not, and
# rounds are at most these, up to so many rows and beyond. With 4,096 in the place of 1,536, and
# six rounds of eight passes, 2,500 made rows have 0.105 nats less in 0.68 of the CPU time, 2,500
# houses 0.002 less in 1.09 times, 3,500 made rows 0.008 more in 1.37 times. With two rounds the
# latter have 0.032 less than with six; two more made tables are the same. With 8,192 three draws
# of 5,000 houses had 0.014, 0.021 and 0.020 nats less, of power_plant 0.002, 0.003 and 0.006 more,
# and took 1.13 and 1.23 times as long.
_FEW_NEAR_ROWS, _SOME_NEAR_ROWS, _ROUNDS_OF_NEAR = 1536, 4096, (4, 2)
# And the gain in nats a row, of rows given all others, for which errors of all rows are computed:
# tails give each its own noise. The bound hardly sees what they gain, as a row with a large error
# draws the function to itself: by that two splits of 18,576 houses had none, and 0.036 and 0.057
# nats less than with tails and what `own_errors` does of them.
_LEAST_GAIN_OF_TAILS = 5e-3
_STAGE = "noise of each row"


def alternate_noise(problem, likelihood, learn):
    """Learn function and noise of each row by coordinate ascent, which asks for fits.

    See `estimators.asking`.

    Parameters
    ----------
    problem : Problem
        With Gaussian noise.
    likelihood : Likelihood
        One with a ``row_precision`` or a ``noise_choice``.
    learn : callable
        ``learn(problem)`` asks for a `Fitted`.

    Returns
    -------
    problem : Problem
        Its rows with the precisions that q(u) rests on.
    fitted : Fitted
        With the bound and the likelihood of function and noise.
    first : NoiseFit
        The first fit, with the same noise everywhere: its ``problem``, and what was ``learned``. If
        two were learned, that which believes all targets.
    """
    candidates = NoiseChoice.of(likelihood).candidates
    if says_little(problem):
        candidates = candidates[:1]
    with _share(problem.trace, time_shares.FUNCTION_AND_NOISE):
        ascent = _CoordinateAscent(problem, candidates, learn)
        try:
            fit = yield from ascent.highest(*(yield from ascent.begun()))
        except KeyboardInterrupt:
            if ascent.kept is None:
                raise
            fit = ascent.kept.ended_by_ctrl_c()
    return replace(problem, rows=fit.problem.rows), fit.learned, ascent.believing or ascent.first


class _Effort(NamedTuple):
    """Rows that noise is learned from where no row has its own, rounds, iterations, and a judge."""

    n_rows: int
    rounds: int
    iterations: int
    by_left_out: bool

    @classmethod
    def of(cls, fit):
        """Return what pays for a fit, with as many rows as there is time for."""
        predictor, size = fit.learned.predictor, len(fit.problem.rows)
        n_rows, knows_rows = min(LARGEST_SAMPLE, predictor.most_rows), predictor.knows_rows
        is_few = size <= (_FEW_NEAR_ROWS if knows_rows else n_rows)
        n_rows = rows_within(fit.problem, fit.learned, n_rows, time_shares.TAILS, NOISE_ROWS)
        if is_few:
            return cls(n_rows, _NOISE_ROUNDS, _GIVEN_NOISE_ITERATIONS, False)
        rounds, iterations = _ROUNDS_OF_MANY, _ITERATIONS_OF_MANY
        if knows_rows:
            rounds, iterations = _ROUNDS_OF_NEAR[size > _SOME_NEAR_ROWS], _ITERATIONS_OF_NEAR
        return cls(n_rows, min(_NOISE_ROUNDS, rounds), iterations, knows_rows)

    def places(self, fit):
        """Draw the rows that noise is learned from; None for all."""
        drawn, count = fit.learned.predictor.drawn, len(fit.problem.rows)
        return None if count <= self.n_rows else drawn(count, self.n_rows, fit.problem.rng)


class _CoordinateAscent:
    """Fit the function given its noise, and update the noise given the function, by turns.

    The noise is chosen among candidates at its first update.
    """

    def __init__(self, problem, candidates, learn):
        precisions, start = [one.row_precision for one in candidates], problem.start
        if any(one.has_tails for one in precisions):
            start = start.telling_outputs_apart(problem.rows.y.shape[1])
        differs = all(one.differs for one in precisions)
        self.problem = problem = replace(problem, start=start, has_row_noise=differs)
        self.candidates, self.learn, self.first, self.effort = candidates, learn, None, None
        # what stays after Ctrl-C, and the first fit to all targets where another one goes on
        self.kept = self.believing = None
        self.trace, self.drawn = problem.trace, problem.rng.get_state()
        self.free = {"learns": problem.learns, "n_scales": _n_scales(problem)}

    def highest(self, first, update, errors, begun):
        """Return the `NoiseFit` with the highest bound from where it has begun; note the best."""
        if not _differs(update):
            return first
        fit = first
        # where noise was chosen, the bound with the same noise everywhere is to be improved
        is_plain = len(self.candidates) > 1 and first.problem is self.problem
        best = first if is_plain else None
        n_rounds = self.effort.rounds if errors.of_all or not update.noise.has_tails else 0
        for count in range(1, n_rounds + 1):
            if fit is first and self.trace.clock.left() <= 0.0:
                break
            given = fit
            try:
                learns = count <= _LEARNING_ROUNDS
                fit = yield from self._fit_given(fit, update, errors, learns)
            except NotPositiveDefiniteError:  # precisions too far apart for floating point
                break
            if not _is_comparable(fit, first):
                break
            gain, before = fit.gain_over(best), best
            best = self.kept = fit if gain > 0.0 else best
            _raise_ctrl_c(fit)
            if count == n_rounds or self._ends(gain, begun):
                return best
            begun = self._begin_round()
            try:
                update, errors = yield from self._next_update(fit, update, errors)
            except NotPositiveDefiniteError:  # its noise is less than rounding at some rows
                best, fit = before, given
                self.kept = best or first
                break
        if best is None or best is first:
            try:
                return (yield from self._without_rounds(first, fit.problem, update, errors))
            except UnboundedSitesError:  # errors too far apart for a log noise
                return first
        return best

    def _first_fit(self, problem):
        """Fit with the same noise everywhere."""
        with _share(self.trace, time_shares.EQUAL_NOISE):
            learned = yield from self.learn(problem)
            self.first = self.kept = NoiseFit(problem, learned)
        _raise_ctrl_c(self.first)
        self.effort = _Effort.of(self.first)
        return self.first

    def begun(self):
        """Return the first fit, the noise that suits it, its errors, and when noise was begun.

        Where targets were not believed, and noise without tails may do, one that believes them is
        begun with, too: that goes on which says more of a row given all others. A function may
        swing most where few rows are, as speech does or a burst, and a kernel that is learned
        without these rows is no way to that of all: 500 rows of speech had 2.4 times the errors of
        Gaussian noise.
        """
        trace, given = self.trace, self.trace.start
        first = yield from self._first_fit(without_far_targets(self.problem))
        begun = self._begin_round()
        update, errors = yield from self._first_update(first)
        believes_all = first.problem is self.problem or _have_tails(self.candidates)
        has_time = not (self._is_over() or first.learned.cut_by == "max_time")
        if believes_all or not has_time:
            return first, update, errors, begun
        self.problem.rng.set_state(self.drawn)
        trace.start = given  # each fit may come to a start of its own
        plain = yield from self._first_fit(self.problem)
        other = yield from self._first_update(plain)
        if not _differs(update) or _score(plain, *other) > _score(first, update, errors):
            return plain, *other, begun
        self.believing, trace.start = plain, first.learned.start
        self.first = self.kept = first
        return first, update, errors, begun

    def _begin_round(self):
        """Tell of a new round, and return when it began."""
        begun = self.trace.clock.elapsed()
        self.trace.begin(_STAGE)
        return begun

    def _fit_given(self, fit, update, errors, learns):
        """Fit given the noise of an update."""
        update = _of_all_rows(fit.problem, update, errors)
        self.trace.constant = update.noise.constant
        iterations = self.effort.iterations if learns else 0
        problem = _given(self.problem, fit.learned, update, iterations)
        self.problem.rng.set_state(self.drawn)  # the same groups of rows
        learned = yield from self.learn(problem)
        return NoiseFit(problem, learned.with_noise(update.noise))

    def _next_update(self, fit, update, errors):
        """Return the `Update` given another function, and its errors.

        Of some rows these are others where the cells are others.
        """
        at_rows = update.at_rows if errors.of_all else None
        places = None if errors.of_all else self.effort.places(fit)
        errors = yield partial(fit.errors, places)
        update = yield from _updated(fit.problem, update.noise, at_rows, errors, self.free)
        return self._settled(fit, update, errors), errors

    def _settled(self, fit, update, errors):
        """Let the precision of each row and its error follow each other, other rows being given."""
        if not (update.noise.has_tails and fit.learned.predictor.knows_rows):
            return update
        return _settled(fit.others(errors), update, errors, self.free)

    def _ends(self, gain, begun):
        """Return True if there is no time for another round, or nothing to gain by it."""
        clock = self.trace.clock
        if self._is_over():
            return True
        is_short = clock.left() < clock.elapsed() - begun
        return is_short or gain < _LEAST_NOISE_GAIN * self.problem.rows.total_weight

    def _is_over(self):
        """Return whether somebody, or the clock, has ended all."""
        return self.trace.stopped or self.trace.clock.left() <= 0.0

    def _without_rounds(self, first, problem, update, errors):
        """Return the first fit with noise of each row, where there is no time to go on from it.

        Its bound is that of the same q(u): only the likelihood of the rows is another.
        """
        free = self.free | {"n_scales": 0}
        update = yield from _updated(problem, update.noise, update.at_rows, errors, free)
        noise, share = update.noise, errors.rows.total_weight / problem.rows.total_weight
        kl = noise.divergence
        constant = (noise.constant + kl) / share - kl
        weight, precision = errors.rows.weights[1], update.precision.reshape(len(errors.rows), -1)
        gain = 0.5 * float((weight @ ((1.0 - precision) * errors.squares)).sum()) / share
        noise = replace(noise, constant=constant + gain)
        return first._replace(learned=first.learned.with_noise(noise))

    def _first_update(self, first):
        """Choose the noise, and return its `Update` and the errors that it was learned from.

        Tails give each row a precision of its own. Where there is no time for the errors of all
        rows, those of some tell what they are.
        """
        problem, candidates = first.problem, self.candidates
        clock, n_rows, places, has_time = self.trace.clock, len(problem.rows), None, True
        begun = clock.elapsed()
        if not (_have_tails(candidates) and clock.left() == np.inf):
            places = self.effort.places(first)
        errors = yield partial(first.errors, places)
        if not errors.of_all:
            seconds = (clock.elapsed() - begun) * n_rows / len(errors.rows)
            has_time = seconds < time_shares.TAILS * clock.left()
        own = first.others(errors) if self.effort.by_left_out else None
        update = yield from _chosen(first, errors, own, candidates, self.free)
        if update.noise.has_tails and not errors.of_all and has_time:
            errors = yield partial(first.errors, None)
            update = yield from _updated(problem, update.noise, None, errors, self.free)
        return self._settled(first, update, errors), errors


def _raise_ctrl_c(fit):
    """Raise the Ctrl-C that has ended a fit."""
    if fit.learned.interrupted:
        raise KeyboardInterrupt


def _have_tails(candidates):
    """Return whether all noises that may be taken have tails."""
    return all(one.row_precision.has_tails for one in candidates)


def _differs(update):
    """Return whether the noise of an update differs from row to row."""
    return update.noise.likelihood.row_precision.differs


def _score(fit, update, errors):
    """Return nats of a row given all others, under the noise of an update."""
    return fit.others(errors).score(update, 0.0, fit.problem.settings.n_jobs).mean


def _n_scales(problem):
    """Return the number of noise variances that are learned."""
    if not (problem.learns and problem.space.learns("log_noise")):
        return 0
    return np.size(problem.space.group("log_noise").entries(problem.start.parameters.log_noise))


def _is_comparable(fit, first):
    """Return False if the bound is that of a part of the rows, scaled up, but the first was not."""
    is_whole = fit.learned.n_used is None or first.learned.n_used is not None
    return is_whole or fit.learned.interrupted


@contextmanager
def _share(trace, share):
    """Shorten the clock, without keeping the reasons for which a fit ended by it."""
    clock = trace.clock
    trace.clock = clock.shortened(share)
    try:
        yield
    finally:
        trace.clock, trace.constant = clock, 0.0


def _chosen(fit, errors, own, candidates, free):
    """Return the `Update` of the best candidate with the function as it is.

    The bound decides, or what each candidate says of a row given all others, which ``own`` tells.
    More parameters pay a BIC penalty.
    """
    problem, before, means = fit.problem, (None, None), []
    penalty = bic_nats(1, max(problem.rows.total_weight, len(problem.rows)))
    penalty /= problem.rows.total_weight

    named = ((type(one).__name__, one) for one in candidates if _may_gain(one, means))
    comparison = Comparison("noise", problem.trace)
    for one in comparison.over(named):
        with comparison:
            noise = RowNoise(one, log_noise=before[0])  # tails take what g has left, not all of it
            update = yield from _updated(problem, noise, before[1], errors, free)
            before = update.noise.log_noise, update.at_rows
            costs = penalty * update.noise.n_parameters
            if noise.has_tails and not errors.of_all:  # they cost the errors of all rows
                costs += _LEAST_GAIN_OF_TAILS
            if own is None:
                total = errors.rows.total_weight
                score = Score.of_objective(update.likelihood_bound - costs * total, total)
            else:
                update = _settled(own, update, errors, free)
                score = own.score(update, costs, problem.settings.n_jobs)
            means.append(score.mean)
            comparison.add(update, score)
    return comparison.best_first()[0].result


def _may_gain(candidate, means):
    """Return whether a candidate is run, after others, the simplest first, had so many nats a row.

    Noise that varies and has tails is not where neither alone gains anything: of 156 fits of 500 to
    2,000 rows of 17 tables this was so in 142, none of which took both.
    """
    precision = candidate.row_precision
    is_both = precision.has_tails and precision.varies
    return not (is_both and len(means) > 1 and max(means) <= means[0])


def _settled(own, update, errors, free):
    """Let the precision of each row and its error follow each other, other rows being given."""
    for _ in range(TURNS if update.noise.has_tails else 0):
        squares = own.squares(update, errors.squares)
        update = update.noise.updated(errors.rows, squares, update.at_rows, **free)
    return update


def _updated(problem, noise, at_rows, errors, free):
    """Return the `Update` of a `RowNoise`, whose log noise is learned from the errors first.

    ``at_rows`` are the moments of the log noise at their rows, or None to compute them.
    """
    (rows, squares, _), n_jobs = errors, problem.settings.n_jobs
    if at_rows is None:
        at_rows = noise.log_noise_at(rows.X, n_jobs)
    prior = noise.likelihood.row_precision.log_noise
    if prior is not None:
        before = noise.updated(rows, squares, at_rows, **free)
        scaled = before.of_tails * squares / before.scale
        of_rows = replace(problem, rows=rows)
        log_noise = yield from learn_log_noise(of_rows, prior, scaled, noise.log_noise)
        noise = replace(noise, log_noise=log_noise)
        at_rows = noise.log_noise_at(rows.X, n_jobs)
        noise = noise.with_levels(rows, scaled, at_rows)
    return noise.updated(rows, squares, at_rows, **free)


def _of_all_rows(problem, update, errors):
    """Extend an update to all rows, where noise without tails was learned from some of them."""
    if errors.of_all:
        return update
    noise, rows = update.noise, problem.rows
    at_rows = noise.log_noise_at(rows.X, problem.settings.n_jobs)
    return noise.updated(rows, np.zeros(rows.y.shape), at_rows)._replace(scale=update.scale)


def _given(problem, learned, update, n_iter):
    """Make the problem given precisions, which goes on from what was learned."""
    parameters, space = learned.parameters, learned.start.space  # of the kernel chosen
    if problem.learns and space.learns("log_noise"):
        log_noise = parameters.values["log_noise"] + np.log(update.scale)
        parameters = space.clipped(parameters.with_values(log_noise=log_noise))
    settings = problem.settings
    return replace(
        problem,
        rows=problem.rows.with_precision(update.precision),
        start=replace(learned.start, parameters=parameters, alternatives=()),
        settings=replace(
            settings,
            optimizer=settings.optimizer if n_iter else None,
            max_iter=min(n_iter, settings.max_iter),
            n_restarts_optimizer=0,
        ),
        is_interim=True,
        previous=learned,
    )
