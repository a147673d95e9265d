"""Streams whose columns hold categories."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import StreamingSGPRegressor
from sklearn_sgp.kernels import Categorical, Columns

LEVELS, NEW = np.array([1.0, -1.0, 0.0, 2.0, 0.5, -2.0]), np.array([3, 0, 5, 1, 4, 2])


@pytest.mark.parametrize("new", [3, 50])
def test_categories_that_do_not_exist_are_not_counted(new):
    """After 0, 1 and 2 the value 50 was the code 50: the kernel had 51 categories, not 4."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0.0, 6.0, 300), np.arange(300) % 3])
    X[40::4, 1] = new
    y = np.sin(X[:, 0]) + LEVELS[np.minimum(X[:, 1].astype(int), 3)] + 0.1 * rng.normal(size=300)
    model = StreamingSGPRegressor(n_inducing=20, categorical_features=[1], random_state=0)
    for lo, hi in ((0, 40), (40, 100), (100, 300)):
        model.partial_fit(X[lo:hi], y[lo:hi])
    assert "n_categories=4" in str(model.kernel_)
    assert set(model.inducing_points_[:, 1]) == {0, 1, 2, new}
    of_new = X[:, 1] == new
    assert np.sqrt(np.mean((model.predict(X[of_new]) - y[of_new]) ** 2)) < 0.3


@pytest.mark.parametrize("optimizer", ["auto", None])
def test_the_order_of_codes_decides_nothing(optimizer):
    """Codes in another order give the same stream: inducing inputs are chosen without them."""
    rng = np.random.default_rng(3)
    X, T = (np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 6, n)]) for n in (180, 40))
    y = np.sin(1.5 * X[:, 0]) + LEVELS[X[:, 2].astype(int)] + 0.1 * rng.normal(size=180)
    kernel = Columns(RBF([1.5, 1.5]), [0, 1]) * Columns(Categorical(rank=1), [2])
    settings = {"categorical_features": [2], "optimizer": optimizer, "random_state": 0}
    found = []
    for codes in (np.arange(6), NEW):
        rows, new = X.copy(), T.copy()
        rows[:, 2], new[:, 2] = codes[X[:, 2].astype(int)], codes[T[:, 2].astype(int)]
        model = StreamingSGPRegressor(kernel, n_inducing=25, **settings)
        for part in np.split(np.arange(180), 3):
            model.partial_fit(rows[part], y[part])
        found.append(model.predict(new))
    assert_allclose(*found, atol=1e-5)
