"""Straight lines as a scikit-learn kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process.kernels import DotProduct

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.kernels import Linear, compile_kernel

RNG = np.random.default_rng(0)
X, Z = RNG.normal(3.0, 1.0, (7, 2)), RNG.normal(3.0, 1.0, (4, 2))


def test_lines_are_dot_products_of_scaled_columns():
    """It is DotProduct of columns less their centers, in units of their length scales."""
    kernel = Linear([2.0, 0.5], [3.0, 1.0])
    scaled = [(inputs - [3.0, 1.0]) / [2.0, 0.5] for inputs in (X, Z)]
    assert_allclose(kernel(X, Z), DotProduct(0.0, "fixed")(*scaled))
    assert_allclose(kernel.diag(X), np.diagonal(kernel(X)))
    assert not kernel.is_stationary()
    assert clone(kernel) == kernel != Linear([2.0, 0.6], [3.0, 1.0])


@pytest.mark.parametrize("kernel", [Linear(1.5), Linear([2.0, 0.5], [3.0, 1.0])])
def test_gradient_of_lines(kernel):
    """The gradient in the logarithms of length scales is that of differences."""
    _, gradient = kernel(X, eval_gradient=True)
    for k in range(kernel.n_dims):
        step = 1e-6 * np.eye(kernel.n_dims)[k]
        ends = [kernel.clone_with_theta(kernel.theta + sign * step)(X) for sign in (1.0, -1.0)]
        assert_allclose(gradient[:, :, k], (ends[0] - ends[1]) / 2e-6, atol=1e-6)
    fixed = Linear(1.5, length_scale_bounds="fixed")
    assert fixed(X, eval_gradient=True)[1].shape == (7, 7, 0)


def test_bad_center():
    """A center with another number of columns is refused."""
    with pytest.raises(ValueError, match="center of Linear must have one entry for each of the 2"):
        compile_kernel(Linear(1.0, [0.0, 0.0, 0.0]), np.zeros(2))
    with pytest.raises(ValueError, match="Y is None"):
        Linear()(X, Z, eval_gradient=True)


def test_slopes_of_lines():
    """With lines alone the slope of the mean is the same everywhere, and right in all units."""
    y = 2.0 * X[:, 0] - 0.3 * X[:, 1]
    model = SVGPRegressor(Linear([1.0, 1.0], X.mean(axis=0)), noise_variance=1e-6, random_state=0)
    slopes, deviations = model.fit(X, y).predict_gradient(Z, return_std=True)
    assert_allclose(slopes, np.tile([2.0, -0.3], (4, 1)), rtol=1e-2)
    assert_allclose(deviations, np.tile(deviations[0], (4, 1)), rtol=1e-6)
