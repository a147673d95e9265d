"""Groups that are conditioned on other rows: the compiled elimination against dense solves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp._core._groups import eliminate

SIZES = [(0, 4), (3, 1), (7, 5), (40, 33)]  # conditions and own rows of each group


def case(t=1, m=6, n=100):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    At = 0.03 * rng.standard_normal((n, m))
    index = [rng.permutation(n)[: k + b] for k, b in SIZES]
    noise = rng.uniform(0.5, 1.0, n)
    return K, At, rng.standard_normal((n, t)), noise, index


def run(K, At, y, noise, index, n_before=None):
    """What is returned, and of each group chol(S)^T, C and the residuals."""
    n_before = np.array([k for k, _ in SIZES]) if n_before is None else n_before
    n_rows = np.array([len(rows) for rows in index])
    triangles = [K[np.ix_(rows, rows)][np.triu_indices(len(rows))] for rows in index]
    U = np.full(sum(n * n for n in n_rows), np.nan)
    C = np.full(sum(k * b for k, b in SIZES), np.nan)
    n_own = sum(b for _, b in SIZES)
    residual_At, residual_y = np.empty((n_own, At.shape[1])), np.empty((n_own, y.shape[1]))
    given = np.concatenate(triangles), np.concatenate(index), n_rows, n_before, At, y, noise
    found = eliminate(*given, U, C, residual_At, residual_y)
    U = np.split(U, np.cumsum(n_rows**2)[:-1])
    C = np.split(C, np.cumsum([k * b for k, b in SIZES])[:-1])
    U = [part.reshape(n, n) for part, n in zip(U, n_rows, strict=True)]
    return (
        found,
        U,
        [part.reshape(shape) for part, shape in zip(C, SIZES, strict=True)],
        (
            residual_At,
            residual_y,
        ),
    )


@pytest.mark.parametrize("m", [0, 6])
@pytest.mark.parametrize("t", [1, 3])
def test_elimination_is_dense(t, m):
    """Factors, C, residuals and the determinant are those of dense solves, group by group."""
    K, At, y, noise, index = case(t, m)
    (half_log_det, failed), U, C, (residual_At, residual_y) = run(K, At, y, noise, index)
    expected, lo = 0.0, 0
    for rows, (k, b), U_g, C_g in zip(index, SIZES, U, C, strict=True):
        S = K[np.ix_(rows, rows)] - At[rows] @ At[rows].T + np.diag(noise[rows])
        assert_allclose(U_g.T, np.linalg.cholesky(S), atol=1e-12)
        assert_allclose(C_g, np.linalg.solve(S[:k, :k], S[:k, k:]), atol=1e-12)
        R = np.linalg.cholesky(S[k:, k:] - S[k:, :k] @ C_g)
        own, before = rows[k:], rows[:k]
        whitened = np.linalg.solve(R, At[own] - C_g.T @ At[before])
        assert_allclose(residual_At[lo : lo + b], whitened, atol=1e-12)
        whitened = np.linalg.solve(R, y[own] - C_g.T @ y[before])
        assert_allclose(residual_y[lo : lo + b], whitened, atol=1e-12)
        expected, lo = expected + np.log(np.diagonal(R)).sum(), lo + b
    assert failed == -1
    assert_allclose(half_log_det, expected, rtol=1e-12)


@pytest.mark.parametrize("bad", [-10.0, np.nan])
@pytest.mark.parametrize("group", range(len(SIZES)))
def test_elimination_names_the_group_that_does_not_factorise(group, bad):
    """The first group whose matrix is not positive definite, or not finite, is told."""
    K, At, y, noise, index = case()
    only = [rows.copy() for rows in index]
    spoilt = np.append(noise, bad)
    for rows in only[group:]:
        rows[-1] = len(noise)
    K, At, y = (np.pad(array, [(0, 1), (0, 0)]) for array in (K, At, y))
    K = np.pad(K, [(0, 0), (0, 1)])
    (_, failed), *_ = run(K, At, y, spoilt, only)
    assert failed == group


def test_elimination_checks_what_it_gets():
    """Shapes that do not agree, and rows that are not there, raise."""
    K, At, y, noise, index = case()
    with pytest.raises(ValueError, match="must hold rows"):
        run(K, At, y, noise, [index[0] * 0 - 1, *index[1:]])
    with pytest.raises(ValueError, match="sizes of the groups"):
        run(K, At, y, noise, index, np.array([4, 3, 7, 40]))
    with pytest.raises(ValueError, match="sizes of the groups"):
        run(K, At, y, noise, index, np.array([-1, 3, 7, 40]))
    with pytest.raises(ValueError, match="shapes of the arrays"):
        run(K, At, y, noise, [index[2], *index[1:]])
    with pytest.raises(ValueError, match="shapes of the arrays"):
        run(K, At, y[1:], noise, index)


def test_elimination_leaves_its_inputs_alone():
    """What is only read is the same afterwards."""
    K, At, y, noise, index = case()
    kept = [array.copy() for array in (At, y, noise, *index)]
    run(K, At, y, noise, index)
    for array, before in zip((At, y, noise, *index), kept, strict=True):
        assert_array_equal(array, before)


def test_no_group_at_all():
    """Of no group nothing is found."""
    nothing, none = np.empty(0), np.empty(0, dtype=np.intp)
    rows, y = np.empty((0, 6)), np.empty((0, 1))
    found = eliminate(nothing, none, none, none, rows, y, nothing, nothing, nothing, rows, y)
    assert found == (0.0, -1)
