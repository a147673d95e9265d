"""Random row numbers of very many rows: what they cost, and that all are as likely."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_sgp.data.rows import random_index


@pytest.mark.parametrize("share", [0.001, 0.021, 0.1, 0.24])
def test_memory_does_not_grow_with_the_rows(share):
    """Drawing takes a few times the memory of what comes out, never an array of all rows."""
    n_rows = 1_000_000
    size = int(share * n_rows)
    tracemalloc.start()
    try:
        index = random_index(n_rows, size, np.random.RandomState(0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(np.unique(index)) == size
    assert peak < 8 * index.nbytes + 200_000


SIZES = [(12_000, size) for size in (200, 240, 1000, 2500, 2900, 6000, 12_000)]


@pytest.mark.parametrize("n_rows, size", [*SIZES, (10, 10), (1000, 10), (10_000_000, 1000)])
def test_index_is_distinct_and_in_random_order(n_rows, size):
    """On both sides of each border of the methods numbers are distinct, shuffled and repeatable."""
    index = random_index(n_rows, size, np.random.RandomState(1))
    assert index.shape == (size,) and len(np.unique(index)) == size
    assert index.min() >= 0 and index.max() < n_rows
    assert abs(np.corrcoef(np.arange(size), index)[0, 1]) < 5.0 / np.sqrt(size)
    assert_array_equal(index, random_index(n_rows, size, np.random.RandomState(1)))


def test_every_row_is_as_likely_in_every_place():
    """Over many draws each tenth of the rows has a tenth of the numbers, first and last ones."""
    draws = [random_index(11_000, 1100, np.random.RandomState(seed)) for seed in range(400)]
    for place in (0, 1099, slice(None)):
        chosen = np.concatenate([np.atleast_1d(index[place]) for index in draws])
        counts = np.bincount(chosen // 1100, minlength=10)
        expected = len(chosen) / 10
        assert np.abs(counts - expected).max() < 4.5 * np.sqrt(expected)
