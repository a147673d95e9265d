"""Densities of groups given near rows: the compiled sums against dense ones and differences."""

import numpy as np
import pytest
from dense import log_normal
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp._core._densities import add_class_densities, add_densities, densities

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


def values_of(K, y, noise, n_rows=N_ROWS, n_before=N_BEFORE):
    """The density of each group, and the group that failed."""
    values = np.full(len(n_rows), np.nan)
    return values, densities(K, n_rows, n_before, y, noise, values)


def difference(function, value, step=1e-5):
    return (function(value + step) - function(value - step)) / (2.0 * step)


def check_slopes(function, values, slopes, count, rtol=1e-6, atol=1e-8):
    """Compare slopes of a function in some entries, or all in some rows, of an array."""
    rows = np.random.default_rng(1).permutation(len(values))[:count]
    for entry in (place for place in np.ndindex(values.shape) if place[0] in rows):

        def changed(value, entry=entry):
            other = values.copy()
            other[entry] = value
            return function(other)

        expected = difference(changed, values[entry])
        assert_allclose(slopes[entry], expected, rtol=rtol, atol=atol)


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
    check_slopes(lambda y: dense(grams, y, noise), y, y_bar, 20)
    # the value has been checked above
    check_slopes(lambda K: run(K, y, noise)[0], K, K_bar, 60, rtol=1e-5, atol=1e-7)


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


N_CLASSES = 5


def class_case():
    """Also the class of each row, its noise in the other regressions, and how much less in its own.

    One class has no row, one has all rows of a group.
    """
    grams, y, _ = case(N_CLASSES)
    rng = np.random.default_rng(2)
    number = rng.choice([0, 1, 3, 4], size=len(y))
    number[: SIZES[0][1]] = 3
    other = rng.uniform(0.5, 1.0, len(y))
    return grams, y, number, other, rng.uniform(0.2, 0.9, len(y)) * other


def run_classes(K, y, number, other, less, n_rows=N_ROWS, n_before=N_BEFORE):
    """Value, the group that failed, and slopes in K and y."""
    K_bar, y_bar = np.zeros_like(K), np.full_like(y, np.nan)
    given = K, n_rows, n_before, y, number, other, np.sqrt(less)
    return *add_class_densities(*given, K_bar, y_bar), K_bar, y_bar


def dense_classes(grams, y, number, other, less):
    """The sum over the regressions of classes."""
    noise = other[:, None] - less[:, None] * (number[:, None] == np.arange(N_CLASSES))
    return sum(dense(grams, y[:, [c]], noise[:, c]) for c in range(N_CLASSES))


def test_the_value_of_classes_is_dense():
    """Their regressions one by one, each with its own noise."""
    grams, *others = class_case()
    value, failed, *_ = run_classes(packed(grams), *others)
    assert failed == -1
    assert_allclose(value, dense_classes(grams, *others), rtol=1e-12)


def test_slopes_of_classes_are_differences():
    """In some targets and in some entries of K."""
    grams, y, *noise = class_case()
    K = packed(grams)
    _, _, K_bar, y_bar = run_classes(K, y, *noise)
    check_slopes(lambda y: dense_classes(grams, y, *noise), y, y_bar, 20)
    # the value has been checked above
    check_slopes(lambda K: run_classes(K, y, *noise)[0], K, K_bar, 60, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("group", range(len(SIZES)))
def test_the_group_whose_noise_is_too_little_is_named(group):
    """No positive noise of all regressions, and one that leaves nothing of a class's."""
    grams, y, number, other, less = class_case()
    last = np.cumsum(N_ROWS)[group:] - 1
    changed = other.copy()
    changed[last] = -10.0
    assert run_classes(packed(grams), y, number, changed, less)[1] == group
    changed = less.copy()
    changed[last] = 100.0
    assert run_classes(packed(grams), y, number, other, changed)[1] == group


def test_classes_check_what_they_get():
    """Shapes that do not agree, and classes that are not there, raise."""
    grams, y, number, other, less = class_case()
    K = packed(grams)
    with pytest.raises(ValueError, match="sizes of the groups"):
        run_classes(K, y, number, other, less, n_before=N_ROWS)
    with pytest.raises(ValueError, match="shapes of the arrays"):
        run_classes(K, y, number[1:], other, less)
    for wrong in (number - 1, number + 1):
        with pytest.raises(ValueError, match="must hold classes"):
            run_classes(K, y, wrong, other, less)
    nothing, none = np.empty(0), np.empty(0, dtype=np.intp)
    empty = nothing, np.empty((0, 2)), none, nothing, nothing, none, none
    assert run_classes(*empty)[:2] == (0.0, -1)


@pytest.mark.parametrize("t", [1, 3])
def test_values_alone_are_those_that_are_added_up(t):
    """Each group's density, without slopes."""
    grams, y, noise = case(t)
    values, failed = values_of(packed(grams), y, noise)
    assert failed == -1
    assert_allclose(values.sum(), dense(grams, y, noise), rtol=1e-12)
    ends = np.cumsum(N_ROWS)
    for g, (lo, hi) in enumerate(zip(ends - N_ROWS, ends, strict=True)):
        some = slice(g, g + 1)
        alone = run(packed(grams[some]), y[lo:hi], noise[lo:hi], N_ROWS[some], N_BEFORE[some])
        assert_allclose(values[g], alone[0], rtol=1e-12)


def test_values_alone_stop_where_a_covariance_is_not_positive_definite():
    """The number of that group is returned; shapes that do not agree are refused."""
    grams, y, noise = case()
    grams[1] = -grams[1]
    assert values_of(packed(grams), y, noise)[1] == 1
    for change in ({"y": y[1:]}, {"noise": noise[1:]}, {"n_before": N_ROWS}):
        with pytest.raises(ValueError, match=r"densities: the (sizes|shapes)"):
            values_of(**{"K": packed(grams), "y": y, "noise": noise, **change})
