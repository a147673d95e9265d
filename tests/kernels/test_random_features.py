"""Random features agree with their kernels, and some kernels have no features."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
)

from sklearn_sgp.kernels import Columns, Linear, compile_kernel
from sklearn_sgp.kernels._random_features import sample_features

SCALES = [0.8, 1.5, 2.0]
PERIODIC = Columns(ExpSineSquared(0.7, 1.3), [1])

RANDOM = {
    "rbf": RBF(1.2),
    "rbf-ard": 2.5 * RBF(SCALES),
    "matern12": Matern(1.2, nu=0.5),
    "matern32": Matern(SCALES, nu=1.5),
    "matern52": Matern(SCALES, nu=2.5),
    "matern-inf": Matern(1.2, nu=np.inf),
    "rational-quadratic": RationalQuadratic(1.2, 0.6),
    "periodic": PERIODIC,
    "periodic-short": Columns(ExpSineSquared(0.05, 1.3), [0]),
    "sum": RBF(1.2) + 0.5 * Matern(SCALES, nu=0.5) + 2.0,
    "product": RBF(SCALES) * Matern(1.2, nu=1.5) * RationalQuadratic(),
    "quasi-periodic": 3.0 * Columns(Matern(1.0, nu=2.5), [1]) * PERIODIC,
    "columns": Columns(RBF([0.8, 1.5]), [2, 0]),
    "columns-nested": Columns(Columns(RBF(1.2), [1]) + Matern(1.2, nu=1.5), [2, 1]),
    "columns-repeated": Columns(RBF([0.8, 1.5]), [1, 1]),
    "directions": Columns(Matern([0.8, 1.5]), [2, 0], [[1.0, 0.5], [0.3, -0.4]]),
    "directions-nested": RBF(SCALES)
    * Columns(
        Columns(RBF(1.2), [1, 0], [[1.0, 0.4]]) * Columns(Matern(), [1]),
        [2, 1],
        [[1.0, 0.5], [0.3, -1.0]],
    ),
    "directions-and-lines": Columns(
        RBF() * Columns(DotProduct(0.5), [1]), [2, 1], [[1.0, 0.5], [0.3, 1.0]]
    ),
    "product-over-sum": 2.0 * (RBF(1.2) + Columns(Matern(0.7, nu=1.5), [0])),
    "power": (0.5 * RBF(1.2) + Columns(Matern(0.7, nu=1.5), [0])) ** 3,
    "lines-times-stationary": Columns(Linear([0.8, 2.0]), [0, 2]) * RBF(SCALES),
    "linear-times-stationary": Columns(DotProduct(0.5), [0, 2]) * (1.0 + RBF(SCALES)),
}
EXACT = {
    "constant": ConstantKernel(1.7),
    "linear": 0.5 * DotProduct(0.8),
    "lines": 0.5 * Linear(SCALES, [0.3, -0.2, 0.1]) + Columns(Linear(), [1]),
    "linear-columns": Columns(DotProduct(0.8), [2]) + DotProduct(0.1),
    "linear-directions": Columns(DotProduct(0.8), [2, 0], [[1.0, 0.5]]),
    "polynomial": (2.0 * DotProduct(0.8)) ** 3,
    "constant-power": ConstantKernel(1.7) ** 2 + RBF() ** 0,
}
WITHOUT_DENSITY = {
    "opaque": (RBF() + PairwiseKernel(metric="laplacian"), "PairwiseKernel"),
    "matern-nu": (Matern(nu=0.8), r"Matern\(length_scale=1, nu=0.8\)"),
    "periodic-of-distance": (ExpSineSquared(), "one column"),
    "root": (RBF() ** 0.5, "exponent. Got 0.5"),
    "many-terms": ((RBF() + Matern()) ** 7, "at most 64 terms"),
    "wide-product": (DotProduct() ** 4 * RBF(), "at most 50 entries"),
}


def bound(kernel, center=(0.3, -0.2, 5.0)):
    expression = compile_kernel(kernel, np.array(center))
    return expression.bind(expression.theta)


@pytest.fixture
def rng():
    return np.random.RandomState(0)


@pytest.fixture
def X(rng):
    return rng.standard_normal((6, 3))


@pytest.mark.parametrize("kernel", RANDOM.values(), ids=RANDOM)
def test_products_of_many_features_are_the_kernel(kernel, X, rng):
    """The mean of Phi Phi^T over draws is K, within five Monte Carlo standard errors."""
    kernel = bound(kernel)
    Phis = (sample_features(kernel, 2000, rng)(X) for _ in range(60))
    products = np.array([Phi @ Phi.T for Phi in Phis])
    error = products.std(axis=0, ddof=1) / np.sqrt(len(products))
    K = kernel.gram(X)
    assert (np.abs(products.mean(axis=0) - K) < 5.0 * error + 1e-12 * K.max()).all()
    assert error.max() < 0.01 * K.max()


@pytest.mark.parametrize("kernel", EXACT.values(), ids=EXACT)
def test_features_of_polynomials_are_exact(kernel, X, rng):
    """Constants, linear kernels and their products need no randomness."""
    kernel = bound(kernel)
    Phi = sample_features(kernel, 200, rng)(X)
    assert_allclose(Phi @ Phi.T, kernel.gram(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["rbf-ard", "matern12", "quasi-periodic", "power"])
def test_diagonal_of_stationary_kernels_is_exact(name, X, rng):
    """Squares of cosine and sine add up to one, so k(x, x) has no Monte Carlo error."""
    kernel = bound(RANDOM[name])
    Phi = sample_features(kernel, 100, rng)(X)
    assert_allclose((Phi**2).sum(axis=1), kernel.diag(X), rtol=1e-12)


@pytest.mark.parametrize("name", ["rbf", "sum", "product-over-sum", "linear-times-stationary"])
@pytest.mark.parametrize("n_features", [64, 1000])
def test_number_of_features(name, n_features, X, rng):
    """The number of features is at most the number asked for, and at least 80 % of it."""
    Phi = sample_features(bound(RANDOM[name]), n_features, rng)(X)
    assert 0.8 * n_features <= Phi.shape[1] <= n_features
    assert Phi.dtype == np.float64 and Phi.flags.c_contiguous


def test_wide_linear_kernel_leaves_features_to_the_rest(rng):
    """A linear kernel with more columns than features stays exact; the rest gets n / 2 features."""
    kernel = bound(DotProduct() + RBF(20.0), np.zeros(300))
    X = rng.standard_normal((5, 300))
    assert sample_features(kernel, 100, rng)(X).shape[1] == 301 + 50


def test_far_off_inputs_lose_no_digits(X, rng):
    """The center is subtracted before angles are formed."""
    X = np.round(X * 1024.0) / 1024.0
    near, far = bound(RANDOM["sum"], np.zeros(3)), bound(RANDOM["sum"], np.full(3, 1e6))
    Phi = sample_features(near, 100, np.random.RandomState(1))(X)
    Phi_far = sample_features(far, 100, np.random.RandomState(1))(X + 1e6)
    assert_array_equal(Phi, Phi_far)


@pytest.mark.parametrize(
    "kernel",
    [RBF(1e-309), Columns(Matern([1e-309, 1e-309]), [2, 0], [[1.0, 0.5], [0.3, -0.4]])],
    ids=["rbf", "directions"],
)
def test_length_scales_without_an_inverse(kernel, X, rng):
    """Those of 1e-309, which rows of 1e-300 have of which one weighs more than all others."""
    assert np.isfinite(sample_features(bound(kernel), 100, rng)(1e-300 * X)).all()


@pytest.mark.parametrize("name", ["sum", "quasi-periodic", "linear-times-stationary"])
def test_same_seed_same_function(name, X):
    """The seed determines the features, also after pickling and for float32 and read-only rows."""
    kernel = bound(RANDOM[name])
    first, second = (sample_features(kernel, 100, np.random.RandomState(3)) for _ in range(2))
    X = X.astype(np.float32)
    X.flags.writeable = False
    assert_array_equal(first(X), pickle.loads(pickle.dumps(second))(np.asfortranarray(X)))
    assert not np.array_equal(first(X), sample_features(kernel, 100, np.random.RandomState(4))(X))


@pytest.mark.parametrize("name", ["rbf", "matern52", "rational-quadratic", "periodic"])
def test_generator(name, X):
    """numpy.random.Generator is accepted as well as RandomState."""
    kernel = bound(RANDOM[name])
    Phi = sample_features(kernel, 20000, np.random.default_rng(0))(X)
    assert_allclose(Phi @ Phi.T, kernel.gram(X), atol=0.05)


@pytest.mark.parametrize(("kernel", "message"), WITHOUT_DENSITY.values(), ids=WITHOUT_DENSITY)
def test_kernels_without_features_say_why(kernel, message, rng):
    """The error names the part without features and the sampling method that works for it."""
    with pytest.raises(ValueError, match=rf'{message}.*sample_y\(method="joint"\)'):
        sample_features(bound(kernel), 100, rng)
