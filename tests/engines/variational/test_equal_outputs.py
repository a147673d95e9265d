"""Mixed outputs that are nearly equal count as one, where their noise is shared."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import StreamingSGPRegressor, SVGPRegressor
from sklearn_sgp.data.rows import make_rows
from sklearn_sgp.data.targets import Targets
from sklearn_sgp.engines.variational.equal_outputs import _shares, left_out_density
from sklearn_sgp.objectives.collapsed import collapsed_bound
from sklearn_sgp.objectives.multi_output import coregionalised_bound


def rows_of(X, y):
    return make_rows(X, y, None, Targets(2, np.zeros(y.shape[1]), np.ones(y.shape[1])))


@pytest.fixture
def fitted(rng):
    """Three outputs of two functions, with inducing inputs at all rows, some targets missing."""
    X = rng.uniform(-2.0, 2.0, (25, 1))
    y = np.column_stack([np.sin(X), np.sin(X), np.cos(2 * X)]) + 0.3 * rng.normal(size=(25, 3))
    y[3, 1] = y[7, 2] = np.nan
    options = {"inducing": X, "optimizer": None, "noise_variance": [0.1, 0.2, 0.05]}
    model = SVGPRegressor(RBF(0.8), n_latent=2, normalize_y=(0.0, 1.0), **options).fit(X, y)
    return model, X, y


def in_turn(model, X, y):
    """Log densities of rows, summed over outputs, each given all other rows by a fit of these."""
    q, s2, log_p = model._fitted.posterior, model.noise_variance_, []
    W, n = q.mixing, len(X)
    K = np.einsum("nm,pr->npmr", RBF(0.8)(X), W @ W.T).reshape(3 * n, 3 * n)
    noise = np.tile(s2, n)
    for i in range(n):
        known = ~np.isnan(y.ravel()) & (np.arange(3 * n) // 3 != i)
        own = np.flatnonzero(~np.isnan(y[i])) + 3 * i
        gain = np.linalg.solve((K + np.diag(noise))[np.ix_(known, known)], K[np.ix_(known, own)])
        mean = gain.T @ y.ravel()[known]
        variance = np.diag(K)[own] - (gain * K[np.ix_(known, own)]).sum(axis=0) + noise[own]
        far = (y.ravel()[own] - mean) ** 2 / variance
        log_p.append(-0.5 * (np.log(2.0 * np.pi * variance) + far).sum())
    return np.array(log_p)


def test_left_out_rows_are_predicted_from_the_others(fitted):
    """q(u) divided by a row's factors is that of the dense process without the row."""
    model, X, y = fitted
    found = left_out_density(model._fitted, rows_of(X, y))
    assert_allclose(found, in_turn(model, X, y), rtol=1e-4)


def test_equal_outputs_with_shares_have_the_bound_of_one(rng):
    """Value and gradients; without shares it is that of two rows for each."""
    X = rng.uniform(-2.0, 2.0, (30, 1))
    y = np.sin(2 * X) + 0.2 * rng.normal(size=X.shape)
    kernel = SVGPRegressor(RBF(0.7), optimizer=None, n_inducing=6, random_state=0).fit(X, y[:, 0])
    begun = kernel._fitted.parameters.with_values(log_noise=np.log(0.05))
    mixed = {"mixing": np.full((3, 1), 1.0), "log_noise": np.full(3, np.log(0.05))}
    three = begun.with_values(**mixed, shares=np.full(3, 1.0 / 3.0))
    rows = rows_of(X, np.hstack([y, y, y]))
    value, gradient = coregionalised_bound(three, rows, 1e-8, patterns=[np.arange(3)])
    expected, of_one = collapsed_bound(begun, rows_of(X, y), 1e-8)
    assert_allclose(value, expected, rtol=1e-10)
    assert_allclose(gradient["theta"], of_one["theta"], rtol=1e-6)
    assert_allclose(gradient["log_noise"].sum(), of_one["log_noise"], rtol=1e-6)
    assert_allclose(gradient["Z"], of_one["Z"], rtol=1e-5, atol=1e-8)
    step = np.array([0.0, 1e-5, 0.0])
    for name, at in (("log_noise", step), ("mixing", step[:, None])):
        ends = [
            coregionalised_bound(
                three.with_values(**{name: three.values[name] + sign * at}),
                rows,
                1e-8,
                patterns=[np.arange(3)],
            )[0]
            for sign in (1.0, -1.0)
        ]
        assert_allclose(np.ravel(gradient[name])[1], (ends[0] - ends[1]) / 2e-5, rtol=1e-5)


def test_which_outputs_are_nearly_equal(rng):
    """Up to sign and scale; constants and outputs that are seldom seen together are not."""
    y = rng.normal(size=(50, 6))
    y[:, 1] = -3.0 * y[:, 0] + 5.0
    y[:, 3] = 7.0
    y[:, 5] = y[:, 4]
    y[:45, 5] = np.nan
    assert_allclose(_shares(rows_of(np.zeros((50, 1)), y)), [0.5, 0.5, 1.0, 1.0, 1.0, 1.0])


def table(kind, rng, n):
    X = rng.uniform(-2.0, 2.0, (n, 1))
    f, e = np.sin(2.0 * X[:, 0]), 0.2 * rng.normal(size=n)
    if kind == "apart":
        return X, f[:, None] + 0.02 * rng.normal(size=(n, 2))
    return X, np.column_stack([f + e, -3.0 * (f + e) + 5.0 + 0.003 * rng.normal(size=n)])


@pytest.mark.parametrize("n_latent", [1, 2])
@pytest.mark.parametrize("seed", [0, 3])
def test_bands_of_nearly_equal_outputs(n_latent, seed):
    """They are those of one output alone; .67 to .70 of new targets were within 90 % of them."""
    rng = np.random.default_rng(seed)
    (X, y), (new, _) = table("equal", rng, 80), table("equal", rng, 100)
    model = SVGPRegressor(n_latent=n_latent, random_state=0).fit(X, y)
    mean, std = model.predict(new, return_std=True)
    alone, own = SVGPRegressor(random_state=0).fit(X, y[:, 0]).predict(new, return_std=True)
    assert_allclose(mean[:, 0], alone, atol=0.05)
    assert_allclose(std[:, 0], own, rtol=0.1)
    assert_allclose(std[:, 1], 3.0 * own, rtol=0.1)


@pytest.mark.parametrize("estimator", [SVGPRegressor, StreamingSGPRegressor])
def test_noise_that_is_not_shared(estimator, rng):
    """Outputs of one function count whole, however little noise they have."""
    model = estimator(n_latent=2, random_state=0).fit(*table("apart", rng, 80))
    assert "shares" not in model._fitted.parameters.values
