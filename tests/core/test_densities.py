"""Densities of groups given near rows: the compiled sums against dense ones and differences."""

from functools import partial

import numpy as np
import pytest
from dense import log_normal
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp._core._densities import add_densities

SIZES = [(0, 4), (3, 1), (7, 5), (40, 33)]  # conditions and own rows of each group
N_BEFORE, N_ROWS = (np.array(sizes) for sizes in zip(*((k, k + b) for k, b in SIZES), strict=True))


def case(t=1):
    """K of each group, targets and noise of all of them."""
    rng = np.random.default_rng(0)
    grams, n = [], N_ROWS.sum()
    for n_g in N_ROWS:
        X = rng.standard_normal((n_g, 3))
        grams.append(np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)))
    return grams, rng.standard_normal((n, t)), rng.uniform(0.1, 1.0, n)


def packed(grams):
    return np.concatenate([K[np.triu_indices(len(K))] for K in grams])


def run(K, y, noise, n_rows=N_ROWS, n_before=N_BEFORE, K_bar=None):
    """Value, slope in the log noise, the group that failed, and slopes in K and y."""
    K_bar, y_bar = np.zeros_like(K) if K_bar is None else K_bar, np.full_like(y, np.nan)
    return *add_densities(K, n_rows, n_before, y, noise, K_bar, y_bar), K_bar, y_bar


def dense(grams, y, noise):
    """Sum of log p(y_B | y_N) = log p(y_N, y_B) - log p(y_N)."""
    total, at = 0.0, 0
    for K, k in zip(grams, N_BEFORE, strict=True):
        rows = slice(at, at + len(K))
        S, of_group = K + np.diag(noise[rows]), y[rows]
        total += log_normal(of_group, S)
        if k:
            total -= log_normal(of_group[:k], S[:k, :k])
        at += len(K)
    return total


def difference(function, value, step=1e-5):
    return (function(value + step) - function(value - step)) / (2.0 * step)


@pytest.mark.parametrize("t", [1, 3])
def test_the_value_is_dense(t):
    """The sum over groups, conditions or none."""
    grams, y, noise = case(t)
    value, _, failed, *_ = run(packed(grams), y, noise)
    assert failed == -1
    assert_allclose(value, dense(grams, y, noise), rtol=1e-12)


@pytest.mark.parametrize("t", [1, 3])
def test_slopes_are_differences(t):
    """In the log of a factor of the noise, in each target, and in some entries of K."""
    grams, y, noise = case(t)
    K = packed(grams)
    _, slope, _, K_bar, y_bar = run(K, y, noise)
    expected = difference(lambda log: dense(grams, y, noise * np.exp(log)), 0.0)
    assert_allclose(slope, expected, rtol=1e-7)
    rng = np.random.default_rng(1)

    def with_target(value, row, c):
        changed = y.copy()
        changed[row, c] = value
        return dense(grams, changed, noise)

    for row in rng.permutation(len(y))[:20]:
        for c in range(t):
            expected = difference(partial(with_target, row=row, c=c), y[row, c])
            assert_allclose(y_bar[row, c], expected, rtol=1e-6, atol=1e-8)

    def with_entry(value, entry):
        changed = K.copy()
        changed[entry] = value
        return run(changed, y, noise)[0]  # the value has been checked above

    for entry in rng.permutation(len(K))[:60]:
        expected = difference(partial(with_entry, entry=entry), K[entry])
        assert_allclose(K_bar[entry], expected, rtol=1e-5, atol=1e-7)


def test_slopes_in_K_are_added():
    """What is there is kept, so that outputs of other noise can follow."""
    grams, y, noise = case()
    K = packed(grams)
    first = run(K, y, noise)[3]
    assert_allclose(run(K, y, noise, K_bar=first.copy())[3], 2.0 * first, rtol=1e-13)


@pytest.mark.parametrize("bad", [-10.0, np.nan])
@pytest.mark.parametrize("group", range(len(SIZES)))
def test_the_group_that_does_not_factorise_is_named(group, bad):
    """The first group whose matrix is not positive definite, or not finite, is told."""
    grams, y, noise = case()
    ends = np.cumsum(N_ROWS)
    noise[ends[group:] - 1] = bad
    assert run(packed(grams), y, noise)[2] == group


def test_it_checks_what_it_gets():
    """Shapes that do not agree raise."""
    grams, y, noise = case()
    K = packed(grams)
    for n_before in (N_BEFORE[1:], N_ROWS, N_BEFORE - 1):
        with pytest.raises(ValueError, match="sizes of the groups"):
            run(K, y, noise, n_before=n_before)
    for changed in ((K[1:], y, noise), (K, y[1:], noise), (K, y, noise[1:])):
        with pytest.raises(ValueError, match="shapes of the arrays"):
            run(*changed)


def test_of_no_group_nothing_is_found():
    """No group has the density one."""
    nothing, none = np.empty(0), np.empty(0, dtype=np.intp)
    assert run(nothing, np.empty((0, 1)), nothing, none, none)[:3] == (0.0, 0.0, -1)


def test_inputs_are_left_alone():
    """What is only read is the same afterwards."""
    grams, y, noise = case()
    K = packed(grams)
    kept = [array.copy() for array in (K, y, noise)]
    run(K, y, noise)
    for array, before in zip((K, y, noise), kept, strict=True):
        assert_array_equal(array, before)
