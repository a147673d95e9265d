"""Choices of inducing inputs."""

import numpy as np
import pytest
from dense import KERNELS, make_case
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp.data.inducing import (
    _closeness,
    choose_inducing,
    distinct_rows,
    given_inducing,
    greedy_variance,
    is_new,
    new_inducing_inputs,
)
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.kernels import Categorical, Columns, compile_kernel
from sklearn_sgp.kernels._compiled import BoundKernel
from sklearn_sgp.kernels.categories._binding import bound_to

METHODS = pytest.mark.parametrize("method", ["kmeans", "greedy", "random"])


def _bound(kernel, d=2):
    expression = compile_kernel(kernel, np.zeros(d))
    return expression.bind(expression.theta)


def _choose(method, X, weight=None, m=6, *, scale=None, seed=0, kernel=None):
    d = X.shape[1]
    scale = np.ones(d) if scale is None else scale
    rng = np.random.RandomState(seed)
    return choose_inducing(method, X, weight, m, _bound(kernel or RBF(0.7), d), scale, rng)


def _is_row_of(Z, X):
    return (Z[:, None] == X[None]).all(axis=2).any(axis=1)


@METHODS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_many_as_asked_for(method, dtype):
    """As many distinct inducing inputs as asked for, float64, within the range of the rows."""
    X = make_case(n=80).X.astype(dtype)
    Z = _choose(method, X)
    assert Z.dtype == np.float64
    assert Z.flags.c_contiguous
    assert len(np.unique(Z, axis=0)) == len(Z) == 6
    assert (Z >= X.min(axis=0) - 1e-6).all()
    assert (Z <= X.max(axis=0) + 1e-6).all()
    if method != "kmeans":
        assert _is_row_of(Z, X).all()


@METHODS
def test_rows_of_weight_zero_do_not_matter(method):
    """Rows of weight 0 are never chosen, and the choice is that without them."""
    X = make_case(n=60).X
    weight = np.arange(60) % 3 + 0.5
    far = 100.0 + np.arange(40.0).reshape(20, 2)
    Z = _choose(method, np.vstack([far, X]), np.concatenate([np.zeros(20), weight]))
    assert_array_equal(Z, _choose(method, X, weight))
    assert Z.max() < 3.0


@METHODS
@pytest.mark.parametrize("seed", range(3))
def test_weights_are_repetitions(method, seed):
    """Integer weights choose as the rows repeated, in any order, would."""
    rng = np.random.default_rng(seed)
    X = make_case(n=50, seed=seed).X
    times = rng.integers(0, 5, 50)
    repeated = rng.permutation(np.repeat(X, times, axis=0))
    weighted = _choose(method, X, times.astype(float), seed=seed)
    assert_array_equal(weighted, _choose(method, repeated, seed=seed))


@METHODS
@pytest.mark.parametrize("n_distinct", [1, 3, 6])
def test_fewer_distinct_rows_give_fewer(method, n_distinct):
    """With no more distinct rows than inducing inputs asked for, each of them is taken once."""
    distinct = make_case(n=n_distinct).X
    X = np.tile(distinct, (5, 1))
    Z = _choose(method, X)
    assert_array_equal(Z[np.lexsort(Z.T[::-1])], np.unique(distinct, axis=0))


@METHODS
def test_the_seed_decides(method):
    """The same seed gives the same choice."""
    X = make_case(n=60).X
    assert_array_equal(_choose(method, X, seed=3), _choose(method, X, seed=3))


@pytest.mark.parametrize("method", ["kmeans", "random"])
def test_another_seed_is_another_choice(method):
    """Another seed gives another choice, where there is chance in it."""
    X = make_case(n=60).X
    first, *others = (_choose(method, X, seed=seed) for seed in range(3, 8))
    assert not all(np.array_equal(first, other) for other in others)


def test_random_follows_the_weights():
    """Heavy rows are chosen far more often than light ones."""
    X = np.arange(20.0)[:, None]
    weight = np.where(X[:, 0] < 10, 1e-3, 1.0)
    chosen = np.concatenate([_choose("random", X, weight, 3, seed=s)[:, 0] for s in range(50)])
    assert (chosen >= 10).mean() > 0.95
    assert len(np.unique(chosen)) > 8


def test_kmeans_gives_weighted_means():
    """Where the rows form clumps, the inducing inputs are their weighted means."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
    label = np.repeat([0, 1, 2], 20)
    X, weight = centres[label] + rng.standard_normal((60, 2)), rng.gamma(1.0, 1.0, 60)
    Z = _choose("kmeans", X, weight, 3)
    expected = [np.average(X[label == k], axis=0, weights=weight[label == k]) for k in range(3)]
    assert_allclose(Z[np.argsort(Z @ [1.0, 2.0])], expected, rtol=1e-10)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_kmeans_measures_in_units_of_scale(offset):
    """Inputs in other units or moved far off give the same choice, in those units."""
    X, units = make_case(n=60).X, np.array([1e-3, 1e4])
    Z = _choose("kmeans", X)
    moved = _choose("kmeans", X * units + offset, scale=units)
    assert_allclose(moved, Z * units + offset, rtol=1e-7 if offset == 0.0 else 1e-9)


def test_kmeans_ignores_what_scale_makes_small():
    """A column in which distances are negligible does not separate the clumps."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.repeat([0.0, 1.0], 30), 100.0 * rng.uniform(size=60)])
    X[:, 0] += 1e-3 * rng.standard_normal(60)
    Z = _choose("kmeans", X, m=2, scale=np.array([1.0, 1e6]))
    assert_allclose(Z[:, 0], [0.0, 1.0], atol=1e-2)


def test_distinct_rows():
    """Distinct rows, weights added up, those of weight 0 left out, in any order of the columns."""
    X = np.array([[2.0, 1.0], [1.0, 5.0], [2.0, 1.0], [0.0, 0.0], [1.0, 4.0]])
    rng = np.random.RandomState(0)
    weight = np.array([1.0, 2.0, 0.5, 0.0, 3.0])
    rows, mass = distinct_rows(X, weight, 3, rng)
    order = np.lexsort(rows.T[::-1])
    assert_array_equal(rows[order], [[1.0, 4.0], [1.0, 5.0], [2.0, 1.0]])
    assert_array_equal(mass[order], [3.0, 2.0, 1.5])
    assert_array_equal(np.sort(distinct_rows(X, None, 3, rng)[1]), [1.0, 1.0, 1.0, 2.0])
    other, mass_of_other = distinct_rows(X[:, ::-1], weight, 3, rng)
    assert_array_equal(other[:, ::-1], rows)
    assert_array_equal(mass_of_other, mass)


def test_distinct_rows_of_very_many():
    """Of very many rows a sample is looked at, none of weight 0 among it."""
    X = np.arange(30_000, dtype=np.float32)[:, None]
    weight = np.where(X[:, 0] < 10_000, 0.0, 2.0)
    rows, mass = distinct_rows(X, weight, 10, np.random.RandomState(0))
    assert 1000 < len(rows) < 20_000
    assert_array_equal(mass, 2.0)
    assert rows.min() >= 10_000
    assert (np.diff(rows[:, 0]) > 0).all()
    assert abs(np.mean(rows) - 20_000) < 500


def _naive_greedy(K, closeness, mass, m):
    """One by one, the largest mass times variance given those picked, computed anew each time.

    Among equals the one closest to the centre.
    """
    picked = []
    for _ in range(m):
        given = K[np.ix_(picked, picked)]
        variance = np.diagonal(K) - np.sum(K[picked] * np.linalg.solve(given, K[picked]), axis=0)
        variance[picked] = 0.0
        score = variance * mass
        tied = score > score.max() * (1.0 - 1e-10)
        picked.append(int(np.argmax(np.where(tied, closeness, -np.inf))))
    return picked


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_greedy_is_the_naive_definition(kernel, weighted):
    """Greedy picks, in order, the rows of largest conditional variance times weight."""
    X = make_case(n=40).X
    mass = np.random.default_rng(1).gamma(2.0, 1.0, 40) if weighted else np.ones(40)
    closeness = KERNELS[kernel](X.mean(axis=0, keepdims=True), X)[0]
    expected = _naive_greedy(KERNELS[kernel](X), closeness, mass, 8)
    assert_array_equal(greedy_variance(_bound(KERNELS[kernel]), X, mass, 8), expected)


def test_closeness_of_many_combinations_of_categories(rng, monkeypatch):
    """It is that to the centre with a row's own categories, by one call for all of them."""
    X = np.column_stack([rng.standard_normal((60, 2)), rng.integers(5, size=(60, 2))])
    kernel = Columns(RBF(), [0, 1]) * Columns(Categorical(2), [2]) + Columns(Categorical(1), [3])
    kernel = bound_to(kernel, X, None)
    centres = X.copy()
    centres[:, :2] = X[:, :2].mean(axis=0)
    expected, bound = np.diagonal(kernel(centres, X)), _bound(kernel, 4)
    monkeypatch.setattr(BoundKernel, "block", None)
    assert_allclose(_closeness(bound, X), expected, rtol=1e-12)


@pytest.mark.parametrize("variance", [1e-6, 1.0, 1e6])
def test_greedy_stops_where_nothing_is_left(variance):
    """Rows that those picked explain but for rounding are not picked, in any unit of variance."""
    rng = np.random.default_rng(0)
    basis = np.array([[0.0], [3.0], [6.0]])
    X = np.repeat(basis, 4, axis=0) + 1e-9 * rng.standard_normal((12, 1))
    kernel = _bound(ConstantKernel(variance) * RBF(1.0), 1)
    picked = greedy_variance(kernel, X, np.ones(12), 10)
    assert len(picked) == 3
    assert_allclose(np.sort(X[picked, 0]), basis[:, 0], atol=1e-7)


def test_rows_that_are_inducing_inputs_are_not_new():
    """A row is known only if it is an inducing input to the last bit; -0.0 was another than 0.0."""
    Z = np.array([[0.1, 0.2], [1.0, 2.0], [0.0, 1.0]])
    X = np.array([[1.0, 2.0], [0.1, 0.2 + 1e-18], [np.nextafter(0.1, 1.0), 0.2], [5.0, 5.0]])
    assert_array_equal(is_new(X, Z), [False, False, True, True])
    assert not is_new(np.array([[-0.0, 1.0]]), Z).any()
    assert is_new(X, Z[:0]).all()


@METHODS
@pytest.mark.parametrize("weighted", [False, True])
def test_new_inducing_inputs_are_other_rows(method, weighted):
    """More inducing inputs are chosen among the rows that are none yet, as many as asked for."""
    X = make_case(n=30).X
    weight = np.where(np.arange(30) < 20, 0.0, 1.0) if weighted else None
    rows = Rows(X, np.zeros((30, 1)), weight, np.zeros(1), np.ones(1))
    rng, Z = np.random.RandomState(0), X[25:]
    more = new_inducing_inputs(method, rows, Z, 4, _bound(RBF(0.7)), np.ones(2), rng)
    assert more.shape == (4, 2) and is_new(more, Z).all()
    if method != "kmeans":
        assert _is_row_of(more, X[20:25] if weighted else X[:25]).all()
    none = new_inducing_inputs(method, rows, X, 4, _bound(RBF(0.7)), np.ones(2), rng)
    assert none.shape == (0, 2)


@pytest.mark.parametrize("given", [[[1, 2], [3, 4]], np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])])
def test_given_inducing_inputs_are_copied_in_order(given):
    """Given inducing inputs become a new float64 array in C order."""
    Z = given_inducing(given, 2)
    assert_array_equal(Z, [[1.0, 2.0], [3.0, 4.0]])
    assert Z.dtype == np.float64 and Z.flags.c_contiguous
    assert not np.shares_memory(Z, given)


@pytest.mark.parametrize("given", [np.zeros((3, 1)), np.zeros(2), [[np.nan, 1.0]], [["a", "b"]]])
def test_given_inducing_inputs_that_fit_nothing_are_refused(given):
    """Other columns, or what is not finite numbers, is an error that says what is asked for."""
    with pytest.raises(ValueError, match=r"'inducing' parameter must .* \(n_inducing, 2\).* Got "):
        given_inducing(given, 2)
