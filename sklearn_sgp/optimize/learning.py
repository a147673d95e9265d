"""Optimisers over kernel, noise and inducing inputs, and when they stop.

Nothing here knows a model: objectives come as functions of `Parameters` that return a value to be
maximised and its `Gradient`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.optimize import minimize

from ..kernels import KernelExpression
from .._linalg import NotPositiveDefiniteError

# Pairs that L-BFGS remembers: after 60 iterations on 8,192 rows of kin40k with 512 inducing inputs
# the bound is 75 nats higher with 30 than with scipy's 10, and 130 nats with 60.
_LBFGS_MEMORY = 50


@dataclass(frozen=True)
class Parameters:
    """Hyperparameters of a sparse GP.

    Parameters
    ----------
    expression : KernelExpression
    theta : ndarray of shape (n_theta,)
        Natural logarithms of the kernel's free parameters.
    log_noise : float
        Natural logarithm of the noise variance, in units of the scaled targets.
    Z : ndarray of shape (m, d)
        Inducing inputs, in units of X.
    """

    expression: KernelExpression
    theta: np.ndarray
    log_noise: float
    Z: np.ndarray

    @property
    def kernel(self):
        return self.expression.bind(self.theta)

    @property
    def noise_variance(self):
        return float(np.exp(self.log_noise))


@dataclass(frozen=True)
class TiedLengthScales:
    """Log density of length scales that scatter by a factor of e about one that all may share.

    A bound has no price for one more length scale: with as many columns as tens of rows it chooses
    the few that set these very rows apart. Against thousands of rows the prior weighs nothing.

    Parameters
    ----------
    log_spread : ndarray of shape (d,)
        Logarithms of the columns' standard deviations; the last d entries of theta are the
        logarithms of their length scales.
    """

    log_spread: np.ndarray

    def __call__(self, theta):
        """Value, but for a constant, and gradient."""
        relative = theta[-len(self.log_spread) :] - self.log_spread
        away = relative - relative.mean()
        gradient = np.zeros_like(theta)
        gradient[-len(away) :] = -away
        return -0.5 * float(away @ away), gradient


@dataclass(frozen=True)
class ParameterSpace:
    """Which parameters are free, their bounds, and one vector that holds them.

    Inducing inputs enter that vector in units of ``Z_scale`` so that all its entries are of order
    one for the optimisers.

    Parameters
    ----------
    theta_bounds : ndarray of shape (n_theta, 2)
        Natural logarithms.
    noise_bounds : tuple of float, or None
        Natural logarithms; None keeps the noise where it is.
    Z_scale : ndarray of shape (d,) or (m, d), or None
        None keeps the inducing inputs where they are.
    prior : callable or None
        ``prior(theta)``: log density and its gradient, which objectives are to be raised by.
    """

    theta_bounds: np.ndarray
    noise_bounds: tuple | None
    Z_scale: np.ndarray | None
    prior: Callable | None = None

    @property
    def learns_inputs(self):
        return self.Z_scale is not None

    def pack(self, parameters):
        parts = [parameters.theta]
        if self.noise_bounds is not None:
            parts.append([parameters.log_noise])
        if self.learns_inputs:
            parts.append((parameters.Z / self.Z_scale).ravel())
        return np.concatenate(parts)

    def unpack(self, x, like):
        n = len(like.theta)
        theta, log_noise, Z = x[:n], like.log_noise, like.Z
        if self.noise_bounds is not None:
            log_noise, n = float(x[n]), n + 1
        if self.learns_inputs:
            Z = x[n:].reshape(Z.shape) * self.Z_scale
        return replace(like, theta=theta.copy(), log_noise=log_noise, Z=Z)

    def pack_gradient(self, gradient):
        parts = [gradient.theta]
        if self.noise_bounds is not None:
            parts.append([gradient.log_noise])
        if self.learns_inputs:
            parts.append((gradient.Z * self.Z_scale).ravel())
        return np.concatenate(parts)

    def with_prior(self, value, gradient, parameters):
        """Value and gradient of the objective and the log prior together."""
        if self.prior is None:
            return value, gradient
        log_prior, slope = self.prior(parameters.theta)
        return value + log_prior, gradient._replace(theta=gradient.theta + slope)

    def bounds(self, like):
        """Bounds of the vector, shape (n, 2)."""
        parts = [self.theta_bounds.reshape(-1, 2)]
        if self.noise_bounds is not None:
            parts.append([self.noise_bounds])
        if self.learns_inputs:
            parts.append(np.tile([-np.inf, np.inf], (like.Z.size, 1)))
        return np.concatenate(parts)


class Clock:
    """Seconds since a fit began, against its budget."""

    def __init__(self, max_time=None):
        self.start = time.perf_counter()
        self.max_time = np.inf if max_time is None else max_time

    def elapsed(self):
        return time.perf_counter() - self.start

    def left(self):
        return self.max_time - self.elapsed()


class Trace:
    """What a fit reports as it goes: objective, seconds, and whether to stop.

    Parameters
    ----------
    clock : Clock
    listener : callable or None
        Called after every entry with the trace and a function that returns the `Parameters` at
        that time; True asks to stop.
    """

    def __init__(self, clock, listener=None):
        self.clock, self.listener = clock, listener
        self.objectives, self.times = [], []
        self.stopped = False

    def add(self, objective, snapshot):
        """Record an objective; True if a callback asks to stop."""
        self.objectives.append(float(objective))
        self.times.append(self.clock.elapsed())
        if self.listener is not None and self.listener(self, snapshot):
            self.stopped = True
        return self.stopped


class Plateau:
    """Counts entries whose best value gained less than ``tol``; `reached` after ``patience``."""

    def __init__(self, tol, patience):
        self.tol, self.patience = tol, patience
        self.best, self.count = -np.inf, 0

    def reached(self, value):
        self.count = 0 if value > self.best + self.tol else self.count + 1
        self.best = max(self.best, value)
        return self.count >= self.patience


class _Finished(Exception):
    """Ends a run of L-BFGS from inside; never leaves this module."""


def ascend_lbfgs(objective, space, start, *, max_iter, plateau, trace, time_left=np.inf):
    """Maximise an objective, and the log prior of the space, by L-BFGS-B from ``start``.

    A trial point where the objective raises NotPositiveDefiniteError counts as much worse than
    any seen, so the line search backs away from it.

    Parameters
    ----------
    objective : callable
        ``objective(parameters) -> (value, Gradient)``.
    space : ParameterSpace
    start : Parameters
    max_iter : int
    plateau : Plateau
        On what is maximised, after each iteration.
    trace : Trace
        Gets the objective alone.
    time_left : float
        Seconds.

    Returns
    -------
    parameters : Parameters
        The best seen.
    value : float
        The objective there.
    n_iter : int
    """
    deadline = time.perf_counter() + time_left
    best = {"value": -np.inf, "objective": -np.inf, "x": None, "worst": np.inf}
    seconds = 0.0  # of the last evaluation: one that would end too late is not begun
    n_iter = 0
    bounds = space.bounds(start)
    x0 = np.clip(space.pack(start), bounds[:, 0], bounds[:, 1])

    def negated(x):
        nonlocal seconds
        begin = time.perf_counter()
        if begin + seconds > deadline and best["x"] is not None:
            raise _Finished
        try:
            parameters = space.unpack(x, start)
            found, gradient = objective(parameters)
        except NotPositiveDefiniteError:
            if best["x"] is None:
                raise
            spread = max(best["value"] - best["worst"], abs(best["value"]), 1.0)
            return 10.0 * spread - best["worst"], np.zeros_like(x)
        value, gradient = space.with_prior(found, gradient, parameters)
        seconds = time.perf_counter() - begin
        best["worst"] = min(best["worst"], value)
        if value > best["value"]:
            best.update(value=value, objective=found, x=x.copy())
        return -value, -space.pack_gradient(gradient)

    def after_iteration(x):
        nonlocal n_iter
        n_iter += 1
        snapshot = partial(space.unpack, best["x"], start)
        if trace.add(best["objective"], snapshot) or plateau.reached(best["value"]):
            raise _Finished

    try:
        minimize(
            negated,
            x0,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            callback=after_iteration,
            options={
                "maxcor": _LBFGS_MEMORY,
                "maxiter": max_iter,
                "maxfun": 4 * max_iter + 20,
                "ftol": 0.0,
                "gtol": 1e-6,
            },
        )
    except _Finished:
        pass
    return space.unpack(best["x"], start), best["objective"], n_iter


class Adam:
    """Adam (Kingma & Ba 2015), ascending, on a vector within bounds.

    Parameters
    ----------
    size : int
        Length of the vector.
    learning_rate : float
    """

    decay_mean, decay_square, floor = 0.9, 0.999, 1e-8

    def __init__(self, size, learning_rate):
        self.learning_rate = learning_rate
        self.mean, self.square, self.t = np.zeros(size), np.zeros(size), 0

    def step(self, x, gradient, bounds):
        """The vector after one step up the gradient."""
        self.t += 1
        self.mean += (1.0 - self.decay_mean) * (gradient - self.mean)
        self.square += (1.0 - self.decay_square) * (gradient**2 - self.square)
        mean = self.mean / (1.0 - self.decay_mean**self.t)
        square = self.square / (1.0 - self.decay_square**self.t)
        moved = x + self.learning_rate * mean / (np.sqrt(square) + self.floor)
        return np.clip(moved, bounds[:, 0], bounds[:, 1])
