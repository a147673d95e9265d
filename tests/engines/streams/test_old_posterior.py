"""The old posterior as one more factor: nothing is lost where nothing changes."""

from dataclasses import replace

import numpy as np
import pytest
from dense import log_normal
from numpy.testing import assert_allclose
from stream_helpers import (
    ALPHAS,
    DELTA,
    bound_of,
    parameters_of,
    predictions,
    rows_of,
    run,
    split,
    two_steps,
)

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.streams.inducing import NO_PAIRS, identity_pairs
from sklearn_sgp.engines.streams.old_posterior import OldPosterior, OldPosteriorFactor, Projection
from sklearn_sgp.gp.posterior import Posterior
from sklearn_sgp.gp.prior import Prior


@pytest.mark.parametrize("alpha", ALPHAS)
def test_more_inducing_inputs_without_rows_change_nothing(alpha):
    """Predictions and evidence stay where inducing inputs are added and no rows."""
    first, Z = rows_of(30), rows_of(6, seed=1).X
    posterior, _ = run([first], [Z], [NO_PAIRS], alpha)
    old = OldPosterior.of(posterior)
    wider = np.vstack([rows_of(4, seed=2).X, Z])
    kept = np.column_stack([4 + np.arange(6), np.arange(6)])
    prior = Prior.build(posterior.prior.kernel, wider, DELTA)
    block = OldPosteriorFactor(Projection(prior, old.prior, kept), old, 0, alpha)
    H, h = np.zeros((10, 10)), np.zeros((10, 1))
    lost = block.add_to(H, h)
    X = rows_of(9, seed=3).X
    assert_allclose(predictions(Posterior(prior, (H,), h), X), predictions(posterior, X), atol=1e-9)
    after = OldPosterior.of(Posterior(prior, (H,), h))
    assert_allclose(old.constant + lost - after.constant, 0.0, atol=1e-9)


def test_projections_onto_the_same_inducing_inputs_lose_nothing():
    """Three thousand steps to a prior built anew lose no digit, however ill conditioned Z is."""
    rows, Z = rows_of(30), np.linspace(-2.0, 2.0, 30)[:, None] * [1.0, 0.5]  # ill conditioned
    posterior, _ = run([rows], [Z], [NO_PAIRS])
    X = rows_of(9, seed=3).X
    before = predictions(posterior, X)
    for _ in range(3_000):
        prior = Prior.build(posterior.prior.kernel, Z, DELTA)
        old = OldPosterior.of(posterior)
        block = OldPosteriorFactor(Projection(prior, old.prior, identity_pairs(Z)), old, 0, 0.0)
        H, h = np.zeros((30, 30)), np.zeros((30, 1))
        block.add_to(H, h)
        posterior = Posterior(prior, (H,), h)
    assert_allclose(predictions(posterior, X), before, atol=1e-9)


def test_the_factor_is_posterior_over_prior():
    """r(a) is the density of the old posterior over that of the old prior, constant included."""
    posterior, *_ = two_steps(0.0)
    old, m = OldPosterior.of(posterior), len(posterior.h)
    H, h = old.information(0)
    covariance, mean = np.linalg.inv(np.eye(m) + posterior.H[0]), posterior.v_mean
    for v in np.random.default_rng(0).standard_normal((4, m, 1)):
        log_r = float(np.vdot(h, v) - 0.5 * np.vdot(v, H @ v)) + old.constant
        assert_allclose(log_r, log_normal(v - mean, covariance) - log_normal(v, np.eye(m)))


@pytest.mark.parametrize("c", [0, 1])
def test_roots_are_those_of_the_information(c):
    """R^T R is H and R^T g is h, also where H has not full rank."""
    rng = np.random.default_rng(0)
    roots = rng.standard_normal((2, 6, 4))
    H = tuple(root @ root.T for root in roots)  # rank 4
    h = np.column_stack([root @ rng.standard_normal(4) for root in roots])
    posterior, *_ = two_steps(0.0)
    old = OldPosterior.of(Posterior(posterior.prior, H, h))
    R, g = old.roots[c].R, old.roots[c].g
    assert len(R) == 4 and not old.roots[c].n_negative
    assert_allclose(R.T @ R, H[c], atol=1e-12 * np.abs(H[c]).max())
    assert_allclose(R.T @ g, h[:, [c]], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("along", [[0.05, 0.05], [0.0, 0.05]])
def test_projection_and_what_it_loses_are_the_conditional(along):
    """a given b has mean K_ab inv(K_bb) b and covariance V, each inducing value with its jitter."""
    posterior, _, kept, new, _ = two_steps(0.0)
    old, kernel = posterior.prior, new.kernel.sklearn_kernel
    Z = np.array(new.Z)
    Z[5] = old.Z[3] + along
    prior, delta = Prior.build(new.kernel, Z, 1e-3), 1e-3
    found = Projection(prior, old, kept)
    Kbb = kernel(Z) + delta * np.eye(7)
    Kba = kernel(Z, old.Z)
    Kba[kept[:, 0], kept[:, 1]] += delta
    V = kernel(old.Z) + delta * np.eye(6) - Kba.T @ np.linalg.solve(Kbb, Kba)
    assert_allclose(prior.L @ found.W @ old.L.T, Kba, rtol=1e-8, atol=1e-8)
    assert_allclose(old.L @ found.loss @ old.L.T, V, rtol=1e-8, atol=1e-8)
    assert_allclose(V[1], 0.0, atol=1e-12)  # kept where it was
    assert np.diagonal(V)[[0, 2, 3, 4, 5]].min() > 1e-3


@pytest.mark.parametrize("alpha", ALPHAS)
def test_outputs_add_up(alpha):
    """The bound of two outputs is the sum of theirs, what is lost of dropped inputs included."""
    first, second = rows_of(25, t=2), rows_of(12, seed=5, t=2)
    Z_old, Z = rows_of(6, seed=1).X, rows_of(7, seed=2).X

    def of_outputs(r, own):
        parts = (r.y[:, own], None, r.y_mean[own], r.y_scale[own])
        return Rows(r.X, *parts)

    def bound(own):
        one, two = (of_outputs(rows, own) for rows in (first, second))
        old = OldPosterior.of(run([one], [Z_old], [NO_PAIRS], alpha)[0])
        return bound_of(two, old, NO_PAIRS, alpha).posterior(parameters_of(Z))[1]

    assert_allclose(bound([0, 1]), bound([0]) + bound([1]), rtol=1e-9)


def test_the_old_prior_serves_only_where_nothing_changed():
    """With another jitter, as with another kernel or inputs, the new prior is made anew."""
    posterior, _ = run([rows_of(25)], [rows_of(6, seed=1).X], [NO_PAIRS])
    old, Z = OldPosterior.of(posterior), posterior.prior.Z
    same = bound_of(rows_of(5), old, identity_pairs(Z))
    assert same.prior(parameters_of(Z)) is old.prior
    other = bound_of(rows_of(5), old, identity_pairs(Z), delta=1e-4)
    assert other.prior(parameters_of(Z)).delta == 1e-4


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("share", [0.3, 1.0, 2.0])
def test_forgetting_is_a_weight_on_the_rows_that_are_gone(alpha, share):
    """A tempered old posterior counts as its rows would with that weight: a power of the factor.

    The normaliser of the old posterior is tempered too, so that the bounds differ by its share.
    """
    rows, Z = rows_of(30), rows_of(6, seed=1).X
    gone, batch = split(rows, 18)
    first, evidence = run([gone], [Z], [NO_PAIRS], alpha)
    old = OldPosterior.of(first).tempered(share)
    found, value = bound_of(batch, old, identity_pairs(Z), alpha).posterior(parameters_of(Z))
    weighted = replace(rows, weight=np.r_[np.full(18, share), np.ones(12)])
    whole, total = run([weighted], [Z], [NO_PAIRS], alpha)
    assert_allclose(found.H[0], whole.H[0], atol=1e-9 * np.abs(whole.H[0]).max())
    assert_allclose(found.v_mean, whole.v_mean, rtol=1e-8, atol=1e-10)
    assert_allclose(value, total - share * evidence, rtol=1e-9)
