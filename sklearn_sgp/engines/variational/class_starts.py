"""How a fit of several classes begins, up to the last q(u).

The variational bound of a softmax takes many passes for each class, and prefers functions that are
too smooth: on pen-based digits its best kernel has an error of 2.8 %, that of regressions of the
labels 2.1 % in a fifth of the time. So regressions give kernel and inducing inputs. What the
softmax then has of its own, the variance of its functions, a factor of their length scales and a
temperature, is chosen by labels of rows that are held out until then.
"""

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ...data.held_out import held_out_index
from ...kernels._length_scales import with_larger_variance, with_shorter_scales
from ...kernels._parts import in_words
from ...objectives.class_regressions import ClassRegressions
from ...objectives.scores import Score, is_better
from ...optimize import time_shares
from ...optimize.budget import count_within
from ...optimize.choices import Tried, climb, numbered, tell
from ..explained import explains_little_of, is_below_chance
from .candidates import starts_of
from .class_regressions import RegressionInference, regressions_of
from .inference import knowing
from .label_folds import LabelFolds, parts_of

# Rows held out, at most, and as a share of all; with fewer rows than the last nothing is held out.
_HELD_OUT, _LABELS_SHARE, _LEAST_LABELS = 2048, 0.2, 20
# Rows that tell the variance, those at least where there is little time, and the time that two
# variances take, in finishes.
_VARIANCE_ROWS, _LEAST_KNOWN, _FINISHES = 2048, 256, 4.0
# Rows whose regressions take the place of all this where there is no time for it.
_AT_ONCE = 16_384
# Factors by which the variance of regressions is multiplied: these powers of 4, beginning at 16,
# which is nearest to the best bound on most tables.
_FACTOR, _FIRST, _LEAST, _LARGEST = 4.0, 2, -1, 5
# Steps from the largest to the least variance of default kernels, 1e4 to 1e-4.
_FALLS = 13
# Length scales are multiplied by powers of a step, at most so many: the noise that regressions give
# to labels asks for scales that are too short where classes have sharp edges, or overlap. 24 draws
# of eight tables gain 0.03 nats (lines with noise 0.12, two periods of a sine 0.05) and lose 0.01
# once, for 4 % more time. Gains of more than their standard error alone, by 60 labels: nothing.
_LONGER, _MOST_LONGER = 1.5, 6
_SEARCH = "variance of classes, by labels held out"


def from_regressions(problem, budget, learn):
    """Learn kernel and inducing inputs by regressions, variance and temperature by their labels.

    Parameters
    ----------
    problem : Problem
        With a softmax.
    learn : callable
        ``learn(problem, budget)`` returns the problem with its kernel chosen, and a `Run`.

    Returns
    -------
    problem : Problem
        With the temperature.
    run : Run
    """
    if len(problem.rows) < _LEAST_LABELS:
        return learn(problem, budget)
    known, held_out = _parted(problem.rows, problem.rng)
    last = problem.inference
    likelihood = regressions_of(last.likelihood, known, last.n_latent)
    inference = RegressionInference(likelihood, last, held_out, known.total_weight)
    easier = replace(problem, rows=known, inference=inference)
    problem.trace.forecast.expect(_SEARCH, np.inf)
    try:
        easier, run = learn(easier, budget)
    except NotPositiveDefiniteError:  # huge weights: the softmax says more of them
        return learn(problem, budget)
    given, problem = problem, replace(problem, start=easier.start)
    run = run._replace(reached=None)  # it is no bound of the softmax
    if problem.trace.stopped:
        return problem, run
    problem.trace.begin(_SEARCH)
    size = _affordable(problem, budget)
    known, held_out = (part.random_subset(size, problem.rng) for part in (known, held_out))
    parts = parts_of(known, held_out, problem.rng)[: max(size // len(known), 1)]
    deadline = perf_counter() + time_shares.VARIANCE_OF_CLASSES * budget.left()
    search = VarianceSearch.of(problem, parts, deadline)
    best = search.best(run.parameters)
    if best is not None and _has_few_rows(given, budget) and search.tells_little(best):
        posed = replace(easier, start=given.start)
        search, run, best = _of_every_start(posed, budget, learn, (search, run, best))
        problem = search.problem
    if best is None:  # no time: the functions of the regressions are those of a softmax, roughly
        some = easier.rows.random_subset(_AT_ONCE, problem.rng)
        regressions = ClassRegressions(some, likelihood, problem.settings.n_jobs)
        q, _ = regressions.optimal_q(problem.prior(run.parameters))
        return knowing(problem, (q, some.total_weight)), run
    best = search.unless_below_chance(best)
    likelihood = best.left_out.calibrated()
    if problem.start.earlier is not None:
        best, likelihood = search.best_or_earlier(best, likelihood)
    problem = knowing(problem, (best.q, known.total_weight))
    problem = replace(problem, start=replace(problem.start, likelihood=likelihood))
    problem.trace.start = problem.start
    return problem, run._replace(parameters=best.parameters)


def _has_few_rows(problem, budget):
    """Return whether several starts may each be learned to the end: of few rows, and anew."""
    is_new = problem.start.earlier is None and len(starts_of(problem)) > 1
    return is_new and len(problem.rows) <= _VARIANCE_ROWS and not budget.is_limited


def _of_every_start(posed, budget, learn, found):
    """Return the search, run and labels of the start whose labels held out are the most probable.

    Regressions may have chosen one that explains each of few rows by itself. Each start is learned
    to the end, and what it begins with is looked at, too. ``posed`` are regressions, with all
    starts; ``found``, (VarianceSearch, Run, JudgedLabels), is of the start that they have chosen.
    """
    search, run, best = found
    every, n_iter = [Tried("as chosen", found, search.score(best), 0.0)], run.n_iter
    for start in starts_of(posed):
        begun = perf_counter()
        alone = replace(posed, start=start)
        try:
            learned, one = learn(alone, budget)
        except NotPositiveDefiniteError:
            continue
        n_iter += one.n_iter
        other = search.from_start(learned.start)
        for how, parameters in (("learned", one.parameters), ("begun", start.parameters)):
            judged, name = other.best(parameters), f"{in_words(start.kernel)}, {how}"
            if judged is not None:
                result, spent = (other, one._replace(reached=None), judged), perf_counter() - begun
                every.append(Tried(name, result, other.score(judged), spent))
        if posed.trace.stopped:
            break
    names = numbered(one.name for one in every)
    every = [replace(one, name=name) for one, name in zip(every, names, strict=True)]
    taken = max(every, key=lambda one: one.score.mean)
    tell("start of classes, by labels held out", every, taken, posed.trace)
    search, run, best = taken.result
    return search, run._replace(n_iter=n_iter), best


def _affordable(problem, budget):
    """Return how many rows tell the variance, so that there is time for two of them."""
    if not budget.is_limited:
        return _VARIANCE_ROWS
    each = _FINISHES * budget.finish_seconds / len(problem.rows)
    seconds = time_shares.VARIANCE_OF_CLASSES * max(budget.left(), 0.0)
    return max(_LEAST_KNOWN, count_within(_VARIANCE_ROWS, seconds, each))


def _parted(rows, rng):
    """Return rows to learn from, and rows held out."""
    size = min(_HELD_OUT, int(_LABELS_SHARE * len(rows)))
    held_out = np.sort(held_out_index(rows, size, rng))
    return rows.without(held_out), rows.select(held_out)


@dataclass(frozen=True)
class VarianceSearch:
    """Variance and length scales of softmax functions, by the log probability of labels held out.

    All folds tell length scales, the first one what the variance is, and the temperature. After the
    deadline, a reading of time.perf_counter(), no further variance is tried.
    """

    problem: object
    first: LabelFolds
    every: LabelFolds
    deadline: float

    @classmethod
    def of(cls, problem, parts, deadline):
        """Search by pairs of rows: known, and held out."""
        first = every = LabelFolds.of(problem, parts[:1], deadline)
        if len(parts) > 1:
            every = LabelFolds.of(problem, parts, deadline)
        return cls(problem, first, every, deadline)

    def best(self, parameters):
        """Return `JudgedLabels` of the best parameters; None where time is over."""
        variances = self._variances(parameters)
        first = min(_FIRST, max(variances))
        if perf_counter() > self.deadline:
            return None
        best = self._best_variance(variances, first)
        scaled = self._with_longer_scales(best).result
        return scaled if self.every is self.first else self._unless_worse(best, scaled.parameters)

    def from_start(self, start):
        """Return the search by the same labels from another start."""
        problem = replace(self.problem, start=start)
        first, every = (replace(folds, problem=problem) for folds in (self.first, self.every))
        return replace(self, problem=problem, first=first, every=every)

    def score(self, best):
        """Return the `Score` of all labels that are held out, at the temperature of the first."""
        return self._held_out(best)[1]

    def tells_little(self, best):
        """Return whether these labels are hardly more probable than by how many there are."""
        left_out, score = self._held_out(best)
        return explains_little_of(np.bincount(left_out.place, left_out.weight), score.mean)

    def unless_below_chance(self, best):
        """Return what is best, with less variance where its bound is below that of no function.

        Equal inputs are held out together, and functions that vary fast predict them by
        frequencies, whatever their variance is: nothing judges labels at inputs that are known.
        Without inputs that come again labels judge well: the bound would lose weak functions.
        """
        may_mislead = perf_counter() <= self.deadline and self.first.inputs_come_again()
        if not (may_mislead and self.tells_little(best)):
            return best
        begin = self.first.by_bound("as chosen", best.parameters)
        if not is_below_chance(self.first.known_counts(), begin.score.mean):
            return best

        def at(step):
            changed = self._changed(best.parameters, _FACTOR**step)
            if changed is None or perf_counter() >= self.deadline:
                return None
            return self.first.by_bound(f"power {step}", changed)

        def gains(score, before):
            return score.mean > before.mean

        about = f"variance by the bound, powers of {_FACTOR:g}"
        less = climb(begin, at, (-1,), _FALLS, gains, about, self.problem.trace)
        if less is begin:
            return best
        found = self.first.judged(less.result, self.problem.start.likelihood)
        return best if self.score(best).is_better(self.score(found)) else found

    def _held_out(self, best):
        """Return all labels that are held out, and their `Score`; see `score`."""
        likelihood = best.left_out.calibrated()
        left_out = self.every.judged(best.parameters, likelihood).left_out
        log_p = left_out.log_probabilities(likelihood.temperature)
        return left_out, Score(log_p, left_out.weight)

    def _unless_worse(self, best, scaled):
        """Return what few inducing inputs have found, unless it is surely worse by all of them."""
        if scaled is best.result.parameters:
            return best.result
        found = self.first.tried("longer", scaled)
        return best.result if best.score.is_better(found.score) else found.result

    def _best_variance(self, variances, first):
        def at(step):
            power = first + step
            if power not in variances or perf_counter() >= self.deadline:
                return None
            return self.first.tried(f"power {power}", variances[power])

        begin = self.first.tried(f"power {first}", variances[first])
        how = (1, -1), len(variances), Score.is_better  # most tables want more than the first one
        about = f"variance, powers of {_FACTOR:g}"
        return climb(begin, at, *how, about, self.problem.trace)

    def _with_longer_scales(self, first):
        """Return the best on the way to longer length scales, while labels are predicted better.

        With the same variance, or with one that grows with them.
        """
        best = replace(first, name="power 0")
        if self.every is not self.first:
            best = self.every.tried(best.name, first.result.parameters)
        tried, ways = [best], [1.0, _FACTOR]
        for power in range(1, _MOST_LONGER + 1):
            better = self._first_better(best, ways, power, tried)
            if better is None:
                break
            best = better
        tell(f"length scales, powers of {_LONGER:g}", tried, best, self.problem.trace)
        return best

    def _first_better(self, best, ways, power, tried):
        """Return the first that is better than the best, and put its way first; None for none."""
        for variance in tuple(ways):
            changed = self._changed(best.result.parameters, variance, _LONGER)
            if changed is None or perf_counter() >= self.deadline:
                continue
            more = ", more variance" if variance > 1.0 else ""
            tried.append(self.every.tried(f"power {power}{more}", changed))
            if tried[-1].score.mean > best.score.mean:
                ways.sort(key=lambda one: one != variance)
                return tried[-1]
        return None

    def best_or_earlier(self, now, likelihood):
        """Return what was learned now, or what an earlier fit had learned if it is as good.

        The likelihood has the temperature.
        """
        start = self.problem.start
        before = self.first.judged(start.parameters, start.likelihood)
        temperature = getattr(start.earlier, "temperature", 1.0)
        scores = (
            now.left_out.log_probabilities(likelihood.temperature),
            before.left_out.log_probabilities(temperature),
        )
        if is_better(*scores, now.left_out.weight):
            return now, likelihood
        return before, before.left_out.at(temperature)

    def _variances(self, parameters):
        """Return parameters with variances times powers of a factor, by these; those in bounds."""
        result = {0: parameters}
        for power in range(_LEAST, _LARGEST + 1):
            changed = self._changed(parameters, variance=_FACTOR**power)
            result |= {} if changed is None else {power: changed}
        return result

    def _changed(self, parameters, variance, scales=1.0):
        """Return parameters with factors of variance and length scales; None beyond the bounds."""
        changed = parameters
        factors = ((with_shorter_scales, scales), (with_larger_variance, variance))
        for change, factor in factors:
            if factor == 1.0:
                continue
            theta = change(changed.expression, changed.theta, factor)
            if np.array_equal(theta, changed.theta):
                return None
            changed = changed.with_values(theta=theta)
        is_within = np.array_equal(self.problem.space.clipped(changed).theta, changed.theta)
        return changed if is_within else None
