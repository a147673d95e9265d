"""Kernels that lead where all start are tried where another one has won, too."""

from dataclasses import replace

import numpy as np
import pytest
from block_helpers import problem_of

from sklearn_sgp.engines.blocks import composite_learning, trials
from sklearn_sgp.engines.other_starts import default_starts
from sklearn_sgp.engines.start import Choices, start
from sklearn_sgp.kernels._defaults import LOCAL
from sklearn_sgp.kernels._parts import in_words
from sklearn_sgp.likelihoods import Gaussian
from sklearn_sgp.objectives.scores import Score
from sklearn_sgp.optimize.budget import Budget

RBF, MATERN = "RBF + Matern(nu=0.5)", "Matern(nu=1.5) + Matern(nu=0.5)"


@pytest.fixture
def problem(rng):
    """1,600 rows of two columns, which are learned from in groups."""
    X = rng.uniform(0.0, 6.0, (1600, 2))
    empty = problem_of(X, np.sin(X[:, 0]), kernel=None, optimizer="auto")
    choices = Choices(None, 5, "kmeans", True, None, (1e-6, 1e3), True, kernel_set=LOCAL)
    return replace(empty, start=start(empty.rows, choices, Gaussian(), np.random.RandomState(0)))


def tried_with(problem, monkeypatch, values):
    """Which kernels and parameters are tried if trials have certain values, and what goes on."""
    tried, left = [], iter(values)

    def trial(sample, task, parameters, *_):
        tried.append((in_words(task.start.kernel), parameters))
        score = Score(np.array([next(left)]), np.ones(1))
        return parameters.with_values(theta=parameters.theta - 0.1), 1, score

    monkeypatch.setattr(composite_learning.CompositeLearning, "trial", trial)
    monkeypatch.setattr(trials, "probed", lambda *_: None)
    sample, budget = composite_learning.CompositeLearning(problem), Budget(problem.trace.clock)
    sample.has_finalists = False
    found = trials.best_start(problem, sample, default_starts(problem.start), budget)
    assert list(left) == []
    return tried, found


@pytest.mark.parametrize("last, taken", [(3.0, MATERN), (1.0, RBF)])
def test_a_kernel_that_leads_is_tried_where_another_has_won(problem, monkeypatch, last, taken):
    """It begins at all that was learned there; the better one of both goes on."""
    tried, (chosen, *_) = tried_with(problem, monkeypatch, [0.0, 1.0, 0.5, 2.0, last])
    assert [name for name, _ in tried] == [RBF, MATERN, RBF, RBF, MATERN]
    np.testing.assert_array_equal(tried[4][1].theta, tried[3][1].theta - 0.1)
    assert in_words(chosen.kernel) == taken
    there = [one for one in problem.trace.choices if one["choice"] == "another kernel there"]
    assert [one["seconds"] == 0.0 for one in there] == [True, False]
    assert {one["candidate"]: one["taken"] for one in there} == {
        name: name == taken for name in (RBF, MATERN)
    }


@pytest.mark.parametrize("values", [[0.0, -1.0, 0.5, 2.0], [0.0, 2.0, 1.0, 1.0]])
def test_no_other_kernel_is_tried_that_was_behind(problem, monkeypatch, values):
    """Kernels are compared where both start: who lost there is not asked again."""
    tried_with(problem, monkeypatch, values)


def test_drawn_starts_say_nothing_of_the_usual_one(problem, monkeypatch):
    """They have its kernel, and what they come to is not where it starts."""
    problem = replace(problem, settings=replace(problem.settings, n_restarts_optimizer=1))
    tried, _ = tried_with(problem, monkeypatch, [1.0, 0.5, 0.2, 2.0, -3.0])
    assert len(tried) == 5
