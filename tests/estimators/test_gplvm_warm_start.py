"""With warm_start, BayesianGPLVM goes on from the last fit, except where the user asks anew."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sklearn_sgp import BayesianGPLVM


@pytest.fixture(scope="module")
def curve():
    rng = np.random.default_rng(0)
    t = rng.uniform(-2.5, 2.5, 80)
    Y = np.column_stack([np.sin(t), np.cos(t), t, t**2 / 4])
    return Y + 0.05 * rng.normal(size=Y.shape)


def fitted(Y, **parameters):
    defaults = {"n_inducing": 10, "max_iter": 40, "warm_start": True, "random_state": 0}
    return BayesianGPLVM(2, **(defaults | parameters)).fit(Y)


def test_a_second_fit_goes_on(curve):
    """The second fit begins where the first one ended, and gains on it."""
    model = fitted(curve)
    first = model.objective_
    model.fit(curve)
    assert model.objectives_[0] > first - 0.1 * len(curve)
    assert model.objective_ > first


def test_without_an_optimiser_the_model_stays(curve):
    """Kernel, noise and inducing inputs are those of the last fit, whatever the rows are."""
    model = fitted(curve[:60])
    kernel, noise, Z = model.kernel_, model.noise_variance_, model.inducing_points_
    model.set_params(optimizer=None).fit(curve)
    assert_allclose(model.kernel_.theta, kernel.theta)
    assert model.noise_variance_ == pytest.approx(noise)
    assert_array_equal(model.inducing_points_, Z)
    assert len(model.embedding_) == len(curve)


@pytest.mark.slow
def test_what_the_user_asks_anew_is_heeded(curve):
    """More and fewer inducing inputs, given ones, another kernel, noise and number of inputs."""
    model = fitted(curve, max_iter=5).set_params(optimizer=None)
    Z, theta = model.inducing_points_, model.kernel_.theta
    model.set_params(n_inducing=14).fit(curve)
    assert_array_equal(model.inducing_points_[:10], Z)
    assert len(model.inducing_points_) == 14
    assert len(model.set_params(n_inducing=6).fit(curve).inducing_points_) == 6
    given = np.linspace(-1.0, 1.0, 6).reshape(3, 2)
    assert_array_equal(model.set_params(inducing=given).fit(curve).inducing_points_, given)
    assert_allclose(model.kernel_.theta, theta)
    other = ConstantKernel(2.0) * Matern([1.5, 2.5], nu=2.5)
    model.set_params(kernel=other, noise_variance=0.3, noise_variance_bounds="fixed").fit(curve)
    assert_allclose(model.kernel_.theta, other.theta)
    assert model.noise_variance_ == pytest.approx(0.3)
    assert model.set_params(n_components=1, kernel=RBF(), inducing="kmeans").fit(curve) is model
    assert model.embedding_.shape == (80, 1)


def test_other_columns_begin_anew(curve):
    """A table whose columns are not those of before is learned as by a new estimator."""
    model = fitted(curve, max_iter=5).fit(curve[:, :3])
    assert_array_equal(model.embedding_, fitted(curve[:, :3], max_iter=5).embedding_)
    constant = np.column_stack([curve[:, :2], np.ones(len(curve))])
    assert np.isfinite(model.fit(constant).embedding_).all()
