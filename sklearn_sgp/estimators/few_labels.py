"""The step that asks whether few labels tell more by where they lie than by how many there are."""

import warnings
from dataclasses import dataclass, replace

import numpy as np

from .._linalg import NotPositiveDefiniteError
from ..data.frequencies import Frequencies, succession
from ..data.held_out import first_of_equals
from ..data.inputs import Inputs
from ..objectives.scores import Score
from ..optimize.choices import Tried, tell
from ..optimize.progress import Clock, Trace
from ..predict.classes import Classes
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
_LOG_ODDS = 3.0


@dataclass(frozen=True)
class WeighFrequencies:
    """Gives the frequencies of classes a share of what few rows predict.

    A kernel can be found that explains the labels of few rows, whatever they are. So models of all
    but some rows predict the labels of these, and the rule of succession does. What is predicted
    is a mixture of both, each with the probability that it has after that.

    Parameters
    ----------
    steps : list of callable
        Of a fit of some rows.
    most_rows : int
        That are asked.
    """

    steps: list
    most_rows: int = FEW

    def __call__(self, fit):
        if not _has_few_rows(fit, self.most_rows):
            return fit
        place = _places(fit)
        weight = np.ones(len(place)) if fit.weight is None else fit.weight
        of_class = np.bincount(place, weight, len(fit.targets.classes))
        share = 1.0
        if np.count_nonzero(of_class) > 1:
            try:
                share = self._share(fit, place, weight)
            except NotPositiveDefiniteError:  # of fewer rows than the fit has
                return fit
        frequencies = Frequencies(of_class, share)
        return replace(fit, targets=replace(fit.targets, frequencies=frequencies))

    def _share(self, fit, place, weight):
        """Return the share of frequencies, by labels that are left out."""
        count = len(fit.targets.classes)
        own, plain = np.empty(len(place)), np.empty(len(place))
        parts = fit.problem.rng.permutation(np.arange(len(place)) % _LEFT_OUT_PARTS)
        parts = parts[first_of_equals(fit.X)]
        for part in np.unique(parts):
            left, kept = np.flatnonzero(parts == part), np.flatnonzero(parts != part)
            p = _predicted(_of_rows(fit, place, kept), self.steps, fit, left)
            own[left] = np.log(p[np.arange(len(left)), place[left]])
            known = np.bincount(place[kept], weight[kept], count)
            plain[left] = np.log(succession(known)[place[left]])
        scores = Score(own, weight), Score(plain, weight)
        names = "by where they lie", "by how many there are"
        tried = [Tried(name, None, s, 0.0) for name, s in zip(names, scores, strict=True)]
        gain = float(weight @ (own - plain))
        share = 1.0 / (1.0 + np.exp(np.clip(gain - _LOG_ODDS, -50.0, 50.0)))
        tell("labels of few rows", tried, tried[int(share > 0.5)], fit.trace)
        return float(share)


def _has_few_rows(fit, most_rows):
    """Return whether a fit, no part of another, has learned a default kernel from few rows."""
    problem, fitted = fit.problem, fit.fitted
    if fit.y is None or fit.offset is not None or problem.trace is not fit.trace:
        return False
    ended = problem.trace.stopped or fitted.interrupted or problem.trace.clock.left() <= 0.0
    by_default = "theta" in problem.start.left_open and problem.settings.optimizer is not None
    is_few = max(len(problem.rows), problem.rows.total_weight) <= most_rows
    return by_default and is_few and not ended


def _places(fit):
    """Return the places of the rows' classes, (n,)."""
    codes = fit.targets.codes(np.arange(len(fit.targets.classes)))
    return (fit.y[:, None] == codes).all(axis=2).argmax(axis=1)


def _of_rows(fit, place, kept):
    """Begin a fit of some of the rows, which knows the classes of all."""
    labels = None if fit.labels is None else fit.labels[kept]
    weight = None if fit.weight is None else fit.weight[kept]
    y = fit.targets.classes[place[kept]]
    begun = Fit.of(Inputs(fit.X[kept], labels), y, weight, fit.is_batch)
    return replace(begun, trace=Trace(Clock()), targets=fit.targets)


def _predicted(some, steps, fit, left):
    """Return probabilities of the rows that are left, by a fit of some others."""
    with warnings.catch_warnings():  # what is to be said is said of all rows
        warnings.simplefilter("ignore")
        some = some.after(steps)
    labels = None if fit.labels is None else fit.labels[left]
    fitted = some.fitted
    model = Classes(fitted.predictor.ready(), fitted.public_likelihood, some.targets)
    return np.exp(model.log_probabilities(Inputs(fit.X[left], labels)))
