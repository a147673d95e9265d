"""Small tables and dense definitions of the bound of latent inputs."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp.kernels import compile_kernel
from sklearn_sgp.latents.table import Scaling, Table
from sklearn_sgp.optimize.parameters import Group, Parameters, ParameterSpace

NAMES = ("theta", "log_noise", "Z", "mean", "log_variance")
SPACE = ParameterSpace(tuple(Group(name, None) for name in NAMES))


def small_table(missing, n=12, P=4, seed=0):
    """A table with or without missing entries; two columns miss the same ones."""
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(n, P))
    if missing:
        Y[rng.random((n, P)) < 0.3] = np.nan
        Y[:, 1] = np.where(np.isnan(Y[:, 0]), np.nan, rng.normal(size=n))
        Y[0] = np.nan
    return Table.of(Y, Scaling.fit(Y, True))


def small_parameters(table, shared, kernel=None, Q=2, m=5, seed=1):
    """Parameters with q(x) for the rows of a table."""
    rng = np.random.default_rng(seed)
    n, P = table.Y.shape
    kernel = ConstantKernel(1.3) * RBF(np.linspace(1.0, 2.0, Q)) if kernel is None else kernel
    expression = compile_kernel(kernel, np.zeros(Q))
    values = {
        "theta": expression.theta,
        "log_noise": -1.0 if shared else rng.normal(-1.0, 0.3, P),
        "Z": rng.normal(size=(m, Q)),
        "mean": rng.normal(size=(n, Q)),
        "log_variance": rng.normal(-1.0, 0.5, (n, Q)),
    }
    return Parameters(expression, values)


def dense_moments(parameters, nodes=30):
    """psi1 (n, m) and psi2 (n, m, m) by Gauss-Hermite over two latent dimensions, and psi0 (n,)."""
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    points = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    weights = np.outer(w, w).ravel() / w.sum() ** 2
    kernel, Z = parameters.expression.kernel.clone_with_theta(parameters.theta), parameters.Z
    psi0, psi1, psi2 = [], [], []
    for mu, eta in zip(parameters.values["mean"], parameters.values["log_variance"], strict=True):
        X = mu + np.exp(0.5 * eta) * points
        K = kernel(X, Z)
        psi0.append(weights @ kernel.diag(X))
        psi1.append(weights @ K)
        psi2.append(K.T * weights @ K)
    return np.array(psi0), np.array(psi1), np.array(psi2)


def dense_bound(parameters, table, delta):
    """The collapsed bound of each output on its own rows, with N x N matrices (Titsias 2010)."""
    psi0, psi1, psi2 = dense_moments(parameters)
    kernel = parameters.expression.kernel.clone_with_theta(parameters.theta)
    K = kernel(parameters.Z) + delta * np.eye(len(parameters.Z))
    Y = (table.Y - table.scaling.mean) / table.scaling.scale
    noises = np.broadcast_to(parameters.noise_variance, Y.shape[1])
    total = 0.0
    for y, s2 in zip(Y.T, noises, strict=True):
        seen = ~np.isnan(y)
        y, A, B = y[seen], psi1[seen], psi2[seen].sum(axis=0)
        inner = s2 * K + B
        W = np.eye(len(y)) / s2 - A @ np.linalg.solve(inner, A.T) / s2
        total += 0.5 * (np.linalg.slogdet(K)[1] - np.linalg.slogdet(inner)[1])
        total += 0.5 * len(K) * np.log(s2) - 0.5 * len(y) * np.log(2.0 * np.pi * s2)
        unexplained = psi0[seen].sum() - np.trace(np.linalg.solve(K, B))
        total -= 0.5 * (y @ W @ y + unexplained / s2)
    mean, s = parameters.values["mean"], np.exp(parameters.values["log_variance"])
    return total - 0.5 * (s + mean**2 - 1.0 - np.log(s)).sum()
