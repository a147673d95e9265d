"""Labels that are held out in turn."""

from types import SimpleNamespace

import numpy as np
import pytest

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.variational.class_starts import VarianceSearch
from sklearn_sgp.engines.variational.label_folds import parts_of
from sklearn_sgp.objectives.scores import Score
from sklearn_sgp.optimize.choices import Tried
from sklearn_sgp.optimize.progress import Clock, Trace


@pytest.mark.parametrize(("n", "size", "n_parts"), [(300, 60, 5), (1000, 200, 2), (3000, 600, 1)])
def test_each_row_is_held_out_once_until_labels_are_enough(n, size, n_parts):
    """Parts have no row in common, and what is known is all but what is held out."""
    X, y = np.arange(n)[:, None].astype(float), np.zeros((n, 1))
    rows = Rows(X, y, None, np.zeros(1), np.ones(1))
    given = rows.select(slice(size, None)), rows.select(slice(size))
    parts = parts_of(*given, np.random.RandomState(0))
    assert len(parts) == n_parts and parts[0] == given
    held_out = np.concatenate([part.X[:, 0] for _, part in parts])
    assert len(np.unique(held_out)) == len(held_out) == n_parts * size
    for known, part in parts:
        assert set(known.X[:, 0]) | set(part.X[:, 0]) == set(range(n))
        assert len(known) + len(part) == n


class Ridge:
    """Labels that are predicted best along a line of length scales and variances."""

    def tried(self, name, at):
        """Score a pair of powers."""
        scale, variance = at
        score = Score(np.full(50, float(scale - 4.0 * abs(scale - variance))), np.ones(50))
        return Tried(name, SimpleNamespace(parameters=at), score, 0.0)


class Search(VarianceSearch):
    """A search among pairs of powers, up to 6."""

    def _variances(self, parameters):
        return {power: (0, power) for power in range(-1, 6)}

    def _changed(self, at, variance, scales=1.0):
        return at[0] + 1, at[1] + int(variance > 1.0)


def test_length_scales_grow_together_with_the_variance():
    """Where neither helps alone both do: steep functions of long scales have much variance."""
    ridge, problem = Ridge(), SimpleNamespace(trace=Trace(Clock()))
    assert Search(problem, ridge, ridge, np.inf).best(None).parameters == (6, 6)
