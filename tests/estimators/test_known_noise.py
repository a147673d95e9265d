"""Noise variances that are known for each row: weights 1 / variance, noise fixed at 1."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor

# so short that K(X, X) has a condition number at which other BLAS agree, too
KERNEL = ConstantKernel(2.0) * RBF(0.5)


@pytest.mark.parametrize("kind", [SVGPRegressor, AnytimeSGPRegressor])
def test_it_is_the_exact_model_with_these_variances(kind, rng):
    """With Z = X the latent function, and the evidence less a constant, are scikit-learn's."""
    X = np.sort(rng.uniform(0.0, 10.0, (25, 1)), axis=0)
    se = rng.uniform(0.1, 0.8, 25)
    y = 3.0 + np.sin(X[:, 0]) + se * rng.standard_normal(25)
    X_new = np.linspace(-1.0, 11.0, 30)[:, None]
    exact = GaussianProcessRegressor(KERNEL, alpha=se**2, optimizer=None).fit(X, y)
    weight = 1.0 / se**2
    model = kind(
        KERNEL,
        inducing=X,
        optimizer=None,
        noise_variance=1.0,
        noise_variance_bounds="fixed",
        normalize_y=False,
    ).fit(X, y, sample_weight=weight)
    mean, std = exact.predict(X_new, return_std=True)
    assert_allclose(model.predict(X_new), mean, rtol=1e-7, atol=1e-7)
    assert_allclose(model.predict_std(X_new, include_noise=False), std, rtol=1e-5)
    constant = 0.5 * ((weight - 1.0) * np.log(2.0 * np.pi) + np.log(weight)).sum()
    evidence = exact.log_marginal_likelihood_value_
    assert_allclose(model.objective_ + constant, evidence, rtol=1e-6)


@pytest.mark.filterwarnings("error:sample_weight")
@pytest.mark.parametrize("unit", [1e-3, 1e3])
@pytest.mark.parametrize("kind", [SVGPRegressor, AnytimeSGPRegressor])
def test_another_unit_of_y_learns_the_same(kind, unit):
    """Precisions that sum to 5.6 were as few rows, of which nothing is learned; and others not."""
    rng = np.random.default_rng(0)
    X, se = rng.uniform(-2.0, 2.0, (50, 3)), 3.0
    y = 30.0 * np.sin(X[:, 0]) + se * rng.standard_normal(50)
    known = {"noise_variance": 1.0, "noise_variance_bounds": "fixed", "normalize_y": False}
    first, other = (
        kind(random_state=0, **known).fit(X, u * y, sample_weight=np.full(50, (u * se) ** -2.0))
        for u in (1.0, unit)
    )
    assert_allclose(other.predict(X) / unit, first.predict(X), atol=1e-3 * np.ptp(y))


@pytest.mark.filterwarnings("error:sample_weight")
@pytest.mark.parametrize("weight", [1e-4, 1e8])
def test_a_fixed_term_of_the_kernel_is_known_noise(weight):
    """Precisions beside a fixed WhiteKernel were warned of as if they were counts of rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, (25, 1))
    kernel = KERNEL + WhiteKernel(1.0, "fixed")
    weight = np.full(25, weight)
    SVGPRegressor(kernel, max_iter=2).fit(X, np.sin(X[:, 0]), sample_weight=weight)
