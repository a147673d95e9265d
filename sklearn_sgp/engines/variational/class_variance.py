"""How a fit of several classes begins, up to the last q(u).

The variational bound of a softmax takes many passes for each class, and prefers functions that are
too smooth: on pen-based digits its best kernel has an error of 2.8 %, that of regressions of the
labels 2.1 % in a fifth of the time. So regressions give kernel and inducing inputs. What the
softmax then has of its own, the variance of its functions, a factor of their length scales and a
temperature, is chosen by labels of rows that are held out until then.
"""

from dataclasses import replace
from time import perf_counter

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ...data.rows import random_index
from ...kernels._length_scales import with_larger_variance, with_shorter_scales
from ...objectives.class_regressions import ClassRegressions
from ...objectives.scores import Score, is_better
from ...objectives.sites import SiteBound
from ...optimize import shares
from ...optimize.budget import count_within
from ...optimize.choices import Tried, tell
from .class_regressions import RegressionInference, held_out_classes, regressions_of

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
# Length scales are multiplied by powers of a step, at most so many: the noise that regressions give
# to labels asks for scales that are too short where classes have sharp edges, or overlap. 24 draws
# of eight tables gain 0.03 nats (lines with noise 0.12, two periods of a sine 0.05) and lose 0.01
# once, for 4 % more time. Gains of more than their standard error alone, by 60 labels: nothing.
_LONGER, _MOST_LONGER = 1.5, 6
# Gain of the bound, in nats a row, with which iterations for q(u) end while variances are compared.
_VARIANCE_TOL = 1e-3


def from_regressions(problem, budget, learn):
    """Learn kernel and inducing inputs by regressions, variance and temperature by their labels.

    Parameters
    ----------
    problem : Problem
        With a softmax.
    learn : callable
        ``learn(problem, budget)`` returns the problem with its kernel chosen, its parameters and
        the number of iterations.

    Returns
    -------
    problem : Problem
        With the temperature.
    parameters : Parameters
    n_iter : int
    """
    if len(problem.rows) < _LEAST_LABELS:
        return learn(problem, budget)
    known, held_out = _parted(problem.rows, problem.rng)
    last = problem.inference
    likelihood = regressions_of(last.likelihood, known, last.n_latent)
    inference = RegressionInference(likelihood, last, held_out, known.total_weight)
    easier = replace(problem, rows=known, inference=inference)
    try:
        easier, parameters, n_iter = learn(easier, budget)
    except NotPositiveDefiniteError:  # huge weights: the softmax says more of them
        return learn(problem, budget)
    problem = replace(problem, start=easier.start)
    problem.trace.reached = None  # it is no bound of the softmax
    if problem.trace.stopped:
        return problem, parameters, n_iter
    size = _affordable(problem, budget)
    known, held_out = (part.random_subset(size, problem.rng) for part in (known, held_out))
    search = VarianceSearch(
        problem, known, held_out, perf_counter() + shares.VARIANCE_OF_CLASSES * budget.left()
    )
    parameters, q = search.best(parameters)
    if q is None:  # no time: the functions of the regressions are those of a softmax, roughly
        some = easier.rows.random_subset(_AT_ONCE, problem.rng)
        regressions = ClassRegressions(some, likelihood, problem.settings.n_jobs)
        q, _ = regressions.optimal_q(problem.prior(parameters))
        problem.inference.keep_q(q, some.total_weight)
        return problem, parameters, n_iter
    likelihood = held_out_classes(problem.start.likelihood, q, held_out).calibrated()
    if problem.start.earlier is not None:
        parameters, q, likelihood = search.best_or_earlier(parameters, q, likelihood)
    problem.inference.keep_q(q, known.total_weight)
    problem = replace(problem, start=replace(problem.start, likelihood=likelihood))
    problem.trace.start = problem.start
    return problem, parameters, n_iter


def _affordable(problem, budget):
    """Return how many rows tell the variance, so that there is time for two of them."""
    if not budget.is_limited:
        return _VARIANCE_ROWS
    each = _FINISHES * budget.finish_seconds / len(problem.rows)
    return max(
        _LEAST_KNOWN,
        count_within(_VARIANCE_ROWS, shares.VARIANCE_OF_CLASSES * max(budget.left(), 0.0), each),
    )


def _parted(rows, rng):
    """Return rows to learn from, and rows held out."""
    size = min(_HELD_OUT, int(_LABELS_SHARE * len(rows)))
    held_out = np.sort(random_index(len(rows), size, rng))
    return rows.without(held_out), rows.select(held_out)


class VarianceSearch:
    """Variance and length scales of softmax functions, by the log probability of labels held out.

    Parameters
    ----------
    known : Rows
        That q(u) rests on.
    deadline : float
        Reading of time.perf_counter() after which no further variance is tried.
    """

    def __init__(self, problem, known, held_out, deadline):
        self.problem, self.held_out, self.deadline = problem, held_out, deadline
        inference, weight = problem.inference, known.total_weight
        self.bound = SiteBound(
            known,
            inference.likelihood,
            inference.n_latent,
            _VARIANCE_TOL * weight,
            with_inputs=False,
            n_jobs=problem.settings.n_jobs,
            deadline=deadline,
        )

    def best(self, parameters):
        """Return the best parameters, and their q(u); None where time is over."""
        variances = self._variances(parameters)
        first = min(_FIRST, max(variances))
        if perf_counter() > self.deadline:
            return parameters, None
        return self._with_longer_scales(self._best_variance(variances, first)).result

    def _best_variance(self, variances, first):
        best, went_up = self._tried(variances, first), False
        tried = [best]
        for direction in (1, -1):  # up first: most tables want more than the first one
            power = first + direction
            while power in variances and perf_counter() < self.deadline:
                tried.append(self._tried(variances, power))
                if not tried[-1].score.is_better(best.score):
                    break
                best, power, went_up = tried[-1], power + direction, direction > 0
            if went_up:
                break
        tell(f"variance, powers of {_FACTOR:g}", tried, best, self.problem.trace)
        return best

    def _with_longer_scales(self, first):
        """Return the best on the way to longer length scales, while labels are predicted better."""
        scales = self._longer_scales(first.result[0])
        best, tried = first, [replace(first, name="power 0")]
        taken = tried[0]
        for power in scales:
            if perf_counter() >= self.deadline:
                break
            tried.append(self._tried(scales, power))
            if not tried[-1].score.mean > best.score.mean:
                break
            best = taken = tried[-1]
        tell(f"length scales, powers of {_LONGER:g}", tried, taken, self.problem.trace)
        return best

    def _tried(self, options, power):
        """Score one of some parameters, which are known by their power."""
        began = perf_counter()
        log_p, *result = self._scored(options[power])
        score = Score(log_p, self.held_out.weights[0])
        return Tried(f"power {power}", tuple(result), score, perf_counter() - began)

    def best_or_earlier(self, parameters, q, likelihood):
        """Return what was learned now, or what an earlier fit had learned if it is as good.

        Parameters
        ----------
        likelihood : Likelihood
            With the temperature.
        """
        start = self.problem.start
        now = held_out_classes(likelihood, q, self.held_out)
        _, _, q_before = self._scored(start.parameters)
        before = held_out_classes(start.likelihood, q_before, self.held_out)
        temperature = getattr(start.earlier, "temperature", 1.0)
        scores = (
            now.log_probabilities(likelihood.temperature),
            before.log_probabilities(temperature),
        )
        if is_better(*scores, self.held_out.weights[0]):
            return parameters, q, likelihood
        return start.parameters, q_before, before.at(temperature)

    def _variances(self, parameters):
        """Return parameters with variances times powers of a factor, by these; those in bounds."""
        powers = range(_LEAST, _LARGEST + 1)
        return {0: parameters} | self._in_bounds(with_larger_variance, _FACTOR, powers, parameters)

    def _longer_scales(self, parameters):
        """Return parameters with longer length scales by powers of a step; those in bounds."""
        powers = range(1, _MOST_LONGER + 1)
        return self._in_bounds(with_shorter_scales, _LONGER, powers, parameters)

    def _in_bounds(self, change, factor, powers, parameters):
        result, space, expression = {}, self.problem.space, parameters.expression
        for power in powers:
            theta = change(expression, parameters.theta, factor**power)
            changed = parameters.with_values(theta=theta)
            moves = not np.array_equal(theta, parameters.theta)
            if moves and np.array_equal(space.clipped(changed).theta, theta):
                result[power] = changed
        return result

    def _scored(self, parameters):
        """Score parameters: log probabilities of held-out labels, parameters, q(u)."""
        _, q, _, _ = self.bound.at(parameters, self.problem.prior(parameters))
        classes = held_out_classes(self.problem.start.likelihood, q, self.held_out)
        return classes.log_probabilities(1.0), parameters, q
