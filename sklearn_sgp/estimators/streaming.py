"""One batch after another, as the two streaming estimators take them.

What they do not share are their methods: the ``_recipe`` of first rows, `Rows` of a later batch
(``_later_rows``) and how these were predicted (``_log_densities``), when a stream begins anew
(``_begins_anew``), and the power of the rows' factors (``_alpha``).
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from .._compat import FitProgress
from ..data.checks import check_spread, check_weights_of_stream
from ..data.rows import merge_repeated
from ..data.targets import count_samples
from ..engines.base import Problem
from ..engines.streams.broken_rows import trusts
from ..engines.streams.inducing import StreamInducing
from ..engines.streams.initial_rows import InitialRows
from ..engines.streams.moves import gone_ahead
from ..engines.streams.plan import Known
from ..engines.streams.stream import Stream
from ..engines.streams.units import about_learned_means, with_units_of_all
from ..kernels._white_noise import check_bounds, checked_noise, holds_noise, white_terms
from ..noise.left_out_errors import with_precisions
from ..noise.stream_noise import StreamedSquares, faded
from ..optimize.progress import Trace
from .asking import answered
from .attributes import set_attributes
from .doubts import with_doubts
from .fit import Fit
from .learning import store, store_fit
from .mixed_outputs import mixes_outputs
from .settings import check_same_parameters, previous_fit, settings_of
from .stream_steps import has_gaps
from .validation import learns_from_counts, rows_of_weight
from .watching import LaterBatch, inputs_of, scored, watched

# The format of inputs has these, and is that of the first batch also where a stream begins anew.
_FIXED_BY_FORMAT = "categorical_features", "missing", "offset_column"


def one_pass(estimator, inputs, y, weight, given, clock):
    """Learn from checked rows in batches; the estimator is then as after its `partial_fit`.

    ``given`` are X and y as the user gave them.
    """
    _check_weight(estimator, weight, np.inf)
    n, previous = len(inputs.X), previous_fit(estimator)
    fit = Fit.of(inputs, y, weight)
    progress = FitProgress(estimator, *fit.for_callbacks(*given, estimator._format)).begin()
    estimator._fitted = None
    edges = [0, *range(min(estimator.init_size, n), n, estimator.batch_size), n]
    for lo, hi in pairwise(edges):
        part = None if weight is None else weight[lo:hi]
        _take_batch(estimator, inputs.select(slice(lo, hi)), y[lo:hi], part, clock, previous)
        if progress.step(lambda: _fitted_so_far(estimator)):
            break
    progress.end()


def take_batch(estimator, inputs, y, weight, clock):
    """Learn from a checked batch."""
    seen = np.inf if estimator._fitted is None else estimator._fitted.state.mean_weight
    _check_weight(estimator, weight, seen)
    _take_batch(estimator, inputs, y, weight, clock)


def _take_batch(estimator, inputs, y, weight, clock, previous=None):
    engine, before, state = _engine(estimator), estimator._fitted, None
    is_known = before is not None and not before.parameters.has_features
    known = before.parameters.Z if is_known else None
    check_spread(inputs.X, weight, _least_noise(estimator, y), known)
    if before is None:
        estimator.log_evidence_ = 0.0
        initial = InitialRows.of(inputs, y, weight, previous, estimator._begins_anew(y))
    elif _is_short(estimator, engine):
        check_same_parameters(estimator, _FIXED_BY_FORMAT)
        # an error where they do not fit those before
        batch = _later_batch(estimator, inputs, y, weight)
        state = replace(before.state, watch=scored(estimator, before, batch))
        initial = before.state.initial_rows.joined(*_to_keep(batch, inputs, y, weight, True))
    else:
        check_same_parameters(estimator)
        initial, state = _add(estimator, engine, inputs, y, weight, clock)
    if initial is not None:
        so_far = None
        if before is not None:
            so_far = estimator.n_steps_, estimator.n_iter_, estimator.log_evidence_
        rows, recipe = initial.rows, estimator._recipe(engine, initial)
        fit = Fit.of(inputs_of(rows), rows.y, rows.weight, is_batch=True)
        fit = replace(fit, trace=Trace(clock))
        store_fit(estimator, answered(fit.after((*recipe.prepare, *recipe.learn))))
        estimator.n_samples_seen_ += initial.rule.n_gone
        if so_far is not None:
            _count_as_one_batch(estimator, *so_far, state)
    estimator.log_evidence_ += estimator.objective_
    if estimator.verbose:
        print(
            f"[{type(estimator).__name__}] {Trace(clock).seconds()}: batch {estimator.n_steps_}, "
            f"{estimator.n_samples_seen_} rows, "
            f"{len(estimator._fitted.parameters.Z)} inducing inputs, "
            f"objective {estimator.objective_:.6g}"
        )


def count_missing(estimator, n_rows):
    """Count rows that were left out, since all their targets are NaN."""
    if not n_rows:  # what the fit has computed once for predictions stays
        return
    fitted = estimator._fitted
    watch = fitted.state.watch
    watch = replace(watch, n_missing=watch.n_missing + n_rows)
    estimator._fitted = replace(fitted, state=replace(fitted.state, watch=watch))
    estimator.n_missing_ = watch.n_missing


def _least_noise(estimator, y):
    """Return the least noise variance that may be learned; 1.0 where the user gives none."""
    bounds = getattr(estimator, "noise_variance_bounds", (1.0, 1.0))
    if not holds_noise(estimator.kernel, bounds):
        return check_bounds("noise_variance_bounds", bounds)[0]
    levels = [white.noise_level for white in white_terms(estimator.kernel)]
    if levels:
        return float(sum(levels))
    given = estimator.noise_variance
    return 1.0 if given is None else float(np.min(checked_noise(given, np.size(y[:1]))))


def _check_weight(estimator, weight, seen):
    """Check the weights of rows, of which those so far have the mean ``seen``."""
    check_weights_of_stream(weight, seen, learns_from_counts(estimator))


def _is_short(estimator, engine):
    """Return whether a stream has so few rows that it begins anew with whatever comes."""
    fitted = estimator._fitted
    may_begin = engine.may_begin_anew(fitted, settings_of(estimator))
    return may_begin and fitted.state.initial_rows.is_short


def _count_as_one_batch(estimator, n_steps, n_iter, evidence, before):
    """Count what was learned of the rows so far and these, as if of one batch, as of the last.

    The state ``before`` has seen how this batch was predicted.
    """
    n_batches, fitted = n_steps + 1, estimator._fitted
    n_iter += fitted.n_iter
    state = replace(fitted.state, watch=before.watch, levels=before.levels)
    estimator._fitted = replace(fitted, n_steps=n_batches, n_iter=n_iter, state=state)
    told = {"n_steps_": n_batches, "n_iter_": n_iter}
    set_attributes(estimator, {**state.attributes, **told})
    estimator.objective_ -= evidence
    estimator.objectives_ = estimator.objectives_ - evidence


def _add(estimator, engine, inputs, y, weight, clock):
    """Learn from a later batch, or return rows to begin anew with, and a state that saw it."""
    batch = _later_batch(estimator, inputs, y, weight)
    rows = batch.rows
    before, targets = estimator._fitted.after_labels(rows.y), estimator._fitted.targets
    if not mixes_outputs(estimator) and has_gaps(rows):
        before = replace(before, targets=targets.with_gaps()).telling_outputs_apart()
    is_informative = targets.is_informative(rows)
    before, share = watched(estimator, before, batch)
    initial = None
    if share == 1.0 and engine.may_begin_anew(before, settings_of(estimator)):
        initial = _kept(estimator, engine, before, batch, _to_keep(batch, inputs, y, weight))
        if initial is not None and initial.is_due:
            return initial, before.state
        initial = None if initial is None else initial.kept()
    in_turn = initial is not None and initial.rule.in_turn
    engine = replace(engine, forget_factor=share)
    before, rows = with_units_of_all(before, rows, share)
    targets = before.targets
    before = faded(before, share)
    trace = Trace(clock)
    problem = Problem(rows, before.start, None, settings_of(estimator), trace, None)
    engine = replace(
        engine,
        n_outputs=targets.n_outputs,
        is_informative=is_informative and not in_turn,
        follows_units=before.state.ones is not None,
    )
    is_known = before.start.likelihood.conjugate and before.state.watch.gathered is None
    n_told = rows.total_weight  # of whose targets the objective has densities
    if in_turn or (is_known and initial is not None):
        earlier = before.state.initial_rows.rows
        known = _known(estimator, earlier, initial, rows, targets, batch.constant)
        engine = replace(engine, known=known)
        if batch.rows.counts is not None:
            n_told = known.rows.total_weight - earlier.total_weight
    problem, noise = _with_row_noise(estimator, engine, before, problem, share)
    fitted, rows = engine.add(before, problem), problem.rows
    # the objective is that of this batch alone
    constant = noise.constant - before.row_noise.constant + batch.constant
    fitted = fitted.with_noise(noise, constant)
    trace.objectives = [value + constant for value in trace.objectives]
    fitted, targets = about_learned_means(fitted, targets.of_rows(y, weight).after(rows))
    fitted = replace(fitted, state=replace(fitted.state, initial_rows=initial), targets=targets)
    trace.choices = trace.choices or estimator.choices_  # the last ones that there were
    store(estimator, gone_ahead(fitted), n_told, trace)
    estimator.n_samples_seen_ += count_samples(inputs.X, weight)
    return None, None


def _kept(estimator, engine, before, batch, rows):
    """Return the initial rows with those of a batch, None where they are kept no longer.

    ``rows`` are inputs, targets and weights to keep of the `LaterBatch`.
    """
    earlier, of_classes = before.state.initial_rows, not before.start.likelihood.conjugate
    initial = earlier.joined(*rows)
    if initial.rule.in_turn:
        return initial
    if not engine.keeps_rows:
        return None
    how = earlier, before.state.has_signal, before.start.columns.categorical
    if of_classes:
        may_stay = engine.may_keep(before.start, settings_of(estimator))
        return initial.worth_keeping(*how, of_classes) if may_stay else None
    if engine.follows_level and len(batch.whole):
        initial = initial.judged(earlier, before, batch.whole, estimator.n_jobs)
    else:
        initial = replace(initial, theta=before.parameters.theta)
    if not (initial.begins_otherwise or initial.level.is_near or trusts(before, batch.telling)):
        return None
    return initial.worth_keeping(*how)


def _to_keep(batch, inputs, y, weight, is_short=False):
    """Return inputs, targets and weights of a `LaterBatch`, as initial rows have them.

    Rows in doubt count for as much as is known of them, which no later fit can tell. Where a stream
    is short that is hardly known: they count for nothing there, unless all are in doubt.
    """
    if inputs.unforeseen is None:
        return inputs, y, weight
    whole = np.flatnonzero(inputs.are_whole)
    if batch.rows.counts is None:  # nothing says how much is known of the others
        if not (is_short and len(whole)):
            return inputs, y, weight
        weight = None if weight is None else weight[whole]
        return inputs.select(whole)._replace(unforeseen=None), y[whole], weight
    inputs, y, weight = rows_of_weight(inputs, y, weight)
    weight, are_whole = batch.rows.weights[0], inputs.are_whole
    if is_short and are_whole.any():
        weight = weight * are_whole
    return inputs, y, weight


def _known(estimator, earlier, initial, rows, targets, constant):
    """Return the initial rows, those of a batch included, in the units of its ``rows``.

    ``earlier`` are the initial `Rows` before it, of whose targets the evidence so far is. What rows
    in doubt would add to the bound is a ``constant`` that rows of smaller weight do without.
    """
    y, weight, inputs = initial.rows.y, initial.rows.weight, inputs_of(initial.rows)
    known = _later_batch(estimator, inputs, y, weight).rows
    known = replace(known, y_mean=rows.y_mean, y_scale=rows.y_scale, grid=rows.grid)
    log_scale = targets.of_rows(earlier.y, earlier.weight).log_scale
    evidence = estimator.log_evidence_ + earlier.total_weight * log_scale
    return Known(known, evidence + constant)


def _with_row_noise(estimator, engine, before, problem, share):
    """Return a problem with the precisions of its rows, and the noise of all rows.

    The batch is first added with the noise that was expected, to know the function there.
    """
    if not before.noise.differs:
        return problem, before.row_noise
    rows, settings = problem.rows, problem.settings
    expected, _ = with_precisions(before, rows, estimator.n_jobs)
    plain = replace(problem, rows=expected, settings=replace(settings, optimizer=None))
    known = engine.add(before, replace(plain, trace=Trace(problem.trace.clock))).predictor
    add = StreamedSquares(settings, share, before.state.weight_seen, estimator.random_state)
    rows, noise = with_precisions(before, rows, estimator.n_jobs, add=add, known=known)
    return replace(problem, rows=rows), noise


def _later_batch(estimator, inputs, y, weight):
    """Return a `LaterBatch`, repeated rows merged."""
    if inputs.unforeseen is not None:
        inputs, y, weight = rows_of_weight(inputs, y, weight)
    rows = estimator._later_rows(inputs, y, weight)
    if inputs.unforeseen is not None:
        rows, constant = with_doubts(estimator, estimator._fitted, rows, inputs)
        return LaterBatch(rows, np.arange(len(rows)), inputs, constant)
    if mixes_outputs(estimator):  # each has outputs of its own
        return LaterBatch(rows, np.arange(len(rows)), inputs_of(rows))
    parts = rows.X, rows.y, rows.weight, rows.offset
    X, y, weight, offset, places = merge_repeated(*parts)
    places = np.arange(len(X)) if places is None else places
    order = np.argsort(np.unique(places, return_index=True)[1])
    rows = replace(rows, X=X, y=y, weight=weight, offset=offset)
    return LaterBatch(rows, order, inputs_of(rows))


def _engine(estimator):
    """Return the engine with the user's parameters; a batch adds what it knows of itself."""
    inducing, old_power = None, estimator.old_posterior_power
    if isinstance(estimator.inducing, str) and estimator.inducing != "fourier":  # features stay
        inducing = StreamInducing(estimator.inducing, estimator.n_inducing, estimator.min_inducing)
    return Stream(
        inducing=inducing,
        alpha_divergence=estimator._power(),
        forget_factor=1.0,  # of a first batch; `watched` has that of later ones
        trust_region=float(estimator.trust_region),
        keeps_scales=_is_free(estimator),
        random_state=estimator.random_state,
        keeps_rows=inducing is not None and _keeps_rows(estimator),
        follows_level=_follows_level(estimator),
        samples_rows=estimator.forget_factor == 1.0,
        old_posterior_power=None if old_power == "auto" else float(old_power),
    )


def _keeps_rows(estimator):
    """Return whether a stream may begin anew: nothing fades, and learning is soon at its end."""
    is_short = estimator.optimizer != "adam" and estimator.max_time is None
    return _is_free(estimator) and is_short and estimator.forget_factor == 1.0


def _is_free(estimator):
    """Return whether the user says nothing of the kernel."""
    return estimator.kernel is None and not estimator.kernel_priors


def _follows_level(estimator):
    """Return whether a level may wander: of numbers that are all there, and functions apart."""
    is_plain = estimator._format.columns.are_plain
    return is_plain and _keeps_rows(estimator) and not mixes_outputs(estimator)


def _fitted_so_far(estimator):
    """Return the fitted attributes after the batches so far."""
    given = estimator.get_params(deep=False)
    return {name: value for name, value in vars(estimator).items() if name not in given}
