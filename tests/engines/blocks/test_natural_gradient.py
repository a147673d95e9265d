"""Stochastic natural gradient ascent: replays, limits, gradients."""

from itertools import islice

import numpy as np
import pytest
from block_helpers import FACTORS, blocks_of
from dense import block_factor, central_difference, make_case, make_space
from failures import assert_unchanged, interrupt, state_of
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.engines.blocks import natural_gradient
from sklearn_sgp.engines.blocks.natural_gradient import NaturalGradientAscent
from sklearn_sgp.engines.blocks.schedules import Average, Constant, RobbinsMonro
from sklearn_sgp.factors.block_factors import Model
from sklearn_sgp.factors.block_sums import block_gradient_sums, block_sums
from sklearn_sgp.factors.passes import Pieces
from sklearn_sgp.gp.posterior import Posterior
from sklearn_sgp.gp.prior import Prior


def ascent(case, model, schedule):
    t = case.y.shape[1]
    return NaturalGradientAscent(case.prior, case.noise, model, blocks_of(case), schedule, t)


def all_pieces(case):
    return Pieces([blocks_of(case)(k) for k in range(5)])


def closed_form(case, model):
    """Posterior of all blocks, and the constant of the evidence."""
    return block_sums(case.prior, all_pieces(case), case.noise, model)


def targets(case, model):
    """(H_B, h_B, constant) of every block times the number of blocks."""
    m, t = len(case.Z), case.y.shape[1]
    found = []
    for k in range(5):
        H, h = np.zeros((m, m)), np.zeros((m, t))
        constant = block_factor(case.prior, blocks_of(case)(k), case.noise, model).add_to(H, h)
        found.append((5 * (np.tril(H) + np.tril(H, -1).T), 5 * h, 5 * constant))
    return found


@FACTORS
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
        found, mean = ours.posterior.precisions[0].covariance, np.linalg.solve(precision, linear)
        assert_allclose(found, np.linalg.inv(precision), rtol=1e-8, atol=1e-12)
        assert_allclose(ours.posterior.v_mean, mean, rtol=1e-8, atol=1e-12)


@FACTORS
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("epochs", [1, 3])
def test_whole_epochs_of_average_give_the_closed_form(model, count, epochs):
    """After every block came as often as the others, the average is the sum over all blocks."""
    case = make_case()
    ours = ascent(case, model, Average())
    draws = Average().draw(5, count, np.random.RandomState(0))
    for chosen in islice(draws, epochs * -(-5 // count)):
        ours.step(chosen)
    assert ours.epochs == epochs
    exact = closed_form(case, model)
    assert_allclose(ours.posterior.H[0], exact.posterior.H[0], rtol=1e-10, atol=1e-12)
    assert_allclose(ours.posterior.h, exact.posterior.h, rtol=1e-10, atol=1e-12)
    assert_allclose(ours.constant, exact.constant, rtol=1e-10)


@FACTORS
def test_one_step_over_all_blocks_gives_the_closed_form(model):
    """A step of length 1 over all blocks forgets whatever was before."""
    case = make_case()
    ours = ascent(case, model, RobbinsMonro(1.0, 0.0, 1.0))
    ours.step([2])
    ours.step([0, 1, 2, 3, 4])
    exact = closed_form(case, model)
    assert_allclose(ours.posterior.H[0], exact.posterior.H[0], rtol=1e-10, atol=1e-12)


@FACTORS
def test_the_plain_gradient_of_a_block_is_unbiased(model):
    """The paper's eqs. 14, 17 and 18, in mean and covariance, which the package does not offer.

    The mean over blocks is the gradient of the objective, by differences; a fixed point of the
    natural steps is where it is zero.
    """
    case = make_case()
    m, pieces, rng = len(case.Z), all_pieces(case), np.random.default_rng(0)
    root = np.tril(rng.standard_normal((m, m))) + 2.0 * np.eye(m)
    mean, covariance = rng.standard_normal((m, 1)), root @ root.T

    def objective(mean, covariance):
        precision = np.linalg.inv(covariance)
        q = Posterior(case.prior, (precision - np.eye(m),), precision @ mean)
        found = block_gradient_sums(q, pieces, case.noise, model)
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
    best = best.posterior
    covariance = best.precisions[0].covariance
    at_best = [plain(H, h, best.v_mean, covariance) for H, h, _ in targets(case, model)]
    for some in zip(*at_best, strict=True):
        assert_allclose(np.mean(some, axis=0), 0.0, atol=1e-7)


@FACTORS
def test_the_estimate_of_the_objective_is_unbiased(model):
    """Over all blocks the mean of value and gradient is the bound at q, by differences too."""
    case = make_case()
    ours = ascent(case, model, Constant(0.4))
    ours.step([1, 3])
    q, H, h = ours.posterior, ours.posterior.H, ours.posterior.h
    space = make_space(len(case.parameters.theta), 1.0)

    def bound(x):
        """E_q[log t] - KL(q || p) with q held in whitened coordinates."""
        new = space.unpack(x, case.parameters)
        moved = Posterior(Prior.build(new.kernel, new.Z, case.delta), H, h)
        found = block_gradient_sums(moved, all_pieces(case), new.noise_variance, model)
        return found.value - moved.kl()

    x = space.pack(case.parameters)
    estimates = [ours.objective([k], True) for k in range(5)]
    values, gradients = zip(*estimates, strict=True)
    assert_allclose(np.mean(values), bound(x), rtol=1e-10)
    mean = np.mean([space.pack_gradient(gradient) for gradient in gradients], axis=0)
    expected = central_difference(bound, x)
    assert_allclose(mean, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    assert ours.posterior is q


def test_a_posterior_stays_as_it_was():
    """A step makes a new posterior and leaves the one before."""
    case = make_case()
    ours = ascent(case, Model("diagonal"), Average())
    ours.step([0])
    before = ours.posterior
    H, h, mean = before.H[0].copy(), before.h.copy(), before.v_mean.copy()
    ours.step([1])
    assert ours.posterior is not before
    assert_array_equal(before.H[0], H)
    assert_array_equal(before.h, h)
    assert_array_equal(before.v_mean, mean)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_step_that_fails_changes_nothing(monkeypatch, error):
    """What raises within a step leaves q(u) and the counts, and later steps are none the worse."""
    case = make_case()
    ours, other = (ascent(case, Model("full"), Average()) for _ in range(2))
    ours.step([0])
    other.step([0])
    before = state_of(ours)
    for owner, name in ((natural_gradient, "block_sums"), (Posterior, "towards")):
        with monkeypatch.context() as patch:
            interrupt(patch, owner, name, 1, error)
            with pytest.raises(error):
                ours.step([1, 2])
        assert_unchanged(ours, before)
    ours.step([1, 2])
    other.step([1, 2])
    assert_array_equal(ours.posterior.H[0], other.posterior.H[0])
    assert ours.n_seen == other.n_seen == 3


def test_every_iterate_is_a_posterior():
    """Precisions stay positive definite for any sequence of steps in [0, 1]."""
    case, rng = make_case(), np.random.RandomState(1)
    ours = ascent(case, Model("full"), RobbinsMonro(1.0, 0.1, 0.6))
    for _ in range(20):
        ours.step(rng.randint(5, size=1))
        assert np.linalg.eigvalsh(np.eye(len(case.Z)) + ours.posterior.H[0]).min() >= 1.0 - 1e-9
