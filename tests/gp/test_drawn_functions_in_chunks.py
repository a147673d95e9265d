"""Functions drawn by a regressor are evaluated in chunks of rows."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import SVGPRegressor


@pytest.fixture
def functions(toy_outputs):
    X, y = toy_outputs
    model = SVGPRegressor(RBF(1.0), inducing=X[:5], optimizer=None).fit(X, y)
    return model.sample_functions(2, random_state=0)


def test_memory_does_not_grow_with_the_rows(functions, rng):
    """Besides the result, ten times as many rows take no more memory than a few chunks do."""

    def peak(n_rows):
        X = rng.standard_normal((n_rows, 2))
        tracemalloc.start()
        size = functions(X).nbytes
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found - 3 * size  # parts are joined and brought into units of y

    peak(100)
    few, many = peak(2_000), peak(20_000)
    assert many < 2 * few + (1 << 20)


def test_chunks_are_seen_nowhere(functions, rng):
    """Values of many rows are those of the rows in small pieces."""
    X = rng.standard_normal((2500, 2))
    values = functions(X)
    assert values.shape == (2500, 2, 2)
    pieces = [functions(piece) for piece in np.array_split(X, 7)]
    assert_allclose(values, np.concatenate(pieces), rtol=1e-9, atol=1e-9)
    assert_array_equal(functions(X), values)


def test_inputs_of_another_width(functions, rng):
    """Inputs with another number of columns are an error that says so."""
    with pytest.raises(ValueError, match=r"X must have 2 features, as in fit\. Got 3"):
        functions(rng.standard_normal((4, 3)))
