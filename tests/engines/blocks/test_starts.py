"""Which start goes on where some columns are categories: numbers first, then with categories."""

from dataclasses import replace

import numpy as np
import pytest
from block_helpers import problem_of

from sklearn_sgp.data.categories import InputColumns
from sklearn_sgp.engines.blocks import composite_learning, trials
from sklearn_sgp.engines.blocks.trials import best_start, has_categories
from sklearn_sgp.engines.other_starts import default_starts
from sklearn_sgp.engines.start import Choices, start
from sklearn_sgp.kernels._defaults import LOCAL
from sklearn_sgp.likelihoods import Gaussian
from sklearn_sgp.objectives.scores import Score
from sklearn_sgp.optimize.budget import Budget


@pytest.fixture
def problem(rng):
    """700 rows of two numbers and a code of five categories."""
    X = np.column_stack([rng.uniform(0.0, 6.0, (700, 2)), np.arange(700) % 5])
    empty = problem_of(X, np.sin(X[:, 0]), kernel=None, optimizer="auto")
    columns = InputColumns(None, (2,), (tuple(range(5)),))
    choices = Choices(
        None, 5, "kmeans", True, None, (1e-6, 1e3), True, kernel_set=LOCAL, columns=columns
    )
    begun = start(empty.rows, choices, Gaussian(), np.random.RandomState(0))
    return replace(empty, start=begun)


def found_with(problem, monkeypatch, values):
    """What goes on if trials have certain values, and which starts were tried."""
    tried, values = [], iter(values)

    def trial(sample, task, parameters, *_):
        tried.append((task.start, parameters))
        score = Score(np.array([next(values)]), np.ones(1))
        return parameters.with_values(log_noise=-0.1 * len(tried)), 1, score

    monkeypatch.setattr(composite_learning.CompositeLearning, "trial", trial)
    monkeypatch.setattr(trials, "probed", lambda *_: None)
    sample, budget = composite_learning.CompositeLearning(problem), Budget(problem.trace.clock)
    starts = default_starts(problem.start)
    return best_start(problem, sample, starts, budget), tried


def test_categories_that_gain_nothing_are_left_out(problem, monkeypatch):
    """The best kernel of the numbers is among the choices, with what was learned."""
    found, tried = found_with(problem, monkeypatch, [0.0, 2.0, 1.0, 0.0, 1.9, 1.8, -1.0])
    chosen, parameters, _, n_iter = found
    assert n_iter == len(tried) == 7
    assert [has_categories(one) for one, _ in tried] == [False] * 4 + [True] * 3
    assert chosen.kernel == tried[1][0].kernel
    assert parameters.log_noise == -0.2


def test_levels_begin_where_the_best_kernel_of_numbers_has_ended(problem, monkeypatch):
    """Its length scales are those that the trial of the numbers alone found."""
    found, tried = found_with(problem, monkeypatch, [0.0, 2.0, 1.0, 0.0, 3.0, 1.8, -1.0])
    chosen, begin = tried[4]
    assert found[0].kernel == chosen.kernel
    assert begin.log_noise == -0.2
    numbers = tried[1][1].theta
    assert set(numbers) <= set(begin.theta)
    assert len(begin.theta) == len(numbers) + 5  # levels of five categories
