"""Stochastic steps: exact where they must be, and unbiased."""

import numpy as np
import pytest
from latent_helpers import SPACE, small_parameters, small_table
from numpy.testing import assert_allclose

from sklearn_sgp.engines.base import Settings
from sklearn_sgp.engines.latent_inputs import stochastic
from sklearn_sgp.engines.latent_inputs.final_posterior import with_inputs, without_inputs
from sklearn_sgp.engines.latent_inputs.stochastic import Minibatches, each_own
from sklearn_sgp.gp.posterior import Posterior
from sklearn_sgp.gp.prior import Prior
from sklearn_sgp.latents.bound import groups_of, inputs_of, latent_bound, posterior_of
from sklearn_sgp.latents.expectations import expectations_of
from sklearn_sgp.latents.passes import latent_sums
from sklearn_sgp.optimize.parameters import ParameterSpace

SETTINGS = Settings("auto", 100, 5, None, 1e-4, 5, 0.01, 0.1, 1e-6, 1, batch_size=4)


def state_at(table, parameters, space=SPACE):
    """The stochastic state at the prior."""
    prior, P = Prior.build(parameters.kernel, parameters.Z, 1e-6), table.Y.shape[1]
    shared = len(groups_of(table.pattern, parameters.noise_variance)) == 1
    posterior = Posterior.at_prior(prior, P, 1 if shared else P)
    return Minibatches(without_inputs(parameters), posterior, len(table), space, SETTINGS)


def exact(table, parameters):
    prior = Prior.build(parameters.kernel, parameters.Z, 1e-6)
    sums = latent_sums(expectations_of(prior.kernel, prior.Z), inputs_of(parameters), table)
    return posterior_of(prior, groups_of(table.pattern, parameters.noise_variance), sums)


def test_whole_steps_of_all_parts_are_the_posterior():
    """Information of the parts of a table sums to that of the table, however patterns differ."""
    for missing in (False, True):
        table = small_table(missing)
        parameters = small_parameters(table, shared=True)
        state, q = state_at(table, parameters), inputs_of(parameters)
        for lo in range(0, len(table), 5):
            part = slice(lo, lo + 5)
            found = state.information(table.select(part), q[part])
            state.posterior = state.posterior.joined(found)
        wanted = exact(table, parameters)
        for mine, other in zip(state.posterior.H, wanted.H, strict=True):
            assert_allclose(mine, other, rtol=1e-10, atol=1e-10)
        assert_allclose(state.posterior.h, wanted.h, rtol=1e-10, atol=1e-10)


def test_estimates_of_the_bound_are_unbiased():
    """The mean over disjoint minibatches of one size is the bound of all rows given q(u)."""
    table = small_table(True)
    parameters = small_parameters(table, shared=False)
    posterior, q = exact(table, parameters).scaled(0.7), inputs_of(parameters)
    wanted, _ = latent_bound(parameters, table, 1e-6, given=posterior)
    estimates = []
    for lo in range(0, len(table), 4):
        part = slice(lo, lo + 4)
        state = state_at(table, parameters, ParameterSpace(()))  # nothing but q(x) is free
        state.posterior = posterior
        rows = table.select(part), q[part]
        estimates.append(state.move(*rows, state.information(*rows)))
    assert_allclose(np.mean(estimates), wanted, rtol=1e-10)


def test_a_step_returns_the_bound_before_it():
    """Once q(u) has moved towards some rows, their bounds say too much about the others."""
    table = small_table(True)
    parameters = small_parameters(table, shared=False)
    state, q = state_at(table, parameters), inputs_of(parameters)
    posterior = state.posterior = exact(table, parameters).scaled(0.7)
    rows = np.arange(len(table))
    estimate = stochastic._step(state, table, rows, q, rows >= 0, None)  # q becomes that of rows
    assert state.posterior is not posterior
    wanted, _ = latent_bound(with_inputs(parameters, q), table, 1e-6, given=posterior)
    assert_allclose(estimate, wanted, rtol=1e-10)


def test_a_step_moves_what_is_free_uphill():
    """Adam moves kernel, noise and Z, and q(u) goes with the prior; the bound rises."""
    table = small_table(False)
    parameters = small_parameters(table, shared=True)
    state, q = state_at(table, parameters), inputs_of(parameters)
    state.posterior = exact(table, parameters)
    before = state.move(table, q, state.information(table, q))
    assert state.posterior.prior.Z is state.parameters.Z
    state.posterior = state.information(table, q)
    assert state.move(table, q, state.posterior) > before


@pytest.mark.parametrize("shared", [True, False])
def test_gradients_belong_to_the_step_that_is_made(shared):
    """Differences of the value after projecting q(u), which is not optimal, of twice the rows."""
    table = small_table(not shared)
    parameters = small_parameters(table, shared=shared)
    state, q = state_at(table, parameters), inputs_of(parameters)
    state.n_rows = 2 * len(table)
    start = exact(table, parameters).scaled(0.3)
    start = state.posterior = Posterior(start.prior, start.H, start.h + 0.5)
    _, gradient = state.gradient(table, q, state.information(table, q))

    def value(name, array):
        moved = parameters.with_values(**{name: array})
        q_u = start.projected(Prior.build(moved.kernel, moved.Z, 1e-6))
        kl = q_u.kl()
        return 2.0 * (latent_bound(moved, table, 1e-6, given=q_u)[0] + kl) - kl

    for name in ("theta", "log_noise", "Z"):
        at, found = np.asarray(parameters.values[name]), np.zeros(np.shape(parameters.values[name]))
        for i in np.ndindex(at.shape):
            step = np.zeros(at.shape)
            step[i] = 1e-5
            found[i] = (value(name, at + step) - value(name, at - step)) / 2e-5
        assert_allclose(gradient[name], found, rtol=1e-4, atol=1e-3)


def test_outputs_of_one_pattern_whose_matrices_differ():
    """Complete rows after some with gaps: the bound and its gradient are those of each output."""
    table = small_table(False)
    parameters = small_parameters(table, shared=True)
    given = exact(small_table(True), parameters)
    assert len(given.H) == 4
    apart = parameters.with_values(log_noise=np.full(4, parameters.log_noise))
    value, found = latent_bound(parameters, table, 1e-6, given=given)
    wanted, of_each = latent_bound(apart, table, 1e-6, given=given)
    assert_allclose(value, wanted, rtol=1e-10)
    assert_allclose(found["log_noise"], of_each["log_noise"].sum(), rtol=1e-8)
    for name in ("theta", "Z", "mean", "log_variance"):
        assert_allclose(found[name], of_each[name], rtol=1e-8, atol=1e-8)


def test_a_shared_matrix_becomes_one_for_each_output():
    """Where a later batch misses entries, every output gets the matrix that all shared."""
    table = small_table(False)
    shared = exact(table, small_parameters(table, shared=True))
    own = each_own(shared, np.array([0, 1, 0, 1]))
    assert len(own.H) == 4
    X = np.random.default_rng(0).normal(size=(5, 2))
    assert_allclose(own.mean(X), shared.mean(X), rtol=1e-12)
    assert each_own(shared, np.zeros(4, dtype=int)) is shared
