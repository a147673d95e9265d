"""Stochastic natural gradient ascent: replays, limits, moments."""

from itertools import islice

import numpy as np
import pytest
from dense import make_case
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.blocks.natural_gradient import Ascent, Average, RobbinsMonro, spread_order
from sklearn_sgp.factors.block_sums import factor_gradient, factor_sums
from sklearn_sgp.factors.block_factors import Model, make_block

MODELS = pytest.mark.parametrize(
    "model", [Model("nothing"), Model("diagonal"), Model("diagonal", 0.3), Model("block")]
)
EDGES = [0, 3, 9, 10, 17, 24]  # blocks of 3, 6, 1, 7, 7 rows


def block_of(case):
    return lambda k: case.rows.select(slice(EDGES[k], EDGES[k + 1]))


def ascent(case, model, schedule):
    t = case.y.shape[1]
    return Ascent(case.prior, case.noise, model, block_of(case), 5, schedule, t)


def targets(case, model):
    """(H_B, h_B, constant) of every block times the number of blocks."""
    m, t = len(case.Z), case.y.shape[1]
    found = []
    for k in range(5):
        H, h = np.zeros((m, m)), np.zeros((m, t))
        constant = make_block(case.prior, block_of(case)(k), case.noise, model).add_to(H, h)
        found.append((5 * (np.tril(H) + np.tril(H, -1).T), 5 * h, 5 * constant))
    return found


@MODELS
@pytest.mark.parametrize("t", [1, 2])
def test_replay_of_robbins_monro(model, t):
    """The paper's iteration in natural parameters, prior included, step by step."""
    case = make_case(t=t)
    schedule = RobbinsMonro(0.5, 0.9, 0.75)
    ours, of_block = ascent(case, model, schedule), targets(case, model)
    precision, linear = np.eye(len(case.Z)), np.zeros_like(of_block[0][1])
    for step, chosen in enumerate([[3, 3], [0], [2, 4, 1], [4]]):
        ours.step(chosen)
        rho = 0.5 / (1.0 + 0.9 * 0.5 * step) ** 0.75
        F = np.eye(len(case.Z)) + np.mean([of_block[k][0] for k in chosen], axis=0)
        precision = (1.0 - rho) * precision + rho * F
        linear = (1.0 - rho) * linear + rho * np.mean([of_block[k][1] for k in chosen], axis=0)
        posterior = ours.posterior()
        assert_allclose(posterior.B_inv, np.linalg.inv(precision), rtol=1e-8, atol=1e-12)
        assert_allclose(posterior.v_mean, np.linalg.solve(precision, linear), rtol=1e-8, atol=1e-12)


@MODELS
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("epochs", [1, 3])
def test_whole_epochs_of_average_give_the_closed_form(model, count, epochs):
    case = make_case()
    ours = ascent(case, model, Average())
    draws = Average().draw(5, count, np.random.RandomState(0))
    for chosen in islice(draws, epochs * -(-5 // count)):
        ours.step(chosen)
    assert ours.epochs == epochs
    exact = factor_sums(case.prior, [block_of(case)(k) for k in range(5)], case.noise, model)
    assert_allclose(ours.H, exact.H, rtol=1e-10, atol=1e-12)
    assert_allclose(ours.h, exact.h, rtol=1e-10, atol=1e-12)
    assert_allclose(ours.constant, exact.constant, rtol=1e-10)


@MODELS
def test_one_step_over_all_blocks_gives_the_closed_form(model):
    case = make_case()
    ours = ascent(case, model, RobbinsMonro(1.0, 0.0, 1.0))
    ours.step([2])
    ours.step([0, 1, 2, 3, 4])
    exact = factor_sums(case.prior, [block_of(case)(k) for k in range(5)], case.noise, model)
    assert_allclose(ours.H, exact.H, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("schedule", [RobbinsMonro(0.4, 0.9, 0.75), Average()])
def test_mean_and_variance_over_random_sequences(schedule):
    """As theory predicts for the weights of the targets; 400 sequences of 6 steps."""
    case, model = make_case(), Model("diagonal")
    of_block = np.array([target[0] for target in targets(case, model)])
    rhos = [schedule.rho(s, 1, s + 1) for s in range(6)]
    weights = [rho * np.prod([1.0 - r for r in rhos[s + 1 :]]) for s, rho in enumerate(rhos)]
    rng, finals = np.random.RandomState(0), []
    for _ in range(400):
        ours = ascent(case, model, schedule)
        for k in rng.randint(5, size=6):
            ours.step([k])
        finals.append(ours.H)
    mean, variance = of_block.mean(axis=0), of_block.var(axis=0)
    predicted = np.sum(np.square(weights)) * variance
    error = np.abs(np.mean(finals, axis=0) - np.sum(weights) * mean)
    assert (error < 5.0 * np.sqrt(predicted / 400) + 1e-12).all()
    assert_allclose(np.var(finals, axis=0).sum(), predicted.sum(), rtol=0.25)


@MODELS
def test_the_plain_gradient_of_a_block_is_unbiased(model):
    """The paper's eqs. 14, 17 and 18, in mean and covariance, which the package does not offer.

    The mean over blocks is the gradient of the objective, by differences; a fixed point of the
    natural steps is where it is zero.
    """
    case = make_case()
    m, blocks, rng = len(case.Z), [block_of(case)(k) for k in range(5)], np.random.default_rng(0)
    root = np.tril(rng.standard_normal((m, m))) + 2.0 * np.eye(m)
    mean, covariance = rng.standard_normal((m, 1)), root @ root.T

    def objective(mean, covariance):
        found = factor_gradient(case.prior, blocks, case.noise, model, mean, covariance)
        log_det = np.linalg.slogdet(covariance)[1]
        return found.value - 0.5 * (np.trace(covariance) + mean[:, 0] @ mean[:, 0] - m - log_det)

    def plain(H, h, mean, covariance):
        return h - H @ mean - mean, 0.5 * (np.linalg.inv(covariance) - H - np.eye(m))

    parts = [plain(H, h, mean, covariance) for H, h, _ in targets(case, model)]
    in_mean, in_covariance = (np.mean(some, axis=0) for some in zip(*parts, strict=True))
    step = 1e-6
    for i in range(m):
        e = np.eye(m)[:, [i]] * step
        difference = objective(mean + e, covariance) - objective(mean - e, covariance)
        assert_allclose(in_mean[i, 0], difference / (2 * step), rtol=1e-5, atol=1e-5)
        E = e @ np.eye(m)[[i]] * 1.0
        difference = objective(mean, covariance + E) - objective(mean, covariance - E)
        assert_allclose(in_covariance[i, i], difference / (2 * step), rtol=1e-5, atol=1e-5)
    best = ascent(case, model, Average())
    best.step(range(5))
    best = best.posterior()
    at_best = [plain(H, h, best.v_mean, best.B_inv) for H, h, _ in targets(case, model)]
    for some in zip(*at_best, strict=True):
        assert_allclose(np.mean(some, axis=0), 0.0, atol=1e-7)


def test_robbins_monro_draws_with_replacement():
    draws = RobbinsMonro(0.1, 0.9, 0.75).draw(3, 50, np.random.RandomState(0))
    assert set(next(draws)) == {0, 1, 2}


def test_average_draws_every_block_once_in_an_epoch():
    draws = Average().draw(7, 3, np.random.RandomState(0))
    first, second = (np.concatenate(list(islice(draws, 3))) for _ in range(2))
    assert_array_equal(np.sort(first), np.arange(7))
    assert_array_equal(np.sort(second), np.arange(7))
    assert not np.array_equal(first, second)


def test_a_posterior_stays_as_it_was():
    case = make_case()
    ours = ascent(case, Model("diagonal"), Average())
    ours.step([0])
    before = ours.posterior()
    mean = before.v_mean.copy()
    ours.step([1])
    assert_array_equal(before.v_mean, mean)
    assert_array_equal(Average().rho(1, 2, 8), 0.25)


def test_every_iterate_is_a_posterior():
    """Precisions stay positive definite for any sequence of steps in [0, 1]."""
    case, rng = make_case(), np.random.RandomState(1)
    ours = ascent(case, Model("block"), RobbinsMonro(1.0, 0.1, 0.6))
    for _ in range(20):
        ours.step(rng.randint(5, size=1))
        assert np.linalg.eigvalsh(np.eye(len(case.Z)) + ours.H).min() >= 1.0 - 1e-9


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
    firsts = [spread_order(6, np.random.RandomState(seed))[:3] for seed in range(3000)]
    for place in range(3):
        counts = np.bincount([first[place] for first in firsts], minlength=6)
        assert np.abs(counts - 500).max() < 5 * np.sqrt(500)
