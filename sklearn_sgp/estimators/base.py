"""The base of all estimators: settings, learning, fitted attributes, predictions, printing."""

import copy
import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._compat import CallbackSupportMixin
from .._linalg import NotPositiveDefiniteError
from .._parallel import told_of_tasks
from .._reference_link import LinkedToReference
from .._saved import SavedWithVersion
from ..collections.detection import any_collection
from ..collections.lazy import lazy_answers
from ..data.inputs import InputFormat
from ..optimize.parameters import ParameterSpace
from ..optimize.progress import Clock, Trace
from .attributes import OF_NOISE, fitted_attributes, trace_attributes
from .chosen import fingerprints
from .constraints import FIXED_AFTER_FIT
from .steps import run
from .validation import checked_inputs

# Between two lines about a prediction; shorter predictions have none.
_TOLD_SECONDS = 5.0

_ILL_CONDITIONED = (
    "The covariances of a fit must be positive definite and its bound finite, in floating point. "
    "Got: {}. Scale sample_weight so that 1 is its mean, raise the lower bound of the noise "
    "variance or the jitter, or lower the upper bounds of the kernel."
)


class IllConditionedError(NotPositiveDefiniteError, ValueError):
    """Rows, weights or parameters that make a fit fail in floating point, with the cure."""


@contextmanager
def transaction(model):
    """Leave an estimator as it was if anything is raised, Ctrl-C included.

    Fitted attributes are replaced, never changed in place, so a shallow copy restores them. An
    error of the linear algebra, which names neither cause nor cure, becomes a ValueError that does.
    """
    before = model.__dict__.copy()
    try:
        yield
    except BaseException as error:
        model.__dict__.update(before)  # at no moment is anything missing for other threads
        for name in model.__dict__.keys() - before.keys():
            del model.__dict__[name]
        if type(error) in (np.linalg.LinAlgError, NotPositiveDefiniteError):
            raise IllConditionedError(_ILL_CONDITIONED.format(error)) from error
        raise


class BaseSGP(SavedWithVersion, LinkedToReference, CallbackSupportMixin, BaseEstimator):
    """The base of all estimators.

    A fitted estimator holds ``_fitted``, an `engines.base.Fitted`, and ``_format``, a
    `data.inputs.InputFormat`, and ``_given``, fingerprints of the parameters that later batches
    cannot change.
    """

    _fitted = None
    _format = InputFormat()
    _given = None
    _fixed_after_fit = FIXED_AFTER_FIT

    def __sklearn_is_fitted__(self):
        return self._fitted is not None

    # ---- Learning

    def _learn(self, fit, recipe, progress, clock):
        """Run the steps of a recipe, and store what they learned.

        Parameters
        ----------
        fit : steps.Fit
        recipe : recipes.Recipe
        progress : FitProgress
        clock : Clock
        """
        progress.begin()
        fit = run(recipe.prepare, replace(fit, trace=Trace(clock)))
        trace, attributes_now = fit.trace, partial(self._snapshot, fit, recipe)
        log_scale = fit.problem.rows.total_weight * fit.targets.log_scale
        with self._following(trace, progress, log_scale, attributes_now):
            fit = run(recipe.learn, fit)
        self._store_fit(fit)
        if self.verbose:
            self._print_end(trace)
        progress.end()

    def _store_fit(self, fit):
        """Store what the steps of a recipe learned."""
        fitted, weight = replace(fit.fitted, targets=fit.targets), fit.problem.rows.total_weight
        self._store(fitted, weight, fit.trace)
        self.n_samples_seen_ = fit.n_samples if fitted.n_used is None else fitted.n_used
        self._given = fingerprints(self)

    def _snapshot(self, fit, recipe, parameters):
        """Return fitted attributes amid a fit, with a posterior of at most ``init_size`` rows."""
        problem, trace = fit.problem, fit.problem.trace
        start, rows = trace.start or problem.start, problem.rows
        sample = rows.select(slice(None, None, -(-len(rows) // self.init_size)))
        held = replace(
            problem,
            rows=sample,
            start=replace(start, parameters=parameters, space=ParameterSpace(())),
            inference=copy.copy(problem.inference),
            settings=replace(problem.settings, optimizer=None, max_steps=None),
            trace=Trace(Clock()),
            rng=check_random_state(0),
            n_samples=None,
        )
        fit = run(recipe.learn, replace(fit, problem=held))
        if fit.fitted.interrupted:
            raise KeyboardInterrupt
        fitted = replace(fit.fitted, targets=fit.targets)
        attributes = fitted_attributes(self, fitted, sample.total_weight)
        attributes |= trace_attributes(trace, fit.targets, rows.total_weight)
        return attributes | {"n_samples_seen_": len(sample)}

    # ---- Fitted attributes

    def _store(self, fitted, weight, trace=None):
        """Set the fitted attributes; ``weight`` is that of the rows that the objective counts."""
        for name in OF_NOISE:
            self.__dict__.pop(name, None)  # of an earlier fit, with another likelihood
        attributes = fitted_attributes(self, fitted, weight)
        if trace is not None:
            attributes |= trace_attributes(trace, fitted.targets, weight)
        self._set(attributes)

    def _set(self, attributes):
        """Set fitted attributes."""
        for name, value in attributes.items():
            setattr(self, name, value)

    def _store_batch(self, fitted, targets):
        """Store what a later batch of independent rows has changed."""
        self._store(replace(fitted, targets=targets), fitted.weight)
        self.n_samples_seen_ += fitted.state.n_added
        self.objectives_ = np.append(self.objectives_, self.objective_)
        self.fit_times_ = np.append(self.fit_times_, self.fit_times_[-1] + fitted.state.seconds)

    def _store_blocks(self, fitted, targets, n_rows):
        """Store what ``n_rows`` rows of a later batch have changed in blocks."""
        was_complete = self._fitted.state.progress.is_complete
        self._store(replace(fitted, targets=targets), fitted.weight)
        n_seen = self.n_samples_seen_ + n_rows
        self.n_samples_seen_ = n_seen if was_complete else fitted.state.progress.n_rows

    def _more_attributes(self, fitted):
        """Return fitted attributes that only this estimator has."""
        return {}

    # ---- Predictions

    def _ask(self, method, X, y=None, **options):
        """Return what a method of the predictive model returns; lazily for a dask collection."""
        if any_collection(X, y):
            check_is_fitted(self, "kernel_")
            return lazy_answers(self, self._model(), method, X, y, options)
        model, inputs = self._model_at(X)
        more = () if y is None else (y,)
        with self._telling(len(inputs.X)):
            return getattr(model, method)(inputs, *more, **options)

    def _model_at(self, X):
        """Return the predictive model, and checked inputs for it."""
        check_is_fitted(self, "kernel_")
        return self._model(), checked_inputs(self, X)

    # ---- What callbacks and `verbose` are told

    @contextmanager
    def _following(self, trace, progress, log_scale, attributes_now):
        """Tell callbacks, and print, how learning goes.

        Parameters
        ----------
        trace : Trace
        progress : FitProgress
        log_scale : float
            What objectives lose in units of the targets.
        attributes_now : callable
            Returns the fitted attributes, given the parameters amid the fit.
        """

        def on_iteration(trace, parameters_now):
            if self.verbose > 1:
                self._print_entry(trace, trace.objectives[-1] - log_scale)
            return progress.step(lambda: attributes_now(parameters_now()))

        trace.on_iteration = on_iteration
        trace.on_stage = self._print_stage if self.verbose else None
        try:
            yield
        finally:
            trace.on_iteration = trace.on_stage = None  # they hold rows and self

    def _print_stage(self, trace):
        print(f"[{type(self).__name__}] {trace.seconds()}: {trace.stage}")

    def _print_entry(self, trace, objective):
        n = len(trace.objectives)
        print(f"[{type(self).__name__}] {trace.seconds()}: entry {n}, objective {objective:.6g}")

    def _print_end(self, trace):
        scale, name = self._fitted.variance_scale, type(self).__name__
        if scale is not None:
            low, high = scale.range
            print(
                f"[{name}] variance scale: deviations times {low:.2f} to {high:.2f} by input, "
                f"{scale.gain:.3f} nats a row better for rows left out"
            )
        seconds = trace.clock.elapsed()
        print(f"[{name}] done in {seconds:.1f} s, objective {self.objective_:.6g}")

    def _telling(self, n_rows):
        """Return a context in which lines tell how far a long prediction is."""
        if not self.verbose:
            return nullcontext()
        begin = told = time.perf_counter()

        def listener(done, total):
            nonlocal told
            now = time.perf_counter()
            if now - told >= _TOLD_SECONDS:
                told, seconds = now, now - begin
                print(
                    f"[{type(self).__name__}] {seconds:.1f} s "
                    f"({seconds * (total - done) / done:.1f} s left): about "
                    f"{n_rows * done // total} of {n_rows} rows predicted"
                )

        return told_of_tasks(listener)
