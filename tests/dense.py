"""Gaussian processes by their definitions: dense, slow, obvious; and small problems to try.

Nothing in the first half shares code with the package, kernels included: those are scikit-learn's
own. Matrices are named as in docs/theory.md: ``Kuu`` (m, m) includes its jitter, ``Kuf`` is
(m, n), ``kff`` (n,) a diagonal; targets ``y`` are (n, t) and as scaled.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Kernel,
    Matern,
    RationalQuadratic,
)

from sklearn_sgp.kernels import Columns, compile_kernel
from sklearn_sgp.optimize.learning import Parameters
from sklearn_sgp.gp.posterior import Posterior, Prior
from sklearn_sgp.data.rows import Rows


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

    @property
    def rows(self):
        """The rows with targets in units of their own."""
        t = self.y.shape[1]
        mean, scale = np.linspace(-3.0, 5.0, t), np.linspace(0.5, 4.0, t)
        return Rows(self.X, self.y * scale + mean, self.weight, mean, scale)

    @property
    def parameters(self):
        expression = compile_kernel(self.kernel, self.X.mean(axis=0))
        return Parameters(expression, expression.theta, float(np.log(self.noise)), self.Z)

    @property
    def prior(self):
        return Prior.build(self.parameters.kernel, self.Z, self.delta)

    def posterior(self, H, h):
        return Posterior(self.prior, H, h)

    def matrices(self, parameters=None):
        """Kuu, Kuf and kff, at the case's parameters or others."""
        kernel, Z = self.kernel, self.Z
        if parameters is not None:
            kernel, Z = kernel.clone_with_theta(parameters.theta), parameters.Z
        return kernel(Z) + self.delta * np.eye(len(Z)), kernel(Z, self.X), kernel.diag(self.X)

    def test_matrices(self, Xs):
        """Kuu, Kus and Kss at other inputs."""
        return self.matrices()[0], self.kernel(self.Z, Xs), self.kernel(Xs)


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
