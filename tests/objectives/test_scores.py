"""Scores: means, gains and their standard errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_sgp.objectives.scores import Score, effective_number, is_better


def test_gains_are_those_of_pairs(rng):
    """The standard error is that of the differences, whatever varies from group to group."""
    before, weight = 10.0 * rng.standard_normal(400), np.ones(400)
    gains = 0.1 + rng.standard_normal(400)
    gain, error = Score(before + gains, weight).gain(Score(before, weight))
    assert_allclose(gain, gains.mean())
    assert_allclose(error, gains.std(ddof=1) / 20.0)


def test_weights_count_rows(rng):
    """A group of weight two counts as two of weight one."""
    each = rng.standard_normal(5)
    weighted = Score(each, np.array([1.0, 2.0, 1.0, 1.0, 1.0]))
    assert_allclose(weighted.mean, np.append(each, each[1]).mean())


def test_an_objective_is_told_for_each_row():
    """10 nats of rows of a weight of 4 in all are 2.5 for each."""
    assert_allclose(Score.of_objective(10.0, 4.0).mean, 2.5)


@pytest.mark.parametrize(("gain", "better"), [(0.2, True), (0.05, False), (-0.2, False)])
def test_better_is_by_more_than_the_standard_error(gain, better):
    """The standard error here is 0.1; of one value alone nothing is known."""
    turns = np.tile([1.0, -1.0], 50) * np.sqrt(99) / 10.0
    assert is_better(gain + turns, np.zeros(100), np.ones(100)) == better
    assert not is_better(np.array([gain]), np.zeros(1), np.ones(1))


def test_what_cannot_be_evaluated_is_worst():
    """It gains nothing on anything, and anything gains on it."""
    score = Score(np.zeros(3), np.ones(3))
    assert Score.none().gain(score) == (-np.inf, 0.0)
    assert score.gain(Score.none()) == (np.inf, 0.0)
    assert Score.none().mean == -np.inf


def test_what_can_be_evaluated_is_better_than_what_cannot():
    """Whatever the numbers of groups: a TypeError ended fits of labels with weights of 1e12."""
    score = Score(np.array([-1.0, -2.0]), np.ones(2))
    assert score.is_better(Score.none())
    assert not Score.none().is_better(score)
    assert not Score.none().is_better(Score.none())


def test_few_large_weights_tell_little(rng):
    """Rows of a hundred times the weight are as good as alone: the error is that of so few."""
    values, weight = rng.standard_normal(2000), np.where(np.arange(2000) < 20, 1e4, 1.0)
    _, error = Score(values, weight).gain(Score(np.zeros(2000), weight))
    few = Score(values[:20], np.ones(20)).gain(Score(np.zeros(20), np.ones(20)))
    assert_allclose(error, few[1], rtol=0.05)
    assert_allclose(effective_number(weight), 20.0, rtol=0.05)
    assert_allclose(effective_number(np.full(7, 0.3)), 7.0)
