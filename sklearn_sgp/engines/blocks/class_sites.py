"""What labels of rows that are held out say of sites near rows.

That is the temperature of two classes: sites know the labels and the prior, by which functions
cross 0 as often between classes as within them. Where rows of a class lie together and hardly any
are between, as images do, probabilities are then nearer to a half than labels are.

Of several classes, each against the rest, where regressions began, it is the kernel. Edges between
classes are sharper than the noise that regressions give to labels: their kernel has length scales
that are too short and variances that are too small for sites. Labels that are held out say which
are right, and whether sites are better than regressions at all.
"""

import time
from dataclasses import replace
from functools import partial

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ..._parallel import single_blas_thread
from ...data.column_spread import column_mean_std
from ...data.held_out import held_out_parts, without_equals
from ...data.rows import ConditionedRows, random_index
from ...kernels._length_scales import nearness_scales
from ...objectives.composite_likelihood import CompositeLikelihood
from ...objectives.left_out_classes import OF_GROUPS, OF_MODEL, LeftOutClasses
from ...objectives.near_sites import NearSites
from ...objectives.scores import Score
from ...optimize.budget import Budget
from ...optimize.choices import Tried, climb
from ...partitions.sampling import LARGEST_WHOLE
from ...partitions.search import nearest_in_table
from ..left_out import left_out_classes
from .bound_start import with_variational_start
from .class_scale import Judge
from .site_learning import SiteLearning, learn_from_starts
from .solver import with_inducing
from .trials import CLEARLY_BETTER, task_of

# Factors of variances and of length scales, in turn; powers of these are tried.
_KERNELS_OF_LABELS = ("variance", 4.0, 1.0), ("variance and length scales", 4.0, 1.5)
_MOST_POWERS = 4
# Rows that are one group, times classes, at most: 1,000 rows of oil_flow, of which groups have to
# be made, took 16 to 20 s in the place of 2.3 s, and stayed with regressions.
_MOST_ROWS_OF_CLASSES = 3 * LARGEST_WHOLE
# Parts of the rows, each predicted from the others, and sweeps over those that are new, and over
# those whose sites are known at another kernel. By cavities 200 rows of three classes, six draws,
# were up to 0.34 nats a row surer than new rows: other sites have seen the row that is left out.
_HELD_PARTS, _SWEEPS = 5, (25, 10)
# Of more rows than are one group: groups, near rows of each, those of them that are held out, one
# in so many of the nearest, and draws of rows from all. 300 near rows and no others know nothing of
# what is wide: of seven tables of 800 to 3,000 rows they preferred what new rows have .004 to .005
# nats less by on three. Gains have standard errors of .001 to .0016, with 48 groups of .0012 to
# .0025.
_PLACES, _CLOSEST, _HELD, _ONE_IN, _FROM_ALL = 96, 200, 50, 4, 100
# Standard errors by which sites of a kernel that a bound has found, or labels, are behind
# regressions, and do not catch up: two draws each of five tables of 1,200 to 3,000 rows had -9.1,
# -7.5 and -6.0 where sites lost, which took 15 to 35 s to learn, and -4.5 to 1.9 where they won by
# up to 0.015 nats. Of 21,000 rows of elec2, three draws, the bound alone is so far behind in two,
# which gain .018 and .002 from the kernel of labels; four draws of 2,000 and 8,000 rows gain .001.
_FAR_BEHIND = 5.0
# Factor of the weight of a row that regressions do not see.
_NEXT_TO_NOTHING = 1e-6
# Nats a row that are missing to a probability of 1, below which nothing is worth a choice. Pairs of
# pendigits lacked 0.0007 and 0.002: sites were no better and took four to eight times the fit.
_LEAST_MISSING = 5e-3


def affords_sites(problem):
    """Return whether sites of all rows, of each class, are found in little time."""
    n, n_classes = problem.rows.y.shape
    return n_classes == 2 or (n <= LARGEST_WHOLE and n * n_classes <= _MOST_ROWS_OF_CLASSES)


class LabelsHeldOut:
    """Rows whose classes are held out, each predicted from others.

    All rows in parts, where they are few; else some from near ones and some from anywhere. The
    length scales of the parameters say what is near.
    """

    def __init__(self, problem, parameters):
        rows, rng, self.n_jobs = problem.rows, problem.rng, problem.settings.n_jobs
        self.is_of_all = len(rows) <= LARGEST_WHOLE  # each is held out once, as they are few
        if self.is_of_all:
            every = np.arange(len(rows))
            parts = held_out_parts(rows, min(_HELD_PARTS, len(rows)), rng)
            self.groups = [(np.setdiff1d(every, own), own) for own in parts]
        else:
            scale = nearness_scales(parameters.kernel, column_mean_std(rows.X, None)[1])
            middles = random_index(len(rows), _PLACES, rng)
            held = np.arange(1, _ONE_IN * _HELD, _ONE_IN)
            self.groups = []
            for near in nearest_in_table(rows.X, scale, middles, _CLOSEST, rng):
                far = np.setdiff1d(rng.randint(len(rows), size=_FROM_ALL), near)
                some = np.append(near, far)
                self.groups.append((some[without_equals(rows.X[some], held)], near[held]))

    def pieces(self, rows):
        """Return the own rows of each group behind the others: list of `ConditionedRows`."""
        return [_held_out(rows, *group) for group in self.groups]

    def labels(self, rows):
        """Return codes and weights of the own rows of all groups."""
        own = [rows.select(own) for _, own in self.groups]
        return np.vstack([r.y for r in own]), np.concatenate([r.weights[1] for r in own])

    def objects(self, of_regressions, found):
        """Return whether labels clearly prefer regressions to what sites have learned, or are few.

        That is by two standard errors over places, as regressions suit the few rows that a label is
        told by better than all rows. Three draws of tables of 2,000 and 3,000 rows where they were
        ahead by .001 to .002 nats have .004 to .005 more by sites, one has .001 less, and so has
        one .002 less where they were ahead by .012.
        """
        if self.is_of_all or _is_left_behind(found, of_regressions):
            return True
        gain, error = _of_groups(of_regressions).gain(_of_groups(found))
        return gain > CLEARLY_BETTER * error

    def tell_nothing(self, rows, of_regressions):
        """Return whether regressions of many rows predict labels hardly better than chance.

        Chance has the frequencies of the classes; two standard errors over places count as hardly.
        The rows are those of sites.
        """
        if self.is_of_all:
            return False
        y, weight = self.labels(rows)
        place = (y[:, 0] > 0.0).astype(np.intp)
        frequencies = np.bincount(place, weight) / weight.sum()
        by_chance = Score(np.log(frequencies[place]), weight)
        gain, error = _of_groups(of_regressions).gain(_of_groups(by_chance))
        return gain <= CLEARLY_BETTER * error

    def of_regressions(self, rows, parameters, likelihood):
        """Return log probabilities by regressions: `Score`."""
        groups = [_without_say(piece) for piece in self.pieces(rows)]
        with single_blas_thread():  # groups are small
            evidence = CompositeLikelihood(groups, self.n_jobs)
            return LeftOutClasses.of_groups(evidence, parameters, likelihood).score()


class SitesHeldOut:
    """Judges kernels of sites by labels that are held out.

    They begin where they ended at the parameters before, whoever asked for these. The likelihood of
    the problem has sites; parameters are those of regressions where it is of these.
    """

    def __init__(self, held_out, problem):
        likelihood = problem.start.likelihood
        self.problem, self.held_out = problem, held_out
        self.are_of_two = has_one_function(likelihood)  # classes
        self.y, self.weight = held_out.labels(problem.rows)
        self.sites = NearSites(
            held_out.pieces(problem.rows), likelihood, held_out.n_jobs, sweeps=_SWEEPS
        )

    def best(self, climbs):
        """Return what is best from the start of the problem: `Tried`, whose result are parameters.

        With ``climbs`` variances and length scales change to what predicts classes best.
        """
        with single_blas_thread():
            return _best(self.problem, partial(self._score, self.problem), climbs)

    def by_evidence(self, problem, best):
        """Return what the evidence of sites makes of a kernel, if labels prefer it: `Tried`.

        The problem is that of sites, with a trace of its own; few rows begin at ``best``.
        """
        begin, start = time.perf_counter(), replace(problem.start, parameters=best.result)
        task = task_of(problem, start)
        with single_blas_thread():
            learning, budget = SiteLearning(task), Budget(task.trace.clock)
            learned, *_ = learning.learn(task, best.result, None, budget)
            score = self._score(problem, learned)
        return Tried("by their evidence", learned, score, time.perf_counter() - begin)

    def anew(self, problem, plan, before, own):
        """Return start and `Tried`, learned by the evidence of sites.

        It begins as where sites are asked for, or at the kernel of ``before`` if labels prefer
        that. Where both are far behind regressions, of the score ``own``, or these, which have
        looked elsewhere, predict no labels, that is all.
        """
        begin, budget = time.perf_counter(), Budget(problem.trace.clock)
        are_noise = self.held_out.tell_nothing(self.problem.rows, own)
        sample = SiteLearning(problem)
        started = with_variational_start(problem, budget, looks_elsewhere=not are_noise)
        start, learned, name = started.start, started.start.parameters, "by their bound"
        score = self._scored(problem, learned)
        best = max(score, before.score, key=lambda one: one.mean)
        if not (are_noise or _is_left_behind(best, own)):
            if best is before.score:
                start = replace(self.problem.start, parameters=before.result)
                started = replace(problem, start=start)
            start, learned, *_ = learn_from_starts(started, sample, budget)
            learned, name = with_inducing(problem, plan, learned), "by their evidence"
            score = self._scored(problem, learned)
        return start, Tried(name, learned, score, time.perf_counter() - begin)

    def _scored(self, problem, parameters):
        """Return the score of some parameters, of small groups."""
        with single_blas_thread():
            return self._score(problem, parameters)

    def _score(self, problem, parameters):
        likelihood, moments = problem.start.likelihood, self.sites.predicted(parameters)
        if has_one_function(likelihood):
            found = LeftOutClasses(likelihood, moments, self.y[:, 0], self.weight).score()
        else:
            found = Score(likelihood.log_predictive_density(self.y, *moments), self.weight)
        return problem.raised(found, parameters)

    def calibrated(self, fitted):
        """Return a fit of two classes by sites with the best temperature.

        Few rows are held out in parts, of whose sites the others know nothing. Of more the model
        itself leaves each out, where it keeps them: its sites moved little by one label.
        """
        if self.held_out.is_of_all or not fitted.state.keeps_rows:
            with single_blas_thread():
                moments = self.sites.predicted(fitted.parameters)
            told = moments, self.y[:, 0], self.weight
            likelihood = LeftOutClasses(fitted.start.likelihood, *told).calibrated(OF_GROUPS)
        else:
            left_out = left_out_classes(self.problem, fitted, self.problem.rows.y[:, 0])
            likelihood = left_out.calibrated(OF_MODEL)
        return replace(fitted, start=replace(fitted.start, likelihood=likelihood))


def with_temperature(problem, fitted):
    """Set the temperature that predicts classes best which sites have not seen."""
    problem.trace.begin("probabilities of classes held out")
    try:
        held_out = LabelsHeldOut(problem, fitted.parameters)
        problem = replace(problem, start=fitted.start)
        return SitesHeldOut(held_out, problem).calibrated(fitted)
    except NotPositiveDefiniteError:  # of fewer rows than the fit has
        return fitted


def _best(problem, score, climbs):
    parameters, space = problem.start.parameters, problem.start.space
    for name, *times in _KERNELS_OF_LABELS:
        judge = Judge(space, parameters, score, *times)
        best = judge.tried(0)
        if not climbs:
            return best
        how = (1, -1), _MOST_POWERS, Score.is_better
        best = climb(best, judge.tried, *how, f"sites: {name}", problem.trace)
        parameters = best.result
    return best


def has_one_function(likelihood):
    """Return True for two classes, False for each of several against the rest."""
    return hasattr(likelihood, "temperature")


def _held_out(rows, others, own):
    """Return rows whose own ones are predicted from the others: `ConditionedRows`."""
    index, k = np.concatenate([others, own]), len(others)
    return ConditionedRows(rows.select(index), ((np.arange(k), np.arange(k, len(index))),))


def _without_say(piece):
    """Return a group whose own rows say next to nothing of one another."""
    (_, own), rows = piece.groups[0], piece.rows
    weight = rows.weights[0]
    weight[own] *= _NEXT_TO_NOTHING
    return replace(piece, rows=replace(rows, weight=weight))


def _is_left_behind(score, by):
    gain, error = by.gain(score)
    return gain >= _FAR_BEHIND * error


def _of_groups(score):
    """Return the score of each group of labels."""
    each, weight = (values.reshape(-1, _HELD) for values in (score.each, score.weight))
    total = weight.sum(axis=1)
    return Score((each * weight).sum(axis=1) / total, total)


def is_worth_a_choice(score):
    """Return whether more could be gained than is worth it: a probability is at most 1."""
    return score.mean < -_LEAST_MISSING
