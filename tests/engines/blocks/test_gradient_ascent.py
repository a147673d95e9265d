"""Plain stochastic gradient ascent on q(u) against its equations, written out densely."""

import numpy as np
import pytest
from block_helpers import FACTORS, blocks_of, fixed
from dense import block_definition, make_case
from numpy.testing import assert_allclose
from slow_variants import slow

from sklearn_sgp.engines.blocks.gradient_ascent import GradientAscent
from sklearn_sgp.engines.blocks.natural_gradient import NaturalGradientAscent
from sklearn_sgp.engines.blocks.schedules import RobbinsMonro

SCHEDULE = RobbinsMonro(1e-3, 0.9, 0.75, is_natural=False)
ONE, *OTHERS = FACTORS.args[1]


def _ascent(case, model, schedule=SCHEDULE):
    return GradientAscent(case.prior, case.noise, model, blocks_of(case), schedule, case.y.shape[1])


def _moments(ascent):
    """Means (m, t) and covariance (m, m) of u."""
    L, q = ascent.posterior.prior.L, ascent.posterior
    return L @ q.v_mean, L @ q.precisions[0].covariance @ L.T


def _stepped(case, model, chosen, rho, m, S):
    """A step as Hoang et al. (2015, eqs. 14, 17 and 18) have it, in u itself."""
    blocks, K_inv = blocks_of(case), np.linalg.inv(case.matrices()[0])
    P, g = K_inv.copy(), np.zeros_like(m)
    for k in chosen:
        rows, share = blocks(k), len(blocks) / len(chosen)
        _, weights, R, _ = block_definition(case, rows, model)
        P += share * weights.T @ np.linalg.solve(R, weights)
        g += share * weights.T @ np.linalg.solve(R, rows.targets)
    return m + rho * (g - P @ m), S + 0.5 * rho * (np.linalg.inv(S) - P)


@FACTORS
def test_some_steps_are_the_papers(model):
    """From the prior on, mean and covariance follow the stochastic slopes of the bound."""
    case = make_case(t=2)
    ours, m, S = _ascent(case, model), np.zeros((5, 2)), case.matrices()[0]
    for step, chosen in enumerate(([0, 3], [2], [1, 4, 0], [3, 3])):
        m, S = _stepped(case, model, chosen, SCHEDULE.rho(step, 1, 1), m, S)
        ours.step(np.array(chosen))
        for found, expected in zip(_moments(ours), (m, S), strict=True):
            assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    assert ours.shorter == 1.0


@FACTORS
def test_what_is_told_is_the_bound(model):
    """After whole epochs, and only of the rows seen before, the bound at q(u) is told."""
    case = make_case()
    ours, blocks = _ascent(case, model), blocks_of(case)
    for chosen in ([0, 1], [2, 3], [4]):
        ours.step(np.array(chosen))
    m, S = _moments(ours)
    K, total = case.matrices()[0], 0.0
    for k in range(len(blocks)):
        _, weights, R, c = block_definition(case, blocks(k), model)
        off, R_inv = blocks(k).targets - weights @ m, np.linalg.inv(R)
        total -= 0.5 * (off.T @ R_inv @ off).item() + c
        total -= 0.5 * np.trace(R_inv @ weights @ S @ weights.T)
        total -= 0.5 * np.linalg.slogdet(2.0 * np.pi * R)[1]
    log_dets = np.linalg.slogdet(K)[1] - np.linalg.slogdet(S)[1]
    kl = np.trace(np.linalg.solve(K, S)) + (m.T @ np.linalg.solve(K, m)).item() - 5 + log_dets
    bound = total - 0.5 * kl
    assert_allclose(ours.log_evidence(), bound, rtol=1e-9)
    posterior, constant = ours.of_rows_seen()
    assert_allclose(posterior.log_evidence(constant), bound, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("model", [ONE, *map(slow, OTHERS)])
def test_steps_that_are_too_long_are_halved(model):
    """Where one would leave no covariance, it and later ones are halved; the optimum is found."""
    case = make_case()
    ours = _ascent(case, model, RobbinsMonro(1.0, 0.0, 0.75, is_natural=False))
    for _ in range(1500):
        ours.step(np.arange(5))
    optimum = NaturalGradientAscent(
        case.prior, case.noise, model, blocks_of(case), RobbinsMonro(1.0, 0.0, 0.75)
    )
    optimum.step(np.arange(5))
    assert ours.shorter < 1.0
    assert_allclose(ours.posterior.v_mean, optimum.posterior.v_mean, atol=1e-2)
    assert ours.log_evidence() <= optimum.log_evidence() + 1e-9


@pytest.mark.parametrize("model", ["sor", "vfe", "pic"])
def test_the_estimator_takes_plain_gradients(toy, model):
    """schedule="gradient" climbs from the prior towards the optimum, and goes on where it was."""
    options = {"step_size": 2e-3, "step_decay": 0.0, "block_size": 20, "warm_start": True}
    options |= {"solver": "anytime", "schedule": "gradient", "optimizer": None}
    exact = fixed(model, solver="exact", block_size=20).fit(*toy)
    few = fixed(model, max_iter=3, **options).fit(*toy)
    objective, n_steps = few.objective_, few.n_steps_
    error = np.abs(few.predict(toy[0]) - exact.predict(toy[0])).max()
    few.set_params(max_iter=100).fit(*toy)
    assert objective < few.objective_ < exact.objective_
    assert few.n_steps_ > 30 * n_steps
    assert np.abs(few.predict(toy[0]) - exact.predict(toy[0])).max() < 0.6 * error
    assert np.isfinite(few.predict_std(toy[0])).all()
