"""Small streams: rows in batches, estimators that take them, and bounds of one batch."""

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from dense import central_difference, make_parameters, make_space
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import StreamingSGPRegressor
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.streams.band_places import NO_PLACES
from sklearn_sgp.engines.streams.inducing import NO_PAIRS
from sklearn_sgp.engines.streams.old_posterior import OldPosterior
from sklearn_sgp.engines.streams.online_bound import ConjugateOnlineBound

# Estimators -------------------------------------------------------------------------------------

# What leaves a stream without a sample of its rows.
without_sample = pytest.mark.parametrize(
    "options",
    [
        {"optimizer": None},
        {"noise_variance": 1e-3, "noise_variance_bounds": "fixed"},
        {"forget_factor": 0.99},
    ],
    ids=["nothing learned", "noise given", "rows fade"],
)

FIXED = ConstantKernel(1.5) * RBF(0.8)
SCALING = (0.0, 1.0)


def batches(X, y, *cuts):
    """Successive pieces of the rows."""
    edges = [0, *cuts, len(X)]
    return [(X[lo:hi], y[lo:hi]) for lo, hi in pairwise(edges)]


def taught(model, pieces):
    """The estimator after these batches."""
    for piece in pieces:
        model.partial_fit(*piece)
    return model


def fixed(**options):
    """A regressor that learns nothing but the posterior."""
    defaults = {"noise_variance": 0.05, "optimizer": None, "normalize_y": SCALING}
    return StreamingSGPRegressor(FIXED, **{**defaults, **options})


def make_line(rng):
    """900 rows of a smooth function, from left to right: X (900, 1) and y (900,)."""
    X = np.sort(rng.uniform(0.0, 9.0, (900, 1)), axis=0)
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(900)


def with_equal_bands(model):
    """A copy of a stream whose bands do not depend on the place."""
    other = pickle.loads(pickle.dumps(model))
    state = replace(other._fitted.state, places=NO_PLACES)
    other._fitted = replace(other._fitted, state=state)
    return other


def without_residuals(model):
    """A copy of a stream that predicts no residuals of its sample."""
    other = pickle.loads(pickle.dumps(model))
    state = other._fitted.state
    places = replace(state.places, residuals=None)
    other._fitted = replace(other._fitted, state=replace(state, places=places))
    return other


def assert_all_have_the_same_bands(model, X, y, rtol):
    """Covariances, draws, quantiles (to ``rtol``) and densities agree with the deviations."""
    mean, std = model.predict(X, return_std=True)
    own = model.predict(X, return_std=True, include_noise=False)[1]
    _, covariance = model.predict(X, return_cov=True)
    assert_allclose(np.sqrt(np.diag(covariance)), std, rtol=1e-6)
    assert_allclose(
        model.predict_quantiles(X, [0.5, 0.95])[:, 1], mean + 1.6448536 * std, rtol=rtol
    )
    expected = -0.5 * np.log(2.0 * np.pi * std**2) - 0.5 * ((y - mean) / std) ** 2
    assert_allclose(model.log_density(X, y), expected, rtol=1e-9)
    draws = model.sample_y(X, 4000, random_state=0, include_noise=False)
    assert_allclose(draws.std(axis=1), own, rtol=0.08)
    draws = model.sample_y(X, 4000, random_state=0, method="pathwise")
    assert_allclose(draws.std(axis=1), std, rtol=0.08)
    told = model.predict_distribution(X)
    assert_allclose(told.ppf([[0.95], [0.5]])[0], mean + 1.6448536 * std, rtol=rtol)
    assert_allclose(told.rvs((4000, len(X)), random_state=0).std(axis=0), std, rtol=0.08)


def log_parameters(model):
    """Logarithms of what a stream has learned about kernel and noise."""
    return np.append(model.kernel_.theta, np.log(model.noise_variance_))


def in_units(model):
    """The same for the default kernel, in units of y, which a stream's own units follow."""
    log_square = 2.0 * np.log(model.y_scale_)
    return log_parameters(model) + np.array([log_square, 0.0, log_square])


# Bounds of one batch ----------------------------------------------------------------------------

DELTA, NOISE = 1e-8, 0.09
ALPHAS = [0.0, 0.01, 0.5, 1.0]


def kernel_of(length_scale=(0.7, 1.3), variance=1.4):
    return ConstantKernel(variance) * RBF(list(length_scale))


def parameters_of(Z, noise=NOISE, **kernel):
    return make_parameters(kernel_of(**kernel), np.array(Z), noise, centre=np.zeros(2))


def rows_of(n, seed=0, t=1, weighted=False):
    """Two inputs, ``t`` noisy functions of them, targets as scaled."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    y = np.sin(2.0 * X[:, :1]) + X[:, 1:] * np.arange(t) + 0.3 * rng.standard_normal((n, t))
    weight = rng.choice([0.5, 1.0, 2.0], n) if weighted else None
    return Rows(X, y, weight, np.zeros(t), np.ones(t))


def split(rows, *cuts):
    edges = [0, *cuts, len(rows)]
    return [rows.select(slice(lo, hi)) for lo, hi in pairwise(edges)]


def bound_of(rows, old=None, kept=NO_PAIRS, alpha=0.0, delta=DELTA):
    """The bound for Gaussian noise, with one power for rows and old posterior."""
    return ConjugateOnlineBound(rows, old, kept, delta, alpha=alpha, power=alpha)


def run(batches, Zs, kepts, alpha=0.0, **kernel):
    """Posterior and summed bounds after some batches, each with its own inducing inputs."""
    old, total = None, 0.0
    for rows, Z, kept in zip(batches, Zs, kepts, strict=True):
        posterior, value = bound_of(rows, old, kept, alpha).posterior(parameters_of(Z, **kernel))
        old, total = OldPosterior.of(posterior), total + value
    return posterior, total


def predictions(posterior, X):
    """Latent means and variances side by side."""
    return np.column_stack(posterior.mean_variance(X))


def two_steps(alpha, delta=DELTA):
    """A first batch, then a second under another kernel, noise and inducing inputs."""
    first, second = rows_of(25), rows_of(12, seed=5)
    Z_old, moved = rows_of(6, seed=1).X, rows_of(7, seed=2).X
    moved[4] = Z_old[1]
    moved[5] = Z_old[3] + 0.05  # kept, and moved
    kept = np.array([[4, 1], [5, 3]])
    posterior, _ = run([first], [Z_old], [NO_PAIRS], alpha)
    new = parameters_of(moved, noise=0.14, length_scale=(0.9, 1.1), variance=2.0)
    bound = bound_of(second, OldPosterior.of(posterior), kept, alpha, delta)
    return posterior, second, kept, new, bound


def check_gradient(bound, parameters, rtol=1e-5):
    """Agrees with differences; inducing inputs that have not moved are held."""
    space = make_space(3, np.array([0.7, 1.2]))
    x = space.pack(parameters)
    value, gradient = bound(parameters)
    assert np.isfinite(value)
    is_held = np.zeros(parameters.Z.shape, dtype=bool)
    if bound.old is not None:
        new, gone = bound.kept.T
        is_held[new] = (parameters.Z[new] == bound.old.prior.Z[gone]).all(axis=1)[:, None]
        assert is_held.any() and not is_held.all()
    found = space.pack_gradient(gradient)
    expected = central_difference(lambda x: bound(space.unpack(x, parameters))[0], x)
    is_free = np.append(np.ones(len(x) - is_held.size, dtype=bool), ~is_held.ravel())
    found, expected = found[is_free], expected[is_free]
    assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


# Random streams ---------------------------------------------------------------------------------


def random_stream(seed, n_fresh=200):
    """A stream of random shape, scale, noise and order, as in `benchmarks/problems/streams.py`.

    Returns
    -------
    pieces : list of (X, y)
    fresh : (X, y)
        Other rows of the same function.
    options : dict
        Parameters of the estimator.
    """
    rng = np.random.default_rng(seed)
    domain = 10.0 ** rng.uniform(-2, 3)
    length_scale = domain * 10.0 ** rng.uniform(-3, 3)
    noise = 10.0 ** rng.uniform(-6, 1)
    d = int(rng.integers(1, 4))
    signal = _smooth_function(rng, d, length_scale)
    unit = 10.0 ** rng.uniform(-3, 3)
    n_batches, m = int(rng.integers(3, 12)), int(rng.integers(5, 60))
    alpha = float(rng.choice([0.0, 0.0, 0.5, 1.0]))
    is_sorted = rng.random() < 0.4
    sizes = [int(rng.integers(1, 201)) for _ in range(n_batches)]
    X = rng.uniform(0.0, domain, (sum(sizes), d))
    if rng.random() < 0.5:  # repeated rows
        X = X[rng.integers(0, len(X) // 3 + 1, len(X))]
    if is_sorted:
        X = X[np.argsort(X[:, 0])]

    def observed(X):
        return unit * (signal(X) + noise * rng.standard_normal(len(X)))

    y, X_fresh = observed(X), rng.uniform(0.0, domain, (n_fresh, d))
    options = {"n_inducing": m, "alpha_divergence": alpha, "random_state": 0}
    return batches(X, y, *np.cumsum(sizes)[:-1]), (X_fresh, observed(X_fresh)), options


def _smooth_function(rng, d, length_scale, count=200):
    """A function of unit variance from random Fourier features."""
    frequencies = rng.standard_normal((count, d)) / length_scale
    phases = rng.uniform(0.0, 2.0 * np.pi, count)
    weights = np.sqrt(2.0 / count) * rng.standard_normal(count)
    return lambda X: np.cos(X @ frequencies.T + phases) @ weights


def fresh_residual(seed):
    """Mean squared standardised residual of fresh rows after a `random_stream`."""
    pieces, (X, y), options = random_stream(seed)
    mean, std = taught(StreamingSGPRegressor(**options), pieces).predict(X, return_std=True)
    return float(np.mean(((y - mean) / std) ** 2))
