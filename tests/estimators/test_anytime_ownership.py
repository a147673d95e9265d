"""A fitted model in blocks owns the rows that it keeps."""

import pickle

import numpy as np
import pytest
from block_helpers import LABEL, fixed, with_labels
from fitted_models import fitted
from numpy.testing import assert_array_equal

GRID = np.linspace(0.0, 6.0, 50)[:, None]


def large(rng, partition):
    """2,400 rows, more than are merged, and a model of them."""
    X = rng.uniform(0.0, 6.0, (2400, 1))
    model = fixed(kernel=None, inducing="random", n_inducing=8, block_size=300)
    return X, np.sin(X[:, 0]), model.set_params(partition=partition)


@pytest.mark.parametrize("partition", ["kmeans", "contiguous"])
@pytest.mark.parametrize("model", ["pic", "pitc"])
def test_writing_into_the_training_data_changes_nothing(rng, partition, model):
    """X, y and weights may be overwritten after fit, and predictions and later batches stay."""
    X, y, ours = large(rng, partition)
    weight = np.full(2400, 2.0)
    ours.set_params(model=model).fit(X, y, weight)
    again = pickle.loads(pickle.dumps(ours))
    X[:], y[:], weight[:] = 1e3, 100.0, 1e6
    assert not np.shares_memory(fitted(ours).state.blocks.rows.X, X)
    assert_array_equal(ours.predict(GRID, return_std=True), again.predict(GRID, return_std=True))
    for one in (ours, again):
        one.partial_fit(GRID, np.sin(GRID[:, 0]))
    assert_array_equal(ours.predict(GRID), again.predict(GRID))


def test_labelled_rows_are_owned(toy):
    """With labels, where small data are not merged, rows are copied as well."""
    X, y = (part.copy() for part in with_labels(toy))
    ours = fixed(block_column=LABEL).fit(X, y)
    expected = pickle.loads(pickle.dumps(ours)).predict(X[:5])
    new = X[:5].copy()
    X[:], y[:] = 0.0, 0.0
    assert_array_equal(ours.predict(new), expected)


def test_without_a_copy_the_callers_arrays_are_kept(rng):
    """copy_X=False keeps the very arrays, and predicts the same."""
    X, y, ours = large(rng, "contiguous")
    copied = ours.fit(X, y).predict(GRID)
    ours.set_params(copy_X=False).fit(X, y)
    assert np.shares_memory(fitted(ours).state.blocks.rows.X, X)
    assert_array_equal(ours.predict(GRID), copied)
    with pytest.raises(ValueError, match="'copy_X' parameter"):
        ours.set_params(copy_X="yes").fit(X, y)
