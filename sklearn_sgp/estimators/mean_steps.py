"""The step that chooses which mean a fit tells, by rows that are left out.

Where these say that its whole distribution is worse than the plain one, that is taken.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._linalg import NotPositiveDefiniteError
from ..data.winsorize import winsorized
from ..engines.left_out import left_out_moments
from ..likelihoods._names import regression_likelihood
from ..noise.far_targets import without_far_targets
from ..noise.left_out_errors import JUDGING_ROWS, left_out_places, rows_within
from ..objectives.scores import Score
from ..optimize import time_shares
from ..optimize.choices import Tried, tell
from ..optimize.progress import Clock, Trace
from ..predict.observations import CombinedMean
from ..predict.rounded import log_rounded_density
from ..selection.means import best_mean, costs_mean
from .noise_steps import scale_variances
from .steps import FURTHEST

# Where the plain mean is told, up to so many rows learn it as the default does. With 4 iterations
# from the kernel of the warped targets 20,000 flights had 1.012 times its errors, now .999.
# More rows share that kernel: 700,000 flights have .987 times the default's errors by that.
_LEARNED_IF_TOLD_ROWS = 100_000
_STAGE = "the plain mean"


@dataclass(frozen=True)
class VouchForMean:
    """Tells the mean that left-out rows vouch for, where that of the distribution may not be it.

    The other one is that with Gaussian noise and no warp: of the first fit where targets are not
    warped, else with the same kernel, or, where that is told of rows that are not too many, the
    default, unless it has more left-out squares.

    Parameters
    ----------
    with_own_kernel, with_same_kernel : list of callable
        Steps of that fit where it was not learned before, which begin with `BeginPlain`: its kernel
        is learned as by default, or is the same.
    combines : bool
        Whether a combination of both means may be told. Else, as in streams, whose later rows would
        all be learned from twice, the Gaussian one is the fit where the other costs squares.
    """

    with_own_kernel: list
    with_same_kernel: list
    combines: bool = True

    def __call__(self, fit):
        problem, fitted = fit.problem, fit.fitted
        knows_left_out = fitted.predictor.leaves_out and not problem.rows.live_elsewhere
        if not (problem.learns and fit.is_whole and knows_left_out):
            return fit
        if fit.targets.keeps_means and not fitted.noise.differs:
            return fit
        judged = yield from self._judged(fit)
        if judged is None:
            return fit
        judged.tell(fit.trace)
        fit, reference = judged.fit, judged.reference
        if judged.prefers_reference or (not self.combines and judged.costs_mean):
            return (yield from _instead_of(fit, reference))
        if not self.combines:
            return fit
        share, is_cut = (np.array(part) for part in zip(*judged.choices, strict=True))
        targets = fit.targets.with_means_within(fit.targets.unwarped(problem.rows.y), is_cut)
        if (share < 1.0).any():
            told = replace(reference.fitted, targets=reference.targets)
            told = replace(told, predictor=told.predictor.ready())
            fit = replace(fit, fitted=replace(fit.fitted, told_mean=CombinedMean(told, share)))
        return replace(fit, targets=targets)

    def _judged(self, fit):
        """Compare a fit with its reference, learned where it is wanted; None where there is none.

        After Ctrl-C amid learning, which takes as long as the default, and where that fails, the
        reference has the kernel of the fit.
        """
        if fit.targets.keeps_means:
            equal = fit.with_equal_noise
            return _Judged.of(fit, replace(fit, problem=equal.problem, fitted=equal.learned))
        if fit.plain is not None:
            return _Judged.of(fit, fit.plain)
        try:
            plain = yield from fit.after(self.with_same_kernel)
        except NotPositiveDefiniteError:
            return None
        if plain.fitted.n_used is not None:  # time is over, and of some rows it is no judge
            return None
        judged = _Judged.of(fit, plain, shares_kernel=True)
        is_wanted = judged.needs_reference or judged.prefers_reference
        has_time = len(fit.X) <= _LEARNED_IF_TOLD_ROWS and fit.trace.clock.left() > 0.0
        if not (is_wanted and has_time):
            return judged
        try:
            own = yield from fit.after(self.with_own_kernel)
        except NotPositiveDefiniteError:
            return judged
        except KeyboardInterrupt:
            return replace(judged, fit=fit.ended_by_ctrl_c())
        if own.fitted.n_used is not None:
            return judged
        return min(judged, judged.against(own), key=lambda one: one.square_of_reference)


@dataclass(frozen=True)
class PlainFirst:
    """Learns few rows without a warp and with Gaussian noise first, where their targets are warped.

    Parameters
    ----------
    plain : list of callable
        Steps of that fit, which begin with `BeginPlain`.
    pose : callable
        Poses the problem of the warped targets again, from the kernel that was learned.
    most_rows : int
        More are learned from as they are warped first.
    """

    plain: list
    pose: object
    most_rows: int

    def __call__(self, fit):
        problem = fit.problem
        is_few = not problem.rows.live_elsewhere and len(problem.rows) <= self.most_rows
        if fit.targets.keeps_means or not (is_few and problem.learns):
            return fit
        if fit.trace.clock.left() <= 0.0 or problem.start.earlier is not None:
            return fit  # a warm start has a kernel of these targets
        fit.trace.begin(_STAGE)
        try:
            plain = yield from fit.after(self.plain)
        except NotPositiveDefiniteError:
            return fit
        # the kernel of targets that are far from all others is no start of another
        if any(without_far_targets(one) is not one for one in (problem, plain.problem)):
            return replace(fit, plain=plain)
        fit.trace.choices += plain.trace.choices
        posed = self.pose(replace(fit, fitted=plain.fitted))
        # it is no earlier fit of these targets: what the plain one has missed is looked for again
        begin = replace(posed.problem.start, alternatives=(), earlier=None)
        settings = replace(posed.problem.settings, n_restarts_optimizer=0)
        problem = replace(posed.problem, start=begin, settings=settings)
        return replace(fit, problem=problem, plain=plain)


@dataclass(frozen=True)
class BeginPlain:
    """Begins the fit without a warp and with Gaussian noise, in a share of the time left."""

    share: float = 1.0

    def __call__(self, fit):
        left = max(self.share * fit.trace.clock.left(), 0.0)
        y, gaussian = fit.targets.unwarped(fit.y), regression_likelihood("gaussian")
        trace = Trace(Clock(None if left == np.inf else left))
        return replace(fit, y=y, likelihood=gaussian, trace=trace)


def keep_kernel(fit):
    """Learn nothing of a kernel and noise that are there; blocks and near rows serve again."""
    settings = replace(fit.problem.settings, optimizer=None, n_restarts_optimizer=0)
    begin = replace(fit.problem.start, alternatives=())
    problem = replace(fit.problem, start=begin, settings=settings, previous=fit.fitted)
    return replace(fit, problem=problem)


def learn_in_silence(fit):
    """Warn nobody of what is learned next, beside the fit that is told."""
    return replace(fit, problem=replace(fit.problem, is_silent=True))


def _instead_of(fit, reference):
    """Return the reference as the fit, whose variances may depend on the input."""
    problem = replace(
        reference.problem, settings=fit.problem.settings, trace=fit.problem.trace, is_silent=False
    )
    fitted = replace(reference.fitted, interrupted=fit.fitted.interrupted)
    told = {"likelihood": fit.likelihood, "trace": fit.trace}
    problem.trace.doubt("")  # that was of the other distribution
    plain = replace(reference, problem=problem, fitted=fitted, **told)
    return (yield from scale_variances(plain))


@dataclass(frozen=True)
class _Judged:
    """Rows that judge, and what two fits say of each, given all others.

    Parameters
    ----------
    fit, reference : Fit
    places : ndarray of int or None
        Of the rows, None for all.
    rows : Rows
        As the fit has them.
    moments, others : tuple
        Likelihood, latent mean and variance, and noise, of the fit and of the reference.
    shares_kernel : bool
        True if kernel and noise of the reference are those of the fit, and were not learned for it.
    """

    fit: object
    reference: object
    places: object
    rows: object
    moments: tuple
    others: tuple
    shares_kernel: bool = False

    @classmethod
    def of(cls, fit, reference, shares_kernel=False):
        """Predict the rows that judge by both."""
        size = rows_within(fit.problem, fit.fitted, JUDGING_ROWS, time_shares.MEANS)
        places = left_out_places(fit.fitted, len(fit.problem.rows), size)
        rows, moments = _left_out(fit, places)
        others = _left_out(reference, places)[1]
        return cls(fit, reference, places, rows, moments, others, shares_kernel)

    def against(self, reference):
        """Compare the fit with a reference of its own kernel, by the same rows."""
        others = _left_out(reference, self.places)[1]
        judged = replace(self, reference=reference, others=others, shares_kernel=False)
        judged.__dict__["own_means"] = self.own_means
        return judged

    @property
    def y(self):
        """Targets in their units, (n, t)."""
        return self.fit.targets.unwarped(self.rows.y)

    @property
    def needs_reference(self):
        """True where the reference's mean is told."""
        return any(choice.share < 1.0 for choice in self.choices)

    @cached_property
    def choices(self):
        """The `MeanChoice` of each output."""
        return [best_mean(*each, not self.shares_kernel) for each in self._means]

    @property
    def costs_mean(self):
        """True where the reference's mean is better in some output, of targets that are near."""
        if self.reference.problem.rows.counts is not None:
            return False
        return any(costs_mean(y, weight, own, plain) for y, weight, own, _, plain in self._means)

    @cached_property
    def own_means(self):
        """The means of the fit, (n, t), and those that are cut."""
        targets = self.fit.targets
        y = targets.unwarped(self.fit.problem.rows.y)
        return targets.means_within(y, *self.moments)

    @cached_property
    def _means(self):
        """For each output targets, weights, and means: the own, that cut, and the reference's."""
        plain, y, (own, cut) = self.reference.targets, self.y, self.own_means
        mean = plain.in_units(self.others[1])
        # a target that is no unit of the others is no judge of their means either
        is_near = winsorized(y, FURTHEST) == y
        known = (np.isfinite(mean) & np.isfinite(cut) & is_near).all(axis=1)
        weight = self.rows.weights[1][known]
        columns = zip(*(part[known].T for part in (y, own, cut, mean)), strict=True)
        return [(y, weight, *means) for y, *means in columns]

    @property
    def square_of_reference(self):
        """Left-out squares of the reference's mean, in units of the targets' variances."""
        return sum(
            np.average((y - plain) ** 2, weights=weight) / max(np.var(y), np.finfo(float).tiny)
            for y, weight, *_, plain in self._means
            if len(y) > 0
        )

    @property
    def prefers_reference(self):
        """True where its log density is higher by more than the standard error of that."""
        if self.reference.problem.rows.counts is not None:  # far targets did not count as others do
            return False
        own, plain = self.scores
        return plain.is_better(own)

    def tell(self, trace):
        """Tell the trace which distribution is better."""
        names = map(_name, (self.fit, self.reference))
        tried = [Tried(name, None, one, 0.0) for name, one in zip(names, self.scores, strict=True)]
        tell("distribution", tried, tried[self.prefers_reference], trace)

    @cached_property
    def scores(self):
        """Log densities of scaled targets, those of the reference, by both."""
        own = self._log_density(self.fit, self.moments)
        plain = self._log_density(self.reference, self._sized(self.others))
        known = np.isfinite(own) & np.isfinite(plain)
        weight = self.rows.weights[1]
        if not known.any():
            return Score.none(), Score.none()
        return Score(own[known], weight[known]), Score(plain[known], weight[known])

    def _sized(self, moments):
        """Return moments whose variances have the size of the errors, if they were not learned."""
        likelihood, mean, variance, noise = moments
        if not self.shares_kernel:
            return moments
        errors = (self.reference.targets.scaled(self.y) - mean) ** 2 / (variance + noise)
        known = np.isfinite(errors).all(axis=1)
        if not known.any():
            return moments
        factor = np.average(errors[known], axis=0, weights=self.rows.weights[1][known])
        return likelihood, mean, factor * variance, factor * noise

    def _log_density(self, fit, moments):
        plain = self.reference.targets
        likelihood, *rest = moments
        density = log_rounded_density(fit.targets, likelihood, self.y, plain.resolution, *rest)
        return density.sum(axis=1) + plain.log_scale


def _name(fit):
    """Return the name of a distribution, as users see it."""
    noise = type(fit.fitted.likelihood).__name__
    return noise if fit.targets.keeps_means else f"{noise}, warped"


def _left_out(fit, places):
    """Return rows, with likelihood, latent moments and noise of each given all others."""
    problem, fitted = fit.problem, fit.fitted
    rows, n_jobs = problem.rows, problem.settings.n_jobs
    rows = rows if places is None else rows.select(places)
    mean, variance = left_out_moments(fitted, rows, places, n_jobs)
    if fitted.variance_scale is not None:
        variance = variance * fitted.variance_scale.at(rows.X, n_jobs) ** 2
    variance = np.broadcast_to(np.maximum(variance, 0.0), mean.shape)
    noise = fitted.noise.noise_at(rows.X, fitted.noise_variance, mean.shape[1], n_jobs)
    return rows, (fitted.likelihood, mean, variance, noise)
