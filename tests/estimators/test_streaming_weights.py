"""Weights of streams: right, refused where they drown other rows, told of where no counts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import StreamingSGPClassifier, StreamingSGPRegressor

BATCHES = np.split(np.arange(240), 4)


def waves(rng):
    """Rows of a sine with noise."""
    X = rng.uniform(-3.0, 3.0, (240, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * rng.standard_normal(240)


@pytest.mark.parametrize("kind", [StreamingSGPRegressor, StreamingSGPClassifier])
@pytest.mark.parametrize("call", ["fit", "partial_fit", "later"])
@pytest.mark.filterwarnings("ignore:sample_weight should count rows")
def test_weights_that_drown_other_rows_are_refused(kind, call, rng):
    """One row of weight 1e9 is refused by name in any batch, and the stream is as before."""
    X, y = waves(rng)
    y = y if kind is StreamingSGPRegressor else y > 0.0
    weight, model = np.ones(60), kind(n_inducing=10, max_iter=2, random_state=0)
    weight[7] = 1e9
    if call == "later":
        model.partial_fit(X[60:120], y[60:120])
        before = model.predict(X)
    with pytest.raises(ValueError, match=r"of a stream must be at most 1e[+]08 times"):
        getattr(model, call.replace("later", "partial_fit"))(X[:60], y[:60], sample_weight=weight)
    if call == "later":
        assert np.array_equal(model.predict(X), before)


@pytest.mark.parametrize(("first", "later"), [(1.0, 1e9), (1e9, 1.0)])
@pytest.mark.parametrize("n_later", [1, 60])
@pytest.mark.filterwarnings("ignore:sample_weight should count rows")
def test_weights_are_compared_with_those_of_rows_before(first, later, n_later, rng):
    """Batches, of one row too, are refused beside rows before that weigh far less or far more."""
    X, y = waves(rng)
    model = StreamingSGPRegressor(n_inducing=10, max_iter=2, random_state=0)
    model.partial_fit(X[:60], y[:60], sample_weight=np.full(60, first))
    more, before = slice(60, 60 + n_later), model.predict(X)
    with pytest.raises(ValueError, match=r"Got 1e[+]09, where rows have 1\."):
        model.partial_fit(X[more], y[more], sample_weight=np.full(n_later, later))
    assert np.array_equal(model.predict(X), before)


def test_weights_that_are_no_counts_are_told_of(rng):
    """Weights of thousands say that there is no noise: a warning, unless the noise is given."""
    X, y = waves(rng)
    weight = np.full(60, 5e3)
    with pytest.warns(UserWarning, match=r"sample_weight should count rows.*5e[+]03"):
        StreamingSGPRegressor(max_iter=2).partial_fit(X[:60], y[:60], sample_weight=weight)
    given = StreamingSGPRegressor(RBF(0.5), noise_variance=0.04, optimizer=None)
    given.partial_fit(X[:60], y[:60], sample_weight=weight)


@pytest.mark.filterwarnings("ignore:sample_weight should have a mean")
@pytest.mark.parametrize(
    ("least", "largest"), [(1e-12, 1.0), (1e-12, 1e4), (1e-12, 1e8), (1e12, 1e12)]
)
def test_weights_of_many_sizes_beside_the_exact_process(least, largest, rng):
    """With kernel and noise given, the stream is the posterior of all rows."""
    X = rng.uniform(-3.0, 3.0, (40, 1))
    weight = np.exp(rng.uniform(np.log(least), np.log(largest), 40))
    weight[3], noise = largest, 0.04
    f = np.sin(2.0 * X[:, 0]) + np.sqrt(noise / np.maximum(weight, 1.0)) * rng.standard_normal(40)
    T, kernel = np.linspace(-3.0, 3.0, 30)[:, None], RBF(0.5)
    root = np.sqrt(weight)
    covariance = noise * np.eye(40) + root[:, None] * kernel(X) * root
    expected = kernel(T, X) * root @ np.linalg.solve(covariance, root * f)
    settings = {"noise_variance": noise, "optimizer": None, "normalize_y": False, "inducing": X}
    model = StreamingSGPRegressor(kernel, **settings)
    for part in np.split(np.arange(40), 4):
        model.partial_fit(X[part], f[part], sample_weight=weight[part])
    assert_allclose(model.predict(T), expected, atol=1e-4)


@pytest.mark.filterwarnings("ignore:sample_weight should have a mean")
def test_rows_that_count_next_to_nothing_tell_of_no_change(rng):
    """Weights of 1e-12 leave the prior: their noise has not fallen."""
    X, y = waves(rng)
    model = StreamingSGPRegressor(max_iter=5, random_state=0)
    for part in BATCHES:
        model.partial_fit(X[part], y[part], sample_weight=np.full(60, 1e-12))
    assert model.n_shifts_ == 0
    assert np.abs(model.predict(X) - y.mean()).max() < 0.2


def test_rows_that_count_next_to_nothing_are_as_absent(rng):
    """Half of the rows of later batches are far off, at a weight of 1e-12: nothing changes."""
    X, y = waves(rng)
    found = []
    for far in (False, True):
        model = StreamingSGPRegressor(max_iter=5, random_state=0)
        for k, part in enumerate(BATCHES):
            rows, targets, weight = X[part], y[part].copy(), np.ones(60)
            if k > 1:
                targets[30:] += 30.0
                weight[30:] = 1e-12
            used = slice(None) if far or k < 2 else slice(30)
            model.partial_fit(rows[used], targets[used], sample_weight=weight[used])
        found.append(model.predict(X, return_std=True))
        assert model.n_shifts_ == 0
    assert_allclose(*found, atol=0.05)


def test_precisions_beside_known_noise_say_nothing_of_a_drift(rng):
    """Rows of small weight were predicted with the noise of a weight of 1: the past faded."""
    X = rng.uniform(0.0, 6.0, (600, 1))
    y = 30.0 * np.sin(X[:, 0]) + 20.0 * rng.standard_normal(600)
    means = []
    for unit in (1.0, 1e-3):
        options = {"noise_variance": 1.0, "noise_variance_bounds": "fixed", "normalize_y": False}
        kernel = ConstantKernel((30.0 * unit) ** 2, "fixed") * RBF(1.5, "fixed")
        model = StreamingSGPRegressor(kernel, forget_factor="auto", random_state=0, **options)
        for lo in range(0, 600, 60):
            weight = np.full(60, (20.0 * unit) ** -2.0)
            model.partial_fit(X[lo : lo + 60], unit * y[lo : lo + 60], sample_weight=weight)
        means.append(model.predict(X[:50]) / unit)
    assert_allclose(means[0], means[1], rtol=1e-4, atol=0.05)
    assert np.sqrt(np.mean((means[0] - 30.0 * np.sin(X[:50, 0])) ** 2)) < 8.0
