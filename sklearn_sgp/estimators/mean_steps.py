"""The step that chooses which mean a fit tells, by rows that are left out."""

from dataclasses import dataclass, replace

import numpy as np

from .._sampling import fixed_index
from ..data.rows import make_rows
from ..likelihoods._names import regression_likelihood
from ..optimize.progress import Clock, Trace
from ..predict.told_mean import CombinedMean
from ..selection.means import best_mean
from .chosen import later_problem
from .steps import PoseProblem, ScaleTargets, run

# Rows that are left out, at most: some thousand tell a ratio of squared errors of 1.01 from 1.
_JUDGING_ROWS = 8192


@dataclass(frozen=True)
class VouchForMean:
    """Tells the mean that left-out rows vouch for, where that of the distribution may not be it.

    The other one is that of a fit with Gaussian noise and no warp: the first fit where targets are
    not warped, else one that goes on from the kernel.

    Parameters
    ----------
    model : BaseSGP
    engine_steps : list of callable
        Steps that choose the engine of that fit.
    """

    model: object
    engine_steps: list

    def __call__(self, fit):
        problem, fitted = fit.problem, fit.fitted
        is_whole = fitted.n_used is None and not problem.rows.live_elsewhere
        if not (problem.learns and is_whole) or problem.trace.stopped or fitted.interrupted:
            return fit
        if fit.targets.keeps_means and not fitted.noise.differs:
            return fit
        reference = self._reference(fit)
        if reference is None:
            return fit
        choices = _choices(fit, reference)
        share, is_cut = (np.array(part) for part in zip(*choices, strict=True))
        targets = fit.targets.with_means_within(fit.targets.unwarped(problem.rows.y), is_cut)
        if (share < 1.0).any():
            told = replace(reference.fitted, targets=reference.targets)
            told = replace(told, predictor=told.predictor.ready())
            fitted = replace(fitted, told_mean=CombinedMean(told, share))
        return replace(fit, targets=targets, fitted=fitted)

    def _reference(self, fit):
        """Return the fit whose mean is the other one; None where there is no time for it."""
        if fit.targets.keeps_means:
            return replace(fit, problem=fit.first.problem, fitted=fit.first.learned)
        left = fit.trace.clock.left()
        if left <= 0.0:
            return None
        trace = Trace(Clock(left if np.isfinite(left) else None))
        y = fit.targets.unwarped(fit.y)
        plain = replace(fit, y=y, likelihood=regression_likelihood("gaussian"), trace=trace)
        scale = ScaleTargets(self.model, warps=False)
        pose = PoseProblem(self.model, True, fit.fitted)
        posed = run([scale, *self.engine_steps, pose], plain)
        problem = replace(posed.problem, is_interim=True)
        return replace(posed, problem=problem, fitted=posed.engine.fit(problem))


def with_later_rows(model, engine, rows, clock, learns=True):
    """Add the rows of a later batch to a fit, and to the one that its mean is told with."""
    before = model._fitted
    fitted = engine.add(before, later_problem(model, rows, clock, learns))

    def joined(reference):
        y, labels = before.targets.unwarped(rows.y), rows.labels
        own = make_rows(rows.X, y, rows.observations, reference.targets, labels)
        problem = later_problem(model, own, clock, learns)
        added = engine.add(reference, replace(problem, start=reference.start))
        predictor = added.predictor.ready()
        return replace(added, predictor=predictor, targets=reference.targets)

    return replace(fitted, told_mean=before.told_mean.mapped(joined))


def _choices(fit, reference):
    """Return the `MeanChoice` of each output."""
    rows, n_jobs = fit.problem.rows, fit.problem.settings.n_jobs
    places = None if len(rows) <= _JUDGING_ROWS else fixed_index(len(rows), _JUDGING_ROWS)
    some = rows if places is None else rows.select(places)
    y, weight = fit.targets.unwarped(some.y), some.weights[1]
    own = _own_means(fit.targets, fit.fitted, some, places, n_jobs)
    within = fit.targets.with_means_within(fit.targets.unwarped(rows.y), True)
    cut = _own_means(within, fit.fitted, some, places, n_jobs)
    others = reference.problem.rows
    others = others if places is None else others.select(places)
    mean = reference.fitted.predictor.left_out(others, places, n_jobs)[0]
    mean = reference.targets.in_units(mean)
    known = np.isfinite(mean).all(axis=1) & np.isfinite(cut).all(axis=1)
    parts = (part[known] for part in (y, own, cut, mean))
    y, own, cut, mean = parts
    columns = zip(y.T, own.T, cut.T, mean.T, strict=True)
    return [best_mean(one[0], weight[known], *one[1:]) for one in columns]


def _own_means(targets, fitted, rows, places, n_jobs):
    """Return the means of the distributions of rows, each given all others, in units of y."""
    mean, variance = fitted.predictor.left_out(rows, places, n_jobs)
    if fitted.variance_scale is not None:
        variance = variance * fitted.variance_scale.at(rows.X, n_jobs) ** 2
    variance = np.broadcast_to(np.maximum(variance, 0.0), mean.shape)
    noise = fitted.noise.noise_at(rows.X, fitted.noise_variance, mean.shape[1], n_jobs)
    moments = targets.moments(fitted.likelihood, mean, variance, noise)
    return moments[0].reshape(mean.shape)
