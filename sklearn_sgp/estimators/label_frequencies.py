"""The step that asks whether labels tell more by where they lie than by how many there are."""

import warnings
from dataclasses import dataclass, replace

import numpy as np

from .._linalg import NotPositiveDefiniteError
from ..data.frequencies import Frequencies, succession
from ..data.held_out import first_of_equals
from ..data.inputs import Inputs
from ..engines.blocks.composite_learning import learns_much_of_categories
from ..engines.blocks.trials import numbers_of_categories
from ..objectives.scores import Score, bic_nats
from ..optimize.choices import Tried, tell
from ..predict.classes import Classes
from .class_steps import as_regressions
from .fit import Fit

# At most so many distinct rows, of at most this weight, are asked; more of models of near rows. Of
# thirty draws of 26 to 60 rows by AnytimeSGPClassifier, nats a row beyond frequencies: labels that
# have nothing to do with X -.11 (-.45 once) and 0, those with a linear function in much noise .056
# and .008, a sine .09 and .12. SVGPClassifier had -.02, .18 and .01, and would have 0, .13 and 0.
# Of labels that have nothing to do with X those of 49 to 60 rows had -.06 (three draws).
FEW, FEW_OF_NEAR_ROWS = 24, 48
# Parts that are left out in turn; so few rows are left out one by one.
_LEFT_OUT_PARTS = 5
# Odds that labels have nothing to do with X, before any is seen, by the logarithm. Draws of 8 and
# 12 rows of two and three classes, log probabilities of new rows beyond those of frequencies: where
# X says nothing -0.12 without this step, -0.03, -0.014, -0.005 and -0.002 with 1 to 4; of clusters,
# 8 rows, 0.31 without it, 0.42, 0.41, 0.38 and 0.33.
# Draws of 80 to 250 rows: 14 of weak linear functions have up to .03 more with 1, .006 in the mean,
# 13 of noise .005 less.
_LOG_ODDS = 3.0
_SHARES_TRIED = 41
# More rows are asked, up to so many, whose labels gain less on frequencies, in nats of all rows, as
# they are left out of a model whose kernel has seen them. Of 74 of R's tables with classes, 84 to
# 300 rows, 25 gain less: 12 of them then predict new rows better by .006 to .09 nats a row, two
# worse by .01; of seven with 15 to 25 nats six lost .004 to .04. It takes five times the fit.
_DOUBTED_ROWS, _CLEAR_NATS = 300, 15.0
# Kernels of many categories have seen all labels, and have a number for each level. It costs one of
# the nats of labels left out (AIC), and half a logarithm of the rows of those of the bound (BIC):
# any table of which the labels gain less is asked. One part in so many is left out of more than 300
# rows, as each takes a fit. 1,000 rows, five columns of 5 to 30 levels, log probabilities of new
# rows. Six per cent of a rare class, AnytimeSGPClassifier, five draws: -.33, -.32, -.23, -.22, -.25
# become those of frequencies, -.25, -.20, -.20, -.21, -.23; 12 to 20 %, three draws: .001 to .010
# more. SVGPClassifier, three draws: -1.69, -1.81, -1.64 become -.41, -.50, -.25, of frequencies.
# Of R's tables with 16 levels and more, five fits changed: .10 and .03 (LendingClub's loans), .01
# more, .01 and .01 less; of kept ones that ask, six fits: four the same, .006 more, .003 less.
_SOME_OF_PARTS = 4
# Without such labels the bound tells what they gain, of so many rows times classes, as each class
# takes the time of a fit of two. Of 23 of R's tables SVGPClassifier asks nine: .011 nats a row more
# in the mean (two .055 and .064, three .01, one -.036), behind class frequencies in none, not in
# three; calibration error of all .056 -> .045, in 2.5 times the CPU time. StreamingSGPClassifier
# asks 17 of 32: .005 more (six .01 to .05, one -.037), calibration error of all .051 -> .044, in
# 2.7 times the CPU time; of three tables of noise .06 more.
_DOUBTED_NUMBERS = 600
# Where no label goes against all that is near, such a share of labels may yet do so: by Jeffreys'
# prior of a share n rows without one leave a mean of 0.5 / (n + 1). 44 draws of eleven tables of
# 100 to 400 rows by AnytimeSGPClassifier: .004 nats a row more in the mean (ionosphere .138, where
# one of 105 rows was surely wrong, iris .025), at most .002 less. Bounds of inducing inputs are
# less sure: .0001 more in the mean of 21 draws by SVGPClassifier.
_JEFFREYS = 0.5
# Fits of fewer iterations shall be short, and labels of a smaller mean weight are no counts.
_SHORT, _LEAST_WEIGHT = 20, 0.5


@dataclass(frozen=True)
class WeighFrequencies:
    """Gives the frequencies of classes a share of what few rows predict.

    A kernel can be found that explains the labels of few rows, whatever they are. So models of all
    but some rows predict the labels of these, and the rule of succession does. What is predicted
    is a mixture of both, with the share that is best for these labels.

    Parameters
    ----------
    steps : list of callable
        Of a fit of some rows.
    most_rows : int
        That are asked whatever they say; more are where they say little.
    by_bound : bool
        Whether the bound tells that, where no labels are left out.
    expects_exceptions : bool
        Whether frequencies always have the share of labels that go against all that is near.
    """

    steps: list
    most_rows: int = FEW
    by_bound: bool = False
    expects_exceptions: bool = False

    def __call__(self, fit):
        if not _is_learned_by_default(fit):
            return fit
        is_asked = _may_be_asked(fit)
        if not (is_asked or self.expects_exceptions):
            return fit
        place = fit.targets.places(fit.y)
        weight = np.ones(len(place)) if fit.weight is None else fit.weight
        of_class = np.bincount(place, weight, len(fit.targets.classes))
        share = least = 0.0
        if is_asked:
            share = yield from self._share(fit, place, weight, of_class)
        if self.expects_exceptions:
            least = _JEFFREYS / (max(len(place), of_class.sum()) + 1.0)
        if max(share, least) == 0.0:
            return fit
        frequencies = Frequencies(of_class, max(share, least), is_least=share < least)
        return replace(fit, targets=replace(fit.targets, frequencies=frequencies))

    def _share(self, fit, place, weight, of_class):
        """Return the share of frequencies of few rows; 0 where rows are not asked, or had no time.

        All of one class have nothing else.
        """
        gain = _gain(fit, of_class, self.by_bound)
        if not (_are_few(fit, self.most_rows) or gain < _CLEAR_NATS):
            return 0.0
        if np.count_nonzero(of_class) < 2:
            return 1.0
        parts = _parts_left_out(fit)
        if not fit.trace.clock.has_time_for(len(parts)):  # each takes as long as the fit
            return 0.0
        try:
            return (yield from self._of_left_out(fit, parts, place, weight))
        except NotPositiveDefiniteError:  # of fewer rows than the fit has
            return 0.0

    def _of_left_out(self, fit, parts, place, weight):
        """Return the share of frequencies by labels that are left out; 0 where that ended."""
        count = len(fit.targets.classes)
        own, plain = np.empty(len(place)), np.empty(len(place))
        fit.trace.begin("labels that are left out")
        for left in parts:
            kept = np.setdiff1d(np.arange(len(place)), left)
            p = yield from _predicted(_of_rows(fit, place, kept), self.steps, fit, left)
            if fit.trace.stopped:
                return 0.0
            own[left] = np.log(p[np.arange(len(left)), place[left]])
            known = np.bincount(place[kept], weight[kept], count)
            plain[left] = np.log(succession(known)[place[left]])
        told = np.concatenate(parts)
        own, plain, weight = own[told], plain[told], weight[told]
        scores = Score(own, weight), Score(plain, weight)
        names = "by where they lie", "by how many there are"
        tried = [Tried(name, None, s, 0.0) for name, s in zip(names, scores, strict=True)]
        share = best_share(own, plain, weight)
        tell("labels of few rows", tried, tried[int(share > 0.5)], fit.trace)
        return share


def best_share(own, plain, weight):
    """Return the share of frequencies, by log probabilities of labels that are left out.

    That which makes them the most probable, but all where labels have nothing to do with X, with
    the probability of that.
    """
    shares = np.linspace(0.0, 1.0, _SHARES_TRIED)
    with np.errstate(divide="ignore"):
        mixed = np.logaddexp(own[:, None] + np.log1p(-shares), plain[:, None] + np.log(shares))
    values = weight @ mixed
    best = int(np.argmax(values))
    nothing = 1.0 / (1.0 + np.exp(np.clip(values[best] - values[-1] - _LOG_ODDS, -50.0, 50.0)))
    return float(nothing + (1.0 - nothing) * shares[best])


def _parts_left_out(fit):
    """Return the rows of each part that is left out in turn: list of ndarray of int.

    They share the distinct inputs evenly, so that none has all rows.
    """
    few = len(fit.problem.rows) <= _DOUBTED_ROWS
    first, place = np.unique(first_of_equals(fit.X), return_inverse=True)
    number = np.arange(len(first)) % (_LEFT_OUT_PARTS if few else _SOME_OF_PARTS)
    parts = fit.problem.rng.permutation(number)[place]
    each = [np.flatnonzero(parts == part) for part in np.unique(parts)]
    return each if few else each[:1]


def _gain(fit, of_class, by_bound):
    """Return what labels of one table gain on frequencies by where they lie, in nats of all rows.

    Infinite where that is not asked.
    """
    n_rows, weight, start = len(fit.problem.rows), of_class.sum(), fit.fitted.start
    score = fit.regressions_score
    # what the prior costs is much of the bound where labels weigh little; frequencies of one class
    # would count for long
    is_counted = weight >= _LEAST_WEIGHT * n_rows and np.count_nonzero(of_class) > 1
    of_many = is_counted and learns_much_of_categories(start)
    if score is not None and (of_many or n_rows <= _DOUBTED_ROWS):
        value, each = score, 1.0
    elif score is None and by_bound and is_counted and _has_bound_that_tells(fit, of_many):
        value, each = fit.fitted.objective / weight, bic_nats(1, n_rows)
    else:
        return np.inf
    frequencies = of_class[of_class > 0.0] / weight
    count = max(n_rows, weight)  # small weights are no little
    cost = each * numbers_of_categories(start) if of_many else 0.0
    return count * (value - frequencies @ np.log(frequencies)) - cost


def _has_bound_that_tells(fit, of_many):
    """Return whether the bound is one of few labels, or of many categories, after enough steps."""
    n_rows, trace = len(fit.problem.rows), fit.problem.trace
    is_long = fit.problem.settings.max_iter >= _SHORT and trace.clock.max_time == np.inf
    return is_long and (of_many or n_rows * len(fit.targets.classes) <= _DOUBTED_NUMBERS)


def _is_learned_by_default(fit):
    """Return whether a fit, no part of another, has learned a default kernel."""
    problem = fit.problem
    if fit.y is None or fit.offset is not None or problem.trace is not fit.trace:
        return False
    return "theta" in problem.start.left_open and problem.settings.optimizer is not None


def _may_be_asked(fit):
    """Return whether there is time, and the labels may be few or gain little (see `_gain`)."""
    if fit.has_ended or fit.problem.trace.clock.left() <= 0.0:
        return False
    is_small = len(fit.problem.rows) <= _DOUBTED_ROWS
    return is_small or learns_much_of_categories(fit.fitted.start)


def _are_few(fit, most_rows):
    rows = fit.problem.rows
    return max(len(rows), rows.total_weight) <= most_rows


def _of_rows(fit, place, kept):
    """Begin a fit of some of the rows, which knows the classes of all, and callbacks of it."""
    weight = None if fit.weight is None else fit.weight[kept]
    y = fit.targets.classes[place[kept]]
    begun = Fit.of(Inputs(fit.X, fit.labels).select(kept), y, weight, fit.is_batch)
    trace = fit.trace.beside(as_regressions(fit.fitted).parameters)
    return replace(begun, trace=trace, targets=fit.targets)


def _predicted(some, steps, fit, left):
    """Return probabilities of the rows that are left, by a fit of some others."""
    with warnings.catch_warnings():  # what is to be said is said of all rows
        warnings.simplefilter("ignore")
        some = yield from some.after(steps)
    fitted = some.fitted
    model = Classes(fitted.predictor.ready(), fitted.public_likelihood, some.targets)
    return np.exp(model.log_probabilities(Inputs(fit.X, fit.labels).select(left)))
