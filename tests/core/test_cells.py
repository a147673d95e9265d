"""Cells of near rows and their test rows: the compiled functions against dense solves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp._core._cells import condition, factorise, whiten

SIZES = [(4, 3), (0, 2), (1, 5), (33, 0), (40, 1)]  # near rows and test rows of each cell
BOUNDS = np.append(0, np.cumsum([count for _, count in SIZES]))


def case(t=1, m=6, n=100):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    given = {
        "At": 0.03 * rng.standard_normal((n, m)),
        "y": rng.standard_normal((n, t)),
        "v_mean": rng.standard_normal((m, t)),
        "noise": rng.uniform(0.5, 1.0, n),
    }
    return K, given, [rng.permutation(n)[:size] for size, _ in SIZES]


def factorised(K, given, index):
    """The failed cell, and A^T, U, whitened errors, weights and what is left of v_mean."""
    (m, t), triangles = given["v_mean"].shape, [K[np.ix_(own, own)] for own in index]
    triangles = np.concatenate([part[np.triu_indices(len(part))] for part in triangles])
    shapes = [(n, k) for k in (m, None, t, t) for n, _ in SIZES]
    found = [np.empty((n, n if k is None else k)) for n, k in shapes]
    lists = [found[lo : lo + len(SIZES)] for lo in range(0, len(found), len(SIZES))]
    lists.append([given["v_mean"].copy() for _ in SIZES])
    return factorise(triangles, np.concatenate(index), *given.values(), *lists), lists


@pytest.mark.parametrize("m", [0, 6])
@pytest.mark.parametrize("t", [1, 3])
def test_cells_are_factorised(t, m):
    """Factor, errors, weights and mean of each cell are those of dense solves."""
    K, given, index = case(t, m)
    failed, lists = factorised(K, given, index)
    assert failed == -1
    for own, At, U, whitened, weights, left in zip(index, *lists, strict=True):
        assert_array_equal(At, given["At"][own])
        R = K[np.ix_(own, own)] - At @ At.T + np.diag(given["noise"][own])
        error = given["y"][own] - At @ given["v_mean"]
        assert_allclose(U.T @ U, R, atol=1e-12)
        assert_array_equal(np.tril(U, -1), 0.0)
        assert_allclose(U.T @ whitened, error, atol=1e-12)
        assert_allclose(R @ weights, error, atol=1e-12)
        assert_allclose(left, given["v_mean"] - At.T @ weights, atol=1e-12)


@pytest.mark.parametrize("bad", [-10.0, np.nan, np.inf])
@pytest.mark.parametrize("cell", [0, 2, 4])
def test_the_first_cell_that_does_not_factorise_is_told(cell, bad):
    """A matrix that is not positive definite, or not finite, stops at its cell."""
    K, given, index = case()
    for own in index[cell:]:
        own[-1:] = len(K) - 1
    for own in index[:cell]:
        own[own == len(K) - 1] = 0
    given["noise"][-1] = bad
    assert factorised(K, given, index)[0] == cell


@pytest.mark.parametrize("is_whitened", [False, True])
@pytest.mark.parametrize("m", [0, 6])
@pytest.mark.parametrize("t", [1, 3])
def test_test_rows_are_conditioned(t, m, is_whitened):
    """c, b, |c|^2 and the part of the mean are those of dense solves, with inv(C) A^T or not."""
    K, given, index = case(t, m)
    _, (At, U, whitened, *_) = factorised(K, given, index)
    rng = np.random.default_rng(1)
    a, mean = rng.standard_normal((BOUNDS[-1], m)), rng.standard_normal((BOUNDS[-1], t))
    cross = [rng.standard_normal((count, n)) for n, count in SIZES]
    inner = [None] * len(SIZES)
    if is_whitened:
        inner = [each.copy() for each in At]
        for factor, each in zip(U, inner, strict=True):
            whiten(factor, each)
    c, b, moved = np.concatenate([each.ravel() for each in cross]), a.copy(), mean.copy()
    squares, at = np.full(len(a), np.nan), 0
    condition(U, At, inner, whitened, BOUNDS, a, c, b, moved, squares)
    for g, (n, count) in enumerate(SIZES):
        own, root = slice(BOUNDS[g], BOUNDS[g + 1]), U[g].T
        expected = np.linalg.solve(root, (cross[g] - a[own] @ At[g].T).T)
        assert_allclose(c[at : at + n * count].reshape(count, n), expected.T, atol=1e-12)
        through_u = a[own] - np.linalg.solve(root.T, expected).T @ At[g]
        assert_allclose(b[own], through_u, atol=1e-12)
        assert_allclose(squares[own], (expected**2).sum(axis=0), atol=1e-12)
        assert_allclose(moved[own], mean[own] + expected.T @ whitened[g], atol=1e-12)
        at += n * count


def test_cells_check_what_they_get():
    """Shapes that do not agree, and rows that are not there, raise."""
    K, given, index = case()
    with pytest.raises(ValueError, match="must hold rows"):
        factorised(K, given, [index[0] * 0 - 1, *index[1:]])
    with pytest.raises(ValueError, match="shapes of the arrays"):
        factorised(K, given | {"y": given["y"][1:]}, index)
    with pytest.raises(ValueError, match="shapes of the arrays"):
        factorised(K, given, [index[0][1:], *index[1:]])
    _, (At, U, whitened, *_) = factorised(K, given, index)
    a, c = np.zeros((BOUNDS[-1], 6)), np.zeros(sum(n * count for n, count in SIZES))
    others = [BOUNDS, a, c, a.copy(), np.zeros((len(a), 1)), np.zeros(len(a))]
    none = [None] * len(SIZES)
    with pytest.raises(ValueError, match="shapes of a cell"):
        condition(U, [each[:, 1:] for each in At], none, whitened, *others)
    for i in (0, 2, 3, 4, 5):
        spoilt = [*others[:i], others[i][:-1], *others[i + 1 :]]
        with pytest.raises(ValueError, match="shapes of the arrays"):
            condition(U, At, none, whitened, *spoilt)
    with pytest.raises(ValueError, match="whiten: the shapes"):
        whiten(U[0], At[2])


def test_cells_leave_their_inputs_alone():
    """What is only read is the same afterwards."""
    K, given, index = case()
    kept = {name: array.copy() for name, array in given.items()}
    factorised(K, given, index)
    for name, array in given.items():
        assert_array_equal(array, kept[name])
