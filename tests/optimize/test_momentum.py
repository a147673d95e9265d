"""Stochastic gradients with momentum: the recursion and its bounds."""

import numpy as np
import pytest
from dense import make_settings
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.optimize.adam import Adam
from sklearn_sgp.optimize.momentum import Momentum, stochastic_optimizer

FREE = np.tile([-np.inf, np.inf], (4, 1))


def test_momentum_is_the_textbook_recursion():
    """A step is the rate times the sum of all slopes so far, each fading by 0.9 a step."""
    rng, momentum, x = np.random.default_rng(0), Momentum(4, 0.03), np.zeros(4)
    slopes = rng.standard_normal((15, 4)) * [1.0, 1e-3, 1e3, 0.0]
    for t in range(1, 16):
        fading = 0.9 ** np.arange(t)[::-1, None]
        expected = x + 0.03 * (fading * slopes[:t]).sum(axis=0)
        x = momentum.step(x, slopes[t - 1], FREE)
        assert_allclose(x, expected, rtol=1e-12)
    assert momentum.t == 15


def test_momentum_stays_within_bounds_and_finite():
    """A step ends at the bounds, however steep, and the vector it was given is not written to."""
    bounds, x = np.array([[-1.0, 0.05], [-0.02, 1.0]]), np.zeros(2)
    for slope in ([5.0, -5.0], [np.inf, -np.inf], [1e300, -1e300]):
        assert_allclose(Momentum(2, 0.1).step(x, np.array(slope), bounds), [0.05, -0.02])
    assert_array_equal(x, 0.0)


@pytest.mark.parametrize("name, kind", [("sgd", Momentum), ("adam", Adam), ("auto", Adam)])
def test_the_optimiser_of_a_name(name, kind):
    """Adam takes stochastic steps unless "sgd" is asked for, and goes on if it is the same one."""
    settings = make_settings(optimizer=name, learning_rate=0.2)
    first = stochastic_optimizer(3, settings)
    assert type(first) is kind and first.learning_rate == 0.2
    assert stochastic_optimizer(3, settings, first) is first
    assert stochastic_optimizer(4, settings, first).size == 4  # more is free than was
    other = make_settings(optimizer="sgd" if kind is Adam else "adam")
    assert type(stochastic_optimizer(3, other, first)) is not kind


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_another_rate_is_taken(name):
    """A rate that is changed between batches holds from then on; a shortened one stays else."""
    settings = make_settings(optimizer=name, learning_rate=0.2)
    first = stochastic_optimizer(3, settings)
    first.learning_rate *= 0.5  # as after a step that could not be taken
    assert stochastic_optimizer(3, settings, first).learning_rate == 0.1
    other = make_settings(optimizer=name, learning_rate=0.05)
    assert stochastic_optimizer(3, other, first) is first
    assert first.learning_rate == 0.05
