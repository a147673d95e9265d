"""Outputs that depend on different columns are learned with a kernel that has a part for each."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor
from sklearn_sgp.engines.fingerprints import structure

REGRESSORS = [AnytimeSGPRegressor, SVGPRegressor, StreamingSGPRegressor]


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


@pytest.mark.parametrize("regressor", REGRESSORS)
def test_outputs_of_different_columns_are_no_noise(regressor):
    """One kernel for both had an error of 0.74 in one output, the deviation of the function."""
    X, y, X_test, F = table(3)
    model = regressor(random_state=0).fit(X, y)
    errors = np.sqrt(np.mean((model.predict(X_test) - F) ** 2, axis=0))
    assert (errors < 0.1).all()
    assert (model.noise_variance_ < 0.04).all()  # of targets of unit variance; 0.02 is right
    assert taken(model) == [True]


def test_stream_goes_on_with_the_parts_that_it_began_with():
    """One of two outputs was noise, with an error of 0.71, after five batches, too."""
    X, y, X_test, F = table(0)
    model = StreamingSGPRegressor(random_state=0).partial_fit(X[:100], y[:100])
    n_parameters = len(model.kernel_.theta)
    model.partial_fit(X[100:], y[100:])
    errors = np.sqrt(np.mean((model.predict(X_test) - F) ** 2, axis=0))
    assert (errors < 0.1).all()
    assert len(model.kernel_.theta) == n_parameters


@pytest.mark.parametrize("regressor", REGRESSORS)
def test_another_fit_goes_on_with_the_parts(regressor):
    """The second fit had one kernel for both outputs, at first values, held: 36 nats a row less."""
    X, y, _, _ = table(3)
    model = regressor(random_state=0, warm_start=True).fit(X, y)
    kernel, evidence = model.kernel_, model.objective_
    model.set_params(optimizer=None).fit(X, y)
    assert structure(model.kernel_) == structure(kernel)
    assert_allclose(model.kernel_.theta, kernel.theta)
    assert model.objective_ > evidence - 1.0


def test_another_fit_of_more_outputs_has_no_parts_of_the_first():
    """A kernel with a part for each of two outputs is none of three."""
    X, y, _, _ = table(3)
    model = SVGPRegressor(random_state=0, warm_start=True).fit(X, y)
    kernel = model.kernel_
    model.set_params(optimizer=None).fit(X, np.column_stack([y, y[:, 0] + y[:, 1]]))
    assert structure(model.kernel_) != structure(kernel)


def test_targets_may_be_missing():
    """One of two outputs was noise, with an error of 0.70, where some targets were missing."""
    X, y, X_test, F = table(0)
    y[np.random.RandomState(0).rand(*y.shape) < 0.1] = np.nan
    model = StreamingSGPRegressor(random_state=0).fit(X, y)
    errors = np.sqrt(np.mean((model.predict(X_test) - F) ** 2, axis=0))
    assert (errors < 0.1).all()


def test_five_outputs_have_five_parts():
    """One kernel for all had errors of up to 0.73."""
    rng = np.random.RandomState(0)
    X = rng.uniform(0, 8, (300, 5))
    F = np.sin(X)
    y = F + 0.1 * rng.randn(*F.shape)
    model = AnytimeSGPRegressor(random_state=0).fit(X[:120], y[:120])
    errors = np.sqrt(np.mean((model.predict(X[120:]) - F[120:]) ** 2, axis=0))
    assert (errors < 0.1).all()
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
@pytest.mark.parametrize("regressor", REGRESSORS)
@pytest.mark.parametrize("n_columns", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_every_draw_is_near_what_outputs_alone_have(regressor, n_columns, seed):
    """Errors of one kernel for both were 0.05 to 0.74."""
    X, y, X_test, F = table(seed, n_columns)
    model = regressor(random_state=0).fit(X, y)
    errors = np.sqrt(np.mean((model.predict(X_test) - F) ** 2, axis=0))
    assert (errors < 0.09).all()


@pytest.mark.slow
def test_weighted_rows_of_different_columns_have_parts():
    """Parts that began with shorter length scales alone left errors of 0.19 to 0.29."""
    for seed in range(3):
        X, y, X_test, F = table(seed)
        weight = np.random.RandomState(9).uniform(0.1, 3.0, len(X))
        model = SVGPRegressor(random_state=0).fit(X, y, sample_weight=weight)
        errors = np.sqrt(np.mean((model.predict(X_test) - F) ** 2, axis=0))
        assert (errors < 0.17).all()
