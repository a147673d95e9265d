"""Steps of classes with sites: a choice of these, and a temperature, by rows that are held out."""

from dataclasses import dataclass, replace

import numpy as np

from .._linalg import NotPositiveDefiniteError
from ..data.class_targets import ClassLabels
from ..engines.blocks.class_sites import (
    LabelsHeldOut,
    SitesHeldOut,
    affords_sites,
    has_one_function,
    is_worth_a_choice,
    with_temperature,
)
from ..engines.blocks.composite_learning import learns_much_of_categories
from ..engines.blocks.site_engine import sites_of_all
from ..engines.new_categories import with_variance_of_new_categories
from ..likelihoods._names import sites_of_classes
from ..optimize.choices import Tried, tell
from ..optimize.progress import Clock, Trace
from .steps import rows_of

# What is told of labels: regressions, sites of several classes, and of two.
_CHOICE, _REGRESSIONS = "labels", "regressions of the labels"
_SITES = "each class against the rest, by sites", "sites"


@dataclass(frozen=True)
class SitesIfBetter:
    """Puts sites in the place of regressions of labels where they predict held-out ones better.

    Sites of two classes have one function, those of more are of each class against the rest, and
    have to be better by more than the standard error. A kernel that is not learned is compared as
    it is: it suits one or the other. Sites are not considered where time is limited, and where
    those of all rows cost too much. Regressions stay after Ctrl-C. ``pose`` poses the problem of
    sites that begin as where they are asked for.
    """

    pose: object

    def __call__(self, fit):
        if not _may_have_sites(fit):
            return fit
        problem, clock = fit.problem, fit.problem.trace.clock
        try:
            began, compared = clock.elapsed(), self._compared(fit)
            if compared is None:
                return fit
            own, best, other, sites = compared
            is_better = best.score.mean > own.score.mean
            if problem.learns and sites.are_of_two:
                other, best, is_better = self._learned(other, sites, best, own.score)
            elif problem.learns:
                is_better = best.score.is_better(own.score)
            name, seconds = _SITES[sites.are_of_two], clock.elapsed() - began
            best = replace(best, name=name, seconds=seconds)
            if is_better:
                fitted, _ = sites_of_all(_held_at(other.problem, best.result), other.engine.plan)
                if fitted.interrupted:
                    raise KeyboardInterrupt
            tell(_CHOICE, [own, best], best if is_better else own, problem.trace)
            fit = replace(fit, regressions_score=own.score.mean)
            return _instead_of(fit, other, fitted, sites) if is_better else fit
        except NotPositiveDefiniteError:  # where others could be found: no candidate
            return fit

    def _compared(self, fit):
        """Try regressions, and sites near their kernel; None where nothing is worth a choice.

        Returns
        -------
        own, best : Tried
            Regressions, and sites at the best parameters.
        other : Fit
            With the problem of sites.
        sites : SitesHeldOut
        """
        problem, fitted = fit.problem, fit.fitted
        held_out = LabelsHeldOut(problem, fitted.parameters)
        score = held_out.of_regressions(problem.rows, fitted.parameters, fitted.start.likelihood)
        if not is_worth_a_choice(score):
            return None
        other, own = _with_sites(fit), Tried(_REGRESSIONS, None, score, 0.0)
        sites = SitesHeldOut(held_out, other.problem)
        climbs = problem.learns and (held_out.is_of_all or not sites.are_of_two)
        return own, sites.best(climbs), other, sites

    def _learned(self, other, sites, best, of_regressions):
        """Learn the kernel of two classes by the evidence of sites; keep it unless labels object.

        Few labels have to prefer it.

        Few rows go on from the kernel that labels have chosen. Of more, groups of near rows hardly
        lead away from what regressions have learned: they begin as where sites are asked for, if
        labels prefer that. What few rows have told of many categories stays: evidence of all of
        them ends where categories explain each label, and labels that it has seen do not object.

        Returns
        -------
        other : Fit
        best : Tried
        is_better : bool
            Whether that is better than regressions.
        """
        if sites.held_out.is_of_all and learns_much_of_categories(other.problem.start):
            return other, best, best.score.mean > of_regressions.mean
        trace, before = other.problem.trace, replace(best, name="as labels choose")
        trace.begin("sites near rows")
        if sites.held_out.is_of_all:
            begun, found = other, sites.by_evidence(_apart(other.problem), before)
        else:
            problem = _apart(self.pose(other).problem)
            start, found = sites.anew(problem, other.engine.plan, before, of_regressions)
            begun = replace(other, problem=replace(problem, start=start, trace=trace))
        stays = not sites.held_out.objects(of_regressions, found.score)
        taken = found if stays else max(before, found, key=lambda one: one.score.mean)
        tell("sites: kernel", [before, found], taken, trace)
        is_better = stays or taken.score.mean > of_regressions.mean
        return (begun, found, is_better) if taken is found else (other, best, is_better)


def _instead_of(fit, other, fitted, sites):
    """Return the fit of sites, with a temperature, which remembers what regressions learned."""
    before, problem = fit.fitted, fit.problem
    fitted = with_variance_of_new_categories(fitted) if problem.learns else fitted
    regressions = replace(before.start, parameters=before.parameters)
    start = replace(other.problem.start, alternatives=(regressions,))
    n_iter, n_steps = before.n_iter + fitted.n_iter, before.n_steps + fitted.n_steps
    fitted = replace(fitted, start=start, n_iter=n_iter, n_steps=n_steps)
    if problem.learns and sites.are_of_two:
        fitted = sites.calibrated(fitted)
    # callbacks that ask for a model see the regressions, by whose recipe they make it
    problem.trace.add(fitted.objective, lambda: before.parameters)
    return replace(other, fitted=fitted, regressions_score=fit.regressions_score)


def calibrate_sites(fit):
    """Set the temperature of two classes with sites, where the kernel is learned in any time.

    What is added to the function as it is says itself how sure it is: beside it there is none.
    """
    problem, fitted = fit.problem, fit.fitted
    has_one = has_one_function(fitted.start.likelihood) and problem.rows.offset is None
    in_time = problem.trace.clock.max_time == np.inf
    if not (problem.learns and has_one and fit.is_whole and in_time):
        return fit
    return replace(fit, fitted=with_temperature(problem, fitted))


def as_regressions(previous):
    """Return an earlier fit, or None, with what regressions have learned where sites replaced them.

    The next fit begins with regressions as well: these go on from their own kernel.
    """
    kept = () if previous is None else previous.start.alternatives
    if not kept or previous.start.likelihood.conjugate or not kept[0].likelihood.conjugate:
        return previous
    return replace(previous, start=kept[0], parameters=kept[0].parameters)


def _with_sites(fit):
    """Return the fit with labels of each class against the rest, and a kernel to begin with."""
    problem, classes, place = fit.problem, fit.targets.classes, fit.targets.places(fit.y)
    of_class = np.bincount(place, fit.weight, len(classes)).astype(np.float64)
    likelihood = sites_of_classes(classes).for_classes(of_class)
    targets = ClassLabels(classes, likelihood)
    fit = replace(fit, y=targets.codes(place), targets=targets, likelihood=likelihood)
    begin = fit.fitted.parameters.with_values(log_noise=0.0)
    start = replace(fit.fitted.start, likelihood=likelihood, parameters=begin, alternatives=())
    return replace(fit, problem=replace(problem, rows=rows_of(fit), start=start))


def _apart(problem):
    """Return a problem with a trace of its own: objectives of regressions are others."""
    return replace(problem, trace=Trace(Clock()))


def _held_at(problem, parameters):
    """Return a problem apart whose kernel is held at some parameters."""
    start, settings = replace(problem.start, parameters=parameters), problem.settings
    return replace(_apart(problem), start=start, settings=replace(settings, optimizer=None))


def _may_have_sites(fit):
    """Return whether there is a choice: none amid a fit, which has a trace of its own."""
    problem = fit.problem
    return (
        fit.is_whole
        and problem.trace is fit.trace
        and 1 < len(np.unique(fit.targets.places(fit.y))) == len(fit.targets.classes)
        and problem.trace.clock.max_time == np.inf
        and affords_sites(problem)
    )
