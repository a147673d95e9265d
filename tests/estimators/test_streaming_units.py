"""Centre and scale of a stream's targets follow its rows, and what it knows with them."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from stream_helpers import batches, taught

from sklearn_sgp import StreamingSGPRegressor
from sklearn_sgp.engines.streams.units import UnitChange, in_other_units

Z = np.linspace(0.0, 6.0, 15)[:, None]
GRID = np.linspace(-1.0, 7.0, 30)[:, None]


def made(rng, n=200):
    """Rows whose level rises: each batch has a mean of its own."""
    X = np.sort(rng.uniform(0.0, 6.0, (n, 1)), axis=0)
    return X, 50.0 + 10.0 * X[:, 0] + np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("white", [False, True])
def test_any_split_is_the_batch_posterior(alpha, n_outputs, white, rng):
    """With given kernel and Z batches are one batch of all rows, though their units differ."""
    X, y = made(rng)
    if n_outputs == 2:
        y = np.column_stack([y, -3.0 * y + rng.normal(size=len(y))])
    kernel = ConstantKernel(1.3) * RBF(1.0) + (WhiteKernel(0.05) if white else 0.0 * RBF())
    kernel = kernel if white else ConstantKernel(1.3) * RBF(1.0)
    options = {"inducing": Z, "optimizer": None, "alpha_divergence": alpha}
    if not white:
        options["noise_variance"] = 0.05
    weight = rng.uniform(0.5, 2.0, len(X))
    whole = StreamingSGPRegressor(kernel, **options).partial_fit(X, y, sample_weight=weight)
    split = StreamingSGPRegressor(kernel, **options)
    for lo, hi in ((0, 7), (7, 60), (60, 61), (61, 200)):
        split.partial_fit(X[lo:hi], y[lo:hi], sample_weight=weight[lo:hi])
    assert_allclose(split.y_mean_, whole.y_mean_, rtol=1e-12)
    assert_allclose(split.y_scale_, whole.y_scale_, rtol=1e-12)
    scale = np.reshape(whole.y_scale_, -1)
    mean, std = whole.predict(GRID, return_std=True)
    found, found_std = split.predict(GRID, return_std=True)
    assert np.abs((found - mean) / scale).max() < 1e-9
    assert np.abs((found_std - std) / scale).max() < 1e-10


def test_batches_that_fade_take_their_level_along(rng):
    """With given Z a batch that is k batches old counts factor^k, though its centre was another."""
    X, y = made(rng)
    options = {"inducing": Z, "optimizer": None, "alpha_divergence": 0.0, "noise_variance": 0.05}
    kernel, weight = ConstantKernel(1.3) * RBF(1.0), np.repeat([0.16, 0.4, 1.0], [80, 70, 50])
    split = StreamingSGPRegressor(kernel, forget_factor=0.4, **options)
    taught(split, batches(X, y, 80, 150))
    whole = StreamingSGPRegressor(kernel, **options).partial_fit(X, y, sample_weight=weight)
    assert_allclose(split.y_mean_, whole.y_mean_, rtol=1e-12)
    for found, expected in zip(split.predict(GRID, True), whole.predict(GRID, True), strict=True):
        assert_allclose(found, expected, atol=1e-6 * whole.y_scale_)


@pytest.mark.parametrize("options", [{}, {"n_latent": 1}, {"n_latent": 2}])
def test_learned_streams_predict_the_same_in_other_units(options, rng):
    """A change of scale changes nothing that a stream says of y; its prior's centre moves."""
    X, y = made(rng)
    y = np.column_stack([y, -3.0 * y + rng.normal(size=len(y))])
    model = StreamingSGPRegressor(n_inducing=15, random_state=0, **options)
    taught(model, batches(X, y, 100))
    fitted = model._fitted
    mean, std = model.predict(GRID, return_std=True)
    change = UnitChange(np.zeros(2), np.full(2, 0.25))
    targets = fitted.targets
    other = replace(
        in_other_units(fitted, change), targets=replace(targets, scale=4.0 * targets.scale)
    )
    again = pickle.loads(pickle.dumps(model))
    again._fitted = other
    found, found_std = again.predict(GRID, return_std=True)
    assert_allclose(found, mean, rtol=1e-8)
    assert_allclose(found_std, std, rtol=1e-8)


def test_streams_of_categories_predict_the_same_in_other_units(rng):
    """Variances in F and b stayed those of the targets' scale, and new categories' as well."""
    X = np.column_stack([rng.uniform(0.0, 6.0, 240), np.arange(240) % 6])
    levels = 3.0 * rng.normal(size=6)[X[:, 1].astype(int)]
    y = levels + np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=240)
    model = StreamingSGPRegressor(n_inducing=25, categorical_features=[1], random_state=0)
    taught(model, batches(X, y, 120))
    new = np.column_stack([np.linspace(-1.0, 9.0, 40), np.arange(40) % 8])
    mean, std = model.predict(new, return_std=True)
    fitted, again = model._fitted, pickle.loads(pickle.dumps(model))
    change, targets = UnitChange(np.zeros(1), np.full(1, 0.25)), fitted.targets
    again._fitted = replace(
        in_other_units(fitted, change), targets=replace(targets, scale=4.0 * targets.scale)
    )
    found, found_std = again.predict(new, return_std=True)
    assert_allclose(found, mean, rtol=1e-8)
    assert_allclose(found_std, std, rtol=1e-8)
    prior, kept = (one._fitted.parameters.kernel for one in (model, again))
    assert_allclose(16.0 * kept.diag(new), prior.diag(new), rtol=1e-8)


@pytest.mark.quick_cases("5-50.0", "60-0.0")
@pytest.mark.parametrize("level", [0.0, 50.0, 101_325.0])
@pytest.mark.parametrize("n_quiet", [60, 5])
def test_a_first_batch_of_constants_is_not_for_ever(level, n_quiet):
    """Bands after five batches are those of the noise, whatever a sensor that stood still said."""
    rng = np.random.default_rng(3)
    model = StreamingSGPRegressor(n_inducing=30, random_state=0)
    model.partial_fit(rng.uniform(0.0, 10.0, (n_quiet, 1)), np.full(n_quiet, level))
    for k in range(1, 6):
        X = rng.uniform(10.0 * k, 10.0 * k + 10.0, (60, 1))
        y = level + 5.0 * np.sin(X[:, 0]) + 0.5 * rng.normal(size=60)
        model.partial_fit(X, y)
    X = np.linspace(51.0, 59.0, 50)[:, None]
    mean, std = model.predict(X, return_std=True)
    assert np.sqrt(np.mean((mean - level - 5.0 * np.sin(X[:, 0])) ** 2)) < 0.5
    assert 0.4 < np.median(std) < 1.2


@pytest.mark.filterwarnings("ignore:Batches should go on")  # rightly
def test_a_quiet_sensor_is_not_for_ever():
    """A stream that began with deviations of 0.01 has the bands of deviations of 5."""
    rng = np.random.default_rng(1)
    model = StreamingSGPRegressor(n_inducing=30, random_state=0)
    model.partial_fit(rng.uniform(0.0, 10.0, (100, 1)), 20.0 + 0.01 * rng.normal(size=100))
    for _ in range(4):
        X = rng.uniform(0.0, 10.0, (100, 1))
        model.partial_fit(X, 20.0 + 5.0 * np.sin(X[:, 0]) + 0.5 * rng.normal(size=100))
    X = rng.uniform(0.0, 10.0, (400, 1))
    y = 20.0 + 5.0 * np.sin(X[:, 0]) + 0.5 * rng.normal(size=400)
    mean, std = model.predict(X, return_std=True)
    assert 0.8 < np.mean(np.abs(y - mean) < 1.645 * std) < 0.97
    assert std.max() < 1.0


@pytest.mark.quick_cases("0")
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(k, marks=pytest.mark.slow) for k in (2, 3, 4))]
)
def test_few_rows_claim_little(seed):
    """One reading has the prior's width; no later one of twenty is a shock."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 30.0, (20, 1))
    y = 10.0 + np.sin(X[:, 0]) + rng.normal(0.0, 0.3, 20)
    model = StreamingSGPRegressor(random_state=0).partial_fit(X[:1], y[:1])
    assert model.predict_std(X[:1])[0] > 1.0
    shocks = []
    for k in range(1, 20):
        mean, std = model.predict(X[k : k + 1], return_std=True)
        shocks.append(abs(y[k] - mean[0]) / std[0])
        model.partial_fit(X[k : k + 1], y[k : k + 1])
    assert max(shocks) < 6.0
