"""Gaussian processes by their definitions: dense, slow, obvious; and small problems to try.

Nothing in the first half shares code with the package, kernels included: those are scikit-learn's
own. Matrices are named as in docs/theory.md: ``Kuu`` (m, m) includes its jitter, ``Kuf`` is
(m, n), ``kff`` (n,) a diagonal; targets ``y`` are (n, t) and as scaled.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Kernel,
    Matern,
    RationalQuadratic,
)

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.base import Settings
from sklearn_sgp.factors.block_factors import Model
from sklearn_sgp.factors.block_sums import block_sums, pieces_of_blocks
from sklearn_sgp.factors.passes import Pieces
from sklearn_sgp.factors.piece_factors import block_factors
from sklearn_sgp.gp.coordinates import Direct, Whitened, choose_coordinates
from sklearn_sgp.gp.posterior import Posterior
from sklearn_sgp.gp.prior import Prior
from sklearn_sgp.kernels import Columns, compile_kernel
from sklearn_sgp.likelihoods import ExpectedLogDensity, Gaussian
from sklearn_sgp.objectives import collapsed
from sklearn_sgp.objectives.uncollapsed import minibatch_bound
from sklearn_sgp.optimize.parameters import Group, Parameters, ParameterSpace


def log_normal(y, covariance):
    """Log density of independent columns, each N(0, covariance)."""
    quadratic = np.sum(y * np.linalg.solve(covariance, y))
    log_det = np.linalg.slogdet(2.0 * np.pi * covariance)[1]
    return -0.5 * (quadratic + y.shape[1] * log_det)


def exact_gp(Kff, y, noise, Kfs, Kss):
    """Log evidence, and mean (s, t) and covariance (s, s) of the function at other inputs."""
    Ky = Kff + noise * np.eye(len(y))
    mean = Kfs.T @ np.linalg.solve(Ky, y)
    return log_normal(y, Ky), mean, Kss - Kfs.T @ np.linalg.solve(Ky, Kfs)


def _without_weightless(Kuf, kff, y, weight):
    if weight is None:
        return Kuf, kff, y, np.ones(len(y))
    keep = weight > 0
    return Kuf[:, keep], kff[keep], y[keep], weight[keep]


def vfe_bound(Kuu, Kuf, kff, y, noise, weight=None):
    """Titsias' bound (2009) from N(y; 0, Q + R); a weight is a power of the row's factor.

    N(y; f, s)^w is N(y; f, s / w) times (2 pi s)^((1 - w) / 2) w^(-1/2).
    """
    Kuf, kff, y, w = _without_weightless(Kuf, kff, y, weight)
    Q = Kuf.T @ np.linalg.solve(Kuu, Kuf)
    t = y.shape[1]
    powers = np.sum(0.5 * (1.0 - w) * np.log(2.0 * np.pi * noise) - 0.5 * np.log(w))
    unexplained = np.sum(w * (kff - np.diagonal(Q))) / (2.0 * noise)
    return log_normal(y, Q + np.diag(noise / w)) + t * (powers - unexplained)


def optimal_q(Kuu, Kuf, y, noise, weight=None):
    """Mean (m, t) and covariance (m, m) of u given y = Kfu inv(Kuu) u + noise."""
    Kuf, _, y, w = _without_weightless(Kuf, np.zeros(len(y)), y, weight)
    Ky = Kuf.T @ np.linalg.solve(Kuu, Kuf) + np.diag(noise / w)
    return Kuf @ np.linalg.solve(Ky, y), Kuu - Kuf @ np.linalg.solve(Ky, Kuf.T)


def predict(Kuu, Kus, Kss, u_mean, u_cov):
    """Mean (s, t) and covariance (s, s) of the function when u ~ N(u_mean, u_cov)."""
    P = np.linalg.solve(Kuu, Kus)
    return P.T @ u_mean, Kss - Kus.T @ P + P.T @ u_cov @ P


def gaussian_expectation(y, mean, variance, noise):
    """E[log N(y; f, noise)] for f ~ N(mean, variance), entry by entry."""
    return -0.5 * np.log(2.0 * np.pi * noise) - 0.5 * ((y - mean) ** 2 + variance) / noise


def uncollapsed_bound(
    Kuu, Kuf, kff, y, noise, u_mean, u_cov, weight=None, expectation=gaussian_expectation
):
    """Bound of Hensman et al. (2013) at q(u) = N(u_mean, u_cov), summed over outputs."""
    P = np.linalg.solve(Kuu, Kuf)
    variance = kff - np.sum(Kuf * P, axis=0) + np.sum(P * (u_cov @ P), axis=0)
    expected = expectation(y, P.T @ u_mean, variance[:, None], noise).sum(axis=1)
    m, t = u_mean.shape
    log_dets = np.linalg.slogdet(Kuu)[1] - np.linalg.slogdet(u_cov)[1]
    kl = 0.5 * t * (np.trace(np.linalg.solve(Kuu, u_cov)) - m + log_dets)
    kl += 0.5 * np.sum(u_mean * np.linalg.solve(Kuu, u_mean))
    return float(expected.sum() if weight is None else weight @ expected) - kl


def moments_of_information(Kuu, H, h):
    """Mean and covariance of u = L v with v ~ N(inv(I + H) h, inv(I + H))."""
    L = np.linalg.cholesky(Kuu)
    S = np.linalg.inv(np.eye(len(H)) + H)
    return L @ S @ h, L @ S @ L.T


def moments_of_data_part(Kuu, Lambda, lam):
    """Mean and covariance of u when q(u) is the prior times exp(-u Lambda u / 2 + lam u)."""
    cov = np.linalg.inv(np.linalg.inv(Kuu) + np.linalg.solve(Kuu, np.linalg.solve(Kuu, Lambda).T))
    return cov @ np.linalg.solve(Kuu, lam), cov


def block_definition(case, rows, model):
    """Kuu (m, m), P (n, m), R (n, n) and c of a block, written as in docs/theory.md, section 9."""
    noise, alpha = case.noise, model.alpha
    w = np.ones(len(rows)) if rows.weight is None else rows.weight
    Kuu = case.matrices()[0]
    Kbu = case.kernel(rows.X, case.Z)
    P = np.linalg.solve(Kuu, Kbu.T).T
    T = case.kernel(rows.X) - P @ Kbu.T
    dense = model.residual == "full" and alpha > 0.0
    if model.residual == "none":
        T = np.zeros_like(T)
    elif not dense:
        T = np.diag(np.diagonal(T))
    if dense:
        R, unit = alpha * T + np.diag(noise / w), noise
        log_det = np.linalg.slogdet(np.eye(len(w)) + alpha * T * (w / noise))[1]
    else:
        unit = noise + alpha * np.diagonal(T)
        R, log_det = np.diag(unit / w), np.sum(w * np.log(unit / noise))
    powers = np.sum(0.5 * (1.0 - w) * np.log(2.0 * np.pi * unit) - 0.5 * np.log(w))
    if alpha == 0.0:
        c = 0.5 * np.sum(w * np.diagonal(T)) / noise
    else:
        c = (1.0 - alpha) / (2.0 * alpha) * log_det
    return Kuu, P, R, c - powers


def conditional_parts(case, X):
    """P (n, m) with f = P u at inputs, their prior covariance K, and the part Q through u."""
    Kuu, Kux, Kxx = case.test_matrices(X)
    P = np.linalg.solve(Kuu, Kux).T
    return P, Kxx, P @ Kux


def central_difference(function, x, step=1e-5):
    """Gradient of a function of a vector, by central differences."""
    shifts = step * np.eye(len(x))
    return np.array([(function(x + s) - function(x - s)) / (2.0 * step) for s in shifts])


# Small problems ---------------------------------------------------------------------------------

KERNELS = {
    "rbf": ConstantKernel(1.5) * RBF([0.8, 1.3]),
    "sum": ConstantKernel(0.7) * RBF(1.1) + ConstantKernel(0.4) * Matern([0.6, 0.9], nu=1.5),
    "product": Matern([0.9, 1.4], nu=2.5) * RationalQuadratic(1.2, 0.8),
    "columns": Columns(ConstantKernel(0.8) * RBF(0.7), [0])
    + Columns(Matern(0.9, nu=2.5), [1]) * DotProduct(0.6)
    + ConstantKernel(0.3, "fixed"),
}


@dataclass(frozen=True)
class Case:
    """A kernel and scaled data, seen by the package and by the definitions above."""

    kernel: Kernel
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    Z: np.ndarray
    noise: float
    delta: float
    precision: np.ndarray | None = None

    @property
    def rows(self):
        """The rows with targets in units of their own, of given precisions."""
        t = self.y.shape[1]
        mean, scale = np.linspace(-3.0, 5.0, t), np.linspace(0.5, 4.0, t)
        rows = Rows(self.X, self.y * scale + mean, self.weight, mean, scale)
        return rows if self.precision is None else rows.with_precision(self.precision)

    @property
    def parameters(self):
        return make_parameters(self.kernel, self.Z, self.noise, centre=self.X.mean(axis=0))

    @property
    def prior(self):
        return Prior.build(self.parameters.kernel, self.Z, self.delta)

    def space(self, fixed=()):
        """All parameters free but the groups named."""
        Z_unit = None if "Z" in fixed else np.array([0.7, 2.0])
        return make_space(len(self.parameters.theta), Z_unit, noise="log_noise" not in fixed)

    def posterior(self, H, h):
        """q(u) of one H (m, m) and h (m, t), or of a tuple of several H."""
        return Posterior(self.prior, H if isinstance(H, tuple) else (H,), h)

    def matrices(self, parameters=None):
        """Kuu, Kuf and kff, at the case's parameters or others."""
        kernel, Z = self.kernel, self.Z
        if parameters is not None:
            kernel, Z = kernel.clone_with_theta(parameters.theta), parameters.Z
        return kernel(Z) + self.delta * np.eye(len(Z)), kernel(Z, self.X), kernel.diag(self.X)

    def optimum(self, coordinates=None, prior=None):
        """The package's optimal q(u)."""
        return self._optimum(coordinates, prior)[0]

    def optimum_and_bound(self, coordinates=None, prior=None):
        """The package's optimal q(u) and the collapsed bound there."""
        q, sums = self._optimum(coordinates, prior)
        return q, collapsed.collapsed_value(q, sums, self.noise)

    def _optimum(self, coordinates, prior):
        prior = self.prior if prior is None else prior
        coordinates = coordinates or choose_coordinates(self.rows, prior, self.noise)
        return collapsed.optimal_q(prior, Pieces.of_rows(self.rows), self.noise, coordinates)

    def blocks(self, n_blocks=3):
        """Blocks of rows of positive weight."""
        rows = self.rows
        if self.weight is not None:
            rows = rows.select(self.weight > 0)
        edges = np.linspace(0, len(rows), n_blocks + 1).astype(int)
        return [rows.select(slice(lo, hi)) for lo, hi in pairwise(edges)]

    def test_matrices(self, Xs):
        """Kuu, Kus and Kss at other inputs."""
        return self.matrices()[0], self.kernel(self.Z, Xs), self.kernel(Xs)


def make_parameters(kernel, Z, noise, *, centre=None, **others):
    """Parameters of the package at the kernel's own values; ``others`` are further groups."""
    centre = np.zeros(Z.shape[1]) if centre is None else centre
    expression = compile_kernel(kernel, centre)
    values = {"theta": expression.theta, "log_noise": np.log(noise), "Z": Z}
    return Parameters(expression, {**values, **others})


def block_factor(prior, rows, noise, model):
    """The factor of some rows whose outputs share one noise variance."""
    (factor,) = block_factors(prior, rows, noise, model)
    return factor


def make_space(n_theta, Z_unit=None, *, noise=True, n_likelihood=0, bound=9.0):
    """Free groups within +-bound, in the package's order; no unit for Z leaves Z fixed."""
    sizes = {"theta": n_theta, "log_noise": int(noise), "likelihood": n_likelihood}
    groups = [Group(name, np.full((n, 2), (-bound, bound))) for name, n in sizes.items() if n]
    if Z_unit is not None:
        groups.append(Group("Z", None, Z_unit))
    return ParameterSpace(tuple(groups))


def make_case(kernel="rbf", *, n=24, m=5, t=1, weighted=False, noise=0.3, delta=1e-6, seed=0):
    """Two inputs, ``t`` noisy functions of them; the weights, if any, contain a zero."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    phases = np.arange(t)
    y = np.sin(X[:, :1] * (1.0 + phases) + X[:, 1:]) + 0.3 * rng.standard_normal((n, t))
    weight = rng.gamma(2.0, 0.7, n) if weighted else None
    if weighted:
        weight[n // 2] = 0.0
    # on a jittered circle, so that Kuu is well conditioned
    angle = 2.0 * np.pi * np.arange(m) / m
    Z = 1.3 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.2 * rng.standard_normal((m, 2))
    return Case(KERNELS[kernel], X, y, weight, Z, noise, delta)


def random_information(m, t, seed=0):
    """A positive definite H (m, m) and an h (m, t) that belong to no data."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((m, m + 2))
    return root @ root.T, 2.0 * rng.standard_normal((m, t))


def random_informations(m, t, seed=0):
    """An H (m, m) for each of t latent functions, and an h (m, t), that belong to no data."""
    H = tuple(random_information(m, 1, seed + c)[0] for c in range(t))
    return H, random_information(m, t, seed)[1]


def minibatch(q, case, *, rows=None, scale=1.0, likelihood=None, **options):
    """Terms of the uncollapsed bound from some of a case's rows, or all."""
    rows = case.rows if rows is None else rows
    return minibatch_bound(q, likelihood or Gaussian(), case.noise, rows, scale, **options)


def make_settings(**changes):
    """Settings of a fit that learns nothing, but for changes."""
    settings = dict(
        optimizer=None,
        init_size=100,
        batch_size=100,
        max_iter=1,
        max_steps=None,
        tol=0.0,
        n_iter_no_change=1,
        learning_rate=0.01,
        natural_step=0.1,
        jitter=1e-8,
        n_jobs=None,
    )
    return Settings(**{**settings, **changes})


def labelled_posterior(case, labels, model):
    """The package's optimal q(u) from the blocks that labels of the rows make."""
    blocks = [case.rows.select(labels == k) for k in np.unique(labels)]
    pieces = pieces_of_blocks(blocks, len(case.Z), model)
    return block_sums(case.prior, pieces, case.noise, model).posterior


class PoissonLogRate:
    """Counts y with log rate f, but for log y!: no Gaussian, and no noise parameter."""

    def expected_log_density(self, y, mean, variance, noise_variance):
        rate = np.exp(mean + variance[:, None] / 2.0)
        value = (y * mean - rate).sum(axis=1)
        return ExpectedLogDensity(value, y - rate, -rate / 2.0, np.zeros(len(y)))


def poisson_expectation(y, mean, variance, noise):
    """E[log N(y; rate exp(f))] but for log y!, for f ~ N(mean, variance), entry by entry."""
    return y * mean - np.exp(mean + variance / 2.0)


# The package's likelihood and the definition of its expectation.
LIKELIHOODS = {
    "gaussian": (Gaussian(), gaussian_expectation),
    "poisson": (PoissonLogRate(), poisson_expectation),
}
MODELS = {
    "dtc": Model("none"),
    "vfe": Model("diagonal", 0.0),
    "power-ep": Model("diagonal", 0.4),
    "fitc": Model("diagonal", 1.0),
    "block power-ep": Model("full", 0.4),
    "block variational": Model("full", 0.0),
    "pitc": Model("full", 1.0),
}

# What tests vary over, and what they compare ----------------------------------------------------

COORDINATES = pytest.mark.parametrize("coordinates", [Direct, Whitened])
WEIGHTED = pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
OUTPUTS = pytest.mark.parametrize("t", [1, 2])
EVERY_KERNEL = pytest.mark.parametrize("kernel", KERNELS)
EVERY_LIKELIHOOD = pytest.mark.parametrize("likelihood", LIKELIHOODS)
EVERY_MODEL = pytest.mark.parametrize("name", MODELS)
# every kernel with all parameters free, and one with fixed noise or fixed Z
KERNEL_AND_FIXED = pytest.mark.parametrize(
    "kernel, fixed",
    [*((kernel, ()) for kernel in KERNELS), ("columns", ("log_noise",)), ("columns", ("Z",))],
)


def assert_moments(predict, mean, covariance, **tolerance):
    """A conditional's three predictions have a dense mean (n, t) and covariance (n, n).

    ``predict(name)`` calls the conditional's method of a name.
    """
    tolerance = {"rtol": 1e-7, "atol": 1e-9, **tolerance}
    ours, full = predict("mean_covariance")
    assert_allclose(ours, mean, **tolerance)
    assert full.shape == (len(mean), len(mean), 1)
    assert_allclose(full[:, :, 0], covariance, **tolerance)
    ours, variance = predict("mean_variance")
    assert_allclose(ours, mean, **tolerance)
    assert variance.shape == (len(mean), 1)
    assert_allclose(variance[:, 0], np.diagonal(covariance), **tolerance)
    assert_allclose(predict("mean"), mean, **tolerance)


def assert_gradient(gradient, function, space, start, rtol=1e-6, atol=None, step=1e-5):
    """The packed gradient is that of ``function(parameters)`` by central differences."""
    x = space.pack(start)
    expected = central_difference(lambda x: function(space.unpack(x, start)), x, step)
    atol = rtol * np.abs(expected).max() if atol is None else atol
    assert_allclose(space.pack_gradient(gradient), expected, rtol=rtol, atol=atol)


def assert_same_gradient(gradient, expected, **tolerance):
    """Two gradients have the same groups and, within a tolerance, the same entries."""
    assert set(gradient) == set(expected)
    for name, part in gradient.items():
        assert_allclose(part, expected[name], err_msg=name, **tolerance)


def held_moments(case, H, h, coordinates):
    """Moments of u as a function of Kuu, with what the coordinates hold held fixed."""
    if coordinates is Whitened:
        return lambda Kuu: moments_of_information(Kuu, H, h)
    L = np.linalg.cholesky(case.matrices()[0])
    return lambda Kuu: moments_of_data_part(Kuu, L @ H @ L.T, L @ h)
