"""Moments at training rows: what the steps of a fit share."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp import AnytimeSGPRegressor
from sklearn_sgp.data.rows import make_rows


@pytest.fixture
def fitted():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (300, 2))
    y = np.sin(3.0 * X[:, 0]) + 0.1 * rng.standard_normal(300)
    model = AnytimeSGPRegressor(n_inducing=20, optimizer=None, random_state=0).fit(X, y)
    fitted = model._fitted
    return fitted.predictor, make_rows(X, y[:, None], None, fitted.targets)


def test_are_computed_once(fitted):
    """Noise, bands and means ask for the same moments: all but the first get what is known.

    They are those of the nearest cells, in which rows are among the near ones.
    """
    predictor, rows = fitted
    first = predictor.training_moments(rows)
    reweighted = replace(rows, weight=np.full(len(rows), 2.0))
    for one, again in zip(first, predictor.training_moments(reweighted), strict=True):
        assert one is again
    conditional = predictor.conditional(None)
    in_cells = conditional.mean_variance(rows.X, predictor.number(rows))
    for one, new in zip(first, in_cells, strict=True):
        assert_array_equal(one, new)


@pytest.mark.parametrize("knows_all", [False, True])
def test_some_rows_left_out_are_some_of_all(fitted, knows_all):
    """Rows at some places, each given all others, are predicted as all rows are."""
    predictor, rows = fitted
    whole = predictor.left_out(rows)
    if not knows_all:
        predictor = predictor.ready()
    places = np.array([3, 150, 17, 299])
    for some, every in zip(predictor.left_out(rows.select(places), places), whole, strict=True):
        assert_allclose(some, every[places], rtol=1e-9)


def test_are_drawn_in_whole_cells(fitted):
    """A cell is factorised for all of its rows: whoever is drawn comes with its whole cell."""
    predictor, rows = fitted
    blocks, number = predictor.blocks, np.empty(len(rows), dtype=int)
    number[blocks.groups.order] = predictor.partition.assign(blocks.rows.X)  # as they came
    places = predictor.drawn(len(rows), 100, np.random.RandomState(0))
    assert 100 <= len(places) < len(rows) and len(np.unique(places)) == len(places)
    assert_array_equal(np.sort(places), np.flatnonzero(np.isin(number, number[places])))


def test_of_places_are_computed_once(fitted):
    """Bands and means that are judged by the same rows share their moments; other rows do not."""
    predictor, rows = fitted
    places = predictor.drawn(len(rows), 100, np.random.RandomState(0))
    predictor.left_out(rows.select(places), places)
    known = predictor.own.of_places
    predictor.left_out(rows.select(places), places.copy())
    assert predictor.own.of_places is known
    other = places[:7]
    expected = predictor.left_out(rows)
    for some, every in zip(predictor.left_out(rows.select(other), other), expected, strict=True):
        assert_allclose(some, every[other], rtol=1e-9)


@pytest.mark.parametrize("size", [100, 300])
def test_what_some_places_told_is_part_of_all(fitted, size, monkeypatch):
    """Moments of all rows after those of some, or of all in another order, take the rest alone."""
    predictor, rows = fitted
    expected, asked = predictor.training_moments(rows), []
    predictor = predictor.ready()
    places = predictor.drawn(len(rows), size, np.random.RandomState(0))
    predictor.training_moments(rows.select(places), places)
    of_one_cell = type(predictor).of_one_cell
    monkeypatch.setattr(
        type(predictor),
        "of_one_cell",
        lambda self, rows, *given: (asked.append(len(rows)), of_one_cell(self, rows, *given))[1],
    )
    for one, every in zip(predictor.training_moments(rows), expected, strict=True):
        assert_allclose(one, every, rtol=1e-9)
    assert sum(asked) == len(rows) - len(places)


def test_are_not_saved(fitted):
    """A pickle, a copy without caches and the predictor of an estimator hold no training row."""
    predictor, rows = fitted
    predictor.left_out(rows.select([3, 150]), np.array([3, 150]))
    predictor.training_moments(rows)
    for copy in (
        pickle.loads(pickle.dumps(predictor)),
        predictor.without_caches(),
        predictor.ready(),
    ):
        assert copy.own.moments is None and copy.own.X is None and copy.own.of_places is None
    assert predictor.own.moments is not None


def test_cells_are_searched_once(fitted, monkeypatch):
    """Whoever draws rows asks for the cells of all; a copy searches anew."""
    predictor, rows = fitted
    calls, assign = [], type(predictor.partition).assign
    monkeypatch.setattr(
        type(predictor.partition), "assign", lambda *given: calls.append(1) or assign(*given)
    )
    draws = [predictor.drawn(len(rows), 100, np.random.RandomState(0)) for _ in range(2)]
    assert_array_equal(*draws)
    assert len(calls) == 1
    pickle.loads(pickle.dumps(predictor)).drawn(len(rows), 100, np.random.RandomState(0))
    assert len(calls) == 2
