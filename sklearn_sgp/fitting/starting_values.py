"""From what the user gave to starting values, bounds and the space of what is learned."""

from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from .._warnings import warn_caller
from ..data.inducing import choose_inducing, given_inducing
from ..data.rows import column_mean_std
from ..kernels._compile import compile_without_noise
from ..kernels._length_scales import input_scales
from ..kernels._white_noise import fixed_unit_noise, starting_noise
from ..optimize.parameters import Group, Parameters, ParameterSpace, TiedLengthScales
from .problem import Start

_LENGTH_SCALE_RANGE = np.array([1e-4, 1e4])  # in units of the inputs' standard deviations


@dataclass(frozen=True)
class Choices:
    """What the user chose about the model; names as in the public interface.

    ``noise_variance`` and its bounds are None for classifiers. ``ties_length_scales`` says whether
    a weak prior ties those of the default kernel. ``learns`` says whether anything is learned.
    """

    kernel: object
    n_inducing: int
    inducing: object
    optimize_inducing: bool
    noise_variance: float | None = None
    noise_variance_bounds: object = None
    ties_length_scales: bool = False
    learns: bool = True


def start(rows, choices, likelihood, rng, previous=None, choose=None):
    """Starting parameters and the space of those that are free.

    Parameters
    ----------
    rows : Rows
    choices : Choices
    likelihood : Likelihood
    rng : numpy.random.RandomState
    previous : FitResult or None
        An earlier fit whose parameters are taken, where they fit.
    choose : callable or None
        ``choose(rows, kernel, noise_variance, scale, rng)``: inducing inputs, where they are
        neither given nor chosen by `data.inducing.choose_inducing`.

    Returns
    -------
    start : problem.Start

    Raises
    ------
    ValueError
        If kernel, noise or inducing inputs are not what they must be.
    """
    center, std = column_mean_std(rows.X, rows.weight)
    kernel = default_kernel(std) if choices.kernel is None else choices.kernel
    expression, whites, theta_bounds = compile_without_noise(kernel, center)
    if likelihood.has_noise:
        noise, noise_bounds = starting_noise(
            whites, choices.noise_variance, choices.noise_variance_bounds
        )
    else:
        noise, noise_bounds = fixed_unit_noise(whites, choices.kernel, likelihood)
    theta = np.clip(expression.theta, theta_bounds[:, 0], theta_bounds[:, 1])
    values = {"theta": theta, "log_noise": float(np.log(noise))}
    if len(likelihood.theta):
        values["likelihood"] = likelihood.theta
    parameters = Parameters(expression, values)
    if _reusable(previous, theta, len(center)):
        old = dict(previous.parameters.values)
        if type(previous.start.likelihood) is not type(likelihood) or (
            len(previous.parameters.likelihood_theta) != len(likelihood.theta)
        ):
            old.pop("likelihood", None)
        if not (previous.likelihood.has_noise and likelihood.has_noise):
            old.pop("log_noise")
        kept = {name: old.get(name, value) for name, value in values.items()}
        parameters = Parameters(expression, {**kept, "Z": old["Z"]})
    else:
        parameters = parameters.with_values(
            Z=_inducing_inputs(rows, choices, parameters, std, rng, choose)
        )
    if choices.learns and not expression.differentiable_inputs:
        warn_caller(
            f"The kernel {kernel!r} has a part without analytic gradients: its parameters are "
            "learned by finite differences and the inducing inputs stay where they start.",
        )
    tied = choices.kernel is None and choices.ties_length_scales
    space = ParameterSpace(
        tuple(_groups(choices, expression, likelihood, theta_bounds, noise_bounds, std)),
        TiedLengthScales(np.log(std)) if tied else None,
    )
    return Start(kernel, likelihood, parameters, space)


def _groups(choices, expression, likelihood, theta_bounds, noise_bounds, std):
    """The groups that are learned, in the order of the vector."""
    yield Group("theta", theta_bounds)
    if noise_bounds is not None:
        yield Group("log_noise", np.log([noise_bounds]))
    if len(likelihood.theta):
        yield Group("likelihood", likelihood.theta_bounds)
    if choices.optimize_inducing and expression.differentiable_inputs:
        yield Group("Z", None, starting_length_scale(std))


def _reusable(previous, theta, n_columns):
    if previous is None:
        return False
    old = previous.parameters
    return old.Z.shape[1] == n_columns and len(old.theta) == len(theta)


def _inducing_inputs(rows, choices, parameters, std, rng, choose):
    if not isinstance(choices.inducing, str):
        return given_inducing(choices.inducing, rows.X.shape[1])
    kernel = parameters.kernel
    scale = input_scales(kernel, std)
    if choose is not None:
        return choose(rows, kernel, parameters.noise_variance, scale, rng)
    return choose_inducing(
        choices.inducing, rows.X, rows.weight, choices.n_inducing, kernel, scale, rng
    )


def starting_length_scale(std):
    """Length scales with which typical rows are about 2 squared length scales apart.

    Inducing inputs are optimised in these units too: on kin40k that takes L-BFGS to a bound 125
    nats higher in 60 iterations than units of ``std`` do.
    """
    return std * np.sqrt(len(std))


def default_kernel(std):
    """Constant times squared exponential, one length scale for each column, from the data."""
    length_scale = starting_length_scale(std)
    bounds = length_scale[:, None] * _LENGTH_SCALE_RANGE
    if len(std) == 1:
        return ConstantKernel(1.0, (1e-4, 1e4)) * RBF(float(length_scale[0]), tuple(bounds[0]))
    return ConstantKernel(1.0, (1e-4, 1e4)) * RBF(length_scale, bounds)
