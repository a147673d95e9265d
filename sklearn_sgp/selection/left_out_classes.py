"""What the evidence does not tell of a classifier, from rows given others near them.

That is `alpha_epsilon`, the temperature, the variance, a factor of all length scales, and whether
inducing inputs take part.
"""

import time
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from .._linalg import NotPositiveDefiniteError
from .._parallel import single_blas_thread
from ..data.held_out import held_out_index
from ..data.rows import random_index
from ..engines.base import Problem
from ..engines.blocks.class_scale import LEAST_HELD_OUT
from ..engines.blocks.composite_learning import CompositeLearning, can_learn
from ..engines.left_out import left_out_classes
from ..factors.class_noise import ClassNoise
from ..kernels._length_scales import with_larger_variance, with_shorter_scales
from ..objectives.left_out_classes import OF_GROUPS, OF_MODEL, LeftOutClasses
from ..objectives.scores import Score
from ..optimize import time_shares
from ..optimize.budget import Budget
from ..optimize.choices import Tried, climbing, tell
from ..optimize.parameters import ParameterSpace
from ..optimize.progress import Clock, Trace

# Values that `alpha_epsilon` is chosen from. The usual one is first, as there may be no time for
# others, then the one above it, and those below while each is better than the one before, from
# where that has ended. 20 of 21 draws of five tables have the value that four times as much
# learning for each of the four had chosen, the other one has 0.1 in the place of 0.01.
_ALPHA, _ABOVE, _BELOW, _MOST_ALPHAS = 0.01, 0.1, (0.001, 0.0001), 4
# Rows left out of groups that tell a temperature.
_JUDGED_ROWS = 4096
# So many rows are held out instead, without a budget, where there are enough in all.
_HELD_OUT = 2048
# Variances and length scales are compared on those of one cell in so many: a cell costs the same
# for a row as for seven. Of three tables of 9,000 to 16,000 rows (elec2, pendigits, 26 classes of a
# made one) two had the same choice as by all, log probabilities of new rows did not differ by
# 0.004, and the largest took 18 instead of 23 s. One cell in four: other choices on two of them,
# 0.001 and 0.007 worse.
_CELLS_OF_ONE = 3
# These tell by which power of a factor the variance is multiplied, too, then all length scales.
_CHANGES = (("variance", with_larger_variance, 2.5), ("length scales", with_shorter_scales, 1.25))
_MOST_POWERS = 4


class AlphaTrials:
    """Chooses the value that predicts left-out rows best, after some learning for each.

    ``seconds`` are those for all values. All are judged by as many groups as the first one had time
    for.
    """

    def __init__(self, seconds):
        self.limit, self.tried, self.theta = time.perf_counter() + seconds, [], None
        self.n_tests = None

    @property
    def best(self):
        """The best of the values that were tried, the largest of equal ones."""
        return self._best.result

    @property
    def _best(self):
        return max(self.tried, key=lambda one: (one.score.mean, one.result))

    def tell(self, trace):
        """Tell a trace what was tried."""
        tell("alpha_epsilon", self.tried, self._best, trace)

    def values(self):
        """Yield values while there is time for another one, and the last was the best."""
        yield _ALPHA
        if self._has_time:
            yield _ABOVE
        before = _ALPHA
        for alpha in _BELOW:
            if self._has_time and self.best == before:
                yield alpha
            before = alpha

    @property
    def _has_time(self):
        return time.perf_counter() <= self.limit

    def add(self, alpha, problem):
        """Try a value; the problem has it."""
        composite, parameters = CompositeLearning(problem), problem.start.parameters
        composite.n_tests = self.n_tests
        begin = time.perf_counter()
        seconds = (self.limit - begin) / (_MOST_ALPHAS - len(self.tried))
        if alpha in _BELOW:  # from where a larger one has ended
            parameters = parameters.with_values(theta=self.theta)
        try:
            if can_learn(problem):
                until, budget = time.perf_counter() + seconds, Budget(problem.trace.clock)
                parameters, _, value = composite.trial(problem, parameters, until, budget)
            else:
                value = composite.value(problem, parameters)
        except NotPositiveDefiniteError:
            value = Score.none()
        self.n_tests = composite.n_tests
        self.tried.append(Tried(f"{alpha:g}", alpha, value, time.perf_counter() - begin))
        if self.best == alpha:
            self.theta = parameters.theta


def calibrated(problem, fitted, learn, keeps_inducing):
    """Set the temperature, and more, that maximises held-out log probability.

    Of many rows some are held out, and the same model of the others predicts them: inducing inputs
    and all near rows take part. 26 classes of 16,000 rows: 0.78 by these, 1.18 by rows left out of
    groups, where a group is all that is known; 0.74 is best for test rows.

    These rows choose the variance and a factor of all length scales, too. The noise that labels are
    given is far more than they scatter by, and the evidence does not know which kernel predicts
    them: 26 classes want a sixth of the variance, prices of electricity six times as much. And
    where near rows alone predict better by more than the standard error, there are no inducing
    inputs any more: of what is local in many columns they follow little, and as residuals depend on
    more rows than each is conditioned on, q(u) is surer than it should be. With ``keeps_inducing``
    inducing inputs take part whatever they are worth. It asks for fits by
    ``learn(problem)``; see `estimators.asking`.
    """
    max_time = problem.trace.clock.max_time
    if len(problem.rows) < LEAST_HELD_OUT and max_time == np.inf:
        classes = ClassNoise.of(problem.rows.weights[0]).number
        return _with_temperature(fitted, left_out_classes(problem, fitted, classes), OF_MODEL)
    if max_time < np.inf:
        with single_blas_thread():
            near, likelihood = CompositeLearning(problem), fitted.start.likelihood
            seconds = time_shares.TEMPERATURES * max_time
            left_out = near.left_out(fitted.parameters, likelihood, _JUDGED_ROWS, seconds)
        return _with_temperature(fitted, left_out)
    problem.trace.begin("probabilities of classes held out")
    try:
        trials = Trials(problem, fitted, learn)
        best = yield from trials.best_kernel()
        best = yield partial(trials.scored, best)
        if not keeps_inducing and fitted.state.blocks.is_conditioned:
            best = yield from trials.without_inducing(best)
        if best.parameters is not fitted.parameters:
            fitted = yield from trials.again(best.parameters)
    except KeyboardInterrupt:
        return replace(fitted, interrupted=True)
    return _with_temperature(fitted, best.left_out)


class Trial(NamedTuple):
    """Parameters, what they predict of rows held out, and log probabilities of their classes."""

    parameters: object
    predictor: object
    left_out: LeftOutClasses
    log_p: np.ndarray

    @property
    def score(self):
        """Log probabilities at the best temperature: `Score`."""
        return Score(self.log_p, self.left_out.weight)


class Trials:
    """Models of all but some rows held out; methods that fit are generators, as `calibrated`."""

    def __init__(self, problem, fitted, learn):
        self.problem, self.fitted, self.learn = problem, fitted, learn
        self.known, self.held_out = _parted(problem)
        self.seed = problem.rng.randint(2**31)

    def _of_some_cells(self, predictor):
        """Return the rows held out that are in some of the cells."""
        number = predictor.number(self.held_out)
        cells = np.unique(number)
        some = random_index(len(cells), -(-len(cells) // _CELLS_OF_ONE), self.problem.rng)
        return self.held_out.select(np.flatnonzero(np.isin(number, cells[some])))

    def _predictor(self, parameters):
        rng = np.random.RandomState(self.seed)  # the same cells for all
        trace, known = Trace(Clock()), self.known
        fitted = yield from self._fitted(parameters, known, trace, rng, is_interim=True)
        return fitted.predictor

    def _trial(self, parameters, predictor, rows):
        weight, counts = rows.weights
        number, n_jobs = predictor.number(rows), self.problem.settings.n_jobs
        moments = predictor.of_one_cell(rows, number, n_jobs)
        place, likelihood = ClassNoise.of(weight).number, self.fitted.start.likelihood
        left_out = LeftOutClasses(likelihood, moments, place, counts)
        return Trial(parameters, predictor, left_out, left_out.score().each)

    def scored(self, trial):
        """Return the same by all rows held out."""
        return self._trial(trial.parameters, trial.predictor, self.held_out)

    def _fitted(self, parameters, rows, trace, rng, **options):
        """Compute q(u) of some rows."""
        start = replace(self.fitted.start, parameters=parameters, space=ParameterSpace(()))
        settings = replace(self.problem.settings, optimizer=None, max_steps=None)
        inference = self.problem.inference
        posed = Problem(rows, start, inference, settings, trace, rng, **options)
        fitted = yield from self.learn(posed)
        if fitted.interrupted:
            raise KeyboardInterrupt
        return fitted

    def best_kernel(self):
        """Choose among other variances, then length scales, by log probabilities."""
        parameters = self.fitted.parameters
        predictor = yield from self._predictor(parameters)
        compared = self._of_some_cells(predictor)
        best = yield partial(self._trial, parameters, predictor, compared)
        for about, change, factor in _CHANGES:
            best = yield from self._best_along(about, change, factor, best, compared)
        return best

    def _best_along(self, about, change, factor, first, rows):
        """Return the best on the way down, or else up, by rows held out."""

        def at(power):
            began = time.perf_counter()
            parameters = self._changed(change, factor**power, first.parameters)
            if parameters is None:
                return None
            predictor = yield from self._predictor(parameters)
            trial = yield partial(self._trial, parameters, predictor, rows)
            return Tried(f"power {power}", trial, self._score(trial), time.perf_counter() - began)

        how = (-1, 1), _MOST_POWERS, lambda score, best: score.mean > best.mean
        begin = Tried("as learned", first, self._score(first), 0.0)
        told = f"{about}, powers of {factor:g}", self.problem.trace
        best = yield from climbing(begin, at, *how, *told)
        return best.result

    def _score(self, trial):
        known = replace(self.problem, start=self.fitted.start)
        return known.raised(trial.score, trial.parameters)

    def _changed(self, change, factor, parameters):
        """Return parameters of a changed kernel; None where bounds leave no room."""
        space = self.fitted.start.space
        theta = change(parameters.expression, parameters.theta, factor)
        changed = parameters.with_values(theta=theta)
        is_within = np.array_equal(space.clipped(changed).theta, theta)
        moves = space.learns("theta") and not np.array_equal(theta, parameters.theta)
        return changed if moves and is_within else None

    def without_inducing(self, best):
        """Leave out inducing inputs where near rows alone predict better."""
        Z = best.parameters.Z
        if not len(Z):
            return best
        began, parameters = time.perf_counter(), best.parameters.with_values(Z=Z[:0])
        predictor = yield from self._predictor(parameters)
        trial = yield partial(self._trial, parameters, predictor, self.held_out)
        tried = [
            Tried("as learned", best, best.score, 0.0),
            Tried("none", trial, trial.score, time.perf_counter() - began),
        ]
        taken = tried[int(trial.score.is_better(best.score))]
        tell("inducing inputs", tried, taken, self.problem.trace)
        return taken.result

    def again(self, parameters):
        """Find q(u) of all rows, after as much learning as there was."""
        problem, before = self.problem, self.fitted
        given = problem.rows, problem.trace, problem.rng
        fitted = yield from self._fitted(parameters, *given, n_samples=problem.n_samples)
        return replace(fitted, start=before.start, n_iter=before.n_iter, n_steps=before.n_steps)


def _with_temperature(fitted, left_out, least=OF_GROUPS):
    start = replace(fitted.start, likelihood=left_out.calibrated(least))
    return replace(fitted, start=start)


def _parted(problem):
    """Return rows to know, and rows held out."""
    rows, is_held_out = problem.rows, np.zeros(len(problem.rows), dtype=bool)
    is_held_out[held_out_index(rows, _HELD_OUT, problem.rng)] = True
    return tuple(rows.select(np.flatnonzero(part)) for part in (~is_held_out, is_held_out))
