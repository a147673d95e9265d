"""Targets with heavy tails are learned from on a scale without them."""

import numpy as np
from numpy.testing import assert_array_equal
from scipy.stats import kurtosis

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.data.winsorize import with_light_tails


def rows_of(y):
    y = np.asarray(y).reshape(len(y), -1)
    return Rows(np.zeros((len(y), 1)), y, None, y.mean(axis=0), y.std(axis=0))


def test_usual_targets_stay(rng):
    """Normal, uniform, constant and Laplace targets are the same object afterwards."""
    each = [rng.normal(size=3000), rng.uniform(size=3000), rng.laplace(size=3000), np.ones(50)]
    for y in each:
        rows = Rows(np.zeros((len(y), 1)), y[:, None], None, np.zeros(1), np.ones(1))
        assert with_light_tails(rows) is rows


def test_tails_become_light(rng):
    """Log-normal and Cauchy targets have the kurtosis of usual ones, in the same order."""
    for y in (np.exp(1.5 * rng.normal(size=3000)), rng.standard_cauchy(3000)):
        rows = rows_of(y)
        before, after = rows.targets[:, 0], with_light_tails(rows).targets[:, 0]
        assert kurtosis(before) > 50.0
        assert kurtosis(after) < 6.0
        assert (np.diff(after[np.argsort(before)]) >= 0.0).all()


def test_outputs_are_separate(rng):
    """An output without heavy tails, and a constant one, stay beside one that has them."""
    y = np.column_stack([rng.normal(size=2000), rng.standard_cauchy(2000), np.ones(2000)])
    rows = Rows(np.zeros((2000, 1)), y, None, np.zeros(3), np.array([1.0, 100.0, 1.0]))
    after = with_light_tails(rows).targets
    assert_array_equal(after[:, [0, 2]], rows.targets[:, [0, 2]])
    assert np.abs(after[:, 1]).max() <= 4.0
    assert_array_equal(rows.y, y)
