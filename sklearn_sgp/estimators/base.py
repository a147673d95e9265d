"""The base of all estimators: settings, learning, fitted attributes, predictions, printing."""

import copy
import time
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from functools import partial, wraps

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._compat import CallbackSupportMixin
from .._linalg import NotPositiveDefiniteError
from .._parallel import resolved_jobs, told_of_tasks
from .._reference_link import LinkedToReference
from .._saved import SavedWithVersion
from ..collections.detection import any_collection
from ..collections.lazy import lazy_answers
from ..data.inputs import InputFormat
from ..data.targets import read_only_copy
from ..engines.base import Problem, Settings
from ..engines.fingerprints import fingerprint
from ..engines.start import Choices
from ..engines.variational.inference import inference_for
from ..optimize.parameters import ParameterSpace
from ..optimize.progress import Clock, Trace
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


# Fitted attributes that only some likelihoods have.
_OF_NOISE = (
    "noise_variance_",
    "noise_kernel_",
    "noise_inducing_points_",
    "variance_scale_",
    "variance_scale_gain_",
)


def transactional(method):
    """Leave the estimator as it was if ``method`` raises anything, Ctrl-C included.

    Fitted attributes are replaced, never changed in place, so a shallow copy restores them. An
    error of the linear algebra, which names neither cause nor cure, becomes a ValueError that does.
    """

    @wraps(method)
    def guarded(self, *args, **kwargs):
        before = self.__dict__.copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException as error:
            self.__dict__.update(before)  # at no moment is anything missing for other threads
            for name in self.__dict__.keys() - before.keys():
                del self.__dict__[name]
            if type(error) in (np.linalg.LinAlgError, NotPositiveDefiniteError):
                raise IllConditionedError(_ILL_CONDITIONED.format(error)) from error
            raise

    return guarded


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

    # ---- What the user chose

    def _settings(self):
        """Return what the user chose about learning."""
        chosen = {f.name: getattr(self, f.name) for f in fields(Settings) if hasattr(self, f.name)}
        return Settings(**{**chosen, "n_jobs": resolved_jobs(self.n_jobs)})

    def _choices(self, **more):
        """Return what the user chose about the model; ``more`` as `Choices` has it."""
        chosen = {f.name: getattr(self, f.name) for f in fields(Choices) if hasattr(self, f.name)}
        chosen["n_inducing"] = int(self.n_inducing)
        learns = self.optimizer is not None
        return Choices(**chosen, learns=learns, columns=self._format.columns, **more)

    def _inference(self, likelihood, n_outputs):
        """Return how q(u) is found."""
        return inference_for(likelihood, n_outputs)

    def _previous(self):
        """Return the earlier fit that this one starts from, or None."""
        return self._fitted if self.warm_start else None

    def _fingerprints(self):
        """Return fingerprints of the parameters that later batches cannot change."""
        given = {name: getattr(self, name) for name in self._fixed_after_fit if hasattr(self, name)}
        if isinstance(given.get("inducing"), str):
            given["inducing"] = "chosen"
        return {name: fingerprint(value) for name, value in given.items()}

    def _check_same_parameters(self):
        """Refuse a later batch if a parameter has changed that only a new fit heeds."""
        before, now = self._given or {}, self._fingerprints()
        changed = [name for name in before if before[name] != now.get(name)]
        if changed:
            raise ValueError(
                f"{' and '.join(changed)} must stay as in the first batch, since partial_fit goes "
                "on with what was learned there. Got new values: call fit, or give the old ones."
            )

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
        trace = fit.trace
        log_scale = fit.problem.rows.total_weight * fit.targets.log_scale
        attributes_now = partial(self._snapshot, fit, recipe)
        with self._following(trace, progress, log_scale, attributes_now):
            fit = run(recipe.learn, fit)
        self._store_fit(fit)
        self._print_end(trace)
        progress.end()

    def _store_fit(self, fit):
        """Store what the steps of a recipe learned."""
        fitted, trace = fit.fitted, fit.trace
        weight = fit.problem.rows.total_weight
        self._store(replace(fitted, targets=fit.targets), weight, trace)
        self.n_samples_seen_ = fit.n_samples if fitted.n_used is None else fitted.n_used
        self._given = self._fingerprints()

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
        fitted, offset = replace(fit.fitted, targets=fit.targets), rows.total_weight
        return self._attributes(fitted, sample.total_weight) | {
            "n_samples_seen_": len(sample),
            "objectives_": np.array(trace.objectives) - offset * fit.targets.log_scale,
            "fit_times_": np.array(trace.times),
        }

    def _later_problem(self, rows, clock, learns=True):
        """Pose the problem of a later batch."""
        fitted, settings = self._fitted, self._settings()
        return Problem(
            rows,
            fitted.start,
            self._inference(fitted.start.likelihood, fitted.targets.n_outputs),
            settings if learns else replace(settings, optimizer=None),
            Trace(clock),
            check_random_state(self.random_state),
        )

    def _for_callbacks(self, X, y, fit):
        """Return X and y as callbacks see them, who predict from them.

        Where columns have codes or labels of blocks they get what the user gave, rows of weight
        zero included, else checked rows.
        """
        form = self._format
        return (X, y) if form.codes is not None or form.block is not None else (fit.X, fit.y)

    # ---- Fitted attributes

    def _store(self, fitted, weight, trace=None):
        """Set the fitted attributes; ``weight`` is that of the rows that the objective counts."""
        for name in _OF_NOISE:
            self.__dict__.pop(name, None)  # of an earlier fit, with another likelihood
        self._set(self._attributes(fitted, weight))
        if trace is not None:
            self.objectives_ = np.array(trace.objectives) - weight * fitted.targets.log_scale
            self.fit_times_ = np.array(trace.times)

    def _set(self, attributes):
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

    def _attributes(self, fitted, weight):
        """Return the fitted attributes as a dictionary."""
        targets, parameters, form = fitted.targets, fitted.parameters, self._format
        attributes = {
            "_fitted": replace(fitted, predictor=fitted.predictor.ready()),
            "kernel_": fitted.sklearn_kernel,
            "likelihood_": fitted.public_likelihood,
            "inducing_points_": read_only_copy(parameters.Z),
            "objective_": fitted.objective - weight * targets.log_scale,
            "is_categorical_": form.mask(self.n_features_in_),
            "categories_": None if form.codes is None else form.codes.values,
            "jitter_": fitted.jitter,
            "n_iter_": fitted.n_iter,
            "n_steps_": fitted.n_steps,
        }
        if fitted.likelihood.has_noise:
            attributes["noise_variance_"] = targets.each_output(fitted.noise_variance)
        if fitted.log_noise is not None:
            attributes["noise_kernel_"] = fitted.log_noise.sklearn_kernel
            attributes["noise_inducing_points_"] = read_only_copy(fitted.log_noise.parameters.Z)
        return attributes | targets.attributes | fitted.state.attributes

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
        if self.verbose:
            end = f"done in {trace.clock.elapsed():.1f} s, objective {self.objective_:.6g}"
            print(f"[{type(self).__name__}] {end}")

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
