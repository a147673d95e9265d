"""Each batch of a stream is scored before it is learned from, and shifts are answered."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..data.inputs import Inputs
from ..data.rows import Rows
from ..data.varying_noise import each_output
from ..engines.base import has_predictive_density
from ..engines.streams.answers import after_answer, answer_to, are_elsewhere, warn_of_shift
from ..engines.streams.broken_rows import counted
from ..engines.streams.moves import told_of_level
from ..engines.streams.shifts import (
    ROWS_TOGETHER,
    can_move,
    fading_share,
    gathered,
    missed,
    usual_distances,
    warn_of_narrow_bands,
)
from ..engines.streams.surprises import warn_of_surprise
from ..predict.base import KnownMoments
from .mixed_outputs import mixes_outputs


class LaterBatch(NamedTuple):
    """The rows of a later batch of a stream.

    Attributes
    ----------
    rows : Rows
    order : ndarray of shape (n,)
        In which they came.
    inputs : Inputs
        What is asked of a model about them.
    constant : float
        What they add to the bound besides; see `doubts.with_doubts`.
    """

    rows: Rows
    order: np.ndarray
    inputs: Inputs
    constant: float = 0.0

    @property
    def whole(self):
        """The rows that lack nothing which no first row lacked."""
        if self.inputs.unforeseen is None:
            return self.rows
        return self.rows.select(np.flatnonzero(self.inputs.are_whole))

    @property
    def telling(self):
        """The rows that may tell what has changed: they, and others of which hardly more is open.

        That is known where noise is of one size, in which it counts.
        """
        has_doubts = self.inputs.unforeseen is not None and self.rows.counts is not None
        return self.rows if has_doubts else self.whole


def watched(estimator, fitted, batch):
    """Score a `LaterBatch`, tell of outliers and shifts, and answer the latter.

    Its rows are in the units of the stream.

    Returns
    -------
    fitted : Fitted
        The stream before the batch, in whose units its rows are from now on.
    share : float
        What is known counts so much of what it did.
    """
    rows, order, *_ = batch
    # a measure are units that follow rows, and a kernel or noise that are learned
    can_shift = fitted.state.moments is not None and fitted.start.learns(estimator.optimizer)
    share, watch = estimator.forget_factor, scored(estimator, fitted, batch, not can_shift)
    is_whole = batch.inputs.unforeseen is None  # others have no order of their own
    in_order = rows.select(order) if is_whole else batch.telling
    telling, in_order = map(fitted.state.telling, (batch.telling, in_order))
    fitted = counted(fitted, batch.telling, fitted.targets)
    if not (can_shift and len(telling)):
        if isinstance(share, str):
            share, watch = _faded(fitted, telling, watch, estimator.n_jobs)
        warn_of_surprise(watch.surprises)
        return _with(fitted, watch), share
    seen, some, prediction = gathered(fitted, telling, estimator.n_jobs)
    state = fitted.state
    misses = missed(watch.misses, prediction, state.bands.usual, state.places.sample.lacks(some))
    watch = replace(watch, misses=misses)
    if isinstance(share, str):
        share, watch = fading_share(fitted, some, watch, estimator.n_jobs)
    if seen is None:
        return _with(fitted, watch), share
    was_narrow, alone = watch.is_narrow, watch.alone
    usual = usual_distances(fitted)
    watch, seen, alarm = watch.tempered(share).after(seen, can_move(fitted), usual)
    fitted = _with(fitted, watch)
    if not alarm.any():
        fitted = told_of_level(fitted, in_order, estimator.n_jobs)
        if watch.is_narrow and not (was_narrow or fitted.noise.differs):
            warn_of_narrow_bands(watch.held)
        return fitted, share
    answer = answer_to(fitted, some, seen, alarm, estimator.n_jobs)
    warn_of_shift(answer, fitted.targets, seen.rows)
    elsewhere = are_elsewhere(fitted, some, estimator.n_jobs)
    return after_answer(fitted, answer, some, alone, elsewhere), answer.share * share


def _faded(fitted, rows, watch, n_jobs):
    """Return the share of the past that explains batches best, 1 where that is not told."""
    likelihood = fitted.likelihood
    if not (likelihood.conjugate and len(rows)) or likelihood.allows_outliers:
        return 1.0, watch
    return fading_share(fitted, rows.fixed_subset(ROWS_TOGETHER), watch, n_jobs)


def _with(fitted, watch):
    return replace(fitted, state=replace(fitted.state, watch=watch))


def scored(estimator, fitted, batch, may_surprise=False):
    """Return the `Watch` of a stream after the mean log density of a batch, in nats a row.

    Where nothing else tells of shifts, log densities ``may_surprise``.
    """
    rows, inputs = batch.rows, batch.inputs
    state, density, watch = fitted.state, np.nan, fitted.state.watch
    if inputs.unforeseen is None and not mixes_outputs(estimator):
        # score and bands are of the same moments
        known = fitted.predictor.moments(inputs, estimator.n_jobs)
        fitted = replace(fitted, predictor=KnownMoments(*known))
    if has_predictive_density(fitted.likelihood):
        log_p = estimator._log_densities(fitted, rows, inputs)
        density = np.average(log_p, weights=rows.weights[1])
        watch = replace(watch, surprises=watch.surprises.passed())
        if may_surprise and not (mixes_outputs(estimator) or _comes_in_turn(state)):
            expected = estimator._expected_densities(fitted, rows, inputs)
            watch = watch.surprised(log_p, *expected, _counts(fitted, rows))
    telling = rows if inputs.unforeseen is None else state.telling(batch.telling)
    is_new = state.places.sample.lacks(telling)
    told = state.bands.told(fitted, telling, watch.told, estimator.n_jobs, is_new)
    return replace(watch, told=told).scored(density)


def _counts(fitted, rows):
    """Return how many rows each stands for, (n,): one beside known noise, which has precisions."""
    weight = rows.weights[1]
    return np.ones(len(rows)) if fitted.start.has_known_noise else weight


def _comes_in_turn(state):
    """Return whether classes come one after another: each is a surprise, and no shift."""
    return state.initial_rows is not None and state.initial_rows.rule.in_turn


def inputs_of(rows):
    """Return rows as what is asked of."""
    return Inputs(rows.X, None, rows.offset)


def log_densities_of_observed(model, rows, inputs):
    """Return log densities of the outputs that were observed, given a predictive model, (n,)."""
    mean, variance = model.predictor.moments(inputs, model.n_jobs)
    variance = np.broadcast_to(variance, mean.shape)
    mean, noise, y = inputs.shifted(mean), model.noise_at(inputs), rows.targets
    likelihood, each = model.unlike_rows.among(model.likelihood), np.empty(y.shape)
    known = np.where(np.isnan(y), mean, y)
    for at, one, own in each_output(likelihood, noise, y.shape[1]):
        parts = (part[:, at] for part in (known, mean, variance))
        each[:, at] = one.log_predictive_density(*parts, own)[:, None]
    return np.where(np.isnan(y), 0.0, each - np.log(model.targets.scale)).sum(axis=1)


def expected_of_observed(model, rows, inputs):
    """Return what log densities of normal variables as wide are expected to be, and variances.

    Of the outputs that were observed as numbers, in units of y, (n,) each; a probability is at most
    one.
    """
    mean, variance = model.predictor.moments(inputs, model.n_jobs)
    variance, y, targets = np.broadcast_to(variance, mean.shape), rows.targets, model.targets
    total = model.likelihood.moments(inputs.shifted(mean), variance, model.noise_at(inputs))[1]
    each, seen = -0.5 * np.log(2.0 * np.pi * np.e * total), ~np.isnan(y)
    if not model.likelihood.scales_targets:
        each = np.minimum(each, 0.0)
    # with gaps densities are those of scaled targets, warps or not
    slope = targets.log_slope(targets.unwarped(rows.y)) if seen.all() else -np.log(targets.scale)
    each = each + slope
    if hasattr(model.likelihood, "are_numbers"):  # others have probabilities
        each = np.where(model.likelihood.are_numbers(y), each, np.nan)
    return np.where(seen, each, 0.0).sum(axis=1), 1.0 * seen.sum(axis=1)
