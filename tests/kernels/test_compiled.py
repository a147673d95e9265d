"""The contract of compiled kernels: values of scikit-learn, gradients of central differences."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Hyperparameter,
    Kernel,
    Matern,
    NormalizedKernelMixin,
    PairwiseKernel,
    RationalQuadratic,
    StationaryKernelMixin,
)

from sklearn_sgp.kernels import Categorical, Columns, Groups, Linear, compile_kernel


class Cauchy(StationaryKernelMixin, NormalizedKernelMixin, Kernel):
    """A kernel that a user might write, with a free and a fixed hyperparameter."""

    def __init__(self, width=1.0, power=1.0):
        self.width = width
        self.power = power

    @property
    def hyperparameter_power(self):
        return Hyperparameter("power", "numeric", "fixed")

    @property
    def hyperparameter_width(self):
        return Hyperparameter("width", "numeric", (1e-3, 1e3))

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = X if Y is None else Y
        r2 = ((X[:, None, :] - Y) ** 2).sum(axis=-1)
        return (1.0 + r2 / self.width**2) ** -self.power


SCALES = [0.8, 1.5, 2.0]
WIDE_SCALES = np.linspace(3.0, 8.0, 30)
PARTLY_FIXED = ConstantKernel(2.0, "fixed") * RBF(SCALES, "fixed") + RationalQuadratic(
    1.2, 0.6, alpha_bounds="fixed"
)
COMPILED = {
    "constant": ConstantKernel(1.7),
    "rbf": RBF(1.2),
    "rbf-ard": RBF(SCALES),
    "matern12": Matern(1.2, nu=0.5),
    "matern12-ard": Matern(SCALES, nu=0.5),
    "matern32": Matern(1.2, nu=1.5),
    "matern32-ard": Matern(SCALES, nu=1.5),
    "matern52": Matern(1.2, nu=2.5),
    "matern52-ard": Matern(SCALES, nu=2.5),
    "matern-inf-ard": Matern(SCALES, nu=np.inf),
    "rational-quadratic": RationalQuadratic(1.2, 0.6),
    "exp-sine-squared": ExpSineSquared(1.4, 2.3),
    "dot-product": DotProduct(0.6),
    "lines": 0.7 * Linear(SCALES, [0.3, -0.2, 0.1]) + Columns(Linear(0.8), [1]),
    "sum": RBF(SCALES) + 0.5 * DotProduct(0.6) + ConstantKernel(0.3),
    "product": 1.5 * RBF(SCALES) * Matern(1.2, nu=1.5),
    "constants": ConstantKernel(2.0) * (RBF(1.2) * ConstantKernel(0.5)) * ConstantKernel(3.0),
    "product-of-sums": (RBF(1.2) + 0.3) * (DotProduct(0.6) + Matern(SCALES, nu=2.5)),
    "power": (0.7 * RBF(1.2)) ** 3,
    "power-half": RationalQuadratic(1.2, 0.6) ** 0.5,
    "polynomial": DotProduct(0.6) ** 2,
    "partly-fixed": PARTLY_FIXED,
    "all-fixed": ConstantKernel(2.0, "fixed") * RBF(1.2, "fixed"),
    "columns": Columns(RBF([0.8, 1.5]), [2, 0]),
    "columns-product": 2.0 * Columns(Matern(1.2), (0,)) * Columns(ExpSineSquared(), np.array([2])),
    "columns-repeated": Columns(RBF([0.8, 1.5]), [1, 1]),
    "nested": RBF(1.2)
    * (0.5 * Columns(RBF(1.2) + Columns(DotProduct(0.6) ** 2, [1]), [2, 0]) + PARTLY_FIXED),
}
WEIGHTS = [[1.0, -0.5, 0.3], [0.2, 0.4, -1.0]]
LEARNED = {"directions": WEIGHTS, "directions_bounds": (-10.0, 10.0)}
COMPILED |= {
    "directions": Columns(RBF([0.8, 1.5]), [2, 0, 1], WEIGHTS),
    "directions-learned": 2.0 * Columns(RBF(1.2, "fixed"), [2, 0, 1], **LEARNED),
    "directions-of-sum": Columns(0.7 * Matern(1.2, nu=0.5) + RBF(2.0), [0, 1, 2], **LEARNED)
    * RBF(SCALES),
    "directions-not-stationary": Columns(
        1.3 * DotProduct(0.6) ** 2 + Columns(Matern(1.2), [1]) * RBF([0.8, 1.5]),
        [2, 0, 1],
        **LEARNED,
    ),
    "directions-nested": Columns(
        Columns(Matern(1.2), [1, 0], [[1.0, 2.0], [0.3, 0.4]], (-5.0, 5.0)) * RBF(1.2),
        [2, 0, 1],
        **LEARNED,
    ),
    "directions-repeated": Columns(Matern(1.2), [1, 1, 0], **LEARNED),
}
OPAQUE = {
    "pairwise": PairwiseKernel(metric="laplacian"),
    "matern-nu": 1.5 * Matern(SCALES, nu=0.8),
    "user": Cauchy(1.3),
    "user-of-directions": Columns(Cauchy(1.3), [0, 1, 2], WEIGHTS),
    "user-in-columns": Columns(Cauchy(1.3), [0, 2]) * RBF(SCALES) + 0.5,
}
# enough columns for squared distances by GEMM
WIDE = {
    "wide-rbf": 1.3 * RBF(WIDE_SCALES),
    "wide-matern12": Matern(5.0, nu=0.5),
    "wide-matern32": Matern(WIDE_SCALES, nu=1.5),
    "wide-matern52": Matern(5.0, nu=2.5),
    "wide-rational-quadratic": RationalQuadratic(5.0, 0.6),
    "wide-exp-sine-squared": ExpSineSquared(1.4, 20.0),
    "wide-dot-product": DotProduct(0.6),
    "wide-directions": Columns(
        RBF(5.0), range(30), np.sin(np.arange(450.0)).reshape(15, 30), (-2.0, 2.0)
    ),
    "wide-columns": Columns(RBF(WIDE_SCALES[:20]), range(5, 25)) * Matern(5.0, nu=2.5),
}
FACTOR = np.array([[0.9, -0.3], [-0.4, 0.7], [0.2, 1.1]])
CATEGORY = Categorical(2, factor=FACTOR, diagonal=np.array([0.5, 0.2, 0.9]))
# a fourth column of categories 0 to 2, and of 3 and 4 which the kernels do not know
CATEGORIES = {
    "categories": Columns(CATEGORY, [3]),
    "categories-product": 1.3 * Columns(RBF(SCALES), [0, 1, 2]) * Columns(CATEGORY, [3]),
    "categories-sum": Columns(CATEGORY, [3]) * Columns(Matern(1.2), [0])
    + Columns(Categorical(1, n_categories=3), [3]),
    "categories-fixed": Columns(CATEGORY, [3]) ** 2
    + Columns(Categorical(2, factor=FACTOR, factor_bounds="fixed"), [3]),
}
CASES = {name: (kernel, 3) for name, kernel in (COMPILED | OPAQUE).items()}
CASES |= {name: (kernel, 4) for name, kernel in CATEGORIES.items()}
CASES |= {name: (kernel, 30) for name, kernel in WIDE.items()}


def each(cases):
    return pytest.mark.parametrize(("kernel", "n_features"), cases.values(), ids=cases)


def bound(kernel, center):
    expression = compile_kernel(kernel, center)
    return expression.bind(expression.theta)


def inputs(n_features):
    """Inducing inputs in C order and rows in Fortran order, both read-only."""
    rng = np.random.default_rng(0)
    Z, X = rng.standard_normal((4, n_features)), rng.standard_normal((7, n_features))
    if n_features == 4:
        Z[:, 3], X[:, 3] = [0, 4, 1, 3], [2, 0, 4, 1, 4, 2, 3]
    X = np.asfortranarray(X)
    Z.flags.writeable = X.flags.writeable = False
    return Z, X


def cotangents():
    """Cotangents of block, gram (symmetric) and diag."""
    rng = np.random.default_rng(1)
    S = rng.standard_normal((7, 7))
    return rng.standard_normal((4, 7)), S + S.T, rng.standard_normal(7)


def differences(function, point, step=1e-5):
    """Gradient of a scalar function by central differences."""
    gradient = np.empty(point.shape)
    for index in np.ndindex(point.shape):
        shift = np.zeros(point.shape)
        shift[index] = step
        gradient[index] = (function(point + shift) - function(point - shift)) / (2.0 * step)
    return gradient


def assert_gradient(actual, expected):
    assert_allclose(actual, expected, rtol=1e-6, atol=1e-8)


@each(CASES)
def test_values_are_those_of_scikit_learn(kernel, n_features):
    """block, gram and diag agree with the scikit-learn kernel."""
    Z, X = inputs(n_features)
    ours = bound(kernel, X.mean(axis=0))
    assert_allclose(ours.block(Z, X), kernel(Z, X), rtol=1e-11, atol=1e-14)
    assert_allclose(ours.gram(X), kernel(X), rtol=1e-11, atol=1e-14)
    assert_allclose(ours.diag(X), kernel.diag(X), rtol=1e-11)


@each(CASES)
def test_many_small_blocks_are_parts_of_the_matrix(kernel, n_features):
    """Blocks of some rows and columns, and triangles of grams, are those of scikit-learn."""
    Z, X = inputs(n_features)
    ours, K = bound(kernel, X.mean(axis=0)), kernel(Z, X)
    rows = [np.arange(2), np.arange(0), np.array([3, 1, 2]), np.arange(1)]
    columns = [np.array([6, 0, 6]), np.arange(2), np.arange(7), np.arange(0)]
    expected = [K[np.ix_(*each)].ravel() for each in zip(rows, columns, strict=True)]
    groups = Groups.of(rows, columns)
    assert_allclose(ours.blocks(Z, X, groups), np.concatenate(expected), rtol=1e-11, atol=1e-14)
    grams = [kernel(X)[np.ix_(some, some)] for some in columns]
    expected = np.concatenate([gram[np.triu_indices(len(gram))] for gram in grams])
    triangles = ours.blocks(X, X, Groups.triangles(columns))
    assert_allclose(triangles, expected, rtol=1e-11, atol=1e-14)


@each(CASES)
def test_theta_is_that_of_scikit_learn(kernel, n_features):
    """Free log parameters have scikit-learn's order, and a bound kernel returns its object."""
    expression = compile_kernel(kernel, np.zeros(n_features))
    theta = kernel.theta + 0.1 * np.arange(1, kernel.n_dims + 1)
    moved = expression.bind(theta)
    Z, X = inputs(n_features)
    assert_allclose(expression.theta, kernel.theta, rtol=1e-14, atol=1e-14)
    assert_allclose(moved.theta, theta, rtol=1e-14, atol=1e-14)
    assert_allclose(moved.sklearn_kernel.theta, theta, rtol=1e-14, atol=1e-14)
    assert_allclose(moved.block(Z, X), moved.sklearn_kernel(Z, X), rtol=1e-11, atol=1e-14)


@each(CASES)
@pytest.mark.parametrize("method", ["block", "gram", "diag"])
def test_gradient_in_theta(method, kernel, n_features):
    """A cotangent pulled back onto theta is the gradient by differences."""
    Z, X = inputs(n_features)
    args = {"block": (Z, X), "gram": (X,), "diag": (X,)}[method]
    G = dict(zip(("block", "gram", "diag"), cotangents(), strict=True))[method]
    expression = compile_kernel(kernel, X.mean(axis=0))

    def contracted(theta):
        return np.vdot(G, getattr(expression.bind(theta), method)(*args))

    pulled = getattr(expression.bind(expression.theta), f"{method}_vjp")(*args, G.copy())
    actual = pulled if method == "diag" else pulled[0]
    assert_gradient(actual, differences(contracted, expression.theta))


@each(CASES)
def test_gradient_in_theta_of_many_triangles(kernel, n_features):
    """Cotangents of packed triangles give the gradient by differences; none for no triangle."""
    _, X = inputs(n_features)
    triangles = Groups.triangles([np.array([6, 0, 6]), np.arange(0), np.arange(7), np.arange(1)])
    expression = compile_kernel(kernel, X.mean(axis=0))
    G = np.random.default_rng(4).standard_normal(triangles.bounds[-1])

    def contracted(theta):
        return G @ expression.bind(theta).blocks(X, X, triangles)

    ours = expression.bind(expression.theta)
    values, gradient = ours.triangles(X, triangles)
    assert_allclose(values, ours.blocks(X, X, triangles), rtol=1e-13)
    kept = values.copy(), G.copy()
    assert_gradient(gradient(G), differences(contracted, expression.theta))
    assert_array_equal(values, kept[0])
    assert_array_equal(G, kept[1])
    nothing, gradient = ours.triangles(X, Groups.triangles([]))
    assert len(nothing) == 0
    assert_array_equal(gradient(np.empty(0)), np.zeros(len(expression.theta)))


@each(CASES)
def test_gradient_in_inputs(kernel, n_features):
    """Gradients in Z, and in X by the transposed block, agree with differences."""
    Z, X = inputs(n_features)
    ours = bound(kernel, X.mean(axis=0))
    G, S, _ = cotangents()
    in_Z = ours.block_vjp(Z, X, G.copy())[1]
    in_X = ours.block_vjp(X, Z, G.T)[1]
    in_both = ours.gram_vjp(X, S.copy())[1]
    if not ours.expression.differentiable_inputs:
        assert in_Z is in_X is in_both is None
        return
    assert_gradient(in_Z, differences(lambda Z: np.vdot(G, ours.block(Z, X)), Z))
    assert_gradient(in_X, differences(lambda X: np.vdot(G, ours.block(Z, X)), X))
    assert_gradient(in_both, differences(lambda X: np.vdot(S, ours.gram(X)), X))


@each(CASES)
def test_gradient_in_inputs_is_optional(kernel, n_features):
    """The gradient in theta is the same, up to rounding, without the gradient in the inputs."""
    Z, X = inputs(n_features)
    ours = bound(kernel, X.mean(axis=0))
    G, S, _ = cotangents()
    for method, args in ((ours.block_vjp, (Z, X, G)), (ours.gram_vjp, (X, S))):
        *args, cotangent = args
        with_inputs, _ = method(*args, cotangent.copy())
        without, nothing = method(*args, cotangent.copy(), with_inputs=False)
        assert_allclose(with_inputs, without, rtol=1e-11, atol=1e-13)
        assert nothing is None


def test_only_opaque_kernels_hold_their_inducing_inputs():
    """Every kernel has a gradient in the inputs, except the opaque kernels."""
    learned = {
        name: compile_kernel(kernel, np.zeros(n_features)).differentiable_inputs
        for name, (kernel, n_features) in CASES.items()
    }
    assert learned == {name: name not in OPAQUE for name in CASES}


@each(CASES)
def test_gram_is_symmetric(kernel, n_features):
    """gram is exactly symmetric and its diagonal is diag."""
    _, X = inputs(n_features)
    ours = bound(kernel, X.mean(axis=0))
    K = ours.gram(X)
    assert_array_equal(K, K.T)
    assert_allclose(K.diagonal(), ours.diag(X), rtol=1e-14)


# a periodic function of the Euclidean distance is positive definite in one dimension only
@each({name: case for name, case in CASES.items() if "exp-sine-squared" not in name})
def test_gram_is_positive_semidefinite(kernel, n_features):
    """Eigenvalues are at least 0 up to rounding, with repeated rows too."""
    _, X = inputs(n_features)
    K = bound(kernel, X.mean(axis=0)).gram(np.vstack([X, X[:2]]))
    assert np.linalg.eigvalsh(K).min() > -1e-13 * K.trace()


@each(CASES)
def test_single_precision_inputs(kernel, n_features):
    """float32 inputs give the same numbers as their float64 copies."""
    single = [A.astype(np.float32) for A in inputs(n_features)]
    double = [A.astype(np.float64) for A in single]
    ours = bound(kernel, np.zeros(n_features))
    G, _, _ = cotangents()
    assert ours.block(*single).dtype == ours.diag(single[1]).dtype == np.float64
    assert_array_equal(ours.block(*single), ours.block(*double))
    assert_array_equal(ours.diag(single[1]), ours.diag(double[1]))
    for one, other in zip(
        ours.block_vjp(*single, G.copy()), ours.block_vjp(*double, G.copy()), strict=True
    ):
        assert one is other is None or np.array_equal(one, other)


@each(CASES)
def test_inputs_are_not_modified(kernel, n_features):
    """Z, X, the cotangent of the diagonal and the scikit-learn kernel keep their values."""
    Z, X = (A.copy() for A in inputs(n_features))
    Z_before, X_before, before = Z.copy(), X.copy(), clone(kernel)
    G, S, g = cotangents()
    ours = bound(kernel, X.mean(axis=0))
    ours.block(Z, X), ours.gram(X), ours.diag(X)
    ours.block_vjp(Z, X, G), ours.gram_vjp(X, S), ours.diag_vjp(X, g)
    assert_array_equal(Z, Z_before)
    assert_array_equal(X, X_before)
    assert_array_equal(g, cotangents()[2])
    assert kernel == before


@each(
    {name: case for name, case in CASES.items() if case[0].is_stationary() and name not in OPAQUE}
)
def test_far_off_inputs_lose_no_digits(kernel, n_features):
    """A large common shift of Z, X and the center changes no bit of the results."""
    # multiples of 1/1024, so that adding a million does not round
    Z, X = (np.round(1024.0 * A) / 1024.0 for A in inputs(n_features))
    G, _, _ = cotangents()
    near, far = bound(kernel, np.zeros(n_features)), bound(kernel, np.full(n_features, 1e6))
    assert_array_equal(near.block(Z, X), far.block(Z + 1e6, X + 1e6))
    assert_array_equal(near.gram(X), far.gram(X + 1e6))
    for one, other in zip(
        near.block_vjp(Z, X, G.copy()), far.block_vjp(Z + 1e6, X + 1e6, G.copy()), strict=True
    ):
        assert_array_equal(one, other)


@each(CASES)
def test_pickle(kernel, n_features):
    """A bound kernel survives pickling bit for bit."""
    ours = bound(kernel, np.zeros(n_features))
    again = pickle.loads(pickle.dumps(ours))
    Z, X = inputs(n_features)
    assert_array_equal(again.block(Z, X), ours.block(Z, X))


def test_gradient_of_a_root_far_away():
    """The root of a kernel that underflows to 0 has gradient 0, not infinity times 0."""
    ours = bound(RBF() ** 0.5, np.zeros(1))
    grad_theta, grad_Z = ours.block_vjp(np.zeros((1, 1)), np.array([[1e3], [1e4]]), np.ones((1, 2)))
    assert_array_equal(grad_theta, 0.0)
    assert_array_equal(grad_Z, 0.0)
