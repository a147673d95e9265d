"""How estimators with X and y learn: the steps of a recipe, and what is stored of them.

A second fit of the same rows with `warm_start` goes on, or the first one stays.
"""

import hashlib
from dataclasses import replace
from functools import partial
from inspect import isgenerator

import numpy as np
from sklearn.utils import check_random_state

from ..data.column_spread import columns_remembered
from ..data.rows import with_targets
from ..engines.fingerprints import fingerprint
from ..engines.left_out import places_as_held
from ..optimize.forecast import LATER
from ..optimize.parameters import ParameterSpace
from ..optimize.progress import Clock, Trace
from .asking import answered
from .attributes import OF_NOISE, fitted_attributes, set_attributes, trace_attributes
from .doubts import with_doubts
from .label_frequencies import WeighFrequencies
from .observed_steps import MoveMeans
from .settings import fingerprints, later_problem
from .steps import HoldKernelOfOneClass, Learn

# Parameters that say how long learning goes on, and how it is told.
_EFFORT = {"max_iter", "max_steps", "max_time", "n_iter_no_change", "n_jobs", "tol", "verbose"}
_HASHED_ROWS = 65_536
# Steps of which a forecast knows, and one of few rows that takes no time: others go on as the rows
# ask for, which nobody knows before.
_FORETOLD = Learn, HoldKernelOfOneClass, MoveMeans, WeighFrequencies


@columns_remembered()
def run_recipe(estimator, fit, recipe, progress, clock):
    """Run the steps of a recipe, tell callbacks of them, and store what they learned."""
    progress.begin()
    mark = mark_of(estimator, fit)
    fit = replace(fit, trace=Trace(clock))
    for step in recipe.steps_before(fit):
        fit = step(fit)
    trace, attributes_now = fit.trace, partial(_attributes_now, estimator, fit, recipe)
    log_scale = fit.problem.rows.total_weight * fit.targets.log_scale
    with estimator._following(trace, progress, log_scale, attributes_now):
        if not all(isinstance(step, _FORETOLD) for step in recipe.learn):
            trace.forecast.expect(LATER, np.inf)
        for step in recipe.learn:
            try:
                made = step(fit)
                fit = answered(made) if isgenerator(made) else made
            except KeyboardInterrupt:
                fit = fit.ended_by_ctrl_c()
        fit = better_of(estimator, fit, mark)
    store_fit(estimator, fit)
    estimator._mark = mark
    if estimator.verbose:
        estimator._print_end(trace)
    progress.end()


def _attributes_now(estimator, fit, recipe, parameters):
    """Return fitted attributes amid a fit, with a posterior of at most ``init_size`` rows.

    The steps of ``learn`` run once more, with some rows and all parameters held: so they are asked
    of every kind of fit in one way. They are silent, and there is nothing for them to learn.
    """
    problem, trace = fit.problem, fit.problem.trace
    start, rows = trace.start or problem.start, problem.rows
    sample = rows.fixed_subset(estimator.init_size)
    held = replace(
        problem,
        rows=sample,
        widths=fit.targets.widths(sample),
        start=replace(start, parameters=parameters, space=ParameterSpace(())),
        inference=_begun(problem),
        settings=replace(problem.settings, optimizer=None, max_steps=None),
        trace=Trace(Clock()),
        rng=check_random_state(0),
        n_samples=None,
    )
    fit = answered(replace(fit, problem=held).after(recipe.learn))
    fitted = replace(fit.fitted, targets=fit.targets)
    attributes = fitted_attributes(estimator, fitted, sample.total_weight)
    attributes |= trace_attributes(trace, fit.targets, rows.total_weight)
    return attributes | {"n_samples_seen_": len(sample)}


def _begun(problem):
    """Return the inference of a problem, which begins where the fit is; None for that of blocks."""
    inference, known_now = problem.inference, problem.trace.known_now
    return inference if known_now is None else inference.knowing(known_now())


def store_fit(estimator, fit):
    """Store what the steps of a recipe learned."""
    fitted = replace(fit.fitted, targets=fit.targets, times=None)
    weight = fit.problem.rows.total_weight
    store(estimator, fitted, weight, fit.trace)
    estimator.n_samples_seen_ = fit.n_samples if fitted.n_used is None else fitted.n_used
    estimator._given = fingerprints(estimator)
    places = fit.places if fitted.state.keeps_rows else None
    estimator._places = estimator._reference_places = places


def store(estimator, fitted, weight, trace=None):
    """Set the fitted attributes; ``weight`` is that of the rows that the objective counts."""
    estimator._mark = None
    for name in OF_NOISE:
        estimator.__dict__.pop(name, None)  # of an earlier fit, with another likelihood
    attributes = fitted_attributes(estimator, fitted.with_unlike_rows(weight), weight)
    if trace is not None:
        attributes |= trace_attributes(trace, fitted.targets, weight)
    set_attributes(estimator, attributes)


# ---- Later batches of independent rows and of blocks; those of streams: `streaming`


def with_later_rows(estimator, engine, batch, clock, learns=True):
    """Add the rows of a later batch to a fit, and to the one that its mean is told with."""
    before, rows = estimator._fitted, batch.rows
    fitted = engine.add(before, later_problem(estimator, rows, clock, learns))

    def joined(reference):
        own = with_targets(rows, before.targets, reference.targets)
        own, _ = with_doubts(estimator, reference, own, batch.inputs)
        problem = later_problem(estimator, own, clock, learns)
        added = engine.add(reference, replace(problem, start=reference.start))
        predictor = added.predictor.ready()
        return replace(added, predictor=predictor, targets=reference.targets)

    return replace(fitted, told_mean=before.told_mean.mapped(joined))


def store_batch(estimator, fitted, targets):
    """Store what a later batch of independent rows has changed."""
    store(estimator, replace(fitted, targets=targets), fitted.weight)
    estimator.n_samples_seen_ += fitted.state.n_added
    _go_on(estimator, fitted.state.seconds)


def _go_on(estimator, seconds):
    """Add the objective after a batch, which took some seconds, to the course of the fit."""
    estimator.objectives_ = np.append(estimator.objectives_, estimator.objective_)
    begin = estimator.fit_times_[-1] if len(estimator.fit_times_) else 0.0
    estimator.fit_times_ = np.append(estimator.fit_times_, begin + seconds)


def store_blocks(estimator, fitted, targets, n_rows, seconds):
    """Store what ``n_rows`` rows of a later batch have changed in blocks, in some seconds."""
    state, told_mean = estimator._fitted.state, estimator._fitted.told_mean
    was_complete, places = state.progress.is_complete, places_as_held(state, estimator._places)
    of_reference = estimator._reference_places
    if not told_mean.is_own:  # its kernel has other groups
        of_reference = places_as_held(told_mean.reference.state, of_reference)
    store(estimator, replace(fitted, targets=targets), fitted.weight)
    n_seen = estimator.n_samples_seen_ + n_rows
    estimator.n_samples_seen_ = n_seen if was_complete else fitted.state.progress.n_rows
    estimator._places, estimator._reference_places = places, of_reference
    _go_on(estimator, seconds)


# ---- A second fit of the same rows


def mark_of(estimator, fit):
    """Return what is equal for two fits of the same rows and parameters; None where unknown.

    ``fit`` is before its first step.
    """
    if not estimator.warm_start or fit.y is None:
        return None
    given = sorted(estimator.get_params(deep=False).items())
    parameters = [(name, fingerprint(value)) for name, value in given if name not in _EFFORT]
    parts = (fit.X, fit.y, fit.weight, fit.labels, fit.offset)
    return repr(parameters), *(None if part is None else _hash(part) for part in parts)


def _hash(array):
    """Return shape and hash of an array, which may be larger than memory."""
    hashed = hashlib.sha256()
    for lo in range(0, len(array), _HASHED_ROWS):
        part = np.asarray(array[lo : lo + _HASHED_ROWS])
        hashed.update((part.astype(str) if part.dtype == object else part).tobytes())
    return array.shape, hashed.hexdigest()


def better_of(estimator, fit, mark):
    """Return a fit as it ended, or with the fit before where that has learned more of these rows.

    ``fit`` is after its last step; for ``mark`` see `mark_of`.
    """
    before, after = estimator._fitted, fit.fitted
    if mark is None or mark != estimator._mark or not fit.problem.learns:
        return fit
    is_whole = before.n_used is None and after.n_used is None
    is_alike = type(before.likelihood) is type(after.likelihood)  # else objectives are not
    if not (is_whole and is_alike) or after.interrupted:
        return fit
    # in units of y: warps differ
    own, other = before.targets.log_scale, fit.targets.log_scale
    if before.merit - before.weight * own <= after.merit - after.weight * other:
        return fit
    fit.problem.trace.add(before.objective, lambda: before.parameters)
    return replace(fit, fitted=before, targets=before.targets)
