"""The base of all estimators: transactions, pickles, callbacks, printing, and how they answer."""

import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._compat import CallbackSupportMixin
from .._floating_point import with_numpys_errors
from .._linalg import NotPositiveDefiniteError
from .._parallel import told_of_tasks
from .._reference_link import LinkedToReference
from .._saved import SavedWithVersion, with_version
from ..collections.lazy import lazy_answers
from ..data.inputs import any_collection, as_table, check_columns, naming_kernels_of_things
from .constraints import FIXED_AFTER_FIT
from .prior_predictions import prior_model

# Between two lines about a prediction, and within a stage of a fit; shorter ones have none.
_TOLD_SECONDS = 5.0

_ILL_CONDITIONED = (
    "The covariances of a fit must be positive definite and its bound finite, in floating point. "
    "Got: {}. Scale sample_weight so that 1 is its mean, raise the lower bound of the noise "
    "variance or the jitter, or lower the upper bounds of the kernel."
)


class IllConditionedError(NotPositiveDefiniteError, ValueError):
    """Rows, weights or parameters that make a fit fail in floating point, with the cure."""


@contextmanager
def transaction(estimator):
    """Leave an estimator as it was if anything is raised, Ctrl-C included.

    Fitted attributes are replaced, never changed in place, so a shallow copy restores them. An
    error of the linear algebra, which names neither cause nor cure, becomes a ValueError that does.
    A fit that Ctrl-C ended after some step is kept, and KeyboardInterrupt is raised after that.
    """
    before = estimator.__dict__.copy()
    try:
        yield
    except BaseException as error:
        estimator.__dict__.update(before)  # at no moment is anything missing for other threads
        for name in estimator.__dict__.keys() - before.keys():
            del estimator.__dict__[name]
        if type(error) in (np.linalg.LinAlgError, NotPositiveDefiniteError):
            raise IllConditionedError(_ILL_CONDITIONED.format(error)) from error
        raise
    if estimator._fitted.interrupted:
        estimator._fitted = replace(estimator._fitted, interrupted=False)  # told once
        raise KeyboardInterrupt


class BaseSGP(SavedWithVersion, LinkedToReference, CallbackSupportMixin, BaseEstimator):
    """The base of all estimators.

    A fitted estimator holds ``_fitted``, an `engines.fitted.Fitted`, and ``_given``, fingerprints
    of the parameters that later batches cannot change: those of ``_fixed_after_fit``. ``_mark`` is
    that of `learning.mark_of`.
    """

    _fitted = None
    _given = _mark = None
    # Of the first rows among those that are kept, here and in the fit that the mean is told with;
    # None if they are the same.
    _places = _reference_places = None
    _fixed_after_fit = FIXED_AFTER_FIT
    _takes_inducing_later = False  # whether inducing inputs may be given to a later batch

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        with_numpys_errors(cls)

    def __sklearn_is_fitted__(self):
        return self._fitted is not None

    def _saved_state(self):
        """Return the attributes that copies and saved estimators have."""
        state = self.__dict__.copy()
        if self._fitted is not None:
            state["_fitted"] = self._fitted.without_caches()
        return state

    def __copy__(self):
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self._saved_state())
        return copied

    def __getstate__(self):
        return with_version(self._saved_state())

    # ---- What the subclasses with X and y may add

    def _default_kernels(self):
        """Return how default kernels are chosen, by names of `engines.start.Choices`."""
        return {}

    def _more_attributes(self, fitted):
        """Return fitted attributes that only this estimator has."""
        return {}

    # ---- What callbacks and `verbose` are told

    @contextmanager
    def _following(self, trace, progress, log_scale, attributes_now):
        """Tell callbacks, and print, how learning goes.

        ``log_scale`` is what objectives lose in units of the targets; ``attributes_now`` returns
        the fitted attributes, given the parameters amid the fit.
        """

        told, n_printed = 0.0, 0

        def on_stage(trace):
            nonlocal told
            told = trace.whole_clock.elapsed()
            print(f"[{type(self).__name__}] {trace.seconds()}: {trace.words()}")

        def on_iteration(trace, parameters_now):
            nonlocal n_printed
            if self.verbose > 1 and len(trace.objectives) > n_printed:
                n_printed = len(trace.objectives)
                entry = f"entry {n_printed}, objective {trace.objectives[-1] - log_scale:.6g}"
                print(f"[{type(self).__name__}] {trace.seconds()}: {entry}")
            elif self.verbose and trace.whole_clock.elapsed() - told >= _TOLD_SECONDS:
                on_stage(trace)
            told_now = trace.words(), trace.seconds_left()
            return progress.step(lambda: attributes_now(parameters_now()), *told_now)

        trace.on_iteration = on_iteration
        trace.on_stage = on_stage if self.verbose else None
        try:
            yield
        finally:
            trace.on_iteration = trace.on_stage = None  # they hold rows and self

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


# ---- How estimators with X answer: by a method of their predictive model, at checked inputs


def ask(estimator, method, X, y=None, **options):
    """Return what a method of the predictive model returns; lazily for a dask collection."""
    if any_collection(X, y):
        check_is_fitted(estimator, "kernel_")
        return lazy_answers(estimator, estimator._model(), method, X, y, options)
    model, inputs = model_at(estimator, X)
    more = () if y is None else (y,)
    with estimator._telling(len(inputs.X)):
        return getattr(model, method)(inputs, *more, **options)


def model_at(estimator, X):
    """Return the predictive model, and checked inputs; before `fit` that of the prior, if any."""
    if estimator._fitted is None:
        if estimator._has_prior:
            estimator._validate_params()
            return prior_model(estimator, X)
        check_is_fitted(estimator, "kernel_")  # it is not; what is fitted needs none of its tags
    model, inputs = estimator._model(), inputs_at(estimator, X)
    return estimator._format.seen_by(model, inputs), inputs


def inputs_at(estimator, X):
    """Return the checked `Inputs` of a prediction."""
    form, fitted, X = estimator._format, estimator._fitted, as_table(X)
    validate = partial(form.validate, estimator)
    known = None if form.block is None else fitted.state.labels
    with naming_kernels_of_things(X, estimator.kernel, estimator.categorical_features):
        parts = form.parted(X, validate, partial(check_columns, estimator))
        return form.of_test_rows(parts, validate, fitted.predictor.posterior.prior.kernel, known)
