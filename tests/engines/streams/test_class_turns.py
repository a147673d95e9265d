"""Labels that come class after class: which rows are kept, and when a stream begins anew."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.streams.class_turns import Turns

CLASSES = np.arange(3)


def rows_of(y, weight=None):
    y = np.asarray(y)
    return Rows(np.arange(len(y), dtype=float)[:, None], y, weight, 0.0, 1.0)


def test_a_first_batch_of_all_classes_is_no_sorted_one():
    assert Turns.of(np.array([2, 0, 1]), CLASSES) is None
    assert_array_equal(Turns.of(np.array([1, 1]), CLASSES).last, [1])


@pytest.mark.parametrize(
    ("batches", "are_in_turn"),
    [
        ([[0], [0], [0, 1], [1], [1, 2], [2]], True),
        ([[0, 1], [1, 2]], True),
        ([[0], [2], [1]], True),
        ([[0, 1], [0, 1]], False),  # mixed, and one class is rare
        ([[0], [1], [0]], False),
        ([[0, 1], [1], [0, 2]], False),
    ],
)
def test_batches_of_a_sorted_table(batches, are_in_turn):
    """A batch has at most one class of before, which the last one had."""
    turns, before = Turns.of(np.array(batches[0]), CLASSES), batches[0]
    for batch in batches[1:]:
        turns, before = turns.after(np.array(before), np.array(batch)), before + batch
        if turns is None:
            break
    assert (turns is not None) == are_in_turn


def test_a_stream_begins_anew_where_a_class_comes_and_has_doubled():
    """Of one class alone nothing is learned; of many rows of each no more is."""
    turns, y = Turns.of(np.zeros(5), CLASSES).begun(rows_of([0] * 5)), [0] * 5
    told = []
    for batch in ([0] * 9, [0, 1], [1], [1, 1], [1] * 700, [1] * 800, [2]):
        turns, y = turns.after(np.array(y), np.array(batch)), y + batch
        told.append(turns.is_due(rows_of(y)))
        turns = turns.begun(rows_of(y)) if told[-1] else turns
    assert told == [False, True, True, True, True, False, True]


def test_each_class_is_thinned_evenly_and_counts_what_it_did(rng):
    """Rows count for those that are gone, by their weights."""
    y, weight = np.repeat([0, 1], [4000, 30]), rng.uniform(0.5, 2.0, 4030)
    turns, kept = Turns.of(y, CLASSES).thinned(rows_of(y, weight))
    assert np.bincount(kept.y).tolist() == [512, 30] and turns.n_gone == 4000 - 512
    assert_allclose(np.bincount(kept.y, kept.weight), np.bincount(y, weight))
    assert np.ptp(kept.weight[:512]) == 0.0
    assert abs(kept.X[:512].mean() - 2000.0) < 200.0
    again, same = turns.thinned(kept)
    assert same is kept and again is turns
