"""Labels that come class after class: which rows are kept, and when a stream begins anew."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.streams.begin_anew import Turns

CLASSES = np.arange(3)


def rows_of(y, weight=None):
    y = np.asarray(y)
    return Rows(np.arange(len(y), dtype=float)[:, None], y, weight, 0.0, 1.0)


def test_a_first_batch_of_all_classes_is_no_sorted_one():
    assert not Turns.of(np.array([2, 0, 1]), CLASSES).in_turn
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
        if not turns.in_turn:
            break
    assert turns.in_turn == are_in_turn


def test_a_stream_begins_anew_where_rows_beside_the_commonest_class_double():
    """Of one class alone nothing is learned, nor more of many rows of the commonest.

    The last of all classes may stay rare.
    """
    turns, y = Turns.of(np.zeros(5), CLASSES).begun(rows_of([0] * 5)), [0] * 5
    told = []
    for batch in ([0] * 9, [0, 1], [1], [1, 1], [1] * 700, [1] * 800, [2], [2] * 16):
        turns, y = turns.after(np.array(y), np.array(batch)), y + batch
        told.append(turns.is_due(rows_of(y)))
        turns = turns.begun(rows_of(y)) if told[-1] else turns
    assert told == [False, True, True, True, True, False, True, True]
    y = [0] * 2000 + [1] * 1100
    turns = Turns.of(np.zeros(5), CLASSES).begun(rows_of(y))
    assert not turns.is_due(rows_of(y + [1] * 1100))
    assert turns.is_due(rows_of(y + [2] * 1100))


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


def test_rows_that_are_kept_of_a_long_class_are_of_all_of_it():
    """Rows of the last fifth of 40 batches were .46 of what is known of their class."""
    turns, kept = Turns.of(np.zeros(3), CLASSES), rows_of([])
    for k in range(40):
        batch = replace(rows_of([0] * 500), X=np.full((500, 1), 500.0 * k))
        turns, kept = turns.thinned(kept.joined(batch))
    assert_allclose(np.histogram(kept.X[:, 0], 5, weights=kept.weight)[0] / 20000.0, 0.2, atol=0.04)


def test_rows_that_count_for_more_than_the_others_stay(rng):
    """What rows count for is unbiased, whatever their weights are."""
    weight = np.r_[[200.0, 80.0], rng.uniform(0.0, 2.0, 2000)]
    turns, kept = Turns.of(np.zeros(3), CLASSES).thinned(rows_of([0] * 2002, weight))
    assert len(kept) == 1024 and turns.gone == {0: 978}
    assert_allclose(kept.weight[:2], weight[:2])
    assert_allclose(kept.weight[2:].sum(), weight[2:].sum())


def test_merged_rows_are_learned_from_as_often_as_they_came():
    """Each counted once, so that labels of a place were half of each class, whatever they were."""
    turns, kept = Turns.of(np.array([1]), CLASSES).thinned(rows_of([1] * 3000 + [2] * 30))
    merged = rows_of([0.0, 0.0, 1.0, 1.0], np.array([1000.0, 2000.0, 10.0, 20.0]))
    share = 512.0 / 3000.0
    learned = turns.as_kept(kept, merged)
    assert_allclose(learned.weight, [1000.0 * share, 2000.0 * share, 10.0, 20.0])
    assert Turns.of(np.array([1]), CLASSES).as_kept(kept, merged) is merged
