"""What estimators that learn kernel, noise and inducing inputs share: parameters and a start."""

from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import check_array, check_random_state

from .base import BaseSparseGP
from .._compat import Interval, StrOptions
from ..fitting.inference import Collapsed
from ..fitting.partial_fit import new_inducing_inputs, rescaled
from ..fitting.stages import Learned, Problem, Settings
from ..fitting.starting_values import (
    compile_process,
    default_kernel,
    input_summary,
    parameter_space,
    starting_length_scale,
)
from .._warnings import warn_caller
from ..data.inducing import choose_inducing
from ..kernels._length_scales import input_scales
from ..optimize.learning import Clock, Parameters, TiedLengthScales, Trace
from ..likelihoods import Gaussian
from .._parallel import resolved_jobs

SHARED_CONSTRAINTS = {
    "kernel": [None, Kernel],
    "n_inducing": [Interval(Integral, 1, None, closed="left")],
    "inducing": [StrOptions({"kmeans", "greedy", "random"}), "array-like"],
    "optimize_inducing": ["boolean"],
    "noise_variance": [None, Interval(Real, 0, None, closed="neither")],
    "noise_variance_bounds": [StrOptions({"fixed"}), "array-like"],
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
    "normalize_y": ["boolean", tuple],
    "jitter": [Interval(Real, 0, 1e-3, closed="both")],
    "warm_start": ["boolean"],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


class BaseLearned(BaseSparseGP):
    """Estimators that learn kernel, noise and inducing inputs, whatever they predict.

    A subclass says how a fit goes. ``_observed()`` returns the likelihood and the bound that is
    followed (_followed.py), ``_noise_start(whites)`` the noise variance to start from and its
    bounds, and ``_midway(problem)``, which learns nothing, a `Learned` and a dict of further fitted
    attributes for callbacks in the middle of a fit.
    """

    _ties_length_scales = False  # those of the default kernel

    def _settings(self):
        names = Settings.__dataclass_fields__
        chosen = {name: getattr(self, name) for name in names}
        return Settings(**{**chosen, "n_jobs": resolved_jobs(self.n_jobs)})

    def _start(self, rows, rng, previous):
        """Starting parameters and the space of those that are free."""
        center, spread = input_summary(rows.X, rows.weight)
        kernel = default_kernel(spread) if self.kernel is None else self.kernel
        expression, whites, theta_bounds = compile_process(kernel, center)
        noise, noise_bounds = self._noise_start(whites)
        self._given_kernel = kernel
        theta = np.clip(expression.theta, theta_bounds[:, 0], theta_bounds[:, 1])
        start = Parameters(expression, theta, float(np.log(noise)), None)
        reusable = previous is not None and previous.parameters.Z.shape[1] == len(center)
        if reusable and len(previous.parameters.theta) == len(theta):
            start = replace(previous.parameters, expression=expression)
        else:
            start = replace(start, Z=self._inducing_inputs(rows, start, spread, rng))
        learns_inputs = self.optimize_inducing and expression.differentiable_inputs
        if self.optimizer is not None and not expression.differentiable_inputs:
            warn_caller(
                f"The kernel {kernel!r} has a part without analytic gradients: its parameters are "
                "learned by finite differences and the inducing inputs stay where they start.",
            )
        Z_scale = starting_length_scale(spread) if learns_inputs else None
        tied = self.kernel is None and self._ties_length_scales
        prior = TiedLengthScales(np.log(spread)) if tied else None
        space = parameter_space(theta_bounds, noise_bounds, Z_scale, prior)
        return start, space

    def _inducing_inputs(self, rows, start, spread, rng):
        if isinstance(self.inducing, str):
            return choose_inducing(
                self.inducing,
                rows.X,
                rows.weight,
                self.n_inducing,
                start.kernel,
                input_scales(start.kernel, spread),
                rng,
            )
        try:
            Z = check_array(self.inducing, dtype=np.float64, order="C", copy=True)
            got = None if Z.shape[1] == rows.X.shape[1] else f"shape {Z.shape}"
        except ValueError as error:
            got = f"{type(self.inducing).__name__}: {error}"
        if got is not None:
            raise ValueError(
                "The 'inducing' parameter must be a string or an array of finite numbers of shape "
                f"(n_inducing, {rows.X.shape[1]}), columns as in X. Got {got}"
            )
        return Z

    def _count_as(self, total):
        """Let the first batch stand for ``total`` rows."""
        learned = rescaled(self._learned, total / self._online.weight)
        learned.posterior.prepare()
        self._learned, self._posterior = learned, learned.posterior

    def _more_inducing_inputs(self, rows, parameters):
        count = self.n_inducing - len(parameters.Z)
        if not isinstance(self.inducing, str) or count <= 0:
            return parameters.Z[:0]
        spread = input_summary(rows.X, rows.weight)[1]
        rng = check_random_state(self.random_state)
        return new_inducing_inputs(self.inducing, rows, parameters, count, spread, rng)

    def _learn_rows(self, rows, rng, progress, clock, previous, course):
        """Learn from validated rows, and store what was learned.

        ``course(problem)`` returns a `Learned`.
        """
        start, space = self._start(rows, rng, previous)
        trace = Trace(clock, self._listener(progress, rows))
        problem = Problem(rows, start, space, *self._observed(), self._settings(), trace, rng)
        learned = course(problem)
        self._store(learned, rows.y_scale, rows.total_weight)
        offset = rows.total_weight * np.log(rows.y_scale).sum()
        self.objectives_ = np.array(trace.objectives) - offset
        self.fit_times_ = np.array(trace.times)

    def _store(self, learned: Learned, y_scale, weight):
        """Fitted attributes from what was learned."""
        self._learned = learned
        self._set(self._fitted_attributes(learned, y_scale, weight))

    def _set(self, attributes):
        for name, value in attributes.items():
            setattr(self, name, value)

    def _fitted_attributes(self, learned, y_scale, weight):
        parameters = learned.parameters
        return {
            "_posterior": learned.posterior,
            "kernel_": parameters.kernel.sklearn_kernel,
            "inducing_points_": parameters.Z,
            "objective_": learned.objective - weight * float(np.log(y_scale).sum()),
            "jitter_": learned.jitter,
            "n_iter_": learned.n_iter,
            "n_steps_": learned.n_steps,
        }

    def _listener(self, progress, rows):
        """Prints, and tells callbacks, after every entry of the trace."""

        def listen(trace, snapshot):
            if self.verbose:
                offset = rows.total_weight * np.log(rows.y_scale).sum()
                print(
                    f"[{type(self).__name__}] entry {len(trace.objectives)}, "
                    f"{trace.times[-1]:.1f} s: objective {trace.objectives[-1] - offset:.6g}"
                )
            return progress.step(lambda: self._snapshot_attributes(snapshot(), rows))

        return listen

    def _snapshot_attributes(self, parameters, rows):
        """Fitted attributes in the middle of a fit, the posterior from the warm start's rows."""
        settings = replace(self._settings(), optimizer=None, max_steps=None)
        sample = rows.select(slice(None, None, -(-len(rows) // self.init_size)))
        space = parameter_space(np.zeros((len(parameters.theta), 2)), None, None)
        trace, rng = Trace(Clock()), check_random_state(0)
        problem = Problem(sample, parameters, space, Gaussian(), Collapsed(), settings, trace, rng)
        learned, more = self._midway(problem)
        return more | self._fitted_attributes(learned, rows.y_scale, sample.total_weight)
