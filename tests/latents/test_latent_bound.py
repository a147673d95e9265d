"""The bound of latent inputs: against dense definitions, sampling and finite differences."""

import numpy as np
import pytest
from latent_helpers import SPACE, dense_bound, dense_moments, small_parameters, small_table
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern

from sklearn_sgp.gp.posterior import Posterior
from sklearn_sgp.gp.prior import Prior
from sklearn_sgp.latents.bound import groups_of, inputs_of, latent_bound, posterior_of
from sklearn_sgp.latents.expectations import expectations_of
from sklearn_sgp.latents.passes import latent_sums

DELTA = 1e-6


def optimal_posterior(parameters, table, delta=DELTA):
    prior = Prior.build(parameters.kernel, parameters.Z, delta)
    sums = latent_sums(expectations_of(prior.kernel, prior.Z), inputs_of(parameters), table)
    return posterior_of(prior, groups_of(table.pattern, parameters.noise_variance), sums)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_bound_is_the_dense_one(missing, shared):
    """The bound equals Titsias and Lawrence's formula, output by output, to 1e-8."""
    table = small_table(missing)
    parameters = small_parameters(table, shared)
    value, _ = latent_bound(parameters, table, DELTA)
    assert_allclose(value, dense_bound(parameters, table, DELTA), rtol=1e-8)


@pytest.mark.quick_cases(
    "kernel1-*",
    "kernel2-True-True",
    "kernel2-False-False",
    "kernel3-False-True",
    "kernel3-True-False",
    "None-*",
)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    "kernel",
    [
        None,
        RBF(1.5),
        ConstantKernel(0.7) * Matern([1.0, 2.0], nu=2.5) + DotProduct(0.5),
        RBF([1.0, 2.0]) + ConstantKernel(0.4) * DotProduct(0.7) + ConstantKernel(0.3),
    ],
)
def test_gradient_is_that_of_differences(missing, shared, kernel):
    """Derivatives in kernel, noise, Z and q(x) equal central differences to 1e-6."""
    table = small_table(missing)
    parameters = small_parameters(table, shared, kernel)
    x = SPACE.pack(parameters)

    def bound(x):
        return latent_bound(SPACE.unpack(x, parameters), table, 1e-4)

    gradient = SPACE.pack_gradient(bound(x)[1])
    for k in np.random.default_rng(0).choice(len(x), 25, replace=False):
        step = 1e-5 * np.eye(1, len(x), k)[0]
        slope = (bound(x + step)[0] - bound(x - step)[0]) / 2e-5
        assert_allclose(gradient[k], slope, rtol=1e-6, atol=1e-6 * np.abs(gradient).max())


@pytest.mark.parametrize("missing", [False, True])
def test_given_the_optimum_it_is_the_collapsed_bound(missing):
    """At the optimal q(u) the bound and its gradient are those of the collapsed one."""
    table = small_table(missing)
    parameters = small_parameters(table, shared=True)
    q = optimal_posterior(parameters, table)
    value, gradient = latent_bound(parameters, table, DELTA)
    given, given_gradient = latent_bound(parameters, table, DELTA, given=q)
    assert_allclose(given, value, rtol=1e-12)
    found, wanted = SPACE.pack_gradient(given_gradient), SPACE.pack_gradient(gradient)
    assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)


def test_another_posterior_loses_its_divergence():
    """L3(q) is the collapsed bound less KL(q || q*), for any q(u)."""
    table = small_table(True)
    parameters = small_parameters(table, shared=False)
    best = optimal_posterior(parameters, table)
    other = best.scaled(0.4)
    value, _ = latent_bound(parameters, table, DELTA)
    given, _ = latent_bound(parameters, table, DELTA, given=other)
    lost = 0.0
    for p, (a, b) in enumerate(zip(other.precisions, best.precisions, strict=True)):
        Sa, B = a.covariance, np.linalg.inv(b.covariance)
        gap = other.v_mean[:, p] - best.v_mean[:, p]
        lost += 0.5 * (np.trace(B @ Sa) + gap @ B @ gap - len(B) - b.log_det + a.log_det)
    assert_allclose(value - given, lost, rtol=1e-8)


def test_bound_is_an_average_over_samples():
    """Without its divergences it is E log p(y | f, x) under q(u) and q(x), by sampling."""
    table = small_table(True, n=6, P=3)
    parameters = small_parameters(table, shared=True, m=4)
    q, x = optimal_posterior(parameters, table), inputs_of(parameters)
    given, _ = latent_bound(parameters, table, DELTA, given=q)
    rng, s2 = np.random.default_rng(0), parameters.noise_variance
    Y, observed = table.piece(slice(None))
    draws = []
    for _ in range(4000):
        X = x.mean + np.sqrt(x.variance) * rng.normal(size=x.mean.shape)
        mean, variance = q.mean_variance(X)
        squares = (Y - mean) ** 2 + variance  # the average over q(u) in closed form
        draws.append((-0.5 * observed * (np.log(2.0 * np.pi * s2) + squares / s2)).sum())
    wanted = given + q.kl() + x.kl().sum()
    assert abs(np.mean(draws) - wanted) < 5 * np.std(draws) / len(draws) ** 0.5


def test_groups_of_rows_and_workers_change_nothing(monkeypatch):
    """Chunks of any length and two workers give the bound and gradient of one pass."""
    table = small_table(True, n=40)
    parameters = small_parameters(table, shared=False)
    value, gradient = latent_bound(parameters, table, DELTA)
    monkeypatch.setattr("sklearn_sgp.latents.passes.chunk_of", lambda m: 3)
    other, other_gradient = latent_bound(parameters, table, DELTA, n_jobs=2)
    again, again_gradient = latent_bound(parameters, table, DELTA, n_jobs=1)
    assert_allclose(other, value, rtol=1e-12)
    assert again == other
    packed = [SPACE.pack_gradient(g) for g in (gradient, other_gradient, again_gradient)]
    assert_allclose(packed[1], packed[0], rtol=1e-8, atol=1e-8)
    assert (packed[1] == packed[2]).all()


def test_equal_patterns_share_a_matrix():
    """Columns that miss the same entries have one H where they share their noise."""
    table = small_table(True)
    assert table.pattern[0] == table.pattern[1]
    q = optimal_posterior(small_parameters(table, shared=True), table)
    assert isinstance(q, Posterior)
    assert q.H[0] is q.H[1]
    assert (
        len(optimal_posterior(small_parameters(small_table(False), True), small_table(False)).H)
        == 1
    )


@pytest.mark.parametrize(
    "kernel",
    [
        ConstantKernel(1.3) * RBF([1.0, 2.0]) + ConstantKernel(0.4) * DotProduct(0.7),
        RBF(1.5) + ConstantKernel(0.3),
        DotProduct(0.5) + RBF(1.5) + DotProduct(0.2) + ConstantKernel(0.1),
    ],
)
def test_sums_with_linear_terms_have_a_closed_form(kernel):
    """Sums of a squared exponential, linear and constant terms are those of quadrature to 1e-8."""
    parameters = small_parameters(small_table(False), True, kernel)
    found = expectations_of(parameters.kernel, parameters.Z)
    assert type(found).__name__ == "WithLinear"
    psi0, psi1, psi2 = dense_moments(parameters, nodes=60)
    i, j = np.tril_indices(len(parameters.Z))
    for mine, dense in zip(
        found.rows(*inputs_of(parameters)), (psi0, psi1, psi2[:, i, j]), strict=True
    ):
        assert_allclose(mine, dense, rtol=1e-8)


@pytest.mark.parametrize(("kernel", "tol"), [(DotProduct(0.5), 1e-12), (Matern(2.0, nu=2.5), 2e-3)])
def test_points_have_the_accuracy_that_is_stated(kernel, tol):
    """Linear kernels are exact by points, others nearly so."""
    table = small_table(False)
    parameters = small_parameters(table, True, kernel)
    psi0, psi1, psi2 = dense_moments(parameters, nodes=60)
    x = inputs_of(parameters)
    found = expectations_of(parameters.kernel, parameters.Z).rows(*x)
    i, j = np.tril_indices(len(parameters.Z))
    for mine, dense in zip(found, (psi0, psi1, psi2[:, i, j]), strict=True):
        assert_allclose(mine, dense, rtol=tol, atol=tol)
