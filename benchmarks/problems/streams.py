"""Streams made from random numbers. NumPy only: the GPflow environment reads it too."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

LINE_NOISE = 0.1
LINE_END = 10.0
GP_LENGTH_SCALE, GP_NOISE = 1.0, 0.3


def line_truth(x):
    return np.sin(2.0 * x) + 0.5 * np.cos(3.1 * x)


def line(n, seed):
    """Rows from left to right."""
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(0.0, LINE_END, (n, 1)), axis=0)
    return X, line_truth(X[:, 0]) + LINE_NOISE * rng.standard_normal(n)


def line_rmse(predict):
    """RMSE of a predicted mean to the true function over the whole line."""
    grid = np.linspace(0.0, LINE_END, 1001)
    return float(np.sqrt(np.mean((predict(grid[:, None]) - line_truth(grid)) ** 2)))


def gp_draw(n, seed):
    """A draw from a squared exponential GP of unit variance, with noise, in random order."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 10.0, (n, 1))
    K = np.exp(-0.5 * ((X - X.T) / GP_LENGTH_SCALE) ** 2)
    K[np.diag_indices(n)] += 1e-8  # or it is not positive definite
    f = np.linalg.cholesky(K) @ rng.standard_normal(n)
    return X, f + GP_NOISE * rng.standard_normal(n)


def plane(n, seed=0):
    """Two inputs in random order."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    f = np.sin(6.0 * X[:, 0]) * np.cos(5.0 * X[:, 1]) + X[:, 0]
    return X, f + 0.1 * rng.standard_normal(n)


def fresh_plane():
    """Rows of `plane` to score a model on."""
    return plane(2000, seed=1)


def drifting(time, size, rng):
    """Rows of a function that is another at every time, and itself again after a unit of it."""
    X = rng.uniform(0.0, 10.0, (size, 1))
    f = np.sin(2.0 * X[:, 0] + 2.0 * np.pi * time)
    return X, f + 0.1 * rng.standard_normal(size)


@dataclass(frozen=True)
class Wild:
    """A random stream of `wild`, and fresh rows of the same function.

    Parameters
    ----------
    batches : list of (X, y)
    fresh : (X, y)
    options : dict
        Parameters of the estimator.
    traits : dict
        What it was drawn to be.
    """

    batches: list
    fresh: tuple
    options: dict
    traits: dict


def wild(seed, n_fresh=200):
    """A stream of random shape, scale, noise and order."""
    rng = np.random.default_rng(seed)
    domain = 10.0 ** rng.uniform(-2, 3)
    length_scale = domain * 10.0 ** rng.uniform(-3, 3)
    noise = 10.0 ** rng.uniform(-6, 1)
    d = int(rng.integers(1, 4))
    signal = _features(rng, d, length_scale)
    unit = 10.0 ** rng.uniform(-3, 3)
    n_batches, m = int(rng.integers(3, 12)), int(rng.integers(5, 60))
    alpha = float(rng.choice([0.0, 0.0, 0.5, 1.0]))
    ordered = bool(rng.random() < 0.4)
    sizes = [int(rng.integers(1, 201)) for _ in range(n_batches)]
    X = rng.uniform(0.0, domain, (sum(sizes), d))
    repeated = bool(rng.random() < 0.5)
    if repeated:
        X = X[rng.integers(0, len(X) // 3 + 1, len(X))]
    if ordered:
        X = X[np.argsort(X[:, 0])]

    def observed(X):
        return unit * (signal(X) + noise * rng.standard_normal(len(X)))

    y, edges = observed(X), np.cumsum(sizes)[:-1]
    X_fresh = rng.uniform(0.0, domain, (n_fresh, d))
    return Wild(
        list(zip(np.split(X, edges), np.split(y, edges), strict=True)),
        (X_fresh, observed(X_fresh)),
        {"n_inducing": m, "alpha_divergence": alpha},
        {
            "relative_length_scale": length_scale / domain,
            "noise": noise,
            "d": d,
            "unit": unit,
            "domain": domain,
            "ordered": ordered,
            "repeated": repeated,
            "sizes": sizes,
        },
    )


def _features(rng, d, length_scale, count=200) -> Callable:
    """A function of unit variance from random Fourier features."""
    frequencies = rng.standard_normal((count, d)) / length_scale
    phases = rng.uniform(0.0, 2.0 * np.pi, count)
    weights = np.sqrt(2.0 / count) * rng.standard_normal(count)
    return lambda X: np.cos(X @ frequencies.T + phases) @ weights
