"""Steps of classes with sites: a choice of these, and a temperature, by rows that are held out."""

from dataclasses import dataclass, replace

import numpy as np

from ..data.class_targets import ClassLabels
from ..engines.blocks.class_sites import (
    LabelsHeldOut,
    affords_sites,
    is_worth_a_choice,
    with_temperature,
)
from ..engines.new_categories import with_spread_of_levels
from ..likelihoods._names import sites_of_classes
from ..objectives.sites import UnboundedSitesError
from ..optimize.choices import Tried, tell
from ..optimize.progress import Clock, Trace
from .steps import rows_of


@dataclass(frozen=True)
class SitesIfBetter:
    """Takes sites, each class against the rest, where they predict rows held out better.

    Two classes have one function. Better than regressions of the labels do, by more than the
    standard error. A kernel that is not learned is compared as it is, so that one that sites have
    found has sites again. There is no choice where time is limited, and where sites of all rows
    cost too much.
    """

    def __call__(self, fit):
        place = fit.y.argmax(axis=1)
        if not _may_have_sites(fit, place):
            return fit
        try:
            return _better(fit, place)
        except KeyboardInterrupt:
            return replace(fit, fitted=replace(fit.fitted, interrupted=True))


@dataclass(frozen=True)
class CalibrateSites:
    """Sets the temperature of two classes with sites, where the kernel is learned in any time."""

    def __call__(self, fit):
        problem, fitted = fit.problem, fit.fitted
        has_one = hasattr(fitted.start.likelihood, "temperature")
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
    if previous is not None and not previous.start.likelihood.conjugate:
        return replace(previous, parameters=previous.start.parameters)
    return previous


# What is told of several classes, and of two.
_SITES = "each class against the rest, by sites", "sites"


def _better(fit, place):
    """Return the fit, or that with sites."""
    problem, fitted, trace = fit.problem, fit.fitted, fit.problem.trace
    judge = LabelsHeldOut(problem, fitted.parameters)
    score = judge.of_regressions(problem.rows, fitted.parameters, fitted.start.likelihood)
    if not is_worth_a_choice(score):
        return fit
    own, began = Tried("regressions of the labels", None, score, 0.0), trace.clock.elapsed()
    sites = _with_sites(fit, place)
    found = judge.of_sites(sites.problem, climbs=problem.learns)
    seconds = trace.clock.elapsed() - began
    other = Tried(_SITES[len(fit.targets.classes) == 2], None, found.score, seconds)
    result, taken = fit, own
    if _is_taken(other.score, own.score, problem.learns):
        try:
            result, taken = _fitted(sites, fitted, found.result, judge), other
        except UnboundedSitesError:  # where others could be found: no candidate
            pass
    tell("labels", [own, other], taken, trace)
    return result


def _is_taken(score, own, learns):
    """Return whether sites are better; a kernel that is held suits one or the other."""
    return score.is_better(own) if learns else score.mean > own.mean


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


def _fitted(fit, before, parameters, judge):
    """Find the sites of all rows under a kernel; ``before`` are regressions."""
    problem, start = fit.problem, fit.problem.start
    held = replace(
        problem,
        start=replace(start, parameters=parameters),
        settings=replace(problem.settings, optimizer=None),
        trace=Trace(Clock()),
    )
    fitted = fit.engine.fit(held)
    if fitted.interrupted:
        raise KeyboardInterrupt  # regressions are whole
    fitted = with_spread_of_levels(fitted) if problem.learns else fitted
    n_iter, n_steps = before.n_iter + fitted.n_iter, before.n_steps + fitted.n_steps
    fitted = replace(fitted, start=start, n_iter=n_iter, n_steps=n_steps)
    if problem.learns and hasattr(start.likelihood, "temperature"):
        fitted = judge.calibrated(problem.rows, fitted)
    # callbacks that ask for a model see the regressions, by whose recipe they make it
    problem.trace.add(fitted.objective, lambda: before.parameters)
    return replace(fit, fitted=fitted)


def _may_have_sites(fit, place):
    """Return whether there is a choice: none amid a fit, which has a trace of its own."""
    problem, fitted = fit.problem, fit.fitted
    is_whole = fitted.n_used is None and not (problem.trace.stopped or fitted.interrupted)
    return (
        is_whole
        and problem.trace is fit.trace
        and 2 < len(np.unique(place)) == len(fit.targets.classes)
        and problem.trace.clock.max_time == np.inf
        and affords_sites(problem)
    )
