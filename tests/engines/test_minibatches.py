"""Minibatches are nearly equal, and estimates count by their rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_sgp.engines.minibatches import even_slices, mean_by_rows


@pytest.mark.parametrize("n_rows, size", [(1025, 1024), (10, 3), (7, 7), (3, 10), (2, 1)])
def test_no_minibatch_is_a_remainder(n_rows, size):
    """Each row comes once, in as few parts as are needed, which differ by one row at most."""
    parts = [np.arange(n_rows)[part] for part in even_slices(n_rows, size)]
    lengths = [len(part) for part in parts]
    assert_array_equal(np.concatenate(parts), np.arange(n_rows))
    assert len(parts) == -(-n_rows // size)
    assert max(lengths) <= size and max(lengths) - min(lengths) <= 1


def test_multiples_are_cut_as_they_come():
    """Where rows are a multiple of the size, every part has that size."""
    assert even_slices(12, 4) == [slice(0, 4), slice(4, 8), slice(8, 12)]
    assert even_slices(0, 4) == []


def test_estimates_count_by_their_rows():
    """Estimates of equal parts have their mean, to the last bit, and others that of the rows."""
    values = list(np.random.default_rng(0).normal(size=7))
    assert mean_by_rows(values, [49] * 7) == np.mean(values)
    assert mean_by_rows([1.0, 4.0], [1, 2]) == pytest.approx(3.0)
