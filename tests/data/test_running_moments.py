"""Moments of targets that come in batches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_sgp.data.running_moments import RunningMoments


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_any_split_has_the_moments_of_all_rows(offset, rng):
    """Mean and scale joined batch by batch are those of all targets, weights and gaps included."""
    y, weight = offset + rng.normal(size=(90, 2)), rng.uniform(0.5, 2.0, 90)
    y[::4, 1] = np.nan
    parts = [RunningMoments.of(y[i], weight[i]) for i in (slice(1), slice(1, 30), slice(30, 90))]
    joined = parts[0].joined(parts[1]).joined(parts[2])
    mean, scale = joined.units(np.zeros(2), np.ones(2))
    for c in range(2):
        seen = ~np.isnan(y[:, c])
        centre = np.average(y[seen, c], weights=weight[seen])
        variance = np.average((y[seen, c] - centre) ** 2, weights=weight[seen])
        assert_allclose(mean[c], centre, rtol=1e-14)
        assert_allclose(scale[c] ** 2, variance, rtol=1e-7)


def test_a_target_that_has_not_varied_has_its_size_as_scale():
    """A constant says nothing of scatter; an output without any target keeps its units."""
    y = np.column_stack([np.full(5, -7.0), np.zeros(5), np.full(5, np.nan)])
    mean, scale = RunningMoments.of(y, None).units(np.full(3, 9.0), np.full(3, 4.0))
    assert_allclose(mean, [-7.0, 0.0, 9.0])
    assert_allclose(scale, [7.0, 1.0, 4.0])


def test_a_level_moves_means_and_no_scatter(rng):
    """Targets plus a level have the same scatter; a share of the past counts as fewer rows."""
    y = rng.normal(size=(50, 1))
    moved = RunningMoments.of(y, None).moved(np.array([3.0]))
    again = RunningMoments.of(y + 3.0, None)
    assert_allclose(moved.units(0.0, 1.0), again.units(0.0, 1.0), rtol=1e-12)
    half = RunningMoments.of(y, None).tempered(0.5).joined(RunningMoments.of(y + 4.0, None))
    weight = np.repeat([0.5, 1.0], 50)
    whole = RunningMoments.of(np.vstack([y, y + 4.0]), weight)
    assert_allclose(half.units(0.0, 1.0), whole.units(0.0, 1.0), rtol=1e-12)


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e90])
def test_moments_of_any_size(unit, rng):
    """Scatter whose square is no number is found, beside outputs that have not varied yet."""
    y = rng.normal(size=(40, 2)) * [1.0, 0.0]
    parts = [RunningMoments.of(unit * part, None) for part in (y[:1], y[1:7], y[7:])]
    mean, scale = parts[0].joined(parts[1]).joined(parts[2]).units(np.zeros(2), np.ones(2))
    assert_allclose(mean / unit, y.mean(axis=0), rtol=1e-12)
    assert_allclose(scale, [unit * y[:, 0].std(), 1.0], rtol=1e-12)
