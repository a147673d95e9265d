"""What sites make of a group: the compiled posterior and its slopes against dense solves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp._core._groups import add_slopes_given_sites, given_sites


def case(n, rng):
    X = rng.standard_normal((n, 2))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    root = rng.uniform(0.0, 2.0, n) * (np.arange(n) % 5 > 0)  # some sites say nothing
    return K, root, rng.standard_normal(n)


def run(K, root, shift):
    out = np.full(K.shape, np.nan), *np.full((3, len(K)), np.nan)
    return given_sites(K, root, shift, *out), *out


@pytest.mark.parametrize("n", [0, 1, 2, 31, 33, 64, 150])
def test_posterior_is_the_dense_one(n, rng):
    """Determinant, inverse factor, slope and mean are those of the dense matrices."""
    K, root, shift = case(n, rng)
    log_det, L_inv, squares, slope, mean = run(K, root, shift)
    B = np.eye(n) + root[:, None] * K * root
    assert_allclose(2.0 * log_det, np.linalg.slogdet(B)[1], atol=1e-11)
    assert_array_equal(L_inv, np.tril(L_inv))
    assert_allclose(L_inv.T @ L_inv, np.linalg.inv(B), atol=1e-12)
    assert_allclose(squares, (L_inv**2).sum(axis=0), rtol=1e-12)
    expected = shift - root * np.linalg.solve(B, root * (K @ shift))
    assert_allclose(slope, expected, atol=1e-11)
    assert_allclose(mean, K @ expected, atol=1e-11)


@pytest.mark.parametrize(("k", "n"), [(0, 3), (1, 1), (5, 9), (33, 33), (70, 100)])
def test_slopes_are_added_to_a_packed_triangle(k, n, rng):
    """Of both equal entries off the diagonal, in the first rows only."""
    K, root, shift = case(k, rng)
    _, L_inv, _, slope, _ = run(K, root, shift)
    before = rng.standard_normal(n * (n + 1) // 2)
    K_bar = before.copy()
    add_slopes_given_sites(-1.5, L_inv, root, slope, K_bar, n)
    added, expected = np.zeros((n, n)), np.zeros((n, n))
    added[np.triu_indices(n)] = K_bar - before
    R = root[:, None] * (L_inv.T @ L_inv) * root
    expected[:k, :k] = -0.75 * (np.outer(slope, slope) - R)
    assert_allclose(added, np.triu(expected) + np.triu(expected, 1), atol=1e-11)


def test_what_has_no_factor_is_nan(rng):
    """A prior that is no covariance, or holds no numbers, has no determinant."""
    K, root, shift = case(6, rng)
    assert np.isnan(run(K - 5.0 * np.eye(6), root + 1.0, shift)[0])
    K[2, 2] = np.nan
    assert np.isnan(run(K, root, shift)[0])


def test_shapes_that_do_not_agree_are_refused(rng):
    """Each array is checked before anything is read."""
    K, root, shift = case(4, rng)
    with pytest.raises(ValueError, match="given_sites: the shapes"):
        given_sites(K, root[:3], shift, K.copy(), *np.empty((3, 4)))
    with pytest.raises(ValueError, match="add_slopes_given_sites: the shapes"):
        add_slopes_given_sites(1.0, K, root, shift, np.empty(9), 4)
