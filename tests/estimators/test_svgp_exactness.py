"""SVGPRegressor is the exact Gaussian process where that can be said, in the units of y."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from svgp_regressors import fixed

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor
from sklearn_sgp.kernels import Columns


@pytest.mark.parametrize("noise", [1e-3, 0.1])
@pytest.mark.parametrize(
    "kernel",
    [
        1.5 * RBF([1.0, 2.0]),
        Matern([1.0, 2.0], nu=0.5),
        2.0 * Matern(1.5, nu=1.5),
        Matern([1.0, 2.0], nu=2.5),
        Matern(1.0, nu=np.inf),
        RationalQuadratic(1.0, 0.7),
        ConstantKernel(0.5) + RBF(0.7) * DotProduct(1.2),
        Columns(ExpSineSquared(1.0, 2.0), [0]) + Columns(RBF(1.0), [1]),
        RBF(1.0) ** 2 + 0.3 * DotProduct(0.5),
    ],
    ids=str,
)
def test_exact_gp_where_every_row_is_an_inducing_input(toy, kernel, noise):
    """With Z = X the model is scikit-learn's GaussianProcessRegressor, its bound the evidence."""
    X, y = toy
    model = SVGPRegressor(kernel, optimizer=None, inducing=X, noise_variance=noise).fit(X, y)
    whole_kernel = model.kernel_ + WhiteKernel(model.noise_variance_)
    exact = GaussianProcessRegressor(whole_kernel, optimizer=None, normalize_y=True).fit(X, y)
    X_new = np.random.default_rng(2).uniform(-3.0, 3.0, (25, 2))
    mean, std = exact.predict(X_new, return_std=True)
    cov = exact.predict(X_new, return_cov=True)[1]
    # a mean may cross zero and a covariance vanish: there the unit of y is the measure
    assert_allclose(model.predict(X_new), mean, rtol=1e-6, atol=1e-7 * y.std())
    assert_allclose(model.predict_std(X_new), std, rtol=1e-6)
    assert_allclose(model.predict(X_new, return_cov=True)[1], cov, rtol=1e-6, atol=1e-7 * y.var())
    evidence = exact.log_marginal_likelihood_value_ - len(y) * np.log(y.std())
    assert_allclose(model.objective_, evidence, rtol=1e-6)


def test_exact_gp_with_the_noise_in_the_kernel(toy):
    """kernel_ keeps the WhiteKernel, so GaussianProcessRegressor(kernel_) is the same model."""
    X, y = toy
    kernel = 1.5 * RBF(1.0) + WhiteKernel(0.05)
    model = SVGPRegressor(kernel, inducing=X, optimize_inducing=False, max_iter=5).fit(X, y)
    exact = GaussianProcessRegressor(model.kernel_, optimizer=None, normalize_y=True).fit(X, y)
    mean, std = exact.predict(X + 0.1, return_std=True)
    assert_allclose(model.predict(X + 0.1), mean, rtol=1e-6)
    assert_allclose(model.predict_std(X + 0.1), std, rtol=1e-6)
    assert_allclose(model.kernel_.k2.noise_level, model.noise_variance_, rtol=1e-12)


def test_each_output_is_a_model_of_its_own(toy_outputs):
    """With a fixed kernel several outputs are as many independent models, objectives summed."""
    X, y = toy_outputs
    both, apart = fixed().fit(X, y), [fixed().fit(X, column) for column in y.T]
    assert_allclose(both.predict(X), np.column_stack([m.predict(X) for m in apart]), rtol=1e-9)
    stds = np.column_stack([m.predict_std(X) for m in apart])
    assert_allclose(both.predict_std(X), stds, rtol=1e-9)
    assert_allclose(both.objective_, sum(m.objective_ for m in apart), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1e5])
def test_objective_is_in_units_of_y(toy, scale):
    """Rescaling y by c lowers every objective by n log c, and leaves the learned kernel alone."""
    X, y = toy
    one = SVGPRegressor(n_inducing=10, max_iter=5, random_state=0).fit(X, y)
    other = clone(one).fit(X, scale * y)
    change = -len(y) * np.log(scale)
    assert_allclose(other.objective_ - one.objective_, change, rtol=1e-6)
    assert_allclose(other.objectives_ - one.objectives_, change, rtol=1e-6)
    assert_allclose(other.kernel_.theta, one.kernel_.theta, rtol=1e-6)


def test_objective_without_normalisation_is_the_evidence_itself(toy):
    """With normalize_y=False nothing is subtracted or divided anywhere."""
    X, y = toy
    model = fixed(kernel=30.0 * RBF(2.0), inducing=X, normalize_y=False).fit(X, y)
    covariance = model.kernel_(X) + 0.1 * np.eye(len(X))
    evidence = multivariate_normal(np.zeros(len(X)), covariance).logpdf(y)
    assert_allclose(model.objective_, evidence, rtol=1e-6)
    assert (model.y_mean_, model.y_scale_) == (0.0, 1.0)


def test_normalize_y_given_as_mean_and_scale(toy):
    """A pair (mean, scale) is used as given: the same as scaling by hand."""
    X, y = toy
    model = fixed(normalize_y=(3.0, 2.0)).fit(X, y)
    by_hand = fixed(normalize_y=False).fit(X, (y - 3.0) / 2.0)
    assert (model.y_mean_, model.y_scale_) == (3.0, 2.0)
    assert_allclose(model.predict(X), 3.0 + 2.0 * by_hand.predict(X), rtol=1e-9)
    assert_allclose(model.predict_std(X), 2.0 * by_hand.predict_std(X), rtol=1e-9)
    assert_allclose(model.objective_, by_hand.objective_ - len(y) * np.log(2.0), rtol=1e-9)


@pytest.mark.parametrize("kind", [SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor])
@pytest.mark.parametrize(
    "kernel",
    [
        ConstantKernel(1e6) * RBF(0.7) + WhiteKernel(1e-6),
        ConstantKernel(2.0) * RBF(1e6) + WhiteKernel(0.1),
    ],
)
def test_nothing_moves_where_nothing_is_learned(kind, kernel, rng):
    """Parameters beyond their bounds stay as given, as in scikit-learn."""
    X = rng.uniform(0.0, 6.0, (30, 1))
    y = 100.0 * np.sin(X[:, 0])
    model = kind(kernel, optimizer=None, inducing=X, normalize_y=False).fit(X, y)
    assert_allclose(model.kernel_.theta, kernel.theta, rtol=1e-10)
    exact = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)
    assert_allclose(model.predict(X), exact.predict(X), rtol=1e-3, atol=1e-3)
    small = kind(noise_variance=1e-8, optimizer=None, inducing=X).fit(X, y)
    assert small.noise_variance_ == pytest.approx(1e-8)
