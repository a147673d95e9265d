"""Where learning latent inputs starts: kernel, noise, inducing inputs and q(x)."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from ...data.inducing import choose_inducing, given_inducing, with_more_inducing
from ...data.rows import random_index
from ...kernels._compile import compile_without_noise
from ...kernels._length_scales import input_scales
from ...kernels._white_noise import starting_noise
from ...kernels.categories._kernel import Categorical
from ...latents.passes import InputPosteriors
from ...latents.row_posteriors import LOG_VARIANCE_BOUNDS, find_inputs
from ...optimize import time_shares
from ...optimize.parameters import Group, Parameters, ParameterSpace, shaped_like
from ..base import Start
from ..fingerprints import fingerprint, structure

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
# Most iterations of expectation maximisation, and the relative change of the noise that ends it.
_EM_ITERATIONS, _EM_TOL = 50, 1e-4
# Rows whose matrices (Q, Q) exist together.
_MOMENT_ROWS = 4096


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


def start_at(problem, choices, table, previous=None, disturbs=False):
    """Choose starting parameters for some rows, with their q(x).

    ``previous`` is an earlier fit to go on from, or None; with ``disturbs`` q(x) is disturbed at
    random.

    Returns
    -------
    start : Start
        With the groups "mean" and "log_variance", (n, Q) each, of the rows.
    """
    rng, Q, P = problem.rng, choices.n_components, table.Y.shape[1]
    components = PrincipalComponents.fit(table, Q, rng)
    if previous is None:
        q = starting_inputs(components, table, _START_VARIANCE)
    else:
        seconds = time_shares.EARLIER_MODEL * problem.trace.clock.left()
        q = inputs_under(previous, table, problem.settings.n_jobs, seconds)
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
    if previous is not None:
        parameters = with_learned(parameters, previous, ParameterSpace(tuple(groups)))
    Z = _inducing_inputs(choices, q, parameters.kernel, rng, previous)
    if choices.optimize_inducing:
        groups.append(Group("Z", None))
    groups += [Group("mean", None), Group("log_variance", log_variance_bounds(q))]
    space, inducing = ParameterSpace(tuple(groups)), fingerprint(choices.inducing)
    return Start(kernel, choices.likelihood, parameters.with_values(Z=Z), space, inducing)


def _inducing_inputs(choices, q, kernel, rng, previous):
    """Take those given or choose them; go on with those of a fit that was asked for the same."""
    method, count = choices.inducing, choices.n_inducing
    is_same = previous is not None and previous.start.inducing == fingerprint(method)
    old = previous.parameters.Z if is_same else None
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
            noise = shaped_like(np.clip(noise, *bounds.T), noise)
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


# ---- Where q(x) starts: probabilistic principal components, or the map of an earlier fit


class PrincipalComponents:
    """Probabilistic principal components of a table (Tipping & Bishop 1999).

    Complete tables have them in closed form, others by expectation maximisation. Axes are turned so
    that the latent inputs of the training rows are uncorrelated, the most relevant first. W is (P,
    Q), and the noise variance that of a scaled output which the components leave.
    """

    def __init__(self, W, noise_variance):
        self.W, self.noise_variance = W, noise_variance

    @classmethod
    def fit(cls, table, Q, rng):
        """Find the components of a table whose scaled columns have mean zero or nearly so."""
        n, P = len(table), table.Y.shape[1]
        Y, observed = table.piece(slice(None))
        kept = min(Q, P)
        covariance = Y.T @ Y / n
        values, vectors = eigh(covariance, subset_by_index=(P - kept, P - 1))
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        rest = (np.trace(covariance) - values.sum()) / max(P - kept, 1)
        noise = float(np.clip(rest, 1e-6, None)) if P > kept else 1e-2
        # signs of eigenvectors are arbitrary
        signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(kept)])
        W = vectors * signs * np.sqrt(np.maximum(values - noise, 1e-3 * values[0] + 1e-12))
        if kept < Q:  # more latent dimensions than outputs
            W = np.hstack([W, 1e-2 * rng.normal(size=(P, Q - kept))])
        components = cls(W, noise)
        return components if observed.all() else components._maximised(Y, observed)

    def _maximised(self, Y, observed):
        """Go on by expectation maximisation."""
        W, noise, before = self.W, max(self.noise_variance, 1e-2), np.inf
        Q = W.shape[1]
        for _ in range(_EM_ITERATIONS):
            mean, second = _moments(W, noise, Y, observed)
            flat = second.reshape(len(Y), -1)
            each = (observed.T @ flat).reshape(-1, Q, Q) + 1e-6 * len(Y) * np.eye(Q)
            cross = Y.T @ mean  # (P, Q)
            W = np.linalg.solve(each, cross[:, :, None])[:, :, 0]
            error = (Y * Y).sum() - 2.0 * (W * cross).sum()
            error += np.einsum("pq,pqr,pr->", W, (observed.T @ flat).reshape(-1, Q, Q), W)
            noise = max(float(error / observed.sum()), 1e-6)
            if abs(before - noise) < _EM_TOL * noise:
                break
            before = noise
        mean, _ = _moments(W, noise, Y, observed)
        # x = R t with t uncorrelated: turn W to match
        _, R = eigh(mean.T @ mean / len(mean))
        W = W @ R
        order = np.argsort(-(W * W).sum(axis=0))
        return PrincipalComponents(np.ascontiguousarray(W[:, order]), noise)

    def latents(self, table):
        """Return posterior means of the latent inputs of all rows, (n, Q)."""
        parts = []
        for lo in range(0, len(table), _MOMENT_ROWS):
            Y, observed = table.piece(slice(lo, lo + _MOMENT_ROWS))
            parts.append(_moments(self.W, self.noise_variance, Y, observed)[0])
        return np.concatenate(parts)


def _moments(W, noise, Y, observed):
    """Return means (n, Q) and second moments (n, Q, Q) of the latent inputs."""
    Q = W.shape[1]
    outer = (W[:, :, None] * W[:, None, :]).reshape(len(W), -1)  # (P, Q Q)
    precision = (observed @ outer).reshape(-1, Q, Q) / noise + np.eye(Q)
    covariance = np.linalg.inv(precision)
    mean = np.einsum("nqr,nr->nq", covariance, Y @ W) / noise
    return mean, covariance + mean[:, :, None] * mean[:, None, :]


def starting_inputs(components, table, variance):
    """Start q(x) of all rows at principal components of unit variance, with one variance."""
    mean = components.latents(table)
    scale = mean.std(axis=0)
    mean = mean / np.where(scale > 1e-10, scale, 1.0)
    return InputPosteriors(mean, np.full(mean.shape, float(variance)))


def inputs_under(previous, table, n_jobs, seconds):
    """Find q(x) of rows, old or new, under an earlier `Fitted` of the same columns."""
    q, _ = find_inputs(
        previous.predictor,
        replace(table, scaling=previous.targets.scaling),
        candidates=previous.state.candidates,
        n_jobs=n_jobs,
        seconds=seconds,
    )
    return q


def with_learned(parameters, previous, space):
    """Take the kernel and noise of an earlier `Fitted`, where these mean the same and are free."""
    old = previous.parameters
    kernels = (one.kernel.sklearn_kernel for one in (old, parameters))
    same = "theta" if len({structure(kernel) for kernel in kernels}) == 1 else None
    values = {
        name: old.values[name]
        for name in (same, "log_noise")
        if name is not None
        and space.learns(name)
        and np.shape(old.values[name]) == np.shape(parameters.values[name])
    }
    return space.clipped(parameters.with_values(**values))
