"""Categories of few rows each: what they share is no parameter that explains every row."""

import numpy as np
import pytest

from sklearn_sgp import (
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPRegressor,
)
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
        AnytimeSGPRegressor(),
    ],
    ids=["svgp", "fitc", "default"],
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


def test_the_first_rows_of_a_stream_do_not_decide_for_those_to_come():
    """Twenty categories have one of four functions: a stream that begins with six rows of each
    learns which."""
    rng = np.random.default_rng(0)
    code, number = rng.integers(20, size=1300), rng.uniform(-2.0, 2.0, 1300)
    f = np.repeat([1.0, -1.0, 2.0, -2.0], 5)[code] * np.sin(2.0 * number)
    X, y = np.column_stack([number, code]), f + 0.3 * rng.standard_normal(1300)
    options = {"n_inducing": 40, "max_iter": 8, "random_state": 0}
    model = StreamingSGPRegressor(categorical_features=[1], **options)
    for low, high in ((0, 120), (120, 450), (450, 800)):
        model.partial_fit(X[low:high], y[low:high])
    assert np.sqrt(np.mean((model.predict(X[800:]) - f[800:]) ** 2)) < 0.25
    labels = StreamingSGPClassifier(categorical_features=[1], n_inducing=5, max_iter=1)
    labels.fit(X[:120], f[:120] > 0.0)
    for kernel in (model.kernel_, labels.kernel_):
        assert not any(h.fixed for h in kernel.hyperparameters if "factor" in h.name)


def test_few_rows_by_weight():
    columns = InputColumns(None, (1, 3), (tuple(range(4)), tuple(range(40))))
    assert scarce_categories(columns, 39.0) == (1, 3)
    assert scarce_categories(columns, 200.0) == (3,)
    assert scarce_categories(columns, 1000.0) == ()
