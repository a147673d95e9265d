"""Inducing inputs of streams: how many, where, and which ones stay."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from slow_variants import slow
from stream_helpers import batches, make_line, taught

from sklearn_sgp import (
    StreamingSGPClassifier,
    StreamingSGPRegressor,
)


def test_inducing_inputs_grow_where_they_are_needed(rng):
    """min_inducing takes as many as the rows ask for, and predicts as well as with all."""
    X, y = make_line(rng)
    pieces = batches(X, y, 300, 600)
    small = StreamingSGPRegressor(n_inducing=60, min_inducing=3)
    counts = [len(small.partial_fit(*piece).inducing_points_) for piece in pieces]
    assert 3 <= counts[0] < counts[1] < counts[2] < 40
    full = taught(StreamingSGPRegressor(n_inducing=60), pieces)
    assert len(full.inducing_points_) > counts[2]
    grid = np.linspace(0.2, 8.8, 100)[:, None]
    assert_allclose(small.predict(grid), full.predict(grid), atol=0.1)


@pytest.mark.parametrize("inducing", ["greedy", "kmeans", "random"])
def test_inducing_inputs_stay_within_their_number(inducing, rng):
    """There are never more than n_inducing, and rows that come late have some."""
    X, y = make_line(rng)
    model = StreamingSGPRegressor(n_inducing=8, inducing=inducing, max_iter=3, random_state=0)
    for piece in batches(X, y, 5, 300, 600):
        model.partial_fit(*piece)
        assert len(model.inducing_points_) <= 8
    assert model.inducing_points_.max() > 6.0  # the far end is covered too


@pytest.mark.slow_cases("StreamingSGPClassifier-lbfgs")
@pytest.mark.parametrize("optimizer", ["lbfgs", "adam"])
@pytest.mark.parametrize("kind", [StreamingSGPRegressor, StreamingSGPClassifier])
def test_old_inducing_inputs_stay_where_they_are(kind, optimizer, rng):
    """Inducing inputs that are kept do not move, new ones are learned."""
    X, y = make_line(rng)
    y = y if kind is StreamingSGPRegressor else y > 0.0
    model = kind(n_inducing=12, optimizer=optimizer, max_iter=5)
    first, second, third = batches(X, y, 550, 700)  # the first one is not kept
    model.partial_fit(*first)
    for piece in (second, third):
        old = {float(z) for z in model.inducing_points_[:, 0]}
        new = {float(z) for z in model.partial_fit(*piece).inducing_points_[:, 0]}
        assert len(new & old) >= 3
        learned = new - old
        assert learned
        assert not learned <= {float(x) for x in piece[0][:, 0]}


@pytest.mark.quick_cases("StreamingSGPRegressor")
@pytest.mark.parametrize("kind", [StreamingSGPRegressor, StreamingSGPClassifier])
def test_given_inducing_inputs_are_learned_with_the_first_batch_only(kind, rng):
    """As the docstring says: they move once, and not at all with optimize_inducing=False."""
    X, y = make_line(rng)
    y = y if kind is StreamingSGPRegressor else y > 0.0
    Z, pieces = np.linspace(0.0, 9.0, 12)[:, None], batches(X, y, 300, 600)
    model = kind(inducing=Z, max_iter=5).partial_fit(*pieces[0])
    first = model.inducing_points_
    assert np.abs(first - Z).max() > 1e-3
    assert_array_equal(taught(model, pieces[1:]).inducing_points_, first)
    still = taught(kind(inducing=Z, max_iter=5, optimize_inducing=False), pieces)
    assert_array_equal(still.inducing_points_, Z)
    text = " ".join(kind.__doc__.split())
    assert "given ones are learned with the first batch" in text
    assert "and they stay" not in text


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Batches should go on")  # it gets 30 times as loud
@pytest.mark.parametrize("n_draws", [2, slow(4)])
def test_inducing_inputs_stay_where_the_function_moves(n_draws):
    """Where not all can stay, those stay without which the function would be lost."""
    counts, errors = [], []
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        X = np.sort(rng.uniform(0.0, 20.0, (1600, 1)), axis=0)
        loud = np.abs(X[:, 0] - 6.0) < 3.0
        f = np.where(loud, 1.0, 0.03) * np.sin(5.0 * X[:, 0])
        y = f + 0.01 * rng.standard_normal(1600)
        model = StreamingSGPRegressor(n_inducing=30)
        taught(model, batches(X, y, *range(200, 1600, 200)))
        counts.append(np.count_nonzero(np.abs(model.inducing_points_[:, 0] - 6.0) < 3.0))
        errors.append(np.sqrt(np.mean((model.predict(X) - f) ** 2)))
    assert min(counts) >= 9  # so many if they were spread evenly
    assert np.mean(counts) > 11
    assert np.median(errors) < 0.1


def test_a_row_that_is_explained_asks_for_no_inducing_input(rng):
    """One row alone leaves them as they are to the bit; a row far from all becomes one."""
    X = rng.uniform(0.0, 6.0, (600, 1))
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(600)
    model = StreamingSGPRegressor(n_inducing=15, random_state=0).partial_fit(X, y)
    before = model.inducing_points_
    model.partial_fit([[2.3456]], [np.sin(2.3456)])
    assert_array_equal(model.inducing_points_, before)
    model.partial_fit([[9.0]], [np.sin(9.0)])
    assert 9.0 in model.inducing_points_
