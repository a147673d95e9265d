"""Steps of classes with sites: a choice of these, and a temperature, by rows that are held out."""

from dataclasses import dataclass, replace

import numpy as np

from .._linalg import NotPositiveDefiniteError
from ..data.class_targets import ClassLabels
from ..engines.blocks.class_sites import (
    LabelsHeldOut,
    affords_sites,
    has_one_function,
    is_worth_a_choice,
    with_temperature,
)
from ..engines.blocks.row_sites import regression_of, swept
from ..engines.blocks.sites import SWEEPS_OF_ALL, fit_of_sites, with_evidence
from ..engines.new_categories import with_spread_of_levels
from ..likelihoods._names import sites_of_classes
from ..optimize.choices import Tried, tell
from ..optimize.progress import Clock, Trace
from .steps import rows_of

# What is told of several classes, and of two.
_SITES = "each class against the rest, by sites", "sites"


@dataclass(frozen=True)
class Sites:
    """Sites in the place of regressions of the labels, while a fit compares and learns them.

    Parameters
    ----------
    fit : Fit
        With their labels, likelihood and problem.
    judge : LabelsHeldOut
    own : Tried
        Regressions.
    best : Tried
        Sites, by their parameters.
    began : float
    found : Regression or None
        Of all rows, once sites are taken, with ``fitted``.
    """

    fit: object
    judge: LabelsHeldOut
    own: Tried
    best: Tried
    began: float
    found: object = None
    fitted: object = None

    @property
    def is_of_two(self):
        """True if both classes have one function."""
        return len(self.fit.targets.classes) == 2

    @property
    def start(self):
        """The start of their model."""
        return replace(self.fit.problem.start, parameters=self.best.result)

    @property
    def jobs(self):
        """The number of parallel jobs, by its name."""
        return {"n_jobs": self.fit.problem.settings.n_jobs}

    @property
    def plan(self):
        """The blocks of their model."""
        return replace(self.fit.engine.plan, continues=False)


class _OfSites:
    """A step that goes on with sites, where a fit has them; else it changes nothing.

    Regressions are whole until the last of these steps: they stay after Ctrl-C.
    """

    begins = False

    def __call__(self, fit):
        if fit.sites is None and not self.begins:
            return fit
        try:
            return self.after(fit)
        except KeyboardInterrupt:
            return replace(fit, sites=None, fitted=replace(fit.fitted, interrupted=True))
        except NotPositiveDefiniteError:  # where others could be found: no candidate
            return replace(fit, sites=None)


@dataclass(frozen=True)
class ConsiderSites(_OfSites):
    """Finds out how regressions and sites predict the labels of rows that are held out.

    Sites of two classes have one function, those of more are of each class against the rest. A
    kernel that is not learned is compared as it is. Sites are not considered where time is limited,
    and where those of all rows cost too much.
    """

    begins = True

    def after(self, fit):
        """Go on from regressions."""
        place = fit.y.argmax(axis=1)
        if not _may_have_sites(fit, place):
            return fit
        problem, fitted, began = fit.problem, fit.fitted, fit.problem.trace.clock.elapsed()
        judge = LabelsHeldOut(problem, fitted.parameters)
        score = judge.of_regressions(problem.rows, fitted.parameters, fitted.start.likelihood)
        if not is_worth_a_choice(score):
            return fit
        other, own = _with_sites(fit, place), Tried("regressions of the labels", None, score, 0.0)
        climbs = problem.learns and (judge.is_of_all or other.y.shape[1] > 1)
        best = judge.of_sites(other.problem, climbs)
        return replace(fit, sites=Sites(other, judge, own, best, began))


@dataclass(frozen=True)
class LearnSites(_OfSites):
    """Learns the kernel of two classes by the evidence of sites, and takes it if labels prefer it.

    Few rows go on from the kernel that labels have chosen. Of more, groups of near rows hardly lead
    away from what regressions have learned: they begin as where sites are asked for.

    Parameters
    ----------
    pose : PoseProblem
        Poses their problem.
    """

    pose: object

    def after(self, fit):
        """Go on from what labels have chosen."""
        sites, trace = fit.sites, fit.problem.trace
        if not (sites.is_of_two and fit.problem.learns):
            return fit
        trace.begin("sites near rows")
        other, before = sites.fit, replace(sites.best, name="as labels choose")
        if sites.judge.is_of_all:
            found = sites.judge.by_evidence(_apart(other.problem), before)
        else:
            problem = _apart(self.pose(other).problem)
            start, found = sites.judge.anew(problem, other.engine.plan, sites.own.score)
            other = replace(other, problem=replace(problem, start=start, trace=trace))
        is_better = found.score.mean > before.score.mean
        tell("sites: kernel", [before, found], found if is_better else before, trace)
        if not is_better:
            return fit
        return replace(fit, sites=replace(sites, fit=other, best=found))


@dataclass(frozen=True)
class TakeSites(_OfSites):
    """Takes sites where they predict labels better, and finds those of all rows.

    Sites of several classes have to be better by more than the standard error. A kernel that is
    held suits one or the other.
    """

    def after(self, fit):
        """Go on from both scores."""
        sites, trace = fit.sites, fit.problem.trace
        own, score = sites.own.score, sites.best.score
        of_many = fit.problem.learns and not sites.is_of_two
        is_better = score.is_better(own) if of_many else score.mean > own.mean
        other = Tried(_SITES[sites.is_of_two], None, score, trace.clock.elapsed() - sites.began)
        if is_better:
            problem, start = _held(sites.fit.problem), sites.start
            likelihood, n_jobs = start.likelihood, problem.settings.n_jobs
            shared = start.parameters, likelihood, problem.rng, n_jobs
            found = regression_of(problem.rows, *shared)
            fitted = _whole(fit_of_sites(problem, start, found, sites.plan))
            sites = replace(sites, found=found, fitted=fitted)
        tell("labels", [sites.own, other], other if is_better else sites.own, trace)
        return replace(fit, sites=sites if is_better else None)


@dataclass(frozen=True)
class SweepSites(_OfSites):
    """Moves all sites to what marginals of the whole model ask for."""

    def after(self, fit):
        """Go on from the model of the sites."""
        sites = fit.sites
        problem = replace(_held(sites.fit.problem), before=sites.fitted)
        moments = sites.fitted.predictor.training_moments(sites.found.rows, **sites.jobs)
        found, _ = swept(problem.rows, sites.found, moments, sites.fitted.likelihood)
        fitted = _whole(fit_of_sites(problem, sites.start, found, sites.plan))
        return replace(fit, sites=replace(sites, found=found, fitted=fitted))


@dataclass(frozen=True)
class ReplaceBySites(_OfSites):
    """Puts sites in the place of regressions, with their evidence and a temperature."""

    def after(self, fit):
        """Go on from sites that move no more."""
        sites, before, problem = fit.sites, fit.fitted, fit.problem
        held, regressions = (
            _held(sites.fit.problem),
            replace(before.start, parameters=before.parameters),
        )
        start = replace(sites.fit.problem.start, alternatives=(regressions,))
        moments = sites.fitted.predictor.training_moments(sites.found.rows, **sites.jobs)
        _, constant = swept(held.rows, sites.found, moments, sites.fitted.likelihood)
        fitted = with_evidence(held.trace, sites.fitted, sites.found, constant)
        fitted = with_spread_of_levels(fitted) if problem.learns else fitted
        n_iter, n_steps = before.n_iter + fitted.n_iter, before.n_steps + fitted.n_steps
        fitted = replace(fitted, start=start, n_iter=n_iter, n_steps=n_steps)
        if problem.learns and sites.is_of_two:
            fitted = sites.judge.calibrated(sites.fit.problem.rows, fitted)
        # callbacks that ask for a model see the regressions, by whose recipe they make it
        problem.trace.add(fitted.objective, lambda: before.parameters)
        return replace(sites.fit, fitted=fitted, sites=None)


def sites_if_better(pose):
    """List the steps that put sites in the place of regressions, in this order.

    They are swept over as often as where they are asked for.

    Parameters
    ----------
    pose : PoseProblem
    """
    sweeps = [SweepSites()] * SWEEPS_OF_ALL
    return [ConsiderSites(), LearnSites(pose), TakeSites(), *sweeps, ReplaceBySites()]


@dataclass(frozen=True)
class CalibrateSites:
    """Sets the temperature of two classes with sites, where the kernel is learned in any time.

    What is added to the function as it is says itself how sure it is: beside it there is none.
    """

    def __call__(self, fit):
        problem, fitted = fit.problem, fit.fitted
        has_one = has_one_function(fitted.start.likelihood) and problem.rows.offset is None
        is_whole = fitted.n_used is None and not (problem.trace.stopped or fitted.interrupted)
        in_time = problem.trace.clock.max_time == np.inf
        if not (problem.learns and has_one and is_whole and in_time):
            return fit
        try:
            return replace(fit, fitted=with_temperature(problem, fitted))
        except KeyboardInterrupt:
            return replace(fit, fitted=replace(fitted, interrupted=True))


def as_regressions(previous):
    """Return an earlier fit, or None, with what regressions have learned where sites replaced them.

    The next fit begins with regressions as well: these go on from their own kernel.
    """
    kept = () if previous is None else previous.start.alternatives
    if not kept or previous.start.likelihood.conjugate or not kept[0].likelihood.conjugate:
        return previous
    return replace(previous, start=kept[0], parameters=kept[0].parameters)


def _with_sites(fit, place):
    """Return the fit with labels of each class against the rest, and a kernel to begin with."""
    problem, classes = fit.problem, fit.targets.classes
    of_class = np.bincount(place, fit.weight, len(classes)).astype(np.float64)
    likelihood = sites_of_classes("probit", classes).for_classes(of_class)
    targets = ClassLabels(classes, likelihood)
    fit = replace(fit, y=targets.codes(place), targets=targets, likelihood=likelihood)
    begin = fit.fitted.parameters.with_values(log_noise=0.0)
    start = replace(fit.fitted.start, likelihood=likelihood, parameters=begin, alternatives=())
    return replace(fit, problem=replace(problem, rows=rows_of(fit), start=start))


def _held(problem):
    """Return a problem whose kernel is held, with a trace of its own."""
    return replace(_apart(problem), settings=replace(problem.settings, optimizer=None))


def _apart(problem):
    """Return a problem with a trace of its own: objectives of regressions are others."""
    return replace(problem, trace=Trace(Clock()))


def _whole(fitted):
    """Return a fit that was not interrupted, or go on with that."""
    if fitted.interrupted:
        raise KeyboardInterrupt
    return fitted


def _may_have_sites(fit, place):
    """Return whether there is a choice: none amid a fit, which has a trace of its own."""
    problem, fitted = fit.problem, fit.fitted
    is_whole = fitted.n_used is None and not (problem.trace.stopped or fitted.interrupted)
    return (
        is_whole
        and problem.trace is fit.trace
        and 1 < len(np.unique(place)) == len(fit.targets.classes)
        and problem.trace.clock.max_time == np.inf
        and affords_sites(problem)
    )
