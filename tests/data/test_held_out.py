"""Rows that are held out: random ones, those of equal inputs together."""

import numpy as np
import pytest

from sklearn_sgp.data.held_out import (
    first_of_equals,
    held_out_index,
    held_out_parts,
    held_out_pieces,
    without_equals,
)
from sklearn_sgp.data.rows import Rows, random_index


def rows_of(X):
    """Rows of some inputs."""
    return Rows(X, np.zeros((len(X), 1)), None, np.zeros(1), np.ones(1))


@pytest.fixture
def repeated(rng):
    """Rows of 30 inputs, each as often as chance has it."""
    return rows_of(rng.standard_normal((30, 2))[rng.integers(30, size=200)])


def assert_together(X, parts):
    """Hold that no two parts have a row with the same inputs."""
    seen = [set(map(bytes, X[part])) for part in parts]
    assert sum(map(len, seen)) == len(set.union(*seen))


def test_rows_of_equal_inputs_are_held_out_together(repeated):
    """Whoever draws them: a share, pieces of a size, or a number of parts."""
    X, every, rng = repeated.X, np.arange(200), np.random.RandomState(0)
    held_out = held_out_index(repeated, 40, rng)
    assert 20 <= len(held_out) <= 40
    assert_together(X, [held_out, np.setdiff1d(every, held_out)])
    for parts in (held_out_parts(repeated, 5, rng), held_out_pieces(repeated, 40, rng)):
        assert len(parts) == 5 and min(map(len, parts)) >= 20
        assert_together(X, parts)
        assert np.array_equal(np.sort(np.concatenate(parts)), every)
    known = without_equals(X, held_out[:1])
    assert_together(X, [np.flatnonzero(known), np.flatnonzero(~known)])
    assert np.array_equal(X[first_of_equals(X)], X)


def test_draws_of_distinct_rows_are_plain(rng):
    """Where no inputs are equal nothing else is drawn than random rows."""
    rows = rows_of(rng.standard_normal((100, 2)))
    drawn, plain = (np.random.RandomState(0) for _ in range(2))
    assert np.array_equal(held_out_index(rows, 20, drawn), random_index(100, 20, plain))
    order = random_index(100, 100, plain)
    pieces = held_out_pieces(rows, 30, drawn)
    assert [one.tolist() for one in pieces] == [sorted(order[k : k + 30]) for k in (0, 30, 60)]
    parts = np.concatenate(held_out_parts(rows, 3, drawn))
    assert np.array_equal(parts, plain.permutation(100))


def test_inputs_that_are_all_equal_are_held_out_one_by_one():
    """Something has to be known, if only rows of the same inputs."""
    rows, rng = rows_of(np.ones((20, 2))), np.random.RandomState(0)
    assert len(held_out_index(rows, 4, rng)) == 4
    assert len(held_out_parts(rows, 5, rng)) == 5
    assert without_equals(rows.X, np.array([3])).sum() == 19
    halves = rows_of(np.repeat([[0.0], [1.0]], 10, axis=0))
    assert len(held_out_index(halves, 4, rng)) == 10


def test_an_input_of_many_rows_does_not_end_the_draw(rng):
    """Half of the rows are one input: 60 others are held out, whenever that one is drawn."""
    X = rng.normal(size=(300, 2))
    X[:150] = 0.0
    for seed in range(20):
        index = held_out_index(rows_of(X), 60, np.random.RandomState(seed))
        assert len(index) == 60
        assert index.min() >= 150
