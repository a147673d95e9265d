"""Draws of the function deviate as `predict_std` and `predict` say, however they are drawn."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
)
from stream_helpers import batches, taught

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor
from sklearn_sgp.data.inputs import Inputs
from sklearn_sgp.kernels import Categorical, Columns
from sklearn_sgp.likelihoods import StudentT
from sklearn_sgp.noise.variance_scale import VarianceScale

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

N, N_DRAWS = 90, 1600
rng = np.random.default_rng(3)
X = rng.uniform(-2.0, 2.0, (N, 2))
F = np.sin(2.0 * X[:, 0]) + 0.4 * X[:, 1] ** 2
Y = 100.0 + 20.0 * (F + 0.3 * rng.standard_normal(N))
TWO = np.column_stack([Y, 0.01 * X[:, 1] - 3e-4 * Y])
TEST = np.vstack([rng.uniform(-1.8, 1.8, (6, 2)), [[2.5, 0.0], [-4.0, 4.0]]])
SMOOTH = ConstantKernel(1.5) * RBF([0.8, 1.7])
ROUGH = SMOOTH + ConstantKernel(0.2) * Matern(0.5, nu=0.5)
MIXED = (
    ConstantKernel(0.7) * Columns(Matern(0.9, nu=2.5), [1]) * Columns(RationalQuadratic(1.1), [0])
    + ConstantKernel(0.1) * DotProduct(0.5) ** 2
    + ConstantKernel(0.3) * Columns(ExpSineSquared(1.2, 3.0), [0])
)
GIVEN = {"optimizer": None, "noise_variance": 0.08, "random_state": 0, "n_inducing": 15}
LEARNED = {"max_iter": 5, "random_state": 0, "n_inducing": 15}
NEAR = {"kernel": ROUGH, "n_neighbors": 10} | GIVEN
KINDS = np.column_stack([X[:, 0], np.arange(N) % 4])
OF_KINDS = Columns(Matern(nu=1.5), [0]) * Columns(Categorical(), [1]) + Columns(RBF(), [0])
MODELS = {
    "smooth": (SVGPRegressor(SMOOTH, **GIVEN), Y),
    "sums and products": (SVGPRegressor(MIXED, **GIVEN), Y),
    "two outputs": (SVGPRegressor(ROUGH, **GIVEN), TWO),
    "mixed outputs": (SVGPRegressor(SMOOTH, n_latent=2, **LEARNED), TWO),
    "waves": (SVGPRegressor(SMOOTH, **GIVEN | {"inducing": "fourier", "n_inducing": 80}), Y),
    "student_t": (SVGPRegressor(SMOOTH, likelihood=StudentT(df=4.0), **LEARNED), Y),
    "counts": (SVGPRegressor(SMOOTH, likelihood="poisson", **LEARNED), np.round(np.exp(F))),
    "noise of each row": (SVGPRegressor(SMOOTH, likelihood="heteroscedastic", **LEARNED), Y),
    "warped": (SVGPRegressor(SMOOTH, normalize_y="yeo-johnson", **GIVEN), Y),
    "vfe": (AnytimeSGPRegressor(SMOOTH, model="vfe", **GIVEN), Y),
    "fitc": (AnytimeSGPRegressor(ROUGH, model="fitc", **GIVEN), Y),
    "sor": (AnytimeSGPRegressor(SMOOTH, model="sor", **GIVEN), Y),
    "pic": (AnytimeSGPRegressor(ROUGH, model="pic", block_size=20, **GIVEN), Y),
    "lma": (AnytimeSGPRegressor(ROUGH, model="lma", block_size=20, **GIVEN), Y),
    "near rows": (AnytimeSGPRegressor(model="vif", **NEAR), Y),
    "near rows alone": (AnytimeSGPRegressor(model="vif", **NEAR | {"n_inducing": 0}), Y),
    "near rows of two outputs": (AnytimeSGPRegressor(model="vif", **NEAR), TWO),
    "near rows of counts": (
        AnytimeSGPRegressor(SMOOTH, model="vif", likelihood="poisson", n_neighbors=10, **LEARNED),
        np.round(np.exp(F)),
    ),
    "defaults": (AnytimeSGPRegressor(**LEARNED), Y),
    "stream": (StreamingSGPRegressor(SMOOTH, **GIVEN), Y),
    "stream of mixed outputs": (StreamingSGPRegressor(n_latent=2, **LEARNED), TWO),
    "stream of tails": (StreamingSGPRegressor(SMOOTH, likelihood=StudentT(df=4.0), **LEARNED), Y),
}
# Blocks or rows are independent given the inducing inputs: no function has their distribution.
JOINT_ALONE = {"sor", "pic"}


def with_larger_bands():
    """Near rows whose deviations have a factor of two, and those that it is a factor of."""
    model = AnytimeSGPRegressor(
        SMOOTH, model="vif", likelihood="heteroscedastic", n_neighbors=10, **LEARNED
    ).fit(X, Y)
    model._fitted, plain = (
        replace(model._fitted, row_noise=replace(model._fitted.row_noise, variance_scale=scale))
        for scale in (VarianceScale(np.full(1, np.log(4.0))), None)
    )
    variance = plain.predictor.moments(Inputs(TEST))[1][:, 0]
    assert_allclose(model.predict_std(TEST, False), 2.0 * np.sqrt(variance) * model.y_scale_)
    return model, TEST


def with_narrow_bands():
    """A stream of a function without noise, whose bands are narrower than its posterior's."""
    X = np.random.default_rng(0).uniform(0.0, 6.0, (400, 1))
    y = 7.0 * (np.sin(X[:, 0]) + np.cos(1.7 * X[:, 0]))
    model = StreamingSGPRegressor(n_inducing=25, random_state=0)
    taught(model, batches(X, y, 100, 200, 300))
    assert model.band_scale_ < 0.8
    return model, np.array([[0.3], [1.4], [3.1], [6.5], [9.0]])


def at_a_level():
    """A stream whose level wanders."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, (840, 1))
    y = np.sin(2.0 * X[:, 0]) + np.cumsum(0.05 * rng.normal(size=840))
    pieces = batches(X, 3.0 * (y + 0.2 * rng.normal(size=840)), *range(60, 840, 60))
    model = taught(StreamingSGPRegressor(n_inducing=20, random_state=0), pieces)
    _, variance = model.predict(np.array([[2.0]]), return_cov=True, include_noise=False)
    level = model._fitted.state.levels.variance[0] * model.y_scale_**2
    assert level > 0.2 * variance[0, 0]
    return model, np.array([[1.0], [4.0], [9.0], [30.0]])


def of_weighted_rows():
    """Near rows of which some count a tenth."""
    weight = np.where(np.arange(N) % 2, 0.1, 1.0)
    return AnytimeSGPRegressor(model="vif", **NEAR).fit(X, Y, sample_weight=weight), TEST


def of_categories():
    """Functions of each category, one of them new."""
    model = SVGPRegressor(OF_KINDS, **GIVEN).fit(KINDS, Y)
    return model, np.array([[-1.0, 0.0], [0.5, 1.0], [1.0, 2.0], [3.0, 3.0], [0.5, 4.0]])


MADE = {
    made.__name__: made
    for made in (with_larger_bands, with_narrow_bands, at_a_level, of_weighted_rows, of_categories)
}


@cache
def fitted(name):
    """Return a fitted model and rows to draw at."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in MADE:
            return MADE[name]()
        model, y = MODELS[name]
        return model.fit(X, y), TEST


def said(model, X):
    """Return deviations of the function (n, t), and its covariance (n t, n t)."""
    std = model.predict_std(X, include_noise=False)
    covariance = model.predict(X, return_cov=True, include_noise=False)[1]
    n, t = len(X), std[0].size
    if covariance.ndim == 4:  # of outputs that depend on one another
        covariance = covariance.transpose(0, 2, 1, 3)
    else:
        each = covariance.reshape(n, n, t)
        covariance = np.einsum("ijp,pq->ipjq", each, np.eye(t))
    return std.reshape(n, t), covariance.reshape(n * t, n * t)


def assert_deviations(draws, std, covariance):
    """Draws have the deviations that are said, at each row and of sums over rows and outputs."""
    draws = draws.reshape(*std.shape, -1)
    ratio = draws.std(axis=2) / std
    assert_allclose(ratio, 1.0, atol=0.12)
    assert_allclose(ratio.mean(), 1.0, atol=0.06)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (6, std.size))
    signs[0] = 1.0
    weights = signs / std.ravel()
    sums = (weights @ draws.reshape(std.size, -1)).std(axis=1)
    expected = np.sqrt(np.einsum("ki,ij,kj->k", weights, covariance, weights))
    assert_allclose(sums, expected, rtol=0.12)


@pytest.mark.quick_cases("defaults", "fitc", "stream")
@pytest.mark.parametrize("name", [*MODELS, *MADE])
def test_joint_draws_deviate_as_is_said(name):
    """From row to row, and together."""
    model, X = fitted(name)
    draws = model.sample_y(X, N_DRAWS, method="joint", include_noise=False)
    assert_deviations(draws, *said(model, X))


@pytest.mark.quick_cases("defaults", "fitc", "counts", "stream", "mixed outputs")
@pytest.mark.parametrize("name", [name for name in [*MODELS, *MADE] if name not in JOINT_ALONE])
def test_functions_deviate_as_is_said(name):
    """Functions are what pathwise draws are made of, too."""
    model, X = fitted(name)
    functions = model.sample_functions(N_DRAWS, random_state=0)
    assert_deviations(functions(X), *said(model, X))
    few = model.sample_y(X, 3, method="pathwise", include_noise=False)
    assert_array_equal(few, model.sample_functions(3, random_state=0)(X))
