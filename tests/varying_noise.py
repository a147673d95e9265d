"""A sine whose noise depends on the input, and estimators that learn it in few iterations."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor

KERNEL = ConstantKernel() * RBF(1.0)
X_TEST = np.linspace(0.0, 10.0, 60)[:, None]


def sd(X):
    """Of the noise."""
    return 0.05 + 0.3 * np.exp(-0.5 * (X[:, 0] - 6.0) ** 2)


def data(n=500, seed=0, tails=None):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 10.0, (n, 1))
    unit = rng.standard_normal(n) if tails is None else rng.standard_t(tails, n)
    return X, np.sin(X[:, 0]) + sd(X) * unit


def made(model=None, likelihood="heteroscedastic", **parameters):
    kind = SVGPRegressor if model is None else AnytimeSGPRegressor
    shared = {"kernel": KERNEL, "n_inducing": 20, "random_state": 0, "max_iter": 40}
    if model is not None:
        shared |= {"model": model, "block_size": 200, "n_neighbors": 20}
    return kind(likelihood=likelihood, **{**shared, **parameters})
