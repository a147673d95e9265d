"""The noise of each row in a stream is found where its rows are, and fades with the past."""

import warnings

import numpy as np
import pytest

from sklearn_sgp import StreamingSGPRegressor


@pytest.mark.slow
def test_noise_is_found_where_later_batches_are():
    """Noise of 1 and 0.1 in turn, far beyond the first batch, is told apart."""
    rng = np.random.default_rng(0)
    model = StreamingSGPRegressor(likelihood="heteroscedastic", n_inducing=40, random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Batches should go on")
        for k in range(15):
            X = rng.uniform(2.0 * k, 2.0 * k + 2.0, (60, 1))
            loud = np.floor(X[:, 0] / 10.0) % 2 == 0
            model.partial_fit(X, np.sin(X[:, 0]) + np.where(loud, 1.0, 0.1) * rng.normal(size=60))
    assert model.noise_inducing_points_.max() > 24.0
    grid = np.linspace(1.0, 29.0, 57)[:, None]
    loud, found = np.floor(grid[:, 0] / 10.0) % 2 == 0, model.noise_std(grid)
    inner = (grid[:, 0] % 10.0 > 2.0) & (grid[:, 0] % 10.0 < 8.0)
    assert 0.6 < np.median(found[loud & inner]) < 1.5
    assert np.median(found[~loud & inner]) < 0.3


@pytest.mark.slow
def test_the_past_of_the_noise_fades():
    """With forget_factor=0.8 the noise is that of the last batches."""
    rng = np.random.default_rng(0)
    model = StreamingSGPRegressor(
        n_inducing=20, likelihood="heteroscedastic", forget_factor=0.8, random_state=0
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Batches should go on")
        for k in range(20):
            X = rng.uniform(0.0, 6.0, (80, 1))
            loud = (X[:, 0] < 3.0) == (k < 8)
            y = np.sin(X[:, 0]) + np.where(loud, 1.0, 0.1) * rng.normal(size=80)
            model.partial_fit(X, y)
    left, right = model.noise_std([[1.0], [5.0]])
    assert left < 0.2 and right > 0.7


def test_noise_that_fell_is_learned_from_one_batch():
    """After one batch with a tenth of the noise bands of the next one are about as narrow."""
    rng = np.random.default_rng(4)
    model = StreamingSGPRegressor(n_inducing=30, max_iter=10, random_state=0)
    for k in range(11):
        X = rng.uniform(0.0, 10.0, (60, 1))
        model.partial_fit(X, np.sin(X[:, 0]) + (0.3 if k < 10 else 0.03) * rng.normal(size=60))
    X = rng.uniform(0.0, 10.0, (400, 1))
    mean, std = model.predict(X, return_std=True)
    y = np.sin(X[:, 0]) + 0.03 * rng.normal(size=400)
    assert np.median(std) < 0.07
    assert 0.75 < np.mean(np.abs(y - mean) < 1.645 * std) < 0.99


@pytest.mark.slow
def test_noise_of_few_rows_stays_where_a_batch_lacks_them():
    """A batch without spikes does not say that there will be none: other rows are as usual."""
    rng, found = np.random.default_rng(1), []
    model = StreamingSGPRegressor(n_inducing=30, max_iter=10, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(12):
            X = rng.uniform(0.0, 10.0, (60, 1))
            y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
            y[:2] += rng.choice([-8.0, 8.0], 2) if k < 11 else 0.0
            model.partial_fit(X, y)
            found.append(model.noise_variance_)
    assert found[-1] > found[-2] / np.exp(1.01)


@pytest.mark.slow
def test_a_sensor_that_hangs_has_not_less_noise():
    """Batches of one value leave the noise where the trust region takes it, and are no shift."""
    rng, found = np.random.default_rng(2), []
    model = StreamingSGPRegressor(n_inducing=30, max_iter=10, random_state=0)
    for k in range(11):
        t = np.arange(60.0 * k, 60.0 * (k + 1))[:, None]
        y = np.sin(t[:, 0] / 600.0) + 0.2 * rng.normal(size=60)
        model.partial_fit(t, y if k < 10 else np.full(60, np.sin(1.0)))
        found.append(model.noise_variance_ * model.y_scale_**2)
    assert found[-1] > found[-2] / np.exp(1.01)
    assert model.n_shifts_ == 0


def test_noise_that_falls_is_told_of_rows_that_come_alone():
    """A row by itself is one value, and was taken for a sensor that hangs."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (124, 1))
    y = np.sin(2.0 * X[:, 0]) + np.r_[np.full(100, 0.3), np.full(24, 0.01)] * rng.normal(size=124)
    model = StreamingSGPRegressor(n_inducing=10, max_iter=5, random_state=0)
    model.partial_fit(X[:100], y[:100])
    with pytest.warns(UserWarning, match="Batches should go on") as told:
        for k in range(100, 124):
            model.partial_fit(X[k : k + 1], y[k : k + 1])
    assert len(told) == model.n_shifts_ == 1
    assert "deviations of its noise" in str(told[0].message)
