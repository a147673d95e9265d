"""Rows that a fit looks at for all of them: random ones, and the same in every call."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp._sampling import fixed_index
from sklearn_sgp.data.column_spread import column_mean_std
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.data.winsorize import with_light_tails
from sklearn_sgp.gp.coordinates import information_bound
from sklearn_sgp.likelihoods.noise._heavy_tails import best_tails


def rows_of(X, y):
    return Rows(X, y, None, np.zeros(y.shape[1]), np.ones(y.shape[1]))


@pytest.mark.parametrize("n_rows", [7, 5000, 40_000, 700_000])
@pytest.mark.parametrize("size", [7, 1000, 4999])
def test_a_fixed_index_is_sorted_and_repeatable(n_rows, size):
    """Row numbers are distinct, sorted and in range, as many as asked for, the same once more."""
    index = fixed_index(n_rows, size)
    assert len(index) == min(n_rows, size) and (np.diff(index) > 0).all()
    assert index[0] >= 0 and index[-1] < n_rows
    assert_array_equal(index, fixed_index(n_rows, size))


@pytest.mark.parametrize("period", [2, 3, 4, 7, 24, 100])
@pytest.mark.parametrize("n_rows, size", [(40_000, 10_000), (40_000, 1000), (700_000, 2000)])
def test_a_fixed_index_knows_no_period(n_rows, size, period):
    """Each phase of a period has its share of the rows, within five deviations."""
    count = np.bincount(fixed_index(n_rows, size) % period, minlength=period)
    share = size / period
    assert (np.abs(count - share) < 5.0 * np.sqrt(share)).all()


@pytest.mark.parametrize("period", [2, 4, 24, 100])
@pytest.mark.parametrize("weighted", [False, True])
def test_column_scales_do_not_depend_on_the_order(period, weighted):
    """Mean and deviation of the columns of 40,000 rows are exact in every order of the rows."""
    X = np.column_stack([np.repeat(np.arange(40_000 // period), period)[:40_000]] * 2)
    X = X.astype(float)
    X[:, 1] = np.arange(len(X)) % period
    weight = 1.0 + (np.arange(len(X)) % 3) if weighted else None
    expected = np.average(X, axis=0, weights=weight)
    spread = np.sqrt(np.average((X - expected) ** 2, axis=0, weights=weight))
    for order in (
        np.arange(len(X)),
        np.argsort(X[:, 1]),
        np.random.RandomState(0).permutation(len(X)),
    ):
        mean, std = column_mean_std(X[order], None if weight is None else weight[order])
        assert_allclose(mean, expected, rtol=1e-12)
        assert_allclose(std, spread, rtol=1e-12)


def test_a_rare_value_is_seen():
    """A column that differs in one of 300,000 rows is not constant."""
    X = np.zeros((300_000, 1), dtype=np.float32)
    X[123_457] = 3.0
    mean, std = column_mean_std(X, None)
    share = 1.0 / len(X)
    assert_allclose([mean[0], std[0]], [3.0 * share, 3.0 * np.sqrt(share * (1 - share))])


@pytest.mark.parametrize("period", [2, 4])
def test_heavy_tails_of_one_place_are_seen(period):
    """Whether tails are heavy does not depend on which place comes first in a table of places."""
    rng = np.random.default_rng(0)
    y = rng.standard_normal((40_000, 1))
    y[period - 1 :: period] *= 30.0 * rng.standard_cauchy((40_000 // period, 1))
    rows = rows_of(np.zeros((40_000, 1)), y)
    shuffled = rows.select(rng.permutation(len(rows)))
    ends = [np.ptp(with_light_tails(part).targets) for part in (rows, shuffled)]
    assert_allclose(ends[0], ends[1], rtol=0.05)
    assert ends[0] < 20.0


def test_tails_of_instruments_in_turn():
    """Degrees of freedom and scale of errors are those of all rows, not of every second one."""
    rng = np.random.default_rng(0)
    error = rng.standard_normal(120_000) * np.tile([0.1, 1.0], 60_000)
    weight = np.ones(len(error))
    options = {"df": np.array([4.0]), "learns_df": True, "learns_scale": True}
    in_turn = best_tails(error[:, None] ** 2, weight, **options)
    order = rng.permutation(len(error))
    shuffled = best_tails(error[order, None] ** 2, weight, **options)
    assert_allclose(in_turn.df, shuffled.df, rtol=0.05)
    assert_allclose(in_turn.scale, shuffled.scale, rtol=0.05)


def test_the_bound_of_the_information_does_not_miss_a_place():
    """The largest prior variance is found among all places of a table that has them in turn."""

    class Steep:
        def diag(self, X):
            return X[:, 0]

    X = np.tile([1.0, 1.0, 1.0, 100.0], 10_000)[:, None]
    assert information_bound(Steep(), rows_of(X, np.zeros((len(X), 1))), 1.0) == 100.0 * len(X)
