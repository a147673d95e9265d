"""Missing values become what the other columns make expected; a column for each says where."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp._sampling import fixed_index
from sklearn_sgp.data.missing import MAY_MISS, NO_MISSING, SAMPLE_ROWS, Sketch, _groups


def with_holes(X, share, seed=0):
    """A copy of a table in which values are missing at random, but not in its last column."""
    holes = np.random.default_rng(seed).random(X.shape) < share
    holes[:, -1] = False
    return np.where(holes, np.nan, X)


@pytest.fixture
def table():
    """300 rows of three correlated columns and one by itself, in units of their own."""
    rng = np.random.default_rng(1)
    common = rng.standard_normal((300, 1))
    X = np.c_[common + 0.3 * rng.standard_normal((300, 3)), rng.standard_normal(300)]
    return X * [1.0, 100.0, 0.01, 1.0] + [0.0, 5e3, 0.0, -2.0]


def test_filled_by_the_conditional_mean(table):
    """A value that is missing becomes the conditional mean of a normal distribution."""
    learned = MAY_MISS.learned(table)
    scale = np.outer(learned.std, learned.std)
    covariance = np.linalg.inv(learned.precision) * scale
    row = table[5].copy()
    row[[0, 2]] = np.nan
    of_known = np.linalg.solve(covariance[np.ix_([1, 3], [1, 3])], (row - learned.mean)[[1, 3]])
    expected = learned.mean[[0, 2]] + covariance[np.ix_([0, 2], [1, 3])] @ of_known
    filled = learned.filled(row[None])
    assert_allclose(filled[0, [0, 2]], expected, rtol=1e-9)
    assert_array_equal(filled[0, [1, 3]], row[[1, 3]])


def test_relations_are_learned_from_rows_with_holes(table):
    """Of rows that lack a quarter of their values nearly the same is learned as of whole ones."""
    holes = with_holes(table, 0.25)
    whole, learned = MAY_MISS.learned(table), MAY_MISS.learned(holes)
    assert learned.columns == (0, 1, 2)
    correlations = [np.linalg.inv(one.precision) for one in (whole, learned)]
    assert_allclose(*correlations, atol=0.1)
    error = (learned.filled(holes)[:, :4] - table)[np.isnan(holes)[:, 1], 1]
    assert np.sqrt((error**2).mean()) < 0.6 * table[:, 1].std()


def test_columns_that_tell_where(table):
    """Behind the columns stands one for each that lacked values in the first rows, 1 where so."""
    holes = with_holes(table, 0.2)
    filled = MAY_MISS.learned(holes).filled(holes)
    assert_array_equal(filled[:, 4:], np.isnan(holes[:, :3]))
    later = holes.copy()
    later[:, 3] = np.nan  # had all its values before
    assert MAY_MISS.learned(holes).filled(later).shape == (300, 7)


def test_whole_tables_stay_as_they_are(table):
    """A table that lacks nothing is filled by nothing, and so is one that may not."""
    assert_array_equal(MAY_MISS.learned(table).filled(table), table)
    assert NO_MISSING.filled(table) is table


def test_weights_are_repetitions(table):
    """A row of weight 2 says what two equal rows say, one of weight 0 nothing."""
    holes = with_holes(table, 0.2)
    weight = np.random.default_rng(2).integers(0, 3, len(holes))
    one = MAY_MISS.learned(holes, weight)
    other = MAY_MISS.learned(np.repeat(holes, weight, axis=0))
    for name in ("mean", "std", "limits", "precision"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9)


@pytest.mark.parametrize("n_more", [100, 5000])
def test_rows_of_weight_zero_say_nothing_of_large_tables(table, n_more):
    """Rows of weight zero leave what is learned as it is, however many there are."""
    holes = with_holes(np.tile(table, (10, 1)), 0.2)
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 3, len(holes)).astype(float)
    both = np.concatenate([holes, np.full((n_more, 4), 1e6)])
    all_weights, order = np.append(weight, np.zeros(n_more)), np.arange(len(both))
    place = np.sort(rng.permutation(len(both))[: len(holes)])
    order[place], rest = np.arange(len(holes)), np.setdiff1d(np.arange(len(both)), place)
    order[rest] = np.arange(len(holes), len(both))
    one = MAY_MISS.learned(holes, weight)
    other = MAY_MISS.learned(both[order], all_weights[order])
    for name in ("mean", "std", "limits", "precision"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9)


def test_columns_that_are_rarely_known():
    """What is known of a column is learned, be it of few rows that no sample has."""
    X = np.random.default_rng(0).standard_normal((100_000, 3))
    X[:, 2] = np.nan
    rare = np.setdiff1d(np.arange(len(X)), fixed_index(len(X), SAMPLE_ROWS))[::4000][:20]
    X[rare, 2] = np.arange(20) + 90.0
    learned = MAY_MISS.learned(X)
    assert learned.columns == (2,)
    assert_array_equal(learned.limits[2], [90.0, 109.0])
    assert_allclose(learned.mean[:2], X[:, :2].mean(axis=0), atol=0.1)
    assert abs(np.delete(learned.filled(X)[:, 2], rare).mean() - 99.5) < 0.5


def test_order_of_rows(table):
    """The order of the rows has no say."""
    holes = with_holes(table, 0.2)
    one, other = MAY_MISS.learned(holes), MAY_MISS.learned(holes[::-1])
    assert_allclose(one.precision, other.precision, rtol=1e-8, atol=1e-10)
    assert_allclose(one.filled(holes), other.filled(holes), rtol=1e-8)


def test_nothing_beyond_what_was_seen(table):
    """No value is filled in that is smaller or larger than all that were known."""
    learned = MAY_MISS.learned(with_holes(table, 0.1))
    far = np.array([[1e6, np.nan, np.nan, 0.0], [-1e6, np.nan, np.nan, 0.0]])
    filled = learned.filled(far)[:, 1:3]
    assert (filled >= learned.limits[1:3, 0]).all() and (filled <= learned.limits[1:3, 1]).all()


@pytest.mark.parametrize("size", [1e-90, 1.0, 1e99])
def test_columns_of_any_size(size):
    """Columns of any size, of one value, and of none at all are filled by finite numbers."""
    rng = np.random.default_rng(3)
    X = size * with_holes(rng.standard_normal((50, 5)), 0.3)
    X[:, 1], X[:20, 2] = np.nan, np.nan
    X[:, 2] = np.where(np.isnan(X[:, 2]), np.nan, size)
    learned = MAY_MISS.learned(X)
    assert learned.columns == (0, 2, 3)  # a column without a value has no say
    filled = learned.filled(X)
    assert np.isfinite(filled).all()
    assert_array_equal(filled[:, 1], 0.0)
    assert_array_equal(filled[:, 2], size)


def test_many_columns():
    """Columns too many for their relations to be kept are filled by their means."""
    X = with_holes(np.random.default_rng(4).standard_normal((30, 80)), 0.2)
    learned = MAY_MISS.learned(X)
    assert learned.precision is None
    assert_allclose(learned.filled(X)[:, :80], np.where(np.isnan(X), np.nanmean(X, axis=0), X))


def test_parts_say_what_all_rows_say(table):
    """What parts of the rows tell together is what all tell, where each is looked at as a whole."""
    holes = with_holes(table, 0.2)
    parts = [Sketch.of(holes[lo : lo + 100]) for lo in (0, 100, 200)]
    one, other = MAY_MISS.learned_from(parts), MAY_MISS.learned(holes)
    assert one.columns == other.columns
    assert_allclose(one.precision, other.precision, rtol=1e-9)


def test_types_of_numbers(table):
    """Numbers of single precision stay such, and the table itself stays as it was."""
    holes = with_holes(table, 0.2).astype(np.float32)
    before = holes.copy()
    assert MAY_MISS.learned(holes).filled(holes).dtype == np.float32
    assert_array_equal(holes, before)


@pytest.mark.parametrize("weight", [[1.0, -1.0, 0.0], [1.0, 1e300, 1.0], [np.inf, 1.0, 1.0]])
def test_weights_that_are_refused_later_change_nothing_before(weight):
    """Weights that cannot be, or whose squares overflow, leave the refusal to those who check."""
    X = np.arange(6.0).reshape(3, 2)
    with np.errstate(all="raise"):
        refused, without = MAY_MISS.learned(X, weight), MAY_MISS.learned(X)
    assert_array_equal(refused.mean, without.mean)
    assert_array_equal(refused.precision, without.precision)


@pytest.mark.parametrize("order", [[1, 0, 2, 3], [3, 2, 1, 0], [2, 3, 0, 1]])
def test_alternatives_do_not_depend_on_the_order_of_columns(table, order):
    """Of columns in another order a row may be the same, whatever it lacks, to rounding."""
    mask = np.random.default_rng(3).random(table.shape) < 0.5
    holes = np.where(mask, np.nan, table)
    expected, changed = np.empty((300, 8, 4)), np.empty((300, 8, 4))
    expected[:], changed[:] = table[:, None], table[:, None, order]
    for columns, answer in ((slice(None), expected), (order, changed)):
        learned = MAY_MISS.learned(table[:, columns])
        filled = learned.filled(holes[:, columns])
        for rows, points in learned.alternatives(filled, mask[:, columns]):
            answer[rows] = points
    assert_allclose(changed / table.std(axis=0)[order], (expected / table.std(axis=0))[..., order])


@pytest.mark.parametrize("d", [1, 8, 64, 65, 200])
def test_rows_that_lack_the_same_are_together(d):
    """Each row that lacks something is in one group, that of its pattern, in the rows' order."""
    mask = np.random.default_rng(0).random((300, d)) < 1.5 / d
    groups = list(_groups(mask))
    assert_array_equal(np.sort(np.concatenate([r for r, _ in groups])), np.where(mask.any(1))[0])
    patterns = np.unique(mask[mask.any(axis=1)], axis=0)
    assert_array_equal([gap for _, gap in groups], patterns)
    for rows, gap in groups:
        assert_array_equal(mask[rows], np.broadcast_to(gap, (len(rows), d)))
        assert (np.diff(rows) > 0).all()


@pytest.mark.parametrize("sizes", [(1,) * 24, (2, 3, 19), (1, 23)])
def test_columns_that_had_one_value_are_what_all_rows_say(sizes, rng):
    """However they came: a row that comes alone says no deviation."""
    X = rng.normal(3.0, 2.0, (25, 2))
    X[:1, 1] = np.nan
    X[3::4, 0] = np.nan
    found = MAY_MISS.learned(X[:1])
    edges = 1 + np.cumsum([0, *sizes])
    for lo, hi in pairwise(edges):
        found = found.extended(X[lo:hi])
    assert_allclose(found.mean, np.nanmean(X, axis=0))
    assert_allclose(found.std, np.nanstd(X, axis=0))
    assert_allclose(found.limits.T, [np.nanmin(X, axis=0), np.nanmax(X, axis=0)])


def test_what_enough_rows_have_said_of_columns_stays(rng):
    """Values that were filled in mean what they meant."""
    X = rng.normal(size=(61, 1))
    one = MAY_MISS.learned(X[:1]).extended(X[1:30])
    assert one.extended(X[30:]) is one
    assert MAY_MISS.learned(X[:2]).extended(X[30:]).std == MAY_MISS.learned(X[:2]).std
