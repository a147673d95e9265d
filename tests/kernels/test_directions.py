"""Columns with directions behaves as a scikit-learn kernel on linear combinations of columns."""

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
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.kernels import Categorical, Columns, Linear, compile_kernel, length_scales
from sklearn_sgp.kernels._length_scales import (
    input_scales,
    nearness_scales,
    scale_mask,
    units_of_theta,
    with_larger_variance,
)
from sklearn_sgp.kernels.categories._units import largest_change

A = np.array([[1.0, -0.5], [0.2, 2.0], [0.0, 1.0]])
LEARNED = Columns(2.0 * Matern([0.8, 1.5, 1.0], nu=1.5), [2, 0], A, (-5.0, 5.0))


def bound(kernel, n_features):
    expression = compile_kernel(kernel, np.zeros(n_features))
    return expression.bind(expression.theta)


def test_the_kernel_on_combinations():
    """Values, diagonal and gradient are those of the inner kernel on X[:, columns] @ A.T."""
    rng = np.random.default_rng(0)
    Z, X = rng.standard_normal((4, 3)), rng.standard_normal((7, 3))
    inner, turned = LEARNED.kernel, X[:, [2, 0]] @ A.T
    assert_array_equal(LEARNED(Z, X), inner(Z[:, [2, 0]] @ A.T, turned))
    assert_array_equal(LEARNED.diag(X), inner.diag(turned))
    held = Columns(inner, [2, 0], A)
    for ours, theirs in zip(held(X, eval_gradient=True), inner(turned, None, True), strict=True):
        assert_array_equal(ours, theirs)
    gradient = LEARNED(X, eval_gradient=True)[1]
    for k, slope in enumerate(np.moveaxis(gradient, 2, 0)):
        ends = []
        for step in (1e-5, -1e-5):
            theta = LEARNED.theta
            theta[k] += step
            ends.append(LEARNED.clone_with_theta(theta)(X))
        assert_allclose(slope, (ends[0] - ends[1]) / 2e-5, atol=1e-8)


@pytest.mark.parametrize("inner", [RBF(), Matern(nu=1.5), DotProduct() * RBF()])
@pytest.mark.parametrize("size", [1e-6, 1e4, 1e6])
@pytest.mark.parametrize("far", [0.0, 1e3])
def test_the_gradient_in_weights_of_columns_of_any_units(inner, size, far):
    """In units of the weights it is that of columns of unit size; rows far from 0 lose little."""
    X = np.random.default_rng(0).standard_normal((6, 2))
    X[:, 1] *= size
    far = far if inner.is_stationary() else 0.0
    unit = np.array([1.0, size])
    weights = np.array([[1.0, -0.5]])
    kernel = Columns(inner, [0, 1], weights / unit, (-1e9, 1e9))
    plain = Columns(inner, [0, 1], weights, (-1e9, 1e9))
    expected = plain(X / unit, eval_gradient=True)[1]
    gradient = kernel(X + far * unit, eval_gradient=True)[1]
    gradient[:, :, -2:] /= unit
    assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)
    gradient = Columns(inner, [0, 1, 1], [[1.0, -0.5, 0.0]], (-9, 9))(0.0 * X, eval_gradient=True)
    assert np.isfinite(gradient[1]).all()  # columns of 0


def test_theta_has_the_weights_as_they_are():
    """Weights come behind the inner kernel's logarithms, with bounds as given."""
    inner = LEARNED.kernel
    assert_allclose(LEARNED.theta, [*inner.theta, *A.ravel()])
    assert_allclose(LEARNED.bounds, [*inner.bounds, *6 * [[-5.0, 5.0]]])
    assert LEARNED.hyperparameters[-1].name == "directions"
    moved = LEARNED.clone_with_theta(np.append(inner.theta, -A.ravel()))
    assert_array_equal(moved.directions, -A)
    assert_array_equal(LEARNED.directions, A)
    held = Columns(inner, [2, 0], A)
    assert_array_equal(held.theta, inner.theta)
    assert_array_equal(held.bounds, inner.bounds)
    alone = Columns(RBF(1.0, "fixed"), [2, 0], A, (-5.0, 5.0))
    assert_allclose((2.0 * alone).bounds[1:], 6 * [[-5.0, 5.0]])
    assert (alone + WhiteKernel()).n_dims == 7


def test_clones_compares_prints_and_pickles():
    """clone and the repr give an equal kernel; other weights or bounds make another one."""
    copy = clone(LEARNED)
    assert copy == LEARNED and copy.directions is not A
    assert pickle.loads(pickle.dumps(LEARNED)) == LEARNED
    held = Columns(RBF(), [2, 0], A)
    assert eval(repr(held)) == held
    assert repr(held).endswith("[2, 0], directions=[[1, -0.5], [0.2, 2], [0, 1]])")
    assert held != Columns(RBF(), [2, 0], 2.0 * A)
    assert held != Columns(RBF(), [2, 0], A, (-5.0, 5.0))
    assert held != Columns(RBF(), [2, 0])
    held.set_params(directions=[[1.0, 1.0]])
    assert held == Columns(RBF(), [2, 0], [[1.0, 1.0]])
    assert LEARNED.is_stationary() and not Columns(DotProduct(), [0], [[1.0]]).is_stationary()


def test_kernels_saved_before_there_were_directions():
    """A pickle without these attributes is a kernel of the columns themselves."""
    old = Columns(RBF(), [1])
    del old.__dict__["directions"], old.__dict__["directions_bounds"]
    again = pickle.loads(pickle.dumps(old))
    assert again == Columns(RBF(), [1])


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        (Columns(RBF(), [0, 1], [[1.0, 2.0, 3.0]]), "'directions' of Columns .* 2 columns"),
        (Columns(RBF(), [0, 1], [1.0, 2.0]), "'directions' of Columns"),
        (Columns(RBF(), [0, 1], [[1.0, np.nan]]), "'directions' of Columns"),
        (Columns(RBF(), [0, 1], [[1.0], [1.0, 2.0]]), "'directions' of Columns"),
        (Columns(RBF(), [0, 1], np.empty((0, 2))), "'directions' of Columns"),
        (Columns(RBF([1.0, 1.0]), [0, 1], [[1.0, 2.0]]), "length_scale of RBF .* 1 columns"),
        (Columns(Categorical(), [0, 1], [[1.0, 2.0]]), "Categorical must see codes"),
        (Columns(PairwiseKernel(), [0, 1], [[1.0, 2.0]], (-5, 5)), "formulas are known"),
        (Columns(WhiteKernel(), [0, 1], [[1.0, 2.0]]), "WhiteKernel must stand"),
    ],
    ids=["wide", "flat", "nan", "ragged", "none", "scales", "categories", "opaque", "noise"],
)
def test_what_cannot_be(kernel, told):
    """A message says which directions there can be."""
    with pytest.raises(ValueError, match=told):
        compile_kernel(kernel, np.zeros(3))


FINITE, PAIR = (
    "'directions' of Columns must be an array of finite",
    "'directions_bounds' of Columns",
)
WRONG = [
    *[({"directions": wrong}, FINITE) for wrong in ([[1.0], [1.0, 2.0]], "ab", [["1", "2"]])],
    *[({"directions": wrong}, FINITE) for wrong in ([[1j, 0.0]], np.array([[1j, 0.0]]), None)],
    *[({"directions": wrong}, FINITE) for wrong in ([[np.nan, 0.0]], [[None, 0.0]], 5.0, [])],
    *[({"directions_bounds": wrong}, PAIR) for wrong in ("fix", None, (-1,), 5.0, (10, -10))],
    *[({"directions_bounds": wrong}, PAIR) for wrong in ((-np.inf, np.inf), (np.nan, 1), ("a", 1))],
    ({"directions_bounds": [[-1, 1], [-2, 2], [0, 1]]}, PAIR + ".* for each of the 2 weights"),
]


@pytest.mark.parametrize(("change", "told"), WRONG)
def test_one_message_wherever_directions_are_read(change, told):
    """Kernels, compiled ones and those in estimators tell the parameter; printing never fails."""
    kernel = Columns(RBF(1.0, "fixed"), [0, 1], [[1.0, 2.0]], (-5.0, 5.0)).set_params(**change)
    if kernel.directions is None:
        told = "'directions_bounds' of Columns must be 'fixed' where there are no 'directions'"
    assert repr(kernel).startswith("Columns(") and repr(2.0 * clone(kernel))
    X = np.random.default_rng(0).standard_normal((20, 2))
    model = SVGPRegressor(2.0 * kernel + WhiteKernel(), n_inducing=5)
    attempts = [
        lambda: kernel.theta,
        lambda: kernel.bounds,
        lambda: kernel.hyperparameters,
        lambda: compile_kernel(kernel, np.zeros(2)),
        lambda: model.fit(X, X[:, 0]),
        lambda: model.predict(X),
    ]
    for attempt in attempts:
        with pytest.raises(ValueError, match=told):
            attempt()


def test_columns_that_cannot_be_are_printed():
    """The repr of lists of several lengths does not fail."""
    assert repr(Columns(RBF(), [[0], [1, 2]])).endswith("[[0], [1, 2]])")


def test_names_of_columns():
    """Columns may be named; kernel_ has their numbers, and the same directions."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.random.default_rng(0).standard_normal((40, 3)), columns=list("abc"))
    kernel = Columns(RBF(), ["c", "a"], [[1.0, -0.5]])
    assert_array_equal(kernel(X), RBF()(X[["c", "a"]].to_numpy() @ [[1.0], [-0.5]]))
    model = SVGPRegressor(kernel, optimizer=None, noise_variance=0.1, random_state=0)
    assert model.fit(X, X["a"]).kernel_ == Columns(RBF(), [2, 0], [[1.0, -0.5]])


def test_length_scales_of_columns():
    """A column's scale is what it moves alone for one length scale of the directions."""
    kernel = Columns(ConstantKernel() * Matern([0.5, 2.0]), [2, 0], [[3.0, 0.0], [4.0, 1.0]])
    effective = [1.0 / np.hypot(3.0 / 0.5, 4.0 / 2.0), 2.0]
    (part,) = length_scales(kernel, 4)
    assert part.part == "Matern"
    assert_array_equal(part.columns, [2, 0])
    assert_allclose(part.values, effective)
    scales = input_scales(bound(kernel, 4), np.full(4, 9.0))
    assert_allclose(scales, [effective[1], 900.0, effective[0], 900.0])
    assert_array_equal(scale_mask(bound(kernel, 4).expression), [False, True, True])
    larger = with_larger_variance(bound(kernel, 4).expression, kernel.theta, 2.0)
    assert_allclose(larger - kernel.theta, [np.log(2.0), 0.0, 0.0])


def test_near_rows_are_near_in_the_kernel():
    """Distances in the units of nearness are those of the kernel."""
    kernel = bound(2.0 * Columns(RBF([0.5, 2.0]), [2, 0], [[3.0, 0.0], [4.0, 1.0]]), 3)
    X = np.random.default_rng(0).standard_normal((6, 3))
    units = nearness_scales(kernel, np.ones(3))
    points = X / units
    squares = ((points[:, None] - points) ** 2).sum(axis=-1)
    assert_allclose(2.0 * np.exp(-0.5 * squares), kernel.gram(X), rtol=1e-10)
    assert largest_change(units, units) == 0.0
    assert largest_change(units, np.ones(3)) == np.inf
    moved = bound(Columns(RBF([0.5, 2.0]), [2, 0], [[3.3, 0.0], [4.0, 1.0]]), 3)
    assert largest_change(nearness_scales(moved, np.ones(3)), units) == pytest.approx(0.1)


def test_near_rows_with_columns_and_categories_beside():
    """A column that another part sees stays, and categories are corners."""
    kernel = bound(
        Columns(RBF(), [0, 1], [[1.0, 1.0]]) * Columns(RBF(3.0), [1])
        + Columns(Categorical(1, n_categories=3), [2]),
        3,
    )
    X = np.column_stack([np.arange(4.0), np.arange(4.0) ** 2, [0, 1, 2, 0]])
    points = X / nearness_scales(kernel, np.ones(3))
    assert points.shape[1] > 2  # the second column, corners, and the direction
    assert_allclose(points[:, -1], X[:, 0] + X[:, 1])


def test_units_in_which_weights_are_learned():
    """Weights of a column have the inverse of its spread, logarithms 1."""
    spread = np.array([2.0, 10.0, 0.1])
    units = units_of_theta(bound(LEARNED, 3).expression, spread)
    assert_allclose(units, [1, 1, 1, 1, *3 * [10.0, 0.5]])
    assert units_of_theta(bound(RationalQuadratic(), 3).expression, spread) == 1.0
    spread[2] = 0.0  # a column of one value counts as one of unit spread
    assert_allclose(units_of_theta(bound(LEARNED, 3).expression, spread)[4:6], [1.0, 0.5])


def test_directions_inside_directions():
    """Their length scales are found, and their weights are in units of what they see."""
    inner = Columns(Matern([0.5, 2.0, 1.0]), [1, 0], A, (-5.0, 5.0))
    kernel = Columns(2.0 * inner, [2, 0], [[3.0, 0.0], [4.0, 1.0]], (-5.0, 5.0))
    expression = bound(kernel, 3).expression
    assert_array_equal(scale_mask(expression), [False, *3 * [True], *10 * [False]])
    spread = np.array([2.0, 10.0, 0.1])
    of_inner = [1.0 / np.hypot(0.4, 2.0), 1.0 / 0.3]
    units = units_of_theta(expression, spread)
    assert_allclose(units, [*4 * [1.0], *3 * of_inner, *2 * [10.0, 0.5]])
    held = Columns(inner, [2, 0], np.zeros((2, 2)))
    assert_allclose(units_of_theta(bound(held, 3).expression, spread), 1.0)


B = np.array([[1.0, -0.5, 0.3], [0.2, 0.4, -1.0]])


@pytest.mark.parametrize(
    "inner",
    [
        Columns(RBF(), [0, 1], [[1.0, 1.0]]),
        Columns(RBF([1.0, 2.0]), [0, 0]) * Columns(Matern(1.3, nu=2.5), [1]),
        Columns(DotProduct(0.5), [0, 1], [[1.0, 0.5], [0.3, 1.0]]) ** 2 * RBF(),
        Columns(DotProduct(), [0, 0]) + Columns(Linear([0.7, 2.0]), [1, 0]) + RBF(),
        ExpSineSquared() * RationalQuadratic(),
    ],
    ids=["nested", "twice", "power", "lines", "periodic"],
)
def test_variances_of_slopes_and_gradients_of_the_diagonal(inner):
    """They are those of differences, in nested directions and kernels that are not stationary."""
    X, step, g = np.random.default_rng(0).standard_normal((6, 3)), 1e-3, np.arange(1.0, 7.0)
    kernel = Columns(inner, [0, 1, 2], B, (-5.0, 5.0))
    compiled, flat = bound(kernel, 3), Columns(kernel, [0, 1, 1, 2, 0], np.eye(3, 5, 1))
    for one in (kernel, flat):
        for column in range(3):
            moves = step * np.eye(3)[column]
            ends = [(X + a * moves, X + b * moves) for a in (1, -1) for b in (1, -1)]
            values = [np.diag(one(*pair)) for pair in ends]
            expected = (values[0] - values[1] - values[2] + values[3]) / (2.0 * step) ** 2
            variance = bound(one, 3).slope_variance(X, column)
            assert_allclose(variance, expected, rtol=1e-4, atol=1e-6)
    for k, slope in enumerate(compiled.diag_vjp(X, g)):
        move = 1e-5 * np.eye(len(compiled.theta))[k]
        ends = [kernel.clone_with_theta(kernel.theta + s * move).diag(X) @ g for s in (1, -1)]
        assert_allclose(slope, (ends[0] - ends[1]) / 2e-5, rtol=1e-6, atol=1e-6)


def test_slopes_of_rough_parts():
    """A process without slopes along a direction has them where that direction stands still."""
    kernel = bound(Columns(Columns(Matern(nu=0.5), [0]) * DotProduct(), [0, 1], np.eye(2)), 2)
    X = np.ones((3, 2))
    assert_array_equal(kernel.slope_variance(X, 0), np.full(3, np.inf))
    assert_allclose(kernel.slope_variance(X, 1), 1.0)
