"""Which values of `alpha_epsilon` are tried: one above the usual one, and on below it."""

import numpy as np
import pytest

from sklearn_sgp.objectives.scores import Score
from sklearn_sgp.optimize.choices import Tried
from sklearn_sgp.selection.left_out_classes import AlphaTrials


def tried(score, seconds=np.inf):
    """Values that are tried where a value has a certain score, and the best."""
    trials, values = AlphaTrials(seconds), []
    for alpha in trials.values():
        values.append(alpha)
        trials.tried.append(Tried("", alpha, Score.of_objective(score(alpha), 1.0), 0.0))
    return values, trials.best


@pytest.mark.parametrize(
    ("peak", "values"),
    [
        (0.1, [0.01, 0.1]),
        (0.01, [0.01, 0.1, 0.001]),
        (0.001, [0.01, 0.1, 0.001, 0.0001]),
        (0.0001, [0.01, 0.1, 0.001, 0.0001]),
    ],
)
def test_smaller_values_are_tried_while_they_are_better(peak, values):
    """The best of all four is found where scores have one peak, and none beyond is tried."""
    assert tried(lambda alpha: -abs(np.log(alpha / peak))) == (values, peak)


def test_the_usual_value_is_tried_whatever_the_time():
    """Without time for another one it is taken."""
    assert tried(lambda alpha: -alpha, seconds=-1.0) == ([0.01], 0.01)
