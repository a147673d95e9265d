"""What learning latent inputs starts from and needs to know."""

from dataclasses import dataclass, field

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from ...data.inducing import choose_inducing, given_inducing, with_more_inducing
from ...data.rows import random_index
from ...kernels._compile import compile_without_noise
from ...kernels._length_scales import input_scales
from ...kernels._white_noise import starting_noise
from ...kernels.categories._kernel import Categorical
from ...latents.passes import LatentInputs
from ...latents.table import Table
from ...optimize.parameters import Group, Parameters, ParameterSpace
from ...optimize.progress import Trace
from ..base import Settings
from ..fingerprints import fingerprint
from .starts import Earlier, PrincipalComponents, starting_inputs

# The default kernel's bounds: with a larger variance and longer scales every function is nearly
# linear, and L-BFGS from principal components stays there (oil flow: 174 errors instead of 1).
_VARIANCE_BOUNDS, _SCALE_BOUNDS = (1e-3, 10.0), (1e-2, 1e3)
_LARGEST_SCALE = 30.0  # of a start
# Of q(x) at the start: with 0.1 principal components hold the fit where they are.
_START_VARIANCE = 0.5
# Of the noise at the start: a share of what principal components leave, within limits. Too little
# of it on noisy tables, and the fit falls back to noise alone once the noise is free.
_NOISE_SHARE, _NOISE_LIMITS = 0.5, (0.01, 0.5)
_LOG_VARIANCE_BOUNDS = (-20.0, 5.0)
# Of the time left, for latent inputs under the model of an earlier fit.
_EARLIER_SHARE = 0.1
# Units of the kernel's and noise's logarithms, over the root of the number of values, and of log
# variances.
_HYPER_UNIT, _LOG_VARIANCE_UNIT = 10.0, 2.0


@dataclass(frozen=True)
class LatentChoices:
    """What the user chose about the model; names as in the public interface."""

    n_components: int
    kernel: object
    n_inducing: int
    inducing: object
    optimize_inducing: bool
    noise_variance: object
    noise_variance_bounds: object
    noise: str
    n_starts: int


class LatentTrace(Trace):
    """A trace that knows which rows' q(x) the parameters hold, and what they stand for."""

    def __init__(self, clock):
        super().__init__(clock)
        self.table, self.factor = None, 1.0

    def follow(self, table, n_rows):
        """Objectives are from now on those of these rows, which stand for so many."""
        self.table, self.factor = table, n_rows / len(table)

    def add(self, objective, parameters_now):
        return super().add(self.factor * objective, parameters_now)


@dataclass(frozen=True)
class LatentProblem:
    """Everything a fit needs to know.

    Parameters
    ----------
    table : Table
        All rows.
    choices : LatentChoices
    settings : Settings
    trace : LatentTrace
    rng : numpy.random.RandomState
    earlier : Earlier or None
        A fit of the same columns, which the first start goes on from.
    """

    table: Table
    choices: LatentChoices
    settings: Settings
    trace: LatentTrace = field(repr=False)
    rng: np.random.RandomState = field(repr=False)
    earlier: Earlier | None = None


@dataclass(frozen=True)
class LatentStart:
    """Where learning starts, with q(x) of some rows.

    Parameters
    ----------
    kernel : Kernel
        As given, white noise included, or the default one.
    parameters : Parameters
        With the groups "mean" and "log_variance", (n, Q) each, of the rows.
    space : ParameterSpace
    adam : Adam or None
        Of later batches of `partial_fit`.
    inducing : object
        Fingerprint of how inducing inputs were asked for.
    holds_noise : bool
        Whether the noise is a guess, which is held until the map has found its form.
    """

    kernel: object
    parameters: Parameters
    space: ParameterSpace
    adam: object = None
    inducing: object = None
    holds_noise: bool = True


def default_kernel(components):
    """A squared exponential whose length scales are longer for less relevant components."""
    size = np.sqrt((components.W**2).sum(axis=0))
    largest = size.max()
    scales = np.full(len(size), 1.0)
    np.divide(largest, size, out=scales, where=size > largest / _LARGEST_SCALE)
    scales[size <= largest / _LARGEST_SCALE] = _LARGEST_SCALE
    if len(scales) == 1:
        scales = float(scales[0])
    return ConstantKernel(1.0, _VARIANCE_BOUNDS) * RBF(scales, _SCALE_BOUNDS)


def start_at(problem, table, attempt=0):
    """Starting parameters for some rows; attempts after the first are disturbed at random.

    Parameters
    ----------
    problem : LatentProblem
    table : Table
    attempt : int

    Returns
    -------
    start : LatentStart

    Raises
    ------
    ValueError
        If kernel, noise or inducing inputs are not what they must be.
    """
    choices, rng = problem.choices, problem.rng
    Q, P = choices.n_components, table.Y.shape[1]
    earlier = None if attempt else problem.earlier
    components = PrincipalComponents.fit(table, Q, rng)
    if earlier is None:
        q = starting_inputs(components, table, _START_VARIANCE)
    else:
        seconds = _EARLIER_SHARE * problem.trace.clock.left()
        q = earlier.inputs(table, problem.settings.n_jobs, seconds)
    if attempt:
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
    if earlier is not None:
        parameters = earlier.learned(parameters, ParameterSpace(tuple(groups)))
    Z = _inducing_inputs(choices, q, parameters.kernel, rng, earlier)
    if choices.optimize_inducing:
        groups.append(Group("Z", None))
    groups += [Group("mean", None), Group("log_variance", log_variance_bounds(q))]
    return LatentStart(
        kernel,
        parameters.with_values(Z=Z),
        ParameterSpace(tuple(groups)),
        inducing=fingerprint(choices.inducing),
        holds_noise=earlier is None,
    )


def _inducing_inputs(choices, q, kernel, rng, earlier):
    """Inducing inputs as given or chosen; those of an earlier fit that was asked for the same."""
    method, count = choices.inducing, choices.n_inducing
    old = None if earlier is None else earlier.inducing_inputs(method)
    if not isinstance(method, str):
        return given_inducing(method, choices.n_components) if old is None else old
    how = q.mean, None, count, kernel, input_scales(kernel, np.ones(q.mean.shape[1])), rng
    if old is None or len(old) > count:
        return choose_inducing(method, *how)
    return with_more_inducing(old, method, *how)


def _noise(whites, choices, P, components):
    """Starting value and bounds of the noise variance."""
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
    """Bounds of the logarithms of all variances of q(x)."""
    return np.tile(_LOG_VARIANCE_BOUNDS, (q.mean.size, 1))


def _disturbed(q, rng):
    """q(x) turned at random, and shaken."""
    Q = q.mean.shape[1]
    R = np.linalg.qr(rng.normal(size=(Q, Q)))[0]
    mean = q.mean @ R + 0.3 * rng.normal(size=q.mean.shape)
    return LatentInputs(mean, q.variance * rng.uniform(0.4, 2.0))


def free_space(start, settings):
    """What L-BFGS moves: without an optimiser q(x) only."""
    if settings.optimizer is not None:
        return start.space
    return ParameterSpace((start.space.group("mean"), start.space.group("log_variance")))


def in_units(space, n_values):
    """The space in units in which L-BFGS goes far in its first iterations.

    Curvature in kernel and noise grows with the number of values, that in a log variance is 1/2 at
    most, and that in a mean is large. In units of one each, L-BFGS takes twice as many iterations
    on oil flow. Units of the standard deviations of q(x) for its means, in which their own
    curvature is one, let the map as a whole move too slowly.
    """
    for name in ("theta", "log_noise"):
        space = space.with_group(name, unit=_HYPER_UNIT / np.sqrt(n_values))
    return space.with_group("log_variance", unit=_LOG_VARIANCE_UNIT)


def sample_rows(table, size, rng):
    """Sorted numbers of so many rows, at most, with something observed; None for all of them."""
    if len(table) <= size:
        return None
    rows = np.flatnonzero(~np.isnan(table.Y).all(axis=1))
    return np.sort(rows[random_index(len(rows), min(size, len(rows)), rng)])
