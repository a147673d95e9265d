"""Rows with equal inputs bound the noise from below."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

from sklearn_sgp.data import repeats
from sklearn_sgp.data.repeats import least_noise_variance
from sklearn_sgp.data.rows import Rows


def rows_of(X, y, scale=2.0):
    y = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
    return Rows(X, y, None, np.zeros(y.shape[1]), np.full(y.shape[1], scale))


def test_pooled_variance_over_a_quantile_of_its_distribution(rng):
    """Against the definition: runs of one to three equal rows, in any order."""
    distinct = rng.normal(size=(40, 3))
    which = np.concatenate([np.arange(40), np.arange(12), np.arange(5)])
    y = rng.normal(size=len(which))
    order = rng.permutation(len(which))
    squares = sum(np.sum((y[which == k] - y[which == k].mean()) ** 2) for k in range(40))
    expected = squares / 4.0 / chi2.ppf(0.95, 17)
    rows = rows_of(distinct[which][order], y[order])
    assert_allclose(least_noise_variance(rows), expected, rtol=1e-12)


def test_the_smallest_of_the_outputs(rng):
    X = np.repeat(rng.normal(size=(20, 2)), 2, axis=0)
    y = rng.normal(size=(40, 2)) * [1.0, 0.1]
    each = [least_noise_variance(rows_of(X, column)) for column in y.T]
    assert_allclose(least_noise_variance(rows_of(X, y)), min(each), rtol=1e-12)


def test_without_equal_inputs_it_is_zero(rng):
    assert least_noise_variance(rows_of(rng.normal(size=(50, 2)), rng.normal(size=50))) == 0.0


def test_equal_keys_of_other_rows_do_not_count(rng, monkeypatch):
    monkeypatch.setattr(repeats, "row_keys", lambda X: np.zeros(len(X)))
    X, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    assert least_noise_variance(rows_of(X, y)) == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_the_noise_is_seldom_below(seed):
    """With Gaussian noise, in at most one of ten draws of 200, where 5 % are expected."""
    rng = np.random.default_rng(seed)
    X, below = np.repeat(np.arange(4.0), 2)[:, None], 0
    for _ in range(200):
        below += least_noise_variance(rows_of(X, rng.normal(size=8), 1.0)) > 1.0
    assert below <= 20


def test_chunks_and_single_precision(rng, monkeypatch):
    X = np.repeat(rng.normal(size=(20, 2)).astype(np.float32), 2, axis=0)
    y = rng.normal(size=40)
    whole = least_noise_variance(rows_of(X, y))
    monkeypatch.setattr(repeats, "_KEY_CHUNK", 7)
    assert least_noise_variance(rows_of(X, y)) == whole > 0.0


def test_few_equal_inputs_may_cost_a_thousandth_of_a_nat_a_row(rng):
    """One pair among 20,000 rows: its density with the least noise, and with the noise it shows."""
    X, y = rng.normal(size=(20_000, 2)), rng.normal(size=20_000)
    X[1] = X[0]
    least = least_noise_variance(rows_of(X, y, 1.0))
    assert_allclose(0.25 * (y[1] - y[0]) ** 2 / least, 1e-3 * 20_000, rtol=1e-10)


def test_a_large_number_that_all_rows_have_hides_no_repeats(rng):
    """A time in nanoseconds, the same for all rows, made all keys one number."""
    X = np.column_stack([np.full(20, 1.7e18), np.repeat(rng.normal(size=10), 2)])
    assert len(np.unique(repeats.row_keys(X))) == 10
    rows = rows_of(X[rng.permutation(20)], rng.normal(size=20))
    assert least_noise_variance(rows) > 0.0


def test_a_weight_of_two_is_two_equal_rows(rng):
    """Merged duplicates were one row each, which changed the bound."""
    X, y = np.repeat(rng.normal(size=(20, 2)), 2, axis=0), rng.normal(size=40)
    weight = rng.integers(1, 4, size=40)
    again = np.repeat(np.arange(40), weight)
    rows = replace(rows_of(X, y), weight=weight.astype(np.float64))
    expected = least_noise_variance(rows_of(X[again], y[again]))
    assert_allclose(least_noise_variance(rows), expected, rtol=1e-12)


@pytest.mark.parametrize("weight", [0.01, 0.3, 0.9])
def test_rows_of_small_weights_are_seldom_above_their_noise(weight, rng):
    """Weights below one lower the bound, and do not leave a large sum for few degrees."""
    X, below = np.repeat(np.arange(100.0), 2)[:, None], 0
    for _ in range(100):
        rows = rows_of(X, rng.normal(size=200), 1.0)
        below += least_noise_variance(rows.weighted(weight)) > 1.0
    assert below <= 10


def test_rows_of_next_to_no_weight_set_no_noise(rng):
    """200 places twice with weight 1e-6 and noise 1 were a bound of 0.9 ** 2."""
    X, y = rng.normal(size=(2000, 2)), rng.normal(size=2000)
    X[1600:1800] = X[1800:]
    weight = np.where(np.arange(2000) < 1600, 1.0, 1e-6)
    assert least_noise_variance(replace(rows_of(X, y, 1.0), weight=weight)) < 1e-4
    assert least_noise_variance(rows_of(X, y, 1.0)) > 0.5


def test_outputs_have_their_own_precisions(rng):
    """A row of half the precision deviates as if its target were nearer to the mean."""
    X, y = np.repeat(rng.normal(size=(20, 2)), 2, axis=0), rng.normal(size=(40, 2))
    factor = np.array([0.25, 4.0])
    rows = rows_of(X, y).with_precision(np.tile(factor, (40, 1)))
    expected = least_noise_variance(rows_of(X, y * np.sqrt(factor)))
    assert_allclose(least_noise_variance(rows), expected, rtol=1e-12)
