"""Smooth functions with little or no noise: rounding must not count as information."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor

X = np.sort(np.random.default_rng(0).uniform(0.0, 6.0, (150, 1)), axis=0)
Y = np.sin(X[:, 0])
X_TEST = np.linspace(0.1, 5.9, 40)[:, None]
SMOOTH = ConstantKernel(1.0) * RBF(2.0)


def held(noise, **options):
    """Kernel and noise that stay as they are, in units of y."""
    return {
        "noise_variance": noise,
        "noise_variance_bounds": "fixed",
        "optimizer": None,
        "normalize_y": False,
        "random_state": 0,
        **options,
    }


@pytest.mark.parametrize("solver", ["exact", "anytime"])
@pytest.mark.parametrize("model", ["pic", "pitc"])
def test_blocks_learn_a_smooth_function_without_noise(model, solver):
    """PIC and PITC with default settings fit a sine to rounding, without an exception."""
    model = AnytimeSGPRegressor(
        model=model, solver=solver, n_inducing=30, block_size=50, random_state=0, max_iter=8
    ).fit(X, Y)
    assert_allclose(model.predict(X), Y, atol=2e-3)


@pytest.mark.quick_cases("0")
@pytest.mark.parametrize("draw", range(3))
def test_blocks_learn_on_scattered_inputs(draw):
    """The default fit of 500 noise-free rows in random order works."""
    X = np.random.default_rng(draw).uniform(0.0, 10.0, (500, 1))
    y = np.sin(X[:, 0])
    model = AnytimeSGPRegressor(n_inducing=60, max_iter=15, random_state=0).fit(X, y)
    assert_allclose(model.predict(X), y, atol=2e-3)


# Errors of the mean, in standard deviations of the noise: 1e-6 where the arithmetic allows it.
TOLERANCE = {1e-3: 1e-6, 1e-4: 1e-6, 1e-6: 1e-4, 1e-8: 1e-2}


@pytest.mark.parametrize("noise", TOLERANCE)
@pytest.mark.parametrize("kernel", [SMOOTH, ConstantKernel(1.0) * Matern(2.0, nu=2.5)])
@pytest.mark.parametrize("model", ["vfe", "fitc", "pitc", "pic"])
def test_every_model_is_the_exact_gp(model, kernel, noise):
    """With inducing inputs at the data every model is the exact GP, whatever the smoothness."""
    model = AnytimeSGPRegressor(
        kernel, model=model, solver="exact", inducing=X, block_size=50, **held(noise)
    ).fit(X, Y)
    exact = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(X, Y)
    mean, std = exact.predict(X_TEST, return_std=True)
    assert np.abs(model.predict(X_TEST) - mean).max() < TOLERANCE[noise] * np.sqrt(noise)
    assert_allclose(model.predict_std(X_TEST), np.sqrt(std**2 + noise), rtol=0.01)


@pytest.mark.parametrize("noise", [1e-3, 1e-6, 1e-8])
def test_joint_covariance_is_the_exact_one(noise):
    """Covariances of new observations differ from the exact GP's by a part of the noise."""
    model = SVGPRegressor(RBF(2.0), inducing=X[::4], **held(noise)).fit(X, Y)
    covariance = model.predict(X_TEST, return_cov=True)[1]
    exact = GaussianProcessRegressor(RBF(2.0), alpha=noise, optimizer=None).fit(X, Y)
    expected = exact.predict(X_TEST, return_cov=True)[1] + noise * np.eye(len(X_TEST))
    assert np.abs(covariance - expected).max() < 0.01 * noise
    assert np.linalg.eigvalsh(covariance).min() > 0.98 * noise


def test_joint_draws_of_a_noise_free_function():
    """Joint draws work where the learned noise is at its lower bound."""
    model = SVGPRegressor(n_inducing=40, max_iter=40, random_state=0, n_jobs=1).fit(X, Y)
    draws = model.sample_y(X_TEST, n_samples=3)
    assert_allclose(draws, np.tile(np.sin(X_TEST), 3), atol=0.05)
