"""The base of all estimators: validation, transactions, learning and fitted attributes."""

import copy
import functools
import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import check_random_state

from .._compat import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
)
from .._linalg import NotPositiveDefiniteError
from .._parallel import resolved_jobs, told_of_tasks
from .._reference_link import LinkedToReference
from .._saved import SavedWithVersion
from ..data.rows import make_rows
from ..data.targets import read_only_copy
from ..engines.base import Problem, Settings
from ..engines.fingerprints import fingerprint
from ..engines.start import Choices, start
from ..engines.variational.inference import inference_for
from ..engines.variational.partial_fit import add_rows, more_inducing_inputs
from ..likelihoods._names import has_sites, regression_likelihood
from ..noise.heteroscedastic import learn_with_row_noise
from ..optimize.parameters import ParameterSpace
from ..optimize.progress import Clock, Trace
from .validation import InputValidation

# What `partial_fit` takes from the first batch; "inducing" only where it is an array.
FIXED_AFTER_FIT = (
    "kernel",
    "likelihood",
    "inducing",
    "optimize_inducing",
    "noise_variance",
    "noise_variance_bounds",
    "normalize_y",
    "categorical_features",
    "n_latent",
)

SHARED_CONSTRAINTS = {
    "kernel": [None, Kernel],
    "n_inducing": [Interval(Integral, 1, None, closed="left")],
    "inducing": [StrOptions({"kmeans", "greedy", "random"}), "array-like"],
    "optimize_inducing": ["boolean"],
    "optimizer": [None, StrOptions({"auto", "lbfgs", "adam"})],
    "init_size": [Interval(Integral, 1, None, closed="left")],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "max_steps": [None, Interval(Integral, 1, None, closed="left")],
    "max_time": [None, Interval(Real, 0, None, closed="neither")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "natural_step": [Interval(Real, 0, 1, closed="right")],
    "categorical_features": [None, StrOptions({"from_dtype"}), "array-like"],
    "jitter": [Interval(Real, 0, 1e-3, closed="both")],
    "warm_start": ["boolean"],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}

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
    "spread_gain_",
    "spread_range_",
)


def transactional(method):
    """Leave the estimator as it was if ``method`` raises anything, Ctrl-C included.

    Fitted attributes are replaced, never changed in place, so a shallow copy restores them. An
    error of the linear algebra, which names neither cause nor cure, becomes a ValueError that does.
    """

    @functools.wraps(method)
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


class BaseSparseGP(
    SavedWithVersion, LinkedToReference, InputValidation, CallbackSupportMixin, BaseEstimator
):
    """The base of all estimators.

    A fitted estimator holds ``_result``, a `fitting.problem.FitResult`, and ``_targets``, a
    `data.targets.Targets` or `ClassLabels`.
    """

    n_latent = None  # where it is no parameter
    _learns_means = False  # of outputs that mix latent functions
    n_restarts_optimizer = 0  # where it is no parameter
    _fixed_after_fit = FIXED_AFTER_FIT

    # ---- Learning

    def _settings(self):
        chosen = {name: getattr(self, name) for name in Settings.__dataclass_fields__}
        return Settings(**{**chosen, "n_jobs": resolved_jobs(self.n_jobs)})

    def _default_kernels(self):
        """Return which default kernels are tried; see `starting_values.default_kernels`."""
        return "one"

    def _ties_length_scales(self):
        """Return whether those of the default kernel begin as one."""
        return False

    def _choices(self):
        return Choices(
            kernel=self.kernel,
            n_inducing=int(self.n_inducing),
            inducing=self.inducing,
            optimize_inducing=self.optimize_inducing,
            noise_variance=self.noise_variance,
            noise_variance_bounds=self.noise_variance_bounds,
            ties_length_scales=self._ties_length_scales(),
            learns=self.optimizer is not None,
            kernel_set=self._default_kernels(),
            columns=self._input_columns(),
            n_latent=self.n_latent,
            learns_means=self._learns_means,
        )

    def _learn(self, data, progress, clock, learner, *, labels=None):
        """Learn from encoded data, and store what was learned.

        Parameters
        ----------
        data : Encoded
        progress : FitProgress
        clock : Clock
        learner : callable
            ``learner(problem)`` returns a `FitResult`, or an object that has one as ``result``.
        labels : ndarray of shape (n,) or None
            Labels of blocks.
        """
        progress.begin()
        learner, data = self._alternating(learner, data.likelihood), self._learned_alone(data)
        previous = getattr(self, "_result", None) if self.warm_start else None
        problem = self._problem(data, clock, previous=previous, labels=labels)
        targets = data.targets

        def on_iteration(trace, parameters_now):
            if self.verbose > 1:
                offset = problem.rows.total_weight * targets.log_scale
                self._print_entry(trace, trace.objectives[-1] - offset)
            now = problem if trace.start is None else replace(problem, start=trace.start)
            return progress.step(lambda: self._snapshot(now, learner, targets, parameters_now()))

        problem.trace.on_iteration = on_iteration
        problem.trace.on_stage = self._print_stage if self.verbose else None
        try:
            found = learner(problem)
        finally:
            problem.trace.on_iteration = problem.trace.on_stage = None  # they hold rows and self
        self._store(found, targets, problem.rows.total_weight, problem.trace)
        self._learned_with = self._fingerprints()
        used = self._result.n_used
        self.n_samples_seen_ = data.n_samples if used is None else used
        self._print_end(problem.trace)
        progress.end()

    def _alternating(self, learner, likelihood):
        """Return a learner of function and noise in turn, where the likelihood asks for that."""
        if not self._alternates(likelihood):
            return learner
        return partial(learn_with_row_noise, likelihood=likelihood, learner=learner)

    def _learned_alone(self, data):
        """Return the data with the likelihood that the function is learned with."""
        if not self._alternates(data.likelihood):
            return data
        return data._replace(likelihood=regression_likelihood("gaussian"))

    def _alternates(self, likelihood):
        """Return whether noise of each row is found in turn with the function."""
        return not has_sites(likelihood)

    def _problem(self, data, clock, *, previous=None, labels=None, choose=None):
        """Make the `Problem` of a fit, or of its first batch."""
        rng = check_random_state(self.random_state)
        rows, settings = self._first_rows(data, labels), self._settings()
        started = start(rows, self._choices(), data.likelihood, rng, previous, choose)
        inference = self._inference(data.likelihood, data.targets.n_outputs)
        return Problem(rows, started, inference, settings, Trace(clock), rng, data.n_samples)

    _inference = staticmethod(inference_for)  # how q(u) is found

    def _later_settings(self):
        """Return the settings of a later batch."""
        return self._settings()

    def _first_rows(self, data, labels):
        """Make the `Rows` of a fit, or of its first batch; a collection has them made."""
        if data.y is None:
            return data.X
        return make_rows(data.X, data.y, data.weight, data.targets, labels)

    def _snapshot(self, problem, learner, targets, parameters):
        """Return fitted attributes amid a fit, with a posterior of at most ``init_size`` rows."""
        rows = problem.rows
        sample = rows.select(slice(None, None, -(-len(rows) // self.init_size)))
        found = learner(
            Problem(
                sample,
                replace(problem.start, parameters=parameters, space=ParameterSpace(())),
                copy.copy(problem.inference),
                replace(problem.settings, optimizer=None, max_steps=None),
                Trace(Clock()),
                check_random_state(0),
            )
        )
        if found.interrupted:
            raise KeyboardInterrupt
        offset = rows.total_weight * targets.log_scale
        return self._fitted_attributes(found, targets, sample.total_weight) | {
            "n_samples_seen_": len(sample),
            "objectives_": np.array(problem.trace.objectives) - offset,
            "fit_times_": np.array(problem.trace.times),
        }

    def _fingerprints(self):
        """Return fingerprints of the parameters that later batches cannot change."""
        given = {name: getattr(self, name) for name in self._fixed_after_fit if hasattr(self, name)}
        if isinstance(given.get("inducing"), str):
            given["inducing"] = "chosen"
        return {name: fingerprint(value) for name, value in given.items()}

    def _check_same_parameters(self):
        """Refuse a later batch if a parameter has changed that only a new fit heeds."""
        before, now = getattr(self, "_learned_with", {}), self._fingerprints()
        changed = [name for name in before if before[name] != now.get(name)]
        if changed:
            raise ValueError(
                f"{' and '.join(changed)} must stay as in the first batch, since partial_fit goes "
                "on with what was learned there. Got new values: call fit, or give the old ones."
            )

    def _add_to_posterior(self, rows, clock):
        """Add a later batch of `partial_fit` to a posterior that rests on independent rows."""
        before, rng = self._result, check_random_state(self.random_state)
        self._warn_if_surprising(rows)
        rows, noise = self._with_precisions(rows)
        new_Z = more_inducing_inputs(self.inducing, self.n_inducing, rows, before.parameters, rng)
        result = add_rows(
            before,
            rows,
            settings=self._later_settings(),
            inference=self._inference(before.start.likelihood, self._targets.n_outputs),
            clock=clock,
            total_samples=self.total_samples,
            new_Z=new_Z,
            n_inducing=max(self.n_inducing, len(before.parameters.Z)),
        )
        result = result if noise is None else result.with_noise(noise)
        self._store(result, self._targets, result.weight)
        self.n_samples_seen_ += result.partial.n_added
        self.objectives_ = np.append(self.objectives_, self.objective_)
        self.fit_times_ = np.append(self.fit_times_, self.fit_times_[-1] + result.partial.seconds)

    def _warn_if_surprising(self, rows):
        """Warn where a later batch lies far outside of its predictions, if those are of numbers."""

    def _with_precisions(self, rows):
        """Return a later batch with precisions of its rows, and the noise; None if it has none."""
        return rows, None

    # ---- Fitted attributes

    def _store(self, found, targets, weight, trace=None):
        """Set the fitted attributes from what was learned, and from its trace."""
        for name in _OF_NOISE:
            self.__dict__.pop(name, None)  # of an earlier fit, with another likelihood
        for name, value in self._fitted_attributes(found, targets, weight).items():
            setattr(self, name, value)
        if trace is not None:
            self.objectives_ = np.array(trace.objectives) - weight * targets.log_scale
            self.fit_times_ = np.array(trace.times)

    def _fitted_attributes(self, found, targets, weight):
        """Return the fitted attributes as a dictionary.

        Parameters
        ----------
        found : FitResult, BlockFitResult or StreamState
        targets : Targets or ClassLabels
        weight : float
            Weight of the rows that the objective counts.
        """
        result = found.result
        attributes = {
            "_result": result,
            "_targets": targets,
            "kernel_": result.sklearn_kernel,
            "likelihood_": result.public_likelihood,
            "inducing_points_": read_only_copy(result.parameters.Z),
            "objective_": result.objective - weight * targets.log_scale,
            "is_categorical_": self._input_columns().mask(result.parameters.Z.shape[1]),
            "categories_": None if self._category_codes is None else self._category_codes.values,
            "jitter_": result.jitter,
            "n_iter_": result.n_iter,
            "n_steps_": result.n_steps,
        }
        if result.likelihood.has_noise:
            attributes["noise_variance_"] = targets.each_output(result.noise_variance)
        if result.log_noise is not None:
            attributes["noise_kernel_"] = result.log_noise.sklearn_kernel
            attributes["noise_inducing_points_"] = read_only_copy(result.log_noise.parameters.Z)
        return attributes | targets.attributes

    # ---- What `verbose` prints

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
