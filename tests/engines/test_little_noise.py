"""Little noise to begin with is no reason to end with nothing else."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor


def smooth(n=100, noise=0.05, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.uniform(size=(n, 3))
    return X, np.sin(6.0 * X[:, 0]) + X.sum(axis=1) + noise * rng.standard_normal(n)


def kernel():
    return ConstantKernel() * RBF(np.ones(3))


MODELS = {
    "svgp": SVGPRegressor(kernel(), random_state=0),
    "near rows": AnytimeSGPRegressor(kernel(), random_state=0),
    "fitc": AnytimeSGPRegressor(kernel(), model="fitc", n_inducing=60, random_state=0),
    "stream": StreamingSGPRegressor(kernel(), n_inducing=60, random_state=0),
    "by default": SVGPRegressor(random_state=0),
    "lines": SVGPRegressor(kernel() + DotProduct(), random_state=0),
}


@pytest.mark.quick_cases("1e-06-*")
@pytest.mark.filterwarnings("ignore:The optimal value found for dimension")  # lines say all
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("noise_variance", [1e-6, 1e-3])
def test_the_noise_to_begin_with_does_not_decide(name, noise_variance):
    (X, y), (T, f), model = smooth(), smooth(noise=0.0, seed=1), MODELS[name]
    usual = model.set_params(noise_variance=None).fit(X, y)
    evidence, error = usual.objective_, np.abs(usual.predict(T) - f).mean()
    begun = model.set_params(noise_variance=noise_variance).fit(X, y)
    assert_allclose(begun.objective_, evidence, atol=1.0)
    assert np.abs(begun.predict(T) - f).mean() < 1.2 * error < 0.1


def test_noise_of_a_kernel_is_begun_with_more_too():
    X, y = smooth()
    few, usual = (
        SVGPRegressor(kernel() + WhiteKernel(level), random_state=0).fit(X, y).objective_
        for level in (1e-5, 0.1)
    )
    assert_allclose(few, usual, atol=1e-2)


def test_noise_that_is_held_stays():
    X, y = smooth()
    model = SVGPRegressor(kernel(), noise_variance=0.05, noise_variance_bounds="fixed")
    assert_allclose(model.set_params(random_state=0).fit(X, y).noise_variance_, 0.05)
