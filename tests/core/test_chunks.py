"""Predictions in chunks of rows."""

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal

from sklearn_sgp._parallel import PREDICT_CHUNK, PREDICT_TASK, in_chunks

X = np.random.default_rng(0).standard_normal((PREDICT_TASK + PREDICT_CHUNK + 5, 2))


def lengths(X):
    """What each row sees: the number of rows beside it."""
    return np.full(len(X), len(X))


def squares_and_sums(X):
    return X**2, X.sum(axis=1)


@pytest.mark.parametrize("n_rows", [1, PREDICT_CHUNK, PREDICT_CHUNK + 1, len(X)])
def test_rows_come_back_in_order(n_rows):
    """One array or several, results are those of the whole, and no chunk is larger than others."""
    rows = X[:n_rows]
    assert_array_equal(in_chunks(np.square, rows), rows**2)
    for got, expected in zip(
        in_chunks(squares_and_sums, rows), squares_and_sums(rows), strict=True
    ):
        assert_array_equal(got, expected)
    assert in_chunks(lengths, rows).max() == min(n_rows, PREDICT_CHUNK)


@pytest.mark.quick_cases("threading")
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_workers_change_nothing(backend):
    """Two threads or two processes give what one worker gives."""
    with parallel_config(backend=backend):
        assert_array_equal(in_chunks(np.square, X, n_jobs=2), in_chunks(np.square, X, n_jobs=1))
    assert_array_equal(in_chunks(np.square, X, n_jobs=2), X**2)
