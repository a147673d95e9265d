"""Categories of few rows each: what they share is no parameter that explains every row."""

import numpy as np
import pytest

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor
from sklearn_sgp.data.categories import InputColumns
from sklearn_sgp.kernels._defaults import scarce_categories


def levels(n, n_levels, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    numbers, code = rng.normal(size=(n + 400, 2)), rng.integers(n_levels, size=n + 400)
    y = rng.normal(size=n_levels)[code] + 0.5 * np.sin(2.0 * numbers[:, 0])
    return np.column_stack([numbers, code]), y + noise * rng.normal(size=len(y))


@pytest.mark.parametrize(
    "model",
    [
        SVGPRegressor(),
        AnytimeSGPRegressor(model="fitc", n_inducing=200),
        StreamingSGPRegressor(),
        AnytimeSGPRegressor(),
    ],
    ids=["svgp", "fitc", "stream", "default"],
)
@pytest.mark.parametrize("case", [(150, 50), (200, 40)])
def test_bands_hold_what_they_say(model, case):
    X, y = levels(*case)
    n = case[0]
    model.set_params(random_state=0, categorical_features=[2]).fit(X[:n], y[:n])
    mean, deviation = model.predict(X[n:], return_std=True)
    held = np.mean(np.abs(y[n:] - mean) < 1.645 * deviation)
    assert 0.8 < held < 0.97
    assert np.sqrt(np.mean((y[n:] - mean) ** 2)) < 0.9 * y.std()


def test_few_rows_by_weight():
    columns = InputColumns(None, (1, 3), (tuple(range(4)), tuple(range(40))))
    assert scarce_categories(columns, 39.0) == (1, 3)
    assert scarce_categories(columns, 200.0) == (3,)
    assert scarce_categories(columns, 1000.0) == ()
