"""Which values of `alpha_epsilon` are tried: one above the usual one, and on below it."""

import numpy as np
import pytest

from sklearn_sgp import AnytimeSGPClassifier
from sklearn_sgp.engines.blocks.composite_learning import CompositeLearning
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


def test_all_values_are_judged_by_the_same_groups(monkeypatch):
    """A clock gave each its own number of them: a ValueError of shapes with max_time."""
    counts = iter([12, 9, 10, 8])
    monkeypatch.setattr(CompositeLearning, "_tests_within", lambda *_: next(counts))
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 3.0, (900, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(900) > X[:, 1] - 1.0
    options = {"init_size": 300, "n_inducing": 5, "max_iter": 2, "max_time": 30.0}
    model = AnytimeSGPClassifier(random_state=0, **options).fit(X, y)
    told = [one for one in model.choices_ if one["choice"] == "alpha_epsilon"]
    assert len(told) >= 2 and np.isfinite([one["standard_error"] for one in told]).all()
