"""The step that targets were rounded to."""

import numpy as np
import pytest

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor
from sklearn_sgp.data.resolution import resolutions


def _step(y):
    return float(resolutions(np.reshape(y, (-1, 1)))[0])


@pytest.mark.parametrize("n_levels", [2, 5, 8, 20, 100])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e7])
def test_levels_have_their_distance(n_levels, unit):
    """Values at regular levels, in any unit and about any centre, have the step between these."""
    rng = np.random.default_rng(n_levels)
    z = rng.normal(size=2000)
    step = np.ptp(z) / (n_levels - 1)
    y = unit * (np.round((z - z.min()) / step) * step - 17.3)
    np.testing.assert_allclose(_step(y), unit * step, rtol=1e-9)
    np.testing.assert_allclose(_step(y.astype(np.float32)), unit * step, rtol=1e-4)


def test_values_with_noise_have_none():
    """Values that differ, irregular levels, and values that are bounded were not rounded."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=3000)
    assert _step(z) == 0.0
    assert _step(np.minimum(z, 1.3)) == 0.0
    assert _step(np.maximum(z, 0.0)) == 0.0
    assert _step(rng.normal(size=9)[rng.integers(9, size=500)]) == 0.0
    assert _step(np.full(50, 3.0)) == 0.0
    assert _step([]) == 0.0


def test_a_few_others_do_not_count():
    """A cap, or a few values in between, leave the step of all others."""
    rng = np.random.default_rng(1)
    y = np.round(40.0 * rng.normal(size=2000))
    y[:30] += rng.normal(size=30)
    assert _step(y) == pytest.approx(1.0, rel=1e-6)
    prices = np.minimum(100.0 * np.round(np.exp(7.3 + 0.5 * rng.normal(size=2000))), 300_001.0)
    assert _step(prices) == pytest.approx(100.0, rel=1e-3)


def test_no_neighbours_need_be_one_step_apart():
    """The step of 0, 2, 5 and 7 is one."""
    assert _step(np.array([0.0, 2.0, 5.0, 7.0] * 50) / 3.0) == pytest.approx(1.0 / 3.0)


def test_numbers_that_no_step_tells_apart_have_none():
    """Almost all are one multiple of steps between the largest: that told a step of 0 / 0."""
    y = 1e16 + np.exp(12.0 * np.random.default_rng(0).normal(size=300))
    assert _step(y) == 0.0


@pytest.mark.parametrize("kind", [SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor])
def test_fits_tell_it(kind):
    """A fit tells the step of each output, whatever is learned, and 0 where there is none."""
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(200, 1))
    y = np.sin(5.0 * X[:, 0]) + rng.normal(size=200)
    model = kind(optimizer=None, n_inducing=10)
    assert model.fit(X, y).resolution_ == 0.0
    assert model.fit(X, np.round(4.0 * y) / 4.0).resolution_ == pytest.approx(0.25)
    both = model.fit(X, np.column_stack([y, np.round(y)])).resolution_
    np.testing.assert_allclose(both, [0.0, 1.0])
    assert not both.flags.writeable
