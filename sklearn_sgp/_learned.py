"""What regressors that learn kernel, noise and inducing inputs share: parameters and a start."""

from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import check_array

from ._base import check_size
from ._compat import Interval, StrOptions
from ._regression import BaseSparseGPRegressor
from ._stages import Settings
from ._start import (
    compile_process,
    default_kernel,
    input_summary,
    parameter_space,
    starting_length_scale,
    starting_noise,
)
from ._warnings import warn_caller
from .inducing import choose_inducing
from .kernels._scales import input_scales
from .learning import Parameters
from .parallel import resolved_jobs

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


class BaseLearnedRegressor(BaseSparseGPRegressor):
    """Regressors with the shared constructor parameters."""

    def _targets_like_before(self, y):
        if y.ndim != self._y_ndim or (y.ndim == 2 and y.shape[1] != len(self.y_mean_)):
            raise ValueError(
                f"y must have as many columns as in the first batch. Got shape {y.shape}."
            )
        return self._target_columns(y)

    def _target_columns(self, y):
        y = y.reshape(len(y), -1).astype(np.float64, copy=False)
        check_size("y", y)
        return y

    def _settings(self):
        names = Settings.__dataclass_fields__
        chosen = {name: getattr(self, name) for name in names}
        return Settings(**{**chosen, "n_jobs": resolved_jobs(self.n_jobs)})

    def _start(self, rows, rng, previous):
        """Starting parameters and the space of those that are free."""
        center, spread = input_summary(rows.X, rows.weight)
        kernel = default_kernel(spread) if self.kernel is None else self.kernel
        expression, whites, theta_bounds = compile_process(kernel, center)
        noise, noise_bounds = starting_noise(
            whites, self.noise_variance, self.noise_variance_bounds
        )
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
        space = parameter_space(theta_bounds, noise_bounds, Z_scale)
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
