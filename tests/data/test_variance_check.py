"""Inputs at which a kernel is not finite are refused."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, DotProduct

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.data.inducing import greedy_variance
from sklearn_sgp.data.readable import check_variance
from sklearn_sgp.kernels import compile_kernel


def bound(kernel, d=2):
    return compile_kernel(kernel, np.zeros(d)).bind(kernel.theta)


def test_the_largest_variance_decides():
    """A cubic kernel is finite at 1e20 and not at 1e60, a stationary one everywhere."""
    for size in (1.0, 1e20):
        check_variance(bound(DotProduct() ** 3), np.array([[1.0, 0.0], [0.0, -size]]))
    check_variance(bound(RBF()), np.array([[1e99, -1e99]]))
    with pytest.raises(ValueError, match=r"X must hold.*1e\+150.*inf.*\*\* 3.*up to 1e\+60 "):
        check_variance(bound(DotProduct() ** 3), np.array([[1.0, -1e60], [0.0, 2.0]]))


def test_estimators_name_x(toy):
    """fit and predict refuse such inputs, and the model stays."""
    X, y = toy
    model = SVGPRegressor(DotProduct() ** 3, n_inducing=5, max_iter=2, random_state=0)
    with pytest.raises(ValueError, match="X must hold numbers at which the kernel"):
        model.fit(1e90 * X, y)
    before = model.fit(X, y).predict(X)
    for call in (model.predict, model.predict_std, model.sample_y):
        with pytest.raises(ValueError, match="X must hold numbers at which the kernel"):
            call(1e90 * X)
    assert np.array_equal(model.predict(X), before)


def test_a_kernel_that_is_zero_at_all_rows_picks_a_row():
    """Greedy choice returns an index, though there is nothing to gain."""
    kernel = bound(DotProduct(0.0, "fixed"))
    picked = greedy_variance(kernel, np.zeros((4, 2)), np.ones(4), 3)
    assert picked.tolist() == [0]
