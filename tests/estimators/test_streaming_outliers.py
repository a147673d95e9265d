"""A broken reading is told before it is learned from; tails do it no harm; jumps are followed."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from slow_variants import slow
from stream_helpers import batches, taught

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


def broken_at(pieces, k, reading):
    """The batches, with one reading of one of them broken."""
    (X, y), pieces = pieces[k], pieces.copy()
    pieces[k] = X, np.where(np.arange(len(y)) == len(y) // 2, reading, y)
    return pieces


@pytest.mark.quick_cases("-9999.0-1", "1000000.0-5")
@pytest.mark.parametrize("size", [slow(50), 5, 1])
@pytest.mark.parametrize("reading", [1e6, -9999.0])
def test_one_broken_reading_is_told_before_it_is_learned_from(size, reading, rng):
    """Once; where warnings are errors the stream stays as it was."""
    pieces = broken_at(make_batches(rng, 12, size), 5, reading)
    model = taught(StreamingSGPRegressor(n_inducing=25, random_state=0), pieces[:5])
    before = model.predict(GRID)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with pytest.raises(UserWarning, match="student_t"):
            model.partial_fit(*pieces[5])
        assert_array_equal(model.predict(GRID), before)
        taught(model, pieces[6:])
    assert_allclose(model.predict(GRID), function(GRID), atol=0.2)


@pytest.mark.quick_cases("8.0-60")
@pytest.mark.parametrize("size", [60, 30])
@pytest.mark.parametrize("off", [4.0, 8.0])
def test_a_stream_does_not_begin_anew_with_a_broken_reading(off, size):
    """What the first rows have taught holds it back, though it is within the range of targets."""
    for seed in (1, 3):
        rng = np.random.default_rng(seed)
        X = rng.uniform(0.0, 10.0, (500, 2))
        f = np.sin(X[:, 0])
        y = f + 0.1 * rng.standard_normal(500)
        y[63] += off
        pieces = batches(X[:120], y[:120], *range(60, 120, size))
        model = taught(StreamingSGPRegressor(random_state=0), pieces)
        assert np.sqrt(np.mean((model.predict(X) - f) ** 2)) < 0.06


@pytest.mark.parametrize("seed", [1, 2])
def test_a_broken_reading_in_a_first_batch_is_no_fast_function(seed):
    """The noise is larger, but the function has the length scales that the other rows ask for."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 10.0, (1120, 2))
    f = np.sin(X[:, 0])
    y = f[:120] + 0.1 * rng.normal(size=1120)[:120]
    y[63] += 8.0
    model = StreamingSGPRegressor(random_state=0).partial_fit(X[:120], y)
    assert np.sqrt(np.mean((model.predict(X[120:]) - f[120:]) ** 2)) < 0.4


def test_outputs_without_a_value_in_a_batch_are_no_reason_to_begin_anew_or_not(rng):
    """A batch in which one output is missing throughout is added without a warning."""
    X = rng.uniform(0.0, 10.0, (120, 1))
    y = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 0])]) + 0.1 * rng.normal(size=(120, 2))
    y[60:, 1] = np.nan
    model = taught(StreamingSGPRegressor(random_state=0), batches(X, y, 60))
    assert_allclose(model.predict(X)[:, 0], np.sin(X[:, 0]), atol=0.2)


@pytest.mark.quick_cases("1000000.0-1")
@pytest.mark.parametrize("size", [slow(50), 5, 1])
@pytest.mark.parametrize("reading", [1e6, slow(-9999.0)])
def test_tails_forget_a_broken_reading(size, reading, rng):
    """A stream with Student-t noise predicts as one without it, and says nothing."""
    pieces = make_batches(rng, 12, size)
    options = {"likelihood": "student_t", "n_inducing": 25, "random_state": 0}
    clean = taught(StreamingSGPRegressor(**options), pieces)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model = taught(StreamingSGPRegressor(**options), broken_at(pieces, 5, reading))
    mean, std = model.predict(GRID, return_std=True)
    expected, expected_std = clean.predict(GRID, return_std=True)
    assert_allclose(mean, expected, atol=0.15)
    assert_allclose(std, expected_std, rtol=0.5)


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
def test_a_jump_of_the_level_is_followed(seed):
    """Where all rows moved by 300 deviations, 20 batches later the mean is there."""
    model = StreamingSGPRegressor(n_inducing=25, forget_factor=0.7, random_state=0)
    pieces = make_batches(np.random.default_rng(seed), 23, 100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for k, (X, y) in enumerate(pieces):
            model.partial_fit(X, y + 100.0 * (k > 3))
    assert np.median(np.abs(model.predict(GRID) - function(GRID) - 100.0)) < 1.0


def test_without_learning_or_a_signal_nothing_is_told(rng):
    """A kernel that the user fixed, or noise so far, is no measure of what can be."""
    (X, y), (more, targets) = make_batches(rng, 1, 60)
    targets[7] = 1e6
    noise = rng.standard_normal(200)
    for options, first in (({"optimizer": None}, y), ({}, noise), ({"likelihood": "student_t"}, y)):
        model = StreamingSGPRegressor(n_inducing=15, max_iter=3, **options)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Batches should go on")  # no noise any more
            warnings.filterwarnings("error", message="y should be near")
            taught(model, [(X, first), (more, targets)])
