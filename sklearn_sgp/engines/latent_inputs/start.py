"""Where learning latent inputs starts: kernel, noise, inducing inputs and q(x)."""

from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from ...data.inducing import choose_inducing, given_inducing, with_more_inducing
from ...data.rows import random_index
from ...kernels._compile import compile_without_noise
from ...kernels._length_scales import input_scales
from ...kernels._white_noise import starting_noise
from ...kernels.categories._kernel import Categorical
from ...latents.passes import InputPosteriors
from ...latents.row_posteriors import LOG_VARIANCE_BOUNDS
from ...optimize import shares
from ...optimize.parameters import Group, Parameters, ParameterSpace
from ..base import Start
from ..fingerprints import fingerprint
from .components import PrincipalComponents, inputs_under, starting_inputs, with_learned

# The default kernel's bounds: with a larger variance and longer scales every function is nearly
# linear, and L-BFGS from principal components stays there (oil flow: 174 errors instead of 1).
_VARIANCE_BOUNDS, _SCALE_BOUNDS = (1e-3, 10.0), (1e-2, 1e3)
_LARGEST_STARTING_SCALE = 30.0  # of a start
# Variance of q(x) at the start: with 0.1 principal components hold the fit where they are.
_START_VARIANCE = 0.5
# Noise at the start: a share of what principal components leave, within limits. Too little
# of it on noisy tables, and the fit falls back to noise alone once the noise is free.
_NOISE_SHARE, _NOISE_LIMITS = 0.5, (0.01, 0.5)
# Units of the kernel's and noise's logarithms, over the root of the number of values, and of log
# variances.
_HYPER_UNIT, _LOG_VARIANCE_UNIT = 10.0, 2.0


@dataclass(frozen=True)
class LatentChoices:
    """Choices of the user about the model; names as in the public interface.

    ``likelihood`` is that of the columns, Gaussian noise.
    """

    n_components: int
    kernel: object
    n_inducing: int
    inducing: object
    optimize_inducing: bool
    noise_variance: object
    noise_variance_bounds: object
    noise: str
    n_starts: int
    likelihood: object


def default_kernel(components):
    """Return a squared exponential with longer length scales for less relevant components."""
    size = np.sqrt((components.W**2).sum(axis=0))
    largest = size.max()
    scales = np.full(len(size), 1.0)
    np.divide(largest, size, out=scales, where=size > largest / _LARGEST_STARTING_SCALE)
    scales[size <= largest / _LARGEST_STARTING_SCALE] = _LARGEST_STARTING_SCALE
    if len(scales) == 1:
        scales = float(scales[0])
    return ConstantKernel(1.0, _VARIANCE_BOUNDS) * RBF(scales, _SCALE_BOUNDS)


def start_at(problem, choices, table, before=None, disturbs=False):
    """Choose starting parameters for some rows, with their q(x).

    Parameters
    ----------
    before : Fitted or None
        An earlier fit to go on from.
    disturbs : bool
        Whether q(x) is disturbed at random.

    Returns
    -------
    start : Start
        With the groups "mean" and "log_variance", (n, Q) each, of the rows.

    Raises
    ------
    ValueError
        If kernel, noise or inducing inputs are not what they must be.
    """
    rng, Q, P = problem.rng, choices.n_components, table.Y.shape[1]
    components = PrincipalComponents.fit(table, Q, rng)
    if before is None:
        q = starting_inputs(components, table, _START_VARIANCE)
    else:
        seconds = shares.EARLIER_MODEL * problem.trace.clock.left()
        q = inputs_under(before, table, problem.settings.n_jobs, seconds)
    if disturbs:
        q = _disturbed(q, rng)
    kernel = default_kernel(components) if choices.kernel is None else choices.kernel
    if any(isinstance(one, Categorical) for one in (kernel, *kernel.get_params().values())):
        raise ValueError(
            "The 'kernel' parameter must be a kernel of numbers, since latent inputs are numbers. "
            f"Got {kernel!r}: leave Categorical out, and columns of categories out of Y."
        )
    expression, whites, theta_bounds = compile_without_noise(kernel, np.zeros(Q))
    if not expression.differentiable_inputs:
        raise ValueError(
            "The 'kernel' parameter must have derivatives in its inputs, since these are learned: "
            f"sums, products and powers of the kernels that scikit-learn ships. Got {kernel!r}."
        )
    noise, noise_bounds = _noise(whites, choices, P, components)
    theta = np.clip(expression.theta, theta_bounds[:, 0], theta_bounds[:, 1])
    values = {"theta": theta, "log_noise": np.log(noise)}
    values |= {"mean": q.mean, "log_variance": np.log(q.variance)}
    parameters = Parameters(expression, values)
    groups = [Group("theta", theta_bounds)]
    if noise_bounds is not None:
        groups.append(Group("log_noise", np.log(noise_bounds)))
    if before is not None:
        parameters = with_learned(parameters, before, ParameterSpace(tuple(groups)))
    Z = _inducing_inputs(choices, q, parameters.kernel, rng, before)
    if choices.optimize_inducing:
        groups.append(Group("Z", None))
    groups += [Group("mean", None), Group("log_variance", log_variance_bounds(q))]
    space, inducing = ParameterSpace(tuple(groups)), fingerprint(choices.inducing)
    return Start(kernel, choices.likelihood, parameters.with_values(Z=Z), space, inducing)


def _inducing_inputs(choices, q, kernel, rng, before):
    """Take those given or choose them; go on with those of a fit that was asked for the same."""
    method, count = choices.inducing, choices.n_inducing
    is_same = before is not None and before.start.inducing == fingerprint(method)
    old = before.parameters.Z if is_same else None
    if not isinstance(method, str):
        return given_inducing(method, choices.n_components) if old is None else old
    how = q.mean, None, count, kernel, input_scales(kernel, np.ones(q.mean.shape[1])), rng
    if old is None or len(old) > count:
        return choose_inducing(method, *how)
    return with_more_inducing(old, method, *how)


def _noise(whites, choices, P, components):
    """Return starting value and bounds of the noise variance."""
    n_outputs = P if choices.noise == "columns" else 1
    noise, bounds = starting_noise(
        whites, choices.noise_variance, choices.noise_variance_bounds, n_outputs
    )
    if not whites and choices.noise_variance is None:
        share = float(np.clip(_NOISE_SHARE * components.noise_variance, *_NOISE_LIMITS))
        noise = np.full(P, share) if np.ndim(noise) else share
        if bounds is not None:
            clipped = np.clip(noise, *bounds.T)
            noise = clipped if np.ndim(noise) else float(clipped[0])
    return noise, bounds


def log_variance_bounds(q):
    """Return bounds of the logarithms of all variances of q(x)."""
    return np.tile(LOG_VARIANCE_BOUNDS, (q.mean.size, 1))


def _disturbed(q, rng):
    """Turn q(x) at random, and shake it."""
    Q = q.mean.shape[1]
    R = np.linalg.qr(rng.normal(size=(Q, Q)))[0]
    mean = q.mean @ R + 0.3 * rng.normal(size=q.mean.shape)
    return InputPosteriors(mean, q.variance * rng.uniform(0.4, 2.0))


def free_space(start, settings):
    """Return the space that L-BFGS moves in: without an optimiser q(x) only."""
    if settings.optimizer is not None:
        return start.space
    return ParameterSpace((start.space.group("mean"), start.space.group("log_variance")))


def learned_space(space):
    """Return the space without q(x), which stochastic steps do not move."""
    return space.without("mean").without("log_variance")


def with_learning_units(space, n_values):
    """Set units in which L-BFGS goes far in its first iterations.

    Curvature in kernel and noise grows with the number of values, that in a log variance is 1/2 at
    most, and that in a mean is large. In units of one each, L-BFGS takes twice as many iterations
    on oil flow. Units of the standard deviations of q(x) for its means, in which their own
    curvature is one, let the map as a whole move too slowly.
    """
    for name in ("theta", "log_noise"):
        space = space.with_group(name, unit=_HYPER_UNIT / np.sqrt(n_values))
    return space.with_group("log_variance", unit=_LOG_VARIANCE_UNIT)


def sample_rows(table, size, rng):
    """Draw so many rows, at most, with something observed: sorted numbers; None for all."""
    if len(table) <= size:
        return None
    rows = np.flatnonzero(~np.isnan(table.Y).all(axis=1))
    return np.sort(rows[random_index(len(rows), min(size, len(rows)), rng)])
