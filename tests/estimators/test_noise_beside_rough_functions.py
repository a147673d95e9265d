"""Noise and a part of the kernel that is rough at every distance: neither takes all."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes
from slow_variants import slow

from sklearn_sgp import AnytimeSGPRegressor


def with_few_repeats(seed, n=400, rounded=False):
    """Rows of nine columns, three repeated with their targets, and test rows that repeat others."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + 200, 3)) @ rng.standard_normal((3, 9))
    X += 0.3 * rng.standard_t(3, size=X.shape)
    X = np.round(2.0 * X) if rounded else X
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.8 * rng.standard_normal(n + 200)
    X[1:4], y[1:4] = X[4:7], y[4:7]
    X[n : n + 6] = X[10:16]
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.quick_cases("pic-False")
@pytest.mark.parametrize(
    ("model", "rounded"), [("vif", False), slow("vif", True), ("pic", False), slow("lma", False)]
)
def test_rows_that_repeat_others_with_other_targets(model, rounded):
    """No test row lies more than 30 predicted deviations off (1,500 where all noise is rough)."""
    X, y, X_test, y_test = with_few_repeats(0, rounded=rounded)
    mean, std = AnytimeSGPRegressor(model=model, random_state=0).fit(X, y).predict(X_test, True)
    assert np.abs((y_test - mean) / std).max() < 30.0


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", [slow("student_t"), "heteroscedastic"])
def test_they_are_known_to_other_noise_too(likelihood):
    """The same holds where noise has tails or depends on the input."""
    X, y, X_test, y_test = with_few_repeats(1)
    fitted = AnytimeSGPRegressor(likelihood=likelihood, random_state=0).fit(X, y)
    mean, std = fitted.predict(X_test, True)
    assert np.abs((y_test - mean) / std).max() < 30.0


def test_weights_that_are_no_counts():
    """With uneven weights training rows are not followed to the last digit."""
    X, y = (part[:160] for part in load_diabetes(return_X_y=True))
    weight = np.random.default_rng(0).uniform(0.1, 3.0, 160)
    fitted = AnytimeSGPRegressor(random_state=0).fit(X, y, sample_weight=weight)
    assert fitted.noise_variance_ > 1e-3 and fitted.score(X, y) < 0.9999


def test_a_rough_part_that_correlates_no_rows_is_noise():
    """Smooth functions of few rows do not follow their noise: RMSE .155 and .157 at these rows."""
    for frequency in (1.0, 2.0):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(150, 2))
        smooth = np.cos(frequency * X[:, 0])
        y = smooth + 0.2 * rng.normal(size=(150, 2))[:, 1]
        fitted = AnytimeSGPRegressor(random_state=0).fit(X, y)
        assert np.sqrt(np.mean((fitted.predict(X) - smooth) ** 2)) < 0.06


def branin(X):
    a, b = 15.0 * X[:, 0] - 5.0, 15.0 * X[:, 1]
    bend = b - 5.1 / (4.0 * np.pi**2) * a**2 + 5.0 / np.pi * a - 6.0
    return bend**2 + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(a) + 10.0


def test_functions_without_noise_keep_narrow_bands():
    """Of a smooth function without noise, the noise is at its lower bound."""
    X = np.random.default_rng(1).uniform(size=(100, 2))
    fitted = AnytimeSGPRegressor(random_state=0).fit(X, branin(X))
    assert_allclose(fitted.noise_variance_, 1e-6)


@pytest.mark.filterwarnings("ignore:The optimal value found")  # as it is told
def test_what_was_given_is_left_alone():
    """With bounds of its own the noise is what the rows say, however little."""
    X, y, _, _ = with_few_repeats(0)
    bounds = (1e-7, 1e3)
    fitted = AnytimeSGPRegressor(noise_variance_bounds=bounds, random_state=0).fit(X, y)
    assert fitted.noise_variance_ < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("n", [600, 900, 1500])
@pytest.mark.parametrize("seed", [0, 1])
def test_noise_of_each_category_is_noise(n, seed):
    """Noise of three instruments is found as noise, not as functions of each of them."""
    sd = np.array([0.05, 0.3, 1.0])
    rng = np.random.default_rng(seed)
    x, source = rng.uniform(0.0, 10.0, n), rng.choice(3, n, p=[0.3, 0.4, 0.3])
    names = np.array(["lab", "field", "satellite"])
    table = pd.DataFrame({"x": x, "source": names[source]})
    y = np.sin(x) + sd[source] * rng.standard_normal(n)
    fitted = AnytimeSGPRegressor(
        likelihood="heteroscedastic", categorical_features=["source"], random_state=0
    ).fit(table, y)
    new = pd.DataFrame({"x": [5.0] * 3, "source": names})
    assert np.abs(np.log2(fitted.noise_std(new) / sd)).max() < 1.0
    assert (fitted.predict_std(new, include_noise=False) < 0.3).all()
