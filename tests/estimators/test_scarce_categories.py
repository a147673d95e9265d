"""Categories of few rows each: what they share is no parameter that explains every row."""

import numpy as np
import pytest
from sklearn.base import clone
from slow_variants import slow

from sklearn_sgp import (
    AnytimeSGPRegressor,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp.data.categories import InputColumns
from sklearn_sgp.kernels._defaults import scarce_categories


def levels(n, n_levels, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    numbers, code = rng.normal(size=(n + 400, 2)), rng.integers(n_levels, size=n + 400)
    y = rng.normal(size=n_levels)[code] + 0.5 * np.sin(2.0 * numbers[:, 0])
    return np.column_stack([numbers, code]), y + noise * rng.normal(size=len(y))


def factors_of(model):
    """What the categories of each kernel over them share."""
    return [v for name, v in model.kernel_.get_params().items() if name.endswith("factor")]


@pytest.mark.quick_cases("case0-stream", "case0-fitc")
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
@pytest.mark.parametrize("case", [(150, 50), slow((200, 40))])
def test_bands_hold_what_they_say(model, case):
    X, y = levels(*case)
    n = case[0]
    model.set_params(random_state=0, categorical_features=[2]).fit(X[:n], y[:n])
    mean, deviation = model.predict(X[n:], return_std=True)
    held = np.mean(np.abs(y[n:] - mean) < 1.645 * deviation)
    assert 0.8 < held < 0.97
    assert np.sqrt(np.mean((y[n:] - mean) ** 2)) < 0.9 * y.std()


@pytest.mark.slow
def test_the_first_rows_of_a_stream_do_not_decide_for_those_to_come():
    """Forty categories have one of four functions: a stream that begins with few rows of each
    learns which."""
    rng = np.random.default_rng(0)
    code, number = rng.integers(40, size=1500), rng.uniform(-2.0, 2.0, 1500)
    f = np.repeat([1.0, -1.0, 2.0, -2.0], 10)[code] * np.sin(2.0 * number)
    X, y = np.column_stack([number, code]), f + 0.3 * rng.standard_normal(1500)
    options, spreads = {"n_inducing": 60, "max_iter": 10, "random_state": 0}, []
    model = StreamingSGPRegressor(categorical_features=[1], **options)
    for low, high in ((0, 300), (300, 800)):
        model.partial_fit(X[low:high], y[low:high])
        spreads.append(max(np.ptp(factor[:, 0]) for factor in factors_of(model)))
    assert spreads[0] == 0.0 < spreads[1]
    assert np.sqrt(np.mean((model.predict(X[800:]) - f[800:]) ** 2)) < 0.3
    labels = StreamingSGPClassifier(categorical_features=[1], n_inducing=20, max_iter=5)
    labels.partial_fit(X[:120], f[:120] > 0.0, classes=[False, True])
    assert all(np.ptp(factor[:, 0]) == 0.0 for factor in factors_of(labels))
    labels.partial_fit(X[120:500], f[120:500] > 0.0)
    assert any(np.ptp(factor[:, 0]) > 0.0 for factor in factors_of(labels))


def test_a_first_batch_does_not_decide_what_categories_share():
    """With partial_fit of inducing inputs the kernel is learned from each batch, and so is F."""
    X, y = levels(300, 40)
    options = {"categorical_features": [2], "n_inducing": 20, "max_iter": 2, "random_state": 0}
    for model, target in ((SVGPRegressor(**options), y), (SVGPClassifier(**options), y > 0.0)):
        whole = set(map(str, _fixed_factors(model.fit(X[:120], target[:120]))))
        assert whole == {"fixed"}
        batch = clone(model).partial_fit(X[:120], target[:120])
        assert "fixed" not in map(str, _fixed_factors(batch))


def _fixed_factors(model):
    parameters = model.kernel_.get_params()
    return [v for name, v in parameters.items() if name.endswith("factor_bounds")]


def test_few_rows_by_weight():
    columns = InputColumns(None, (1, 3), (tuple(range(4)), tuple(range(40))))
    assert scarce_categories(columns, 39.0) == (1, 3)
    assert scarce_categories(columns, 200.0) == (3,)
    assert scarce_categories(columns, 1000.0) == ()
