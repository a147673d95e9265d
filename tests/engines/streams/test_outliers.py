"""What is damped, and what is believed: rows are asked, and how rare suspects are."""

import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from stream_helpers import fixed

from sklearn_sgp.engines.streams.outliers import Outliers
from sklearn_sgp.estimators.numbers import later_rows

SEEN = Outliers().seen(300)


@pytest.fixture
def damped(rng):
    """Outliers.damped for targets like sin(2 x), at the posterior of 300 rows."""
    X = rng.uniform(0.0, 9.0, (300, 1))
    stream = fixed(n_inducing=20).partial_fit(X, np.sin(2.0 * X[:, 0]))

    def damped(outliers, X, y, weight=None):
        rows = later_rows(stream._fitted, (X, None), y, weight)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found, after = outliers.damped(rows, stream._fitted, stream._fitted.targets)
        return rows, found, after

    return damped


def batch_of(rng, n):
    X = np.sort(rng.uniform(0.0, 9.0, (n, 1)), axis=0)
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * rng.standard_normal(n)


def test_good_rows_stay_as_they_are(rng, damped):
    """Rows that the stream can believe are the same object afterwards."""
    rows, found, after = damped(SEEN, *batch_of(rng, 50))
    assert found is rows
    assert after.count == 0
    assert after.recent == 0.0


@pytest.mark.parametrize("size", [50.0, 1e4, 1e9])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_hopeless_row_keeps_an_ordinary_square(rng, damped, weighted, size):
    """Its weighted squared residual is that of an ordinary row, other rows keep their weights."""
    X, y = batch_of(rng, 50)
    y[20] = -size
    weight = rng.uniform(0.5, 2.0, 50) if weighted else None
    rows, found, after = damped(SEEN, X, y, weight)
    bad = rows.y[:, 0] == -size
    before = np.ones(50) if rows.weight is None else rows.weight
    assert after.count == 1
    assert_array_equal(found.weight[~bad], before[~bad])
    assert_allclose(found.weight[bad] * size**2, 0.05 * before[bad], rtol=0.2)


def test_neighbours_that_differ_alike_are_believed(rng, damped):
    """A level change of all rows, and one of a third of the line, is no outlier."""
    X, y = batch_of(rng, 100)
    for moved in (y + 100.0, y - 1e6, np.where(X[:, 0] > 6.0, y + 100.0, y)):
        rows, found, after = damped(SEEN, X, moved)
        share = 1.0 if found.weight is None else np.mean(found.weight == 1.0)
        assert share >= 0.98  # one at the edge of the jump has neighbours that stay
        assert after.count <= 1
        assert found.weight is not None or found is rows


def test_a_lonely_row_is_believed_when_the_next_one_agrees(rng, damped):
    """Rows that come one by one: the first of a new level is damped, the second is not."""
    X = np.array([[4.0], [4.1]])
    _, first, after = damped(SEEN, X[:1], np.array([100.0]))
    assert first.weight[0] < 1e-3
    rows, second, after = damped(after, X[1:], np.array([100.0]))
    assert second is rows
    assert after.count == 1


def test_a_good_row_ends_the_memory_of_a_suspect_near_by(rng, damped):
    """After the function was seen where it always was, the same bad reading is bad again."""
    X = np.array([[4.0], [4.1], [4.05]])
    after = SEEN
    for x, y in zip(X[:, None], [100.0, np.sin(8.2), 100.0], strict=True):
        after = damped(after, x, np.array([y]))[2]
    assert after.count == 2


def test_many_suspects_are_not_outliers(rng, damped):
    """If a tenth of the recent rows are suspects that nothing agrees with, rows are not damped."""
    X, y = batch_of(rng, 300)
    wild = np.where(rng.random(300) < 0.4, 1e3 * rng.standard_normal(300), y)
    rows, found, after = damped(SEEN, X, wild)
    assert found is rows
    assert after.count == 0
    assert after.recent > 30.0


def test_what_is_remembered_does_not_grow(rng, damped):
    """However many suspects come, few are remembered."""
    after = SEEN
    for k in range(60):
        after = damped(after, np.array([[100.0 * k]]), np.array([1e3]))[2]
    assert len(after.X) == len(after.targets) == 20


def test_several_outputs_share_a_weight(rng):
    """A row that is hopeless in one output counts for little in all of them."""
    X = rng.uniform(0.0, 9.0, (300, 1))
    y = np.column_stack([np.sin(2.0 * X[:, 0]), np.cos(2.0 * X[:, 0])])
    stream = fixed(n_inducing=20).partial_fit(X, y)
    model = stream._fitted
    later = partial(later_rows, model, (X[:60], None))
    targets = y[:60].copy()
    targets[7, 1] = 1e5
    with pytest.warns(UserWarning, match=r"1 of 60 rows.*student_t"):
        found, after = SEEN.damped(later(targets, None), model, model.targets)
    assert after.count == 1
    assert np.count_nonzero(found.weight < 1e-6) == 1
