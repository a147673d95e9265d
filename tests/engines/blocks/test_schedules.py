"""Which blocks a step takes, and how long it is."""

from itertools import islice

import numpy as np
import pytest
from block_helpers import blocks_of
from dense import block_factor, make_case
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.engines.blocks.natural_gradient import NaturalGradientAscent
from sklearn_sgp.engines.blocks.schedules import Average, Constant, RobbinsMonro, spread_order
from sklearn_sgp.factors.block_factors import Model


@pytest.mark.quick_cases("schedule0")
@pytest.mark.parametrize("schedule", [RobbinsMonro(0.4, 0.9, 0.75), Average(), Constant(0.3)])
def test_mean_and_variance_over_random_sequences(schedule):
    """As theory predicts for the weights of the targets; 400 sequences of 6 steps."""
    case, model = make_case(), Model("diagonal")
    blocks, (m, t) = blocks_of(case), (len(case.Z), case.y.shape[1])
    of_block = np.zeros((5, m, m))
    for k, H in enumerate(of_block):
        block_factor(case.prior, blocks(k), case.noise, model).add_to(H, np.zeros((m, t)))
        H[:] = 5 * (np.tril(H) + np.tril(H, -1).T)
    rhos = [schedule.rho(s, 1, s + 1) for s in range(6)]
    weights = [rho * np.prod([1.0 - r for r in rhos[s + 1 :]]) for s, rho in enumerate(rhos)]
    rng, finals = np.random.RandomState(0), []
    for _ in range(400):
        ours = NaturalGradientAscent(case.prior, case.noise, model, blocks, schedule)
        for k in rng.randint(5, size=6):
            ours.step([k])
        finals.append(ours.posterior.H[0])
    mean, variance = of_block.mean(axis=0), of_block.var(axis=0)
    predicted = np.sum(np.square(weights)) * variance
    error = np.abs(np.mean(finals, axis=0) - np.sum(weights) * mean)
    assert (error < 5.0 * np.sqrt(predicted / 400) + 1e-12).all()
    assert_allclose(np.var(finals, axis=0).sum(), predicted.sum(), rtol=0.25)


def test_robbins_monro_draws_with_replacement():
    """A block may come more than once in a step, and every block comes."""
    draws = RobbinsMonro(0.1, 0.9, 0.75).draw(3, 50, np.random.RandomState(0))
    for chosen in islice(draws, 3):
        assert len(chosen) == 50
        assert set(chosen) == {0, 1, 2}


@pytest.mark.parametrize("schedule", [Average(), Constant(0.1)])
def test_every_block_comes_once_in_an_epoch(schedule):
    """Each epoch has all blocks, in an order of its own."""
    draws = schedule.draw(7, 3, np.random.RandomState(0))
    first, second = (np.concatenate(list(islice(draws, 3))) for _ in range(2))
    assert_array_equal(np.sort(first), np.arange(7))
    assert_array_equal(np.sort(second), np.arange(7))
    assert not np.array_equal(first, second)


def test_lengths_of_steps():
    """The paper's steps decay, those of an average are shares of what was seen."""
    assert_allclose(RobbinsMonro(0.4, 0.9, 0.75).rho(3, 2, 8), 0.4 / (1 + 0.9 * 0.4 * 3) ** 0.75)
    assert_array_equal(Average().rho(1, 2, 8), 0.25)
    assert_array_equal(Constant(0.3).rho(5, 2, 8), 0.3)


@pytest.mark.parametrize("n_blocks", [1, 2, 5, 8, 13, 100])
def test_the_order_is_a_permutation_spread_over_all_blocks(n_blocks):
    """Any number of first blocks leaves no gap much longer than evenly placed ones would."""
    for seed in range(5):
        order = spread_order(n_blocks, np.random.RandomState(seed))
        assert_array_equal(np.sort(order), np.arange(n_blocks))
        for count in range(1, n_blocks + 1):
            seen = np.sort(order[:count])
            gaps = np.diff(np.append(seen, seen[0] + n_blocks))
            assert gaps.max() <= 4 * n_blocks / count


def test_every_place_of_the_order_is_uniform_over_blocks():
    """No block is likelier than others to come first, second or third."""
    firsts = [spread_order(6, np.random.RandomState(seed))[:3] for seed in range(3000)]
    for place in range(3):
        counts = np.bincount([first[place] for first in firsts], minlength=6)
        assert np.abs(counts - 500).max() < 5 * np.sqrt(500)
