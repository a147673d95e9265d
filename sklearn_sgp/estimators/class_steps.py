"""The step that chooses between regressions of labels and sites, by rows that are left out."""

from dataclasses import dataclass, replace

import numpy as np

from ..data.class_targets import ClassLabels
from ..engines.blocks.class_sites import affords_sites, left_out_score, with_kernel_of_labels
from ..engines.levels import with_spread_of_levels
from ..likelihoods._names import against_rest, is_against_rest
from ..optimize.choices import Tried, tell
from ..optimize.progress import Clock, Trace
from .steps import rows_of


@dataclass(frozen=True)
class SitesIfBetter:
    """Takes sites, each class against the rest, where they predict left-out rows better.

    Better than regressions of the labels do, by more than the standard error. There is no choice of
    two classes, where time is limited, and where sites of all rows cost too much.
    """

    def __call__(self, fit):
        problem, place = fit.problem, fit.y.argmax(axis=1)
        if not (problem.learns and _may_have_sites(fit, place)):
            return fit
        score = left_out_score(fit.fitted, problem.rows, place, problem.settings.n_jobs)
        own, trace = Tried("regressions of the labels", None, score, 0.0), problem.trace
        began = trace.clock.elapsed()
        sites = _with_sites(fit, place)
        found = with_kernel_of_labels(sites.problem, sites.problem.start.parameters)
        seconds = trace.clock.elapsed() - began
        other = Tried("each class against the rest, by sites", None, found.score, seconds)
        is_better = other.score.is_better(own.score)
        tell("labels", [own, other], other if is_better else own, trace)
        return _fitted(sites, fit.fitted, found.result) if is_better else fit


def as_regressions(previous):
    """Return an earlier fit, or None, with what regressions have learned where sites replaced them.

    The next fit begins with regressions as well: these go on from their own kernel.
    """
    if previous is not None and is_against_rest(previous.start.likelihood):
        return replace(previous, parameters=previous.start.parameters)
    return previous


def _with_sites(fit, place):
    """Return the fit with labels of each class against the rest, and a kernel to begin with."""
    problem, classes = fit.problem, fit.targets.classes
    of_class = np.bincount(place, fit.weight, len(classes)).astype(np.float64)
    likelihood = against_rest("probit", classes).for_classes(of_class)
    targets = ClassLabels(classes, likelihood)
    fit = replace(fit, y=targets.codes(place), targets=targets, likelihood=likelihood)
    begin = fit.fitted.parameters.with_values(log_noise=0.0)
    start = replace(fit.fitted.start, likelihood=likelihood, parameters=begin, alternatives=())
    return replace(fit, problem=replace(problem, rows=rows_of(fit), start=start))


def _fitted(fit, before, parameters):
    """Find the sites of all rows under a kernel; ``before`` are regressions."""
    problem, start = fit.problem, fit.problem.start
    held = replace(
        problem,
        start=replace(start, parameters=parameters),
        settings=replace(problem.settings, optimizer=None),
        trace=Trace(Clock()),
    )
    fitted = with_spread_of_levels(fit.engine.fit(held))
    n_iter, n_steps = before.n_iter + fitted.n_iter, before.n_steps + fitted.n_steps
    fitted = replace(fitted, start=start, n_iter=n_iter, n_steps=n_steps)
    # callbacks that ask for a model see the regressions, by whose recipe they make it
    problem.trace.add(fitted.objective, lambda: before.parameters)
    return replace(fit, fitted=fitted)


def _may_have_sites(fit, place):
    """Return whether there is a choice."""
    problem, fitted = fit.problem, fit.fitted
    is_whole = fitted.n_used is None and not (problem.trace.stopped or fitted.interrupted)
    return (
        is_whole
        and 2 < len(np.unique(place)) == len(fit.targets.classes)
        and problem.trace.clock.max_time == np.inf
        and affords_sites(problem)
    )
