"""A broken reading does a stream no harm, and a function that jumps is followed."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from stream_helpers import taught

from sklearn_sgp import StreamingSGPRegressor

GRID = np.linspace(0.5, 9.5, 50)[:, None]


def function(X):
    return 20.0 + np.sin(X[:, 0])


def make_batches(rng, n_batches, size):
    """A first batch of 200 rows, and smaller ones."""
    made = []
    for n in [200] + [size] * n_batches:
        X = rng.uniform(0.0, 10.0, (n, 1))
        made.append((X, function(X) + 0.3 * rng.standard_normal(n)))
    return made


@pytest.mark.parametrize("size", [50, 5, 1])
@pytest.mark.parametrize("reading", [1e6, -9999.0])
def test_one_broken_reading_is_told_and_forgotten(size, reading, rng):
    """A stream with it predicts as one without it, says so once, and counts it."""
    pieces = make_batches(rng, 12, size)
    clean = taught(StreamingSGPRegressor(n_inducing=25, random_state=0), pieces)
    X, y = pieces[5]
    pieces[5] = X, np.where(np.arange(size) == size // 2, reading, y)
    model = StreamingSGPRegressor(n_inducing=25, random_state=0)
    with pytest.warns(UserWarning, match="student_t") as told:
        taught(model, pieces)
    assert len(told) == 1
    assert model.n_outliers_ == 1
    assert clean.n_outliers_ == 0
    assert model.n_samples_seen_ == clean.n_samples_seen_
    mean, std = model.predict(GRID, return_std=True)
    expected, expected_std = clean.predict(GRID, return_std=True)
    assert_allclose(mean, expected, atol=0.15)
    assert_allclose(std, expected_std, rtol=0.5)


def test_readings_that_break_now_and_then_are_damped(rng):
    """Three of a hundred rows at -9999 leave mean and bands what they are without them."""
    model = StreamingSGPRegressor(n_inducing=25, random_state=0)
    pieces = make_batches(rng, 15, 60)
    with pytest.warns(UserWarning, match="of 60 rows"):
        for k, (X, y) in enumerate(pieces):
            y = np.where((rng.random(len(y)) < 0.03) & (k > 0), -9999.0, y)
            model.partial_fit(X, y)
    mean, std = model.predict(GRID, return_std=True)
    assert_allclose(mean, function(GRID), atol=0.2)
    assert_allclose(std, 0.3, atol=0.12)
    assert 15 <= model.n_outliers_ <= 45


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_jump_of_the_level_is_followed(seed):
    """Rows that all moved by 300 deviations are no outliers: 20 batches later the mean is there."""
    model = StreamingSGPRegressor(n_inducing=25, forget_factor=0.7, random_state=0)
    pieces = make_batches(np.random.default_rng(seed), 23, 100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # one row before the second agrees
        for k, (X, y) in enumerate(pieces):
            model.partial_fit(X, y + 100.0 * (k > 3))
    assert model.n_outliers_ <= 1
    assert np.median(np.abs(model.predict(GRID) - function(GRID) - 100.0)) < 1.0


def test_without_learning_or_a_signal_nothing_is_damped(rng):
    """A kernel that the user fixed, or noise so far, is no measure of what can be."""
    (X, y), (more, targets) = make_batches(rng, 1, 60)
    targets[7] = 1e6
    noise = rng.standard_normal(200)
    for options, first in (({"optimizer": None}, y), ({}, noise), ({"likelihood": "student_t"}, y)):
        model = StreamingSGPRegressor(n_inducing=15, max_iter=3, **options)
        taught(model, [(X, first), (more, targets)])
        assert model.n_outliers_ == 0
