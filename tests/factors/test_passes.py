"""Passes over pieces of the data: groups, what is kept, and slices of arrays."""

from itertools import chain

import numpy as np
import pytest
from dense import make_case
from joblib import parallel_config
from numpy.testing import assert_array_equal

from sklearn_sgp._parallel import N_GROUPS
from sklearn_sgp.factors import passes
from sklearn_sgp.factors.passes import Pieces, computed

ROWS = make_case(n=50, weighted=True).rows


def first_inputs(group, kept):
    """What a pass makes of each piece: the first column of its inputs."""
    return [made for _, made in computed(group, kept, lambda piece: piece.X[:, 0].copy())]


def two_passes(pieces):
    """What a first and a second pass have of each piece."""
    return (list(chain(*pieces.map(first_inputs))) for _ in range(2))


@pytest.mark.parametrize("chunk", [1, 4, 7, 50, 1000])
def test_pieces_are_all_rows_in_order(chunk):
    """Chunks hold every row once, in order, in at most N_GROUPS groups."""
    pieces = Pieces.of_rows(ROWS, chunk=chunk)
    assert len(pieces.groups) <= N_GROUPS
    sizes = [len(piece) for group in pieces.groups for piece in group]
    assert max(sizes) <= chunk and sum(sizes) == 50
    assert_array_equal(np.concatenate([p.X for g in pieces.groups for p in g]), ROWS.X)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_second_pass_gets_what_the_first_made(n_jobs):
    """Where there is room, what the first pass makes of a piece is handed to the second."""
    pieces = Pieces.of_rows(ROWS, m=5, chunk=4, n_jobs=n_jobs)
    first, second = two_passes(pieces)
    assert len(pieces.groups) == 7
    for made, again in zip(first, second, strict=True):
        assert made is again
    assert_array_equal(np.concatenate(second), ROWS.X[:, 0])
    assert [len(kept) for kept in pieces.kept] == [len(group) for group in pieces.groups]


def test_nothing_is_kept_where_nothing_may_be(monkeypatch):
    """Without a size, with too large a one and for workers of other processes all is made again."""
    assert Pieces.of_rows(ROWS, m=5).kept == [[]]
    without = [Pieces.of_rows(ROWS), Pieces(list(ROWS.chunks(4)))]
    with parallel_config("loky"):
        without.append(Pieces.of_rows(ROWS, m=5))
    monkeypatch.setattr(passes, "_KEPT_BYTES", 8 * 5 * 50 - 1)
    without.append(Pieces.of_rows(ROWS, m=5))
    for pieces in without:
        assert pieces.kept == [None] * len(pieces.groups)
        for made, again in zip(*two_passes(pieces), strict=True):
            assert made is not again
            assert_array_equal(made, again)
    monkeypatch.setattr(passes, "_KEPT_BYTES", 8 * 5 * 50)
    assert Pieces.of_rows(ROWS, m=5).kept == [[]]


def shared_and_own(group, kept, *arguments):
    return [piece.X for piece in group], arguments


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_arrays_are_sliced_by_group(n_jobs):
    """A group gets the entries of its own rows of each array, after what all groups share."""
    pieces = Pieces.of_rows(ROWS, chunk=4, n_jobs=n_jobs)
    twice = 2.0 * ROWS.X
    found = pieces.map(shared_and_own, "shared", slices=(twice, ROWS.weight))
    assert len(found) > 1
    weights = []
    for X, (shared, own, weight) in found:
        assert shared == "shared"
        assert_array_equal(own, 2.0 * np.concatenate(X))
        weights.append(weight)
    assert_array_equal(np.concatenate(weights), ROWS.weight)
    assert [arguments for _, arguments in pieces.map(shared_and_own)] == [()] * len(found)


def test_blocks_of_any_sizes_are_pieces():
    """Pieces may be blocks of different sizes; slices follow them."""
    blocks = [ROWS.select(slice(lo, hi)) for lo, hi in [(0, 1), (1, 20), (20, 50)]]
    found = Pieces(blocks).map(shared_and_own, slices=(ROWS.X,))
    assert len(found) == 3
    for X, (own,) in found:
        assert_array_equal(np.concatenate(X), own)
