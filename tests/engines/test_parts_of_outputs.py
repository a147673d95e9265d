"""Outputs that depend on different columns are learned with a kernel that has a part for each."""

import numpy as np
import pytest

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor


def table(seed, n_columns=3):
    """Return 150 rows of sin(x0) and cos(x1) with noise, and 300 without."""
    rng = np.random.RandomState(seed)
    X = rng.uniform(0, 20, (450, n_columns))
    F = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 1])])
    y = F + 0.1 * rng.randn(*F.shape)
    return X[:150], y[:150], X[150:], F[150:]


def taken(model):
    """Return what was taken of one kernel and a part for each output, as a list."""
    about = "one kernel or a part for each output"
    found = [one for one in model.choices_ if one["choice"] == about]
    return [one["candidate"].endswith(", parts") for one in found if one["taken"]]


@pytest.mark.parametrize("regressor", [AnytimeSGPRegressor, SVGPRegressor])
def test_outputs_of_different_columns_are_no_noise(regressor):
    """One kernel for both had an error of 0.74 in one output, the deviation of the function."""
    X, y, X_test, F = table(3)
    model = regressor(random_state=0).fit(X, y)
    errors = np.sqrt(np.mean((model.predict(X_test) - F) ** 2, axis=0))
    assert (errors < 0.1).all()
    assert (model.noise_variance_ < 0.04).all()  # of targets of unit variance; 0.02 is right
    assert taken(model) == [True]


def test_outputs_that_share_a_kernel_keep_it():
    """Two functions of the same columns need no parts."""
    X, _, _, _ = table(0)
    X = 0.3 * X
    F = np.column_stack([np.sin(X[:, 0] + X[:, 1]), np.cos(X[:, 0] - X[:, 1])])
    y = F + 0.1 * np.random.RandomState(1).randn(*F.shape)
    model = AnytimeSGPRegressor(random_state=0).fit(X, y)
    assert True not in taken(model)


@pytest.mark.slow
@pytest.mark.parametrize("regressor", [AnytimeSGPRegressor, SVGPRegressor])
@pytest.mark.parametrize("n_columns", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_every_draw_is_near_what_outputs_alone_have(regressor, n_columns, seed):
    """Errors of one kernel for both were 0.05 to 0.74."""
    X, y, X_test, F = table(seed, n_columns)
    model = regressor(random_state=0).fit(X, y)
    errors = np.sqrt(np.mean((model.predict(X_test) - F) ** 2, axis=0))
    assert (errors < 0.09).all()
