"""Fourier features are the weights' covariances that a degenerate process has, with gradients."""

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

from sklearn_sgp.kernels import Categorical, Columns, compile_kernel
from sklearn_sgp.kernels._features import draw_features, prior_features, with_features

SCALES, CENTER = [0.8, 1.5, 2.0], np.array([0.3, -0.2, 5.0])
KERNELS = {
    "rbf": RBF(1.2),
    "rbf-ard": 2.5 * RBF(SCALES),
    "matern12": Matern(1.2, nu=0.5),
    "matern32": 0.3 * Matern(SCALES, nu=1.5),
    "matern52": Matern(SCALES, nu=2.5),
    "matern-inf": Matern(1.2, nu=np.inf),
    "rational-quadratic": RationalQuadratic(1.2, 0.6),
    "sum": RBF(1.2) + 0.5 * Matern(SCALES, nu=0.5) + ConstantKernel(2.0),
    "columns": Columns(RBF([0.8, 1.5]), [2, 0]),
    "product": 2.0 * Columns(RBF(0.7), [1]) * Columns(Matern([1.0, 3.0], nu=1.5), [0, 2]),
    "product-over-sum": 2.0 * (RBF(1.2) + Columns(Matern(0.7, nu=1.5), [0])),
    "fixed": ConstantKernel(2.0, "fixed") * RBF(SCALES, "fixed") + RBF(2.0),
}
REFUSED = {
    "linear": (RBF() + DotProduct(), "spectral density"),
    "periodic": (Columns(ExpSineSquared(), [0]), "spectral density"),
    "matern-nu": (Matern(nu=0.8), "spectral density"),
    "power": (RBF() ** 2, "spectral density"),
    "categories": (Columns(Categorical(), [0]) * RBF(), "spectral density"),
    "same-columns": (RBF() * Columns(Matern(), [0]), "different columns"),
}


def made(kernel, n_features=12, seed=0):
    """A kernel without its features, its features, and the kernel that they make."""
    expression = compile_kernel(kernel, CENTER)
    plain = expression.bind(expression.theta)
    Z = draw_features(plain, n_features, np.random.RandomState(seed))
    return plain, Z, with_features(plain, Z)


@pytest.fixture
def X():
    return np.random.RandomState(1).standard_normal((7, 3)) + CENTER


def test_length_scales_without_an_inverse(X):
    """Those of 1e-309, which rows of 1e-300 have of which one weighs more than all others."""
    assert np.isfinite(made(RBF(1e-309))[2].gram(1e-300 * X)).all()


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_products_of_many_features_are_the_kernel(kernel, X):
    """Many frequencies make the process have the kernel's covariances; variances are exact."""
    plain, _, kernel = made(kernel, 80_000)
    assert_allclose(kernel.gram(X), plain.gram(X), atol=0.05 * plain.diag(X)[0])
    assert_allclose(np.diagonal(kernel.gram(X)), plain.diag(X), rtol=1e-12)
    assert_array_equal(kernel.diag(X), plain.diag(X))


def test_features_are_cosines_and_sines_of_scaled_frequencies(X):
    """K(Z, X) has sqrt(s^2 / K) cos(z (x - c) / l), then the sines, then roots of constants."""
    _, Z, kernel = made(2.5 * RBF(SCALES) + ConstantKernel(3.0), 9)
    angles = (Z[:4, :3] / SCALES) @ (X - CENTER).T
    expected = np.vstack([np.cos(angles), np.sin(angles)]) * np.sqrt(2.5 / 4)
    assert Z.shape == (9, 4)
    assert_allclose(kernel.block(Z, X)[:8], expected, rtol=1e-13, atol=1e-14)
    assert_allclose(kernel.block(Z, X)[8], np.sqrt(3.0), rtol=1e-13)
    assert_allclose(kernel.block(X, Z), kernel.block(Z, X).T, rtol=1e-13)
    assert_array_equal(kernel.gram(Z), np.eye(9))
    assert_allclose(2.0 * np.pi * kernel.frequencies(), Z[:4, :3] / SCALES, rtol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_gradients_are_those_of_differences(kernel, X):
    """The gradients of sum(G * K(Z, X)) agree with central differences in theta and frequencies."""
    _, Z, kernel = made(kernel)
    K, G = int((Z[:, -1] < 0).sum()), np.random.RandomState(2).standard_normal((len(Z), len(X)))
    theta, step = kernel.theta, 1e-6

    def value(theta, frequencies):
        moved = Z.copy()
        moved[:K, :-1] = moved[K : 2 * K, :-1] = frequencies
        return float(
            (G * with_features(kernel.expression.bind(theta), moved).block(moved, X)).sum()
        )

    def slope(k, arguments):
        ends = [np.array(arguments[k]) for _ in range(2)]
        slopes = np.empty(ends[0].shape)
        for place in np.ndindex(slopes.shape):
            values = []
            for end, sign in zip(ends, (1.0, -1.0), strict=True):
                end[place] += sign * step
                values.append(value(*arguments[:k], end, *arguments[k + 1 :]))
                end[place] -= sign * step
            slopes[place] = (values[0] - values[1]) / (2.0 * step)
        return slopes

    grad_theta, grad_Z = kernel.block_vjp(Z, X, G.copy())
    arguments = theta, Z[:K, :-1]
    assert_allclose(grad_theta, slope(0, arguments), atol=1e-7, rtol=1e-6)
    assert_allclose(grad_Z[:K, :-1], slope(1, arguments), atol=1e-7, rtol=1e-6)
    assert not grad_Z[K:].any()
    assert kernel.block_vjp(Z, X, G.copy(), False)[1] is None


def test_weights_have_an_identity_wherever_frequencies_are(X):
    """Covariances of weights with weights are an identity, without gradients."""
    _, Z, kernel = made(2.0 * RBF(SCALES))
    moved, G = Z + 0.1, np.ones((12, 12))
    assert_array_equal(kernel.block(Z, moved), np.eye(12))
    assert_array_equal(kernel.diag(Z), np.ones(12))
    assert_array_equal(kernel.diag_vjp(Z, np.ones(12)), np.zeros(4))
    for theta, of_Z in (kernel.gram_vjp(Z, G), kernel.block_vjp(Z, moved, G)):
        assert_array_equal(theta, np.zeros(4))
        assert_array_equal(of_Z, np.zeros(Z.shape))


def test_slopes_are_those_of_differences(X):
    """Covariances with slopes of the process are derivatives; their variance is that of a sum."""
    _, Z, kernel = made(2.0 * RBF(SCALES) + Columns(Matern(nu=0.5), [1]) + ConstantKernel(1.0))
    step = np.array([0.0, 1e-6, 0.0])
    slopes = kernel.slope_block(Z, X, 1)
    differences = (kernel.block(Z, X + step) - kernel.block(Z, X - step)) / 2e-6
    assert_allclose(slopes, differences, atol=1e-7)
    assert_allclose(kernel.slope_variance(X, 1), (slopes**2).sum(axis=0), rtol=1e-12)


def test_terms_add_up_to_the_process(X):
    """The features and variances of the terms are those of the sum."""
    _, Z, kernel = made(2.0 * (RBF(SCALES) + Matern()) + Columns(Matern(nu=0.5), [1]) + 1.0)
    terms = kernel.terms()
    assert len(terms) == 3
    assert_allclose(sum(term.block(Z, X) for term in terms), kernel.block(Z, X), rtol=1e-13)
    assert_allclose(sum(term.gram(X) for term in terms), kernel.gram(X), rtol=1e-12)
    for term in terms:
        assert_allclose(term.diag(X), np.diagonal(term.gram(X)), rtol=1e-12)


def test_functions_of_the_prior_are_sums_of_features(X):
    """The features that draws of the prior use are the kernel's own; at Z they are the weights."""
    _, Z, kernel = made(2.0 * RBF(SCALES))
    features = prior_features(kernel, 100, None)
    assert_array_equal(features(Z), np.eye(12))
    assert_allclose(features(X), kernel.block(Z, X).T, rtol=1e-14)


def test_far_inputs_have_finite_features():
    """Where angles overflow the features are finite."""
    _, Z, kernel = made(RBF([1e-300, 1.0, 1.0]))
    assert np.isfinite(kernel.block(Z, np.full((1, 3), 1e100))).all()


@pytest.mark.parametrize(("kernel", "message"), REFUSED.values(), ids=REFUSED)
def test_kernels_without_a_density_are_refused(kernel, message):
    """A kernel without a spectral density that can be scaled is a ValueError with a cure."""
    with pytest.raises(ValueError, match=message) as error:
        made(kernel)
    assert 'inducing="kmeans"' in str(error.value)


def test_terms_need_features():
    """Fewer features than two for each term and one for each constant are a ValueError."""
    with pytest.raises(ValueError, match="at least 5"):
        made(RBF() + Matern() + ConstantKernel(1.0), 4)
    _, Z, _ = made(RBF() + Matern() + ConstantKernel(1.0), 5)
    assert_array_equal(Z[:, -1], [0, 1, -1, -2, 2])


def test_odd_numbers_of_features_are_rounded_down():
    """Seven features of one term are three cosines and three sines of the same frequencies."""
    _, Z, _ = made(RBF(), 7)
    assert Z.shape == (6, 4)
    assert_array_equal(Z[:3, :3], Z[3:, :3])
