"""The noise of each row in a stream is found where its rows are, and fades with the past."""

import warnings

import numpy as np

from sklearn_sgp import StreamingSGPRegressor


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
