"""Functions drawn by a regressor are evaluated in chunks of rows."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor


@pytest.fixture
def functions(toy_outputs):
    X, y = toy_outputs
    model = SVGPRegressor(RBF(1.0), inducing=X[:5], optimizer=None).fit(X, y)
    return model.sample_functions(2, random_state=0)


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.quick_cases("vfe")
@pytest.mark.parametrize("model", ["fitc", "vfe"])
def test_errors_of_frequencies_average_out(model):
    """Deviations and correlations of thousands of draws are those of the joint distribution.

    In the data, just outside of them, where corrections at Z are large, and far away.
    """
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, (900, 2))
    y = np.sin(X[:, 0]) + np.cos(X[:, 1]) + 0.1 * rng.standard_normal(900)
    settings = {"n_inducing": 60, "noise_variance": 0.01, "optimizer": None, "random_state": 0}
    kernel = ConstantKernel(4.0) * RBF(2.6)
    fitted = AnytimeSGPRegressor(kernel, model=model, **settings).fit(X, y)
    inside, outside = rng.uniform(0.0, 10.0, (10, 2)), [[-2.0, 5.0], [12.0, 13.0], [5.0, 11.0]]
    points = np.vstack([inside, outside, [[30.0, 30.0], [-30.0, 60.0]]])
    draws = fitted.sample_functions(4000, random_state=0)(points)
    assert_allclose(draws.std(axis=1), fitted.predict_std(points, include_noise=False), rtol=0.05)
    covariance = fitted.predict(points, return_cov=True)[1]
    np.fill_diagonal(covariance, fitted.predict_std(points, include_noise=False) ** 2)
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    assert_allclose(np.corrcoef(draws), correlation, atol=0.08)
    assert abs(np.corrcoef(draws[-2:])[0, 1]) < 0.05


def test_the_seed_decides_all_groups(toy_outputs, rng):
    """More draws than share frequencies are the same for the same seed, at any number of rows."""
    X, y = toy_outputs
    model = SVGPRegressor(RBF(1.0), inducing=X[:5], optimizer=None).fit(X, y)
    one, same, other = (model.sample_functions(40, random_state=seed)(X) for seed in (1, 1, 2))
    assert one.shape == (len(X), 2, 40)
    assert_array_equal(one, same)
    assert not np.isclose(one, other).any()
    assert len(np.unique(one[0])) == 80
    assert model.sample_functions(0)(X).shape == (len(X), 2, 0)
