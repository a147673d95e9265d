"""The steps that fits are made of; `recipes` lists them.

A step is called with a `Fit` and returns one. One that learns is a generator: it yields the calls
of an engine that it asks for, and goes on with what these return (`estimators.asking`). What a step
needs besides the fit is given when the recipe is written: an engine, learning that it repeats, or
the estimator, whose parameters it reads.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.utils import check_random_state

from .._parallel import single_blas_thread
from ..data.checks import check_first_scaled, warn_of_far_targets
from ..data.class_targets import ClassLabels, ClassTargets
from ..data.distinct import contains_rows
from ..data.rows import make_rows, merge_repeated
from ..data.targets import Targets, target_columns
from ..data.warped_targets import fit_warped
from ..data.winsorize import winsorized
from ..engines.base import Problem
from ..engines.constant_outputs import fitted_beside_constants
from ..engines.few_rows import borne_out
from ..engines.fitted import Fitted
from ..engines.noise_free import with_room
from ..engines.start import start
from ..kernels._defaults import PROPORTIONAL
from ..likelihoods._names import (
    check_classes,
    labels_as_targets,
    regression_likelihood,
    warps_targets,
)
from ..optimize import time_shares
from ..optimize.parameters import ParameterSpace
from ..optimize.progress import Clock, Trace
from ..selection.left_out_classes import AlphaTrials, calibrated
from ..selection.warp_choice import learned_warps, power_warps
from .block_plan import uses_near_rows
from .offsets import beside_offset, check_offset_of_classes
from .settings import choices_of, inference_of, settings_of

# Targets further from the median, in median absolute deviations, count as so far where the centre
# and scale of targets with outliers are found.
FURTHEST = 100.0
# `alpha_epsilon` where near rows cannot tell a better one, as predictions do not use them, and the
# rows of the groups that the kernel is learned from for each value of it.
_USUAL_ALPHA, _ALPHA_ROWS = 0.01, 1024


# ---- Targets of regressors


def merge_repeated_rows(fit):
    """Replace rows that are equal in all columns and targets by one of their weight."""
    y = target_columns(fit.y)
    X, y, weight, offset, places = merge_repeated(fit.X, y, fit.weight, fit.offset)
    return replace(fit, X=X, y=y, weight=weight, offset=offset, places=places)


@dataclass(frozen=True)
class InitialiseLikelihood:
    """Checks the targets, and takes what the likelihood leaves open from them."""

    likelihood: object

    def __call__(self, fit):
        y = target_columns(fit.y)
        self.likelihood.check_targets(y)
        likelihood = self.likelihood.initialized(y, fit.weight)
        if fit.offset is not None:
            likelihood = beside_offset(likelihood, self.likelihood, fit.offset, fit.weight)
        return replace(fit, y=y, likelihood=likelihood)


@dataclass(frozen=True)
class ScaleTargets:
    """Centres and scales the targets; before that it warps them, if ``normalize_y`` says so.

    With ``warps`` it may warp them.
    """

    estimator: object
    warps: bool = True

    def __call__(self, fit):
        likelihood, y, weight = fit.likelihood, fit.y, fit.weight
        normalize_y = self.estimator.normalize_y if likelihood.scales_targets else False
        if isinstance(normalize_y, str) and not self.warps:
            normalize_y = True
        _check_warps(likelihood, normalize_y)
        if normalize_y is True and self.warps and warps_targets(likelihood):
            normalize_y = "warped"
        # one target of any size must not be the unit of all others, where noise has a word for it
        near = winsorized(y, FURTHEST) if likelihood.allows_outliers else y
        if isinstance(normalize_y, str):
            warps = self._warps(fit, near, normalize_y)
            targets = fit_warped(y, near, weight, warps, fit.ndim)
        else:
            targets = Targets.fit(near, weight, normalize_y, fit.ndim)
            if near is y and likelihood.conjugate and self.estimator.likelihood != "auto":
                warn_of_far_targets(y, weight)
        if likelihood.scales_targets:
            check_first_scaled(targets, y)
            targets = targets.with_resolution(y)
            likelihood = scaled_likelihood(likelihood, targets)
        return replace(fit, y=targets.warped(y), targets=targets, likelihood=likelihood)

    def _warps(self, fit, y, kind):
        """Return a monotone function for each output, of a kind that ``normalize_y`` names."""
        if kind == "yeo-johnson":
            return power_warps(y, fit.weight)
        estimator = self.estimator
        noise, rng = regression_likelihood("gaussian"), check_random_state(estimator.random_state)
        seconds = np.inf if estimator.max_time is None else time_shares.TARGETS * estimator.max_time
        choices, settings = choices_of(estimator), settings_of(estimator)
        return learned_warps(
            fit.X, y, fit.weight, choices, noise, settings, rng, seconds, told=fit.trace
        )


def _check_warps(likelihood, normalize_y):
    """Refuse a warp of targets that are known only to lie beyond a limit."""
    if isinstance(normalize_y, str) and not getattr(likelihood, "takes_warps", True):
        raise ValueError(
            "The 'normalize_y' parameter must be True, False or a pair of numbers with "
            f"{likelihood!r}. Got {normalize_y!r}: transform the targets and their limits yourself."
        )


def scaled_likelihood(likelihood, targets):
    """Return the likelihood of targets as they are scaled."""
    if not hasattr(likelihood, "for_scaled_targets"):  # one that derives from no base
        return likelihood
    return likelihood.for_scaled_targets(targets.mean, targets.scale)


# ---- Labels of classifiers


def _placed(labels, fit, merges):
    """Return the fit with the positions of the classes as y, and their total weights, (C,).

    Repeated rows are merged if so wished. Labels of rows of weight zero may be anything.
    """
    X, y, weight, offset = fit.X, fit.y, fit.weight, fit.offset
    known = y if weight is None else np.where(weight > 0.0, y, labels.classes[0])
    place = labels.positions(known)
    places = None
    if merges:
        X, place, weight, offset, places = merge_repeated(X, place, weight, offset)
    of_class = np.bincount(place, weights=weight, minlength=labels.n_outputs).astype(np.float64)
    fit = replace(fit, X=X, y=place, weight=weight, offset=offset, places=places, targets=labels)
    return fit, of_class


def _known_or_present(classes, fit):
    """Return the classes, or those of the rows of positive weight where none are known."""
    if fit.targets is not None:  # those of a fit of more rows
        return fit.targets.classes
    if classes is not None:
        return classes
    return np.unique(fit.y if fit.weight is None else fit.y[fit.weight > 0.0])


@dataclass(frozen=True)
class EncodeLabels:
    """Encodes labels as the likelihood has them, one that ``likelihood_of(classes)`` returns."""

    likelihood_of: object
    classes: np.ndarray | None
    merges: bool = True

    def __call__(self, fit):
        classes = _known_or_present(self.classes, fit)
        likelihood = self.likelihood_of(classes)
        labels = ClassLabels(classes, likelihood)
        fit, of_class = _placed(labels, fit, self.merges)
        y, given = likelihood.codes(fit.y), likelihood
        likelihood = likelihood.for_classes(of_class).initialized(y, fit.weight)
        if fit.offset is not None:
            check_offset_of_classes(likelihood, len(classes))
            likelihood = beside_offset(likelihood, given, fit.offset, fit.weight)
        return replace(fit, y=y, likelihood=likelihood)


@dataclass(frozen=True)
class EncodeAsRegressions:
    """Encodes labels as targets with known noise, by the best ``alpha_epsilon``."""

    estimator: object
    classes: np.ndarray | None
    merges: bool

    def __call__(self, fit):
        labels = ClassLabels(check_classes(_known_or_present(self.classes, fit)), None)
        placed, of_class = _placed(labels, fit, self.merges)
        if fit.offset is not None:
            check_offset_of_classes(labels_as_targets(_USUAL_ALPHA), len(of_class))

        def encoded(alpha):
            targets = ClassTargets.fit(labels, labels_as_targets(alpha), of_class)
            y, likelihood = targets.codes(placed.y), targets.likelihood
            return replace(placed, y=y, targets=targets, likelihood=likelihood)

        alpha = self.estimator.alpha_epsilon
        if isinstance(alpha, str):
            can_tell = uses_near_rows(self.estimator) and np.count_nonzero(of_class) > 1
            alpha = self._best_alpha(encoded, fit.trace) if can_tell else _USUAL_ALPHA
        return encoded(float(alpha))

    def _best_alpha(self, encoded, told):
        estimator = self.estimator
        choices = replace(
            choices_of(estimator),
            n_inducing=1,
            inducing="random",
            optimize_inducing=False,
            kernel_set=PROPORTIONAL,
        )
        settings = replace(settings_of(estimator), init_size=_ALPHA_ROWS)
        seed = check_random_state(estimator.random_state).randint(2**31)  # the same groups for all
        seconds = None if estimator.max_time is None else time_shares.TARGETS * estimator.max_time
        trials = AlphaTrials(np.inf if seconds is None else seconds)
        with single_blas_thread():  # groups are small
            for alpha in trials.values():
                fit, rng = replace(encoded(alpha), labels=None), check_random_state(seed)
                rows, trace = rows_of(fit), Trace(Clock(seconds))
                started = start(rows, choices, fit.likelihood, rng)
                problem = Problem(rows, started, None, settings, trace, rng, is_interim=True)
                trials.add(alpha, problem)
        trials.tell(told)
        return trials.best


# ---- The problem


def rows_of(fit):
    """Return the `Rows` of a fit; a collection has them made."""
    if fit.y is None:
        return fit.X
    return rows_with(fit.X, fit.y, fit.weight, fit.targets, fit.labels, fit.offset)


def rows_with(X, y, weight, targets, labels, offset):
    """Return `Rows` with encoded targets, and the noise that labels have as targets."""
    rows = make_rows(X, y, weight, targets, labels, offset)
    if not isinstance(targets, ClassTargets):
        return rows
    return replace(rows.with_precision(targets.precision(rows.y)), of_classes=True)


@dataclass(frozen=True)
class PoseProblem:
    """Poses the problem: rows, kernel, noise, inducing inputs, and how q(u) is found.

    Parameters
    ----------
    has_row_noise : bool
        Whether the function is learned with Gaussian noise, that of each row besides.
    previous : Fitted or None
        Whose parameters are taken, where they still fit.
    choose : callable or None
        See `engines.start.start`.
    kernel_of : callable or None
        ``kernel_of(rows)``: kernel and noise variance that take the place of default ones.
    goes_on : bool
        Whether the parameters of what this fit has learned so far are taken.
    """

    estimator: object
    has_row_noise: bool = False
    previous: Fitted | None = None
    choose: object = None
    kernel_of: object = None
    goes_on: bool = False

    def __call__(self, fit):
        estimator, choices = self.estimator, choices_of(self.estimator)
        rng, rows = check_random_state(estimator.random_state), rows_of(fit)
        likelihood = regression_likelihood("gaussian") if self.has_row_noise else fit.likelihood
        left = fit.trace.clock.left()
        choices = replace(choices, sees_more_rows=fit.is_batch, seconds=left)
        if self.kernel_of is not None:
            choices = choices.by_default(*self.kernel_of(rows))
        previous = fit.fitted if self.goes_on else self.previous
        started = start(rows, choices, likelihood, rng, previous, self.choose)
        inference = inference_of(estimator, likelihood, fit.targets.n_outputs)
        contained = not choices.mixes_outputs and contains_rows(started.parameters.Z, rows)
        if contained and choices.expects_no_noise:
            started = with_room(started, choices.kernel_set.of_near_rows)
        shared = started, inference, settings_of(estimator), fit.trace, rng, fit.n_samples
        widths = fit.targets.widths(rows)
        problem = Problem(rows, *shared, inputs_are_rows=contained, widths=widths)
        return replace(fit, problem=problem)


def hold_few_rows(fit):
    """Hold the default kernel and noise where rows are so few that they say nothing of these."""
    return replace(fit, problem=replace(fit.problem, start=borne_out(fit.problem)))


# ---- Learning


@dataclass(frozen=True)
class Learn:
    """Lets the engine solve the problem."""

    def __call__(self, fit):
        return replace(fit, fitted=(yield from self.of(fit)(fit.problem)))

    def of(self, fit):
        """Return ``learn(problem)``, which asks for a `Fitted`, as steps that solve others have."""
        return partial(fitted_beside_constants, fit.engine.fit)


@dataclass(frozen=True)
class HoldKernelOfOneClass:
    """Holds the kernel where a first batch has labels of one class, which say nothing of it."""

    def __call__(self, fit):
        if fit.y is None or fit.targets.is_informative(fit.problem.rows):
            return fit  # a collection has all rows, and with them all classes
        fixed = replace(fit.problem.start, space=ParameterSpace(()))
        return replace(fit, problem=replace(fit.problem, start=fixed))


@dataclass(frozen=True)
class Calibrate:
    """Sets temperature, variance and length scales of regressions of labels by rows left out.

    ``learn`` is the step that learns again with other scales; with ``keeps_inducing`` inducing
    inputs stay where they are.
    """

    learn: Learn
    keeps_inducing: bool

    def __call__(self, fit):
        problem, fitted = fit.problem, fit.fitted
        is_regression = fitted.start.likelihood.conjugate  # sites have a temperature already
        if not (problem.learns and is_regression) or fit.has_ended:
            return fit
        given = problem, fitted, self.learn.of(fit), self.keeps_inducing
        return replace(fit, fitted=(yield from calibrated(*given)))
