"""Fits that explain less than the next rows along one column do say so."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp import SVGPRegressor


@pytest.mark.filterwarnings("ignore:The optimal value found for dimension")
def test_a_fast_function_of_one_of_many_columns_is_told():
    """270 rows of 12 columns, four periods along one: a given kernel tells the mean alone."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (270, 12))
    y = np.sin(13.0 * X[:, 4]) + 0.02 * rng.normal(size=270)
    with pytest.warns(UserWarning, match="along column 4 of X alone explain"):
        SVGPRegressor(RBF(np.ones(12)), random_state=0).fit(X, y)


@pytest.mark.filterwarnings("ignore:.*max_iter")
def test_noise_in_any_order_is_not(rng):
    """Sorted noise beside columns of few values has no columns that explain it."""
    X = rng.integers(0, 2, (120, 5)).astype(float)
    SVGPRegressor(random_state=0, max_iter=20).fit(X, np.sort(rng.normal(size=120)))
