"""How groups are followed where labels are learned: few of them for each start, then all."""

from types import SimpleNamespace

import numpy as np
import pytest

from sklearn_sgp import AnytimeSGPClassifier
from sklearn_sgp.engines.blocks import ways
from sklearn_sgp.engines.blocks.composite_learning import CompositeLearning
from sklearn_sgp.objectives.scores import Score


@pytest.fixture
def table(rng):
    """900 rows of three classes in the plane."""
    X = rng.uniform(-2.0, 2.0, (900, 2))
    return X, np.digitize(np.sin(2.0 * X[:, 0]) + X[:, 1], [-0.7, 0.7])


def ascents(monkeypatch, table, **settings):
    """Numbers of groups of the ascents of one fit, whether inputs are scored, iterations."""
    seen, ascend, value = [], CompositeLearning.ascend, CompositeLearning.value

    def noted(sample, task, groups, *rest):
        result = ascend(sample, task, groups, *rest)
        seen.append((len(groups), result[1]))
        return result

    def scored(sample, *arguments):
        seen.append("scored")
        return value(sample, *arguments)

    monkeypatch.setattr(CompositeLearning, "ascend", noted)
    monkeypatch.setattr(CompositeLearning, "value", scored)
    AnytimeSGPClassifier(alpha_epsilon=0.01, random_state=0, n_inducing=20, **settings).fit(*table)
    return seen


@pytest.mark.slow
def test_starts_learn_from_few_groups_and_the_best_from_all(monkeypatch, table):
    """Each ascent is scored once, and a round is not preceded by another score of the same."""
    seen = ascents(monkeypatch, table)
    ends, scores = seen[::2], seen[1::2]
    assert set(scores) == {"scored"} and len(scores) == len(ends)
    n_groups = [count for count, _ in ends]
    assert n_groups[:3] == [ways._LABEL_TRIAL_GROUPS] * 3
    assert set(n_groups[3:]) == {55}  # 54 near ones, as no row is in more than three; a wide one
    assert sum(n_iter for _, n_iter in ends) < 60


def test_few_labels_are_one_group(monkeypatch, table):
    """Up to 512 rows all are learned from at once, after trials on 400 of them."""
    X, y = table
    seen = ascents(monkeypatch, (X[:450], y[:450]))
    assert [count for count, _ in seen[::2]] == [1] * len(seen[::2])


@pytest.mark.slow
def test_what_more_groups_say_of_labels_is_kept_unless_it_is_clearly_worse(monkeypatch, table):
    """It may seem worse by the standard error; of numbers it must not seem worse at all."""
    turns = 0.1 * (-1.0) ** np.arange(50)
    before, after = Score(1.0 + turns, np.ones(50)), Score(0.99 - turns, np.ones(50))
    assert ways.Labels.holds(after, before)
    assert not ways.Numbers.holds(after, before) and not ways.AllRows.holds(after, before)
    for loss, is_kept in ((0.005, True), (0.05, False)):
        means, learned = iter([0.0, 0.0, 0.0, -loss]), []

        def value(sample, task, parameters, means=means, learned=learned):
            learned.append(parameters)
            return Score(next(means) + turns * (-1.0) ** len(learned), np.ones(50))

        with monkeypatch.context() as patch:
            patch.setattr(CompositeLearning, "value", value)
            fitted = AnytimeSGPClassifier(
                alpha_epsilon=0.01, random_state=0, n_inducing=20, max_iter=20
            )
            theta = fitted.fit(*table)._fitted.parameters.theta
        # the variance, which is first, is chosen anew by rows that are left out
        assert np.array_equal(theta[1:], learned[3].theta[1:]) == is_kept


@pytest.mark.parametrize(
    ("n_rows", "n_passes"), [(2000, 2), (250_000, 2), (300_000, 3), (2_000_000, 6)]
)
def test_trials_of_many_rows_have_as_many_passes_as_these_are_worth(n_rows, n_passes):
    """A pass for every 100,000 rows, two at least, at most those of a round; time is planned so."""
    asked = []

    def climb(task, parameters, n_passes, rate, seconds, every):
        asked.append(n_passes)

    way = ways.Numbers(SimpleNamespace(rows=range(n_rows), climb=climb))
    way.trial(None, None, np.inf, None)
    assert asked == [n_passes]
    assert way.work(3, 0.5) - way.work(2, 0.5) == pytest.approx(
        0.5 * (n_passes / 2 + 0.4) + 0.5 * 3.0 + 2.0 * 0.4
    )
