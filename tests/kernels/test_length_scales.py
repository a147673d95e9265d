"""Length scales are found on the columns that they belong to."""

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
    WhiteKernel,
)

from sklearn_sgp.kernels import Categorical, Columns, compile_kernel, length_scales
from sklearn_sgp.kernels._length_scales import (
    input_scales,
    matern12_component,
    scale_mask,
    times_deviation,
    with_larger_variance,
    with_shorter_scales,
)
from sklearn_sgp.kernels.categories._binding import bound_to
from sklearn_sgp.kernels.nodes import leaves


def test_input_scales_are_the_shortest_of_each_column():
    """Each column has its shortest length scale, and the fallback where there is none.

    Columns that the kernel does not see have 100 times that: distances there play no role.
    """
    kernel = Columns(RBF([1.0, 2.0]), [2, 0]) * RBF(3.0, "fixed") + Columns(DotProduct(), [1])
    bound = compile_kernel(kernel, np.zeros(4))
    scales = input_scales(bound.bind(bound.theta), np.full(4, 9.0))
    assert_allclose(scales, [2.0, 3.0, 1.0, 3.0])
    periodic = compile_kernel(Columns(ExpSineSquared(5.0), [0]), np.zeros(2))
    assert_allclose(input_scales(periodic.bind(periodic.theta), np.array([7.0, 8.0])), [7.0, 800.0])


def test_free_length_scales_are_marked():
    """The mask is true at free length scales and false at all other free parameters."""
    kernel = 2.0 * RBF([1.0, 2.0]) + (RationalQuadratic() * RBF(3.0, "fixed")) ** 2
    kernel += Columns(Matern(0.7) + DotProduct() + ExpSineSquared(), [1])
    names = [h.name for h in kernel.hyperparameters for _ in range(h.n_elements) if not h.fixed]
    expected = [name.endswith("__length_scale") and "k2__kernel__k2" not in name for name in names]
    assert_array_equal(scale_mask(compile_kernel(kernel, np.zeros(2))), expected)


def test_shorter_scales():
    """Every free length scale is multiplied by the share; other parameters keep their values."""
    expression = compile_kernel(2.0 * RBF([1.0, 4.0]) + DotProduct(0.5), np.zeros(2))
    shorter = with_shorter_scales(expression, expression.theta, 0.25)
    assert_allclose(np.exp(shorter), [2.0, 0.25, 1.0, 0.5])


def test_leaves_see_their_columns():
    """Leaves appear from left to right, with the columns that nested Columns leave to them."""
    inner = Columns(Columns(Matern(), [1]) + PairwiseKernel() ** 2, [3, 2])
    expression = compile_kernel(RBF() * (DotProduct() + inner), np.zeros(4))
    found = [
        (type(leaf).__name__, columns.tolist())
        for leaf, columns in leaves(expression.node, np.arange(4))
    ]
    assert found == [
        ("Stationary", [0, 1, 2, 3]),
        ("Linear", [0, 1, 2, 3]),
        ("Stationary", [2]),
        ("Opaque", [3, 2]),
    ]


class Wave(RBF):
    """A kernel of a user's own that has a length scale."""


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (RBF([1.0, 2.0, 3.0]), [("RBF", [0, 1, 2], [1.0, 2.0, 3.0])]),
        (2.0 * Matern(0.7, nu=np.inf) + WhiteKernel(), [("Matern", [0, 1, 2], [0.7])]),
        (Columns(RationalQuadratic(3.0), [1]) ** 2, [("RationalQuadratic", [1], [3.0])]),
        (Matern([1.0, 2.0, 3.0], nu=0.8), [("Matern", [0, 1, 2], [1.0, 2.0, 3.0])]),
        (Columns(Wave(0.3), [2, 0]) * RBF(4.0), [("Wave", [2, 0], [0.3]), ("RBF", [0, 1, 2], [4])]),
        (ExpSineSquared() + DotProduct() + ConstantKernel() + PairwiseKernel(), []),
    ],
    ids=str,
)
def test_length_scales_of_parts(kernel, expected):
    """Each part with length scales is listed with its class, its columns and its values."""
    parts = length_scales(kernel, 3)
    found = [(part.part, part.columns.tolist(), part.values.tolist()) for part in parts]
    assert found == expected


@pytest.mark.parametrize(
    "kernel",
    [
        2.0 * RBF([1.0, 2.0]),
        RBF(1.0) * ConstantKernel(3.0) * ConstantKernel(2.0),
        2.0 * RBF(1.0) + Columns(0.5 * Matern(2.0), [1]) * RationalQuadratic(),
        ConstantKernel(2.0, "fixed") * (3.0 * RBF() + 0.1 * DotProduct()),
        ConstantKernel(4.0) + 2.0 * RBF(),
    ],
)
def test_a_larger_variance_multiplies_the_kernel(kernel):
    expression, X = (
        compile_kernel(kernel, np.zeros(2)),
        np.random.default_rng(0).normal(size=(5, 2)),
    )
    theta = with_larger_variance(expression, expression.theta, 7.0)
    larger = expression.bind(theta).gram(X)
    assert_allclose(larger, 7.0 * expression.bind(expression.theta).gram(X), rtol=1e-12)


@pytest.mark.parametrize(
    "terms",
    [
        lambda of: of(RBF(0.7), 0) * of(Categorical(2), 1) + of(Categorical(1), 1),
        lambda of: ConstantKernel(3.0) * of(RBF(), 0) * of(Categorical(1), 1),
        lambda of: of(Categorical(1), 1) + of(0.5 * RBF(), 0),
        lambda of: (of(RBF(), 0) + of(Matern(), 0)) * of(Categorical(1), 1),
    ],
)
def test_deviations_of_categories_are_multiplied(terms):
    """Terms without a constant stayed as they were: their variances are in F and b."""
    X = np.column_stack([np.linspace(0.0, 2.0, 12), np.arange(12) % 4]).astype(float)
    kernel = terms(lambda kernel, column: Columns(kernel, [column]))
    expression = compile_kernel(bound_to(kernel, X), np.zeros(2))
    theta = expression.theta + 0.1 * np.arange(len(expression.theta))
    larger, theta_of_larger = times_deviation(expression, theta, 3.0)
    before = expression.bind(theta).gram(X)
    assert_allclose(larger.bind(theta_of_larger).gram(X), 9.0 * before, rtol=1e-12)


def test_without_free_constants_the_variance_stays():
    expression = compile_kernel(RBF() * ConstantKernel(3.0, "fixed") + Matern(), np.zeros(2))
    assert_array_equal(with_larger_variance(expression, expression.theta, 7.0), expression.theta)


SMOOTH = ConstantKernel(2.0) * RBF([1.0, 2.0])


def test_the_rough_part_is_the_second_of_two_terms():
    """The places of its variance and length scales, whatever is fixed in the first."""
    kernel = SMOOTH + ConstantKernel(3.0) * Matern([4.0, 5.0], nu=0.5)
    bound = compile_kernel(kernel, np.zeros(2))
    variance, scales = matern12_component(bound)
    assert_allclose(np.exp(bound.theta[[variance, *scales]]), [3.0, 4.0, 5.0])
    kernel = ConstantKernel(2.0, "fixed") * RBF([1.0, 2.0]) + kernel.k2
    assert matern12_component(compile_kernel(kernel, np.zeros(2))) is None
    kernel = ConstantKernel(2.0) * RBF([1.0, 2.0], "fixed") + Matern([4.0, 5.0], nu=0.5) * SMOOTH.k1
    for whole in (kernel, Columns(kernel, [0, 1])):
        bound = compile_kernel(whole, np.zeros(2))
        variance, scales = matern12_component(bound)
        assert_allclose(np.exp(bound.theta[[variance, *scales]]), [2.0, 4.0, 5.0])


@pytest.mark.parametrize(
    "kernel",
    [SMOOTH, SMOOTH + SMOOTH + SMOOTH, SMOOTH + DotProduct(), SMOOTH + RBF([1.0, 1.0]), SMOOTH**2],
)
def test_other_kernels_have_no_rough_part(kernel):
    """Sums of one or three terms, and terms without a variance or without length scales."""
    assert matern12_component(compile_kernel(kernel, np.zeros(2))) is None


@pytest.mark.parametrize(
    "kernel",
    [
        (ConstantKernel(1.0) + RBF()) * ConstantKernel(4.0),
        ConstantKernel(4.0) * (ConstantKernel(1.0) + RBF()),
    ],
)
def test_the_variance_of_a_product_is_that_of_the_whole(kernel):
    """Wherever it stands; constants within the sum stay."""
    expression = compile_kernel(kernel, np.zeros(1))
    theta = with_larger_variance(expression, expression.theta, 2.0)
    assert_allclose(expression.bind(theta).diag(np.zeros((1, 1))), 16.0)
