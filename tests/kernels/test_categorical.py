"""Categorical is the covariance F F' + diag(b), and a kernel of scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from sklearn_sgp.kernels import Categorical, Columns, compile_kernel
from sklearn_sgp.kernels._compiled import Groups
from sklearn_sgp.kernels._length_scales import nearness_scales
from sklearn_sgp.kernels._random_features import sample_features
from sklearn_sgp.kernels.categories import _node
from sklearn_sgp.kernels.categories._binding import bound_to
from sklearn_sgp.kernels.categories._units import largest_change, units_of

FACTOR = np.array([[0.9, -0.3], [-0.4, 0.7], [0.2, 1.1]])
DIAGONAL = np.array([0.5, 0.2, 0.9])
KERNEL = Categorical(2, factor=FACTOR, diagonal=DIAGONAL)
B = FACTOR @ FACTOR.T + np.diag(DIAGONAL)
CODES = np.array([[2], [0], [1], [2], [0]])


def differences(function, theta, step=1e-6):
    """Derivatives of an array in each entry of theta, as a last axis."""
    columns = []
    for k in range(len(theta)):
        move = step * np.eye(len(theta))[k]
        columns.append((function(theta + move) - function(theta - move)) / (2.0 * step))
    return np.stack(columns, axis=-1)


def test_covariances_are_those_of_the_definition():
    """k(i, j) is B[i, j], and the diagonal is that of B."""
    other = np.array([[1], [2]])
    assert_allclose(KERNEL(CODES), B[CODES[:, 0]][:, CODES[:, 0]], rtol=1e-14)
    assert_allclose(KERNEL(CODES, other), B[CODES[:, 0]][:, [1, 2]], rtol=1e-14)
    assert_allclose(KERNEL.diag(CODES), np.diag(B)[CODES[:, 0]], rtol=1e-14)


def test_a_category_not_seen_before_is_like_the_mean_of_the_others():
    """Its covariances are the means of theirs, its variance is their mean variance."""
    new = np.array([[3], [7], [3]])
    mean = FACTOR.mean(axis=0)
    assert_allclose(KERNEL(new, [[0], [1], [2]]), np.tile(FACTOR @ mean, (3, 1)), rtol=1e-14)
    assert_allclose(KERNEL.diag(new), np.diag(B).mean(), rtol=1e-14)
    expected = np.full((3, 3), mean @ mean)
    expected[[0, 1, 2, 0, 2], [0, 1, 2, 2, 0]] = np.diag(B).mean()
    assert_allclose(KERNEL(new), expected, rtol=1e-14)
    assert np.linalg.eigvalsh(KERNEL(np.arange(6)[:, None])).min() > 0.0


@pytest.mark.parametrize("codes", [CODES, [[0], [3], [1], [5], [3]]], ids=["seen", "new"])
@pytest.mark.parametrize(
    "kernel",
    [
        KERNEL,
        clone(KERNEL).set_params(factor_bounds="fixed"),
        clone(KERNEL).set_params(diagonal_bounds="fixed"),
    ],
    ids=["free", "factor-fixed", "diagonal-fixed"],
)
def test_gradient_in_theta(kernel, codes):
    """eval_gradient is the gradient by differences, of categories not seen before too."""
    codes = np.asarray(codes)
    K, gradient = kernel(codes, eval_gradient=True)
    assert_array_equal(K, kernel(codes))
    expected = differences(lambda theta: kernel.clone_with_theta(theta)(codes), kernel.theta)
    assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8)


def test_parameters_are_those_of_a_kernel_of_scikit_learn():
    """theta has log b and F as it is; clone, equality and bounds go with it."""
    assert_allclose(KERNEL.theta, [*np.log(DIAGONAL), *FACTOR.ravel()])
    assert KERNEL.bounds.shape == (9, 2)
    assert_allclose(KERNEL.bounds[[0, 8]], [np.log([1e-5, 1e2]), [-10.0, 10.0]])
    assert clone(KERNEL) == KERNEL and clone(KERNEL).factor is not KERNEL.factor
    moved = KERNEL.clone_with_theta(KERNEL.theta + 0.1)
    assert_allclose(moved.factor, FACTOR + 0.1)
    assert_allclose(moved.diagonal, DIAGONAL * np.exp(0.1))
    assert moved != KERNEL and KERNEL != RBF()
    assert not KERNEL.is_stationary()
    assert KERNEL.get_params().keys() == {
        "rank", "n_categories", "factor", "diagonal", "factor_bounds", "diagonal_bounds"
    }  # fmt: skip
    assert repr(KERNEL) == "Categorical(rank=2, n_categories=3)"
    assert eval(repr(KERNEL)).theta.shape == KERNEL.theta.shape
    fixed = Categorical(1, n_categories=2, factor_bounds="fixed", diagonal_bounds="fixed")
    assert fixed.n_dims == 0 and fixed.bounds.shape == (0, 2)


def test_without_a_number_of_categories_there_is_nothing_to_learn():
    """All categories then have variance 1 and covariance 1/2."""
    kernel = Categorical()
    assert kernel.n_dims == 0 and kernel.hyperparameters == []
    assert repr(kernel) == "Categorical(rank=2)"
    assert_allclose(kernel([[0], [5]]), [[1.0, 0.5], [0.5, 1.0]])
    assert_allclose(kernel([[0], [5]], eval_gradient=True)[1].shape, (2, 2, 0))


def test_in_gaussian_process_regressor():
    """scikit-learn's regressor learns that two of three categories are one."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0.0, 6.0, 60), rng.integers(0, 3, 60)])
    y = np.where(X[:, 1] == 1, -1.0, 1.0) * np.sin(X[:, 0]) + 0.1 * rng.standard_normal(60)
    kernel = Columns(RBF(), [0])
    kernel *= Columns(Categorical(1, n_categories=3, diagonal_bounds="fixed"), [1])
    model = GaussianProcessRegressor(kernel + WhiteKernel(0.1, (1e-3, 1.0))).fit(X, y)
    learned = model.kernel_.k1.k2.kernel(np.arange(3)[:, None])
    deviation = np.sqrt(np.diag(learned))
    correlation = learned / np.outer(deviation, deviation)
    assert correlation[0, 2] > 0.5 and max(correlation[0, 1], correlation[1, 2]) < -0.5


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([[0.0], [1.5]], "Got 1.5, which is no whole number"),
        ([[0.0], [-2.0]], "Got -2, which is negative"),
        ([[0.0], [10_000.0]], "Got 10000, which is more than there may be"),
        ([[0.0, 1.0]], r"must see one column.*\(1, 2\)"),
        ([[np.nan]], "Got NaN: name the column in categorical_features"),
    ],
)
def test_what_is_no_code_is_refused(codes, message):
    """An error says what must hold, what came, and what to do."""
    with pytest.raises(ValueError, match=message):
        Categorical(n_categories=3)(np.array(codes))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rank": 0}, "rank of Categorical must be at least 1. Got 0"),
        ({"n_categories": 0}, "between 1 and 10000"),
        ({"n_categories": 10_001}, "Got 10001"),
        ({"n_categories": 2, "factor": FACTOR}, "Got 2, 3, None"),
        ({"rank": 1, "factor": FACTOR}, r"shape \(n_categories, rank\) = \(3, 1\)"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    """An error names the parameter and what came."""
    with pytest.raises(ValueError, match=message):
        Categorical(**parameters)(CODES)


def test_a_kernel_over_two_columns_is_refused():
    """The error says that each column wants a kernel of its own."""
    with pytest.raises(ValueError, match="multiply or add one Categorical for each"):
        compile_kernel(Columns(Categorical(), [0, 1]), np.zeros(2))


def test_categories_are_counted_in_the_data():
    """Names become indices, categories are counted, and the given kernel stays as it is."""
    X = np.column_stack([np.linspace(0.0, 1.0, 4), [0, 3, 1, 3], [1, 0, 0, 1]])
    given = Columns(RBF(), ["x"]) * Columns(Columns(Categorical(), [0]), ["b"]) + 2.0 * Columns(
        Categorical(1), [1]
    )
    before = clone(given)
    bound = bound_to(given, X, ["x", "a", "b"])
    assert given == before
    assert bound.k1.k1.columns == [0] and bound.k1.k2.columns == [2]
    assert bound.k1.k2.kernel.kernel.n_categories == 2
    assert bound.k2.k2.kernel.n_categories == 4
    assert bound_to(bound, X) is bound
    plain = RBF() + Columns(RBF(), [0]) ** 2
    assert bound_to(plain, X) is plain


def test_names_that_are_not_there_are_refused():
    """The error tells the names that are there."""
    with pytest.raises(ValueError, match=r"Got 'c', where X has \['a', 'b'\]"):
        bound_to(Columns(RBF(), ["c"]), np.zeros((2, 2)), ["a", "b"])
    with pytest.raises(ValueError, match="X has no names"):
        bound_to(Columns(RBF(), ["c"]), np.zeros((2, 2)))


def test_columns_takes_names_from_dataframes():
    """Columns with names is the kernel on these columns of a dataframe, and refuses arrays."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"a": [0.0, 1.0], "b": [2.0, 4.0]})
    kernel = Columns(RBF(), ["b"])
    assert_array_equal(kernel(X), RBF()(X[["b"]].to_numpy()))
    assert repr(kernel) == "Columns(RBF(length_scale=1), ['b'])"
    with pytest.raises(ValueError, match="called with a dataframe"):
        kernel(X.to_numpy())


def test_only_columns_of_categories_are_held():
    """Inducing inputs keep their values where a kernel over categories sees them."""
    kernel = Columns(RBF(), [0, 2]) * Columns(Categorical(n_categories=2), [1]) + RBF()
    assert_array_equal(compile_kernel(kernel, np.zeros(3)).held_columns, [1])
    assert len(compile_kernel(RBF(), np.zeros(3)).held_columns) == 0


def bound(kernel, n_features):
    expression = compile_kernel(kernel, np.zeros(n_features))
    return expression.bind(expression.theta)


def test_units_tell_how_near_categories_are():
    """Squared distances are those of scaled numbers, plus 2 (1 - correlation) of categories."""
    kernel = bound(Columns(RBF(), [0]) * Columns(KERNEL, [1]), 2)
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(7), [0, 1, 2, 0, 1, 2, 5]])
    points = X / units_of(kernel, np.array([2.0, 99.0]))
    square = ((points[:, None] - points) ** 2).sum(axis=2)
    numbers = (X[:, :1] - X[:, 0]) ** 2 / 4.0
    K = KERNEL(X[:, 1:])
    deviation = np.sqrt(np.diag(K))
    assert_allclose(square, numbers + 2.0 - 2.0 * K / np.outer(deviation, deviation), atol=1e-12)


def test_categories_of_small_variance_are_near():
    """Squared distances between categories are as large as their terms' share of the variance."""
    level = Categorical(1, factor=np.full((3, 1), 0.3), diagonal=np.full(3, 0.01))  # variance 0.1
    kernel = Columns(0.9 * RBF(), [0]) * Columns(KERNEL, [1]) + Columns(level, [1])
    X = np.array([[0.0, 0.0], [0.0, 1.0]])
    mean = np.trace(B) / 3.0
    share, scale = 0.9 * mean / (0.9 * mean + 0.1), np.ones(2)
    points = X / units_of(bound(kernel, 2), scale, by_variance=True)
    in_B, in_level = 1.0 - B[0, 1] / np.sqrt(B[0, 0] * B[1, 1]), 1.0 - 0.09 / 0.1
    assert_allclose(
        ((points[0] - points[1]) ** 2).sum(), 2.0 * (share * in_B + (1.0 - share) * in_level)
    )
    numbers = bound(Columns(RBF(), [0]) + 1e-6 * Columns(KERNEL, [1]), 2)
    points = X / nearness_scales(numbers, scale)
    assert_allclose(points[0], points[1], atol=2e-3)


def test_units_of_plain_kernels_divide_by_scales():
    """Without categories ``X / units`` is the quotient."""
    X, scale = np.arange(6.0).reshape(3, 2), np.array([2.0, 5.0])
    units = units_of(bound(RBF(), 2), scale)
    assert_array_equal(X / units, X / scale)
    assert_allclose(largest_change(units, units_of(bound(RBF(), 2), scale * 3.0)), np.log(3.0))


def test_random_features_have_the_covariances_on_average():
    """Means over draws of products of features are the kernel, of new categories too."""
    kernel = Columns(RBF(1.2), [0]) * Columns(KERNEL, [1]) + Columns(KERNEL, [1])
    X = np.column_stack([np.linspace(-1.0, 1.0, 6), [0, 1, 2, 0, 3, 3]])
    compiled, rng = bound(kernel, 2), np.random.default_rng(0)
    drawn = [sample_features(compiled, 2000, rng)(X) for _ in range(40)]
    mean = np.mean([Phi @ Phi.T for Phi in drawn], axis=0)
    assert_allclose(mean, kernel(X), atol=0.06)


def test_random_features_of_new_categories():
    """Two categories not seen before have numbers of their own, the same in each call."""
    compiled = bound(KERNEL, 1)
    X = np.array([[0.0], [3.0], [4.0], [70.0], [3.0]])
    features = sample_features(compiled, 40_000, np.random.RandomState(0))
    Phi = features(X)
    assert_allclose(Phi @ Phi.T, KERNEL(X), atol=0.05)
    assert_array_equal(features(X[2:4]), Phi[2:4])


def test_many_blocks_are_those_of_the_dense_covariance(rng):
    """Blocks, triangles and gradients, of known categories and of three that were not seen."""
    node = _node.CategoricalNode(slice(0, 9), slice(9, 27), 2)
    p, codes = rng.uniform(0.1, 1.0, 27), rng.integers(0, 12, 400).astype(float)
    parts = [np.sort(rng.choice(400, size, replace=False)) for size in (120, 0, 5, 1)]
    triangles, blocks = Groups.triangles(parts), Groups.of(parts, parts[::-1])

    def dense(p):
        F = p[9:].reshape(9, 2)
        mean = F.mean(axis=0)
        alone = np.append(p[:9], (F**2).sum() / 9 + p[:9].mean() - mean @ mean)
        place = np.minimum(codes, 9).astype(int)
        of_row = np.vstack([F, mean])[place]
        return of_row @ of_row.T + np.where(codes[:, None] == codes, alone[place][:, None], 0.0)

    K, X = dense(p), codes[:, None]
    pairs = zip(parts, parts[::-1], strict=True)
    expected = np.concatenate([K[np.ix_(one, other)].ravel() for one, other in pairs])
    assert_allclose(node.blocks(p, X, X, blocks), expected)
    found, add_gradient = node.triangles(p, X, triangles)
    upper = [rows[np.array(np.triu_indices(len(rows)))] for rows in parts]
    at = tuple(np.hstack(upper))
    assert_allclose(found, K[at])
    G, gradient = rng.standard_normal(triangles.bounds[-1]), np.zeros(27)
    add_gradient(G, gradient)
    in_p = differences(lambda p: dense(p)[at] @ G, p)
    in_p[:9] *= p[:9]  # of logarithms
    assert_allclose(gradient, in_p, rtol=1e-6, atol=1e-7)


def test_the_variance_of_new_categories_may_be_learned():
    """It stands in the place of that of F and b, in blocks, diagonals, draws and gradients."""
    codes = np.array([[0.0], [3.0], [1.0], [5.0], [3.0]])
    compiled = bound(KERNEL, 1)
    slot = compiled.expression.node.learned_variance
    values = compiled.values.copy()
    values[slot] = 2.5
    wide = replace(compiled, values=values)
    same = (codes == codes.T) & (codes > 2)
    extra = 2.5 - (np.diag(B).mean() - FACTOR.mean(axis=0) @ FACTOR.mean(axis=0))
    assert_allclose(wide.gram(codes), KERNEL(codes) + extra * same, rtol=1e-13)
    assert_allclose(wide.diag(codes), np.diag(wide.gram(codes)), rtol=1e-13)
    expression = replace(compiled.expression, values=values)
    G = np.random.default_rng(0).standard_normal((5, 5))
    G += G.T
    found = wide.gram_vjp(codes, G)[0]
    expected = differences(lambda t: np.sum(G * expression.bind(t).gram(codes)), KERNEL.theta)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
