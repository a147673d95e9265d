"""q(x) of single rows: optima of their bounds, alone as among others; starts and calibration."""

import numpy as np
import pytest
from latent_helpers import small_parameters, small_table
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import norm

from sklearn_sgp.engines.latent_inputs.calibration import _factors, _most_likely
from sklearn_sgp.engines.latent_inputs.start import PrincipalComponents, starting_inputs
from sklearn_sgp.gp.prior import Prior
from sklearn_sgp.latents.bound import groups_of, inputs_of, latent_bound, posterior_of
from sklearn_sgp.latents.expectations import expectations_of
from sklearn_sgp.latents.output_model import OutputModel
from sklearn_sgp.latents.passes import InputPosteriors, latent_sums
from sklearn_sgp.latents.row_posteriors import ascend_rows, find_inputs
from sklearn_sgp.latents.table import Scaling, Table


@pytest.fixture(params=[False, True], ids=["complete", "missing"])
def case(request):
    """A table, parameters, and the outputs given the optimal q(u)."""
    table = small_table(request.param)
    parameters = small_parameters(table, shared=False)
    prior, q = Prior.build(parameters.kernel, parameters.Z, 1e-6), inputs_of(parameters)
    sums = latent_sums(expectations_of(prior.kernel, prior.Z), q, table)
    groups = groups_of(table.pattern, parameters.noise_variance)
    model = OutputModel(posterior_of(prior, groups, sums), parameters.noise_variance)
    return table, parameters, q, model


def test_rows_share_the_bound(case):
    """Bounds of the rows sum to the bound, but for KL(q(u) || p(u))."""
    table, parameters, q, model = case
    values, _ = model.row_objective(*table.piece(slice(None)))(q.mean, np.log(q.variance))
    wanted, _ = latent_bound(parameters, table, 1e-6)
    assert_allclose(values.sum() - model.posterior.kl(), wanted, rtol=1e-8)


def test_gradient_of_a_row_is_that_of_differences(case):
    """Derivatives in means and log variances equal central differences to 1e-6."""
    table, _, q, model = case
    objective = model.row_objective(*table.piece(slice(None)))
    x = np.hstack([q.mean, np.log(q.variance)])
    _, gradient = objective(x[:, :2], x[:, 2:])
    for k in range(4):
        step = 1e-5 * np.eye(1, 4, k)
        ends = [objective(one[:, :2], one[:, 2:])[0] for one in (x + step, x - step)]
        slope = (ends[0] - ends[1]) / 2e-5
        assert_allclose(gradient[:, k], slope, rtol=1e-6, atol=1e-6 * np.abs(gradient).max())


def test_ascent_ends_at_an_optimum(case):
    """From the same start scipy finds no better q(x) for any row, to 1e-5 nats."""
    table, _, q, model = case
    found, values = find_inputs(model, table, start=q, max_iter=200, tol=1e-9)
    for n in range(len(table)):
        objective = model.row_objective(*table.piece(slice(n, n + 1)))

        def loss(x, objective=objective):
            value, gradient = objective(x[None, :2], x[None, 2:])
            return -value[0], -gradient[0]

        there = np.concatenate([found.mean[n], np.log(found.variance[n])])
        best = minimize(loss, there, jac=True, method="L-BFGS-B")
        assert -best.fun - values[n] < 1e-5


@pytest.mark.parametrize("top", [1e-155, 1e-160, 1e-300])
def test_moves_whose_squares_have_no_digits(top):
    """A top that is nearer than squares can tell is found, without an overflow."""

    def objective(mean, log_variance, rows=slice(None)):
        value = -0.5 * (0.5 * (mean - top) ** 2 + log_variance**2).sum(axis=1)
        return value, np.hstack([-0.5 * (mean - top), -log_variance])

    start = InputPosteriors(np.zeros((2, 1)), np.ones((2, 1)))
    found, _ = ascend_rows(objective, start, 20, -1.0)
    assert_allclose(found.mean, top, rtol=0.6)
    assert_allclose(found.variance, 1.0)


def test_a_row_alone_is_the_row_in_a_batch(case):
    """To the last bit, whichever rows come with it."""
    table, _, q, model = case
    arguments = {"candidates": q, "max_iter": 50, "tol": 1e-8}
    together, values = find_inputs(model, table, **arguments)
    for n in range(len(table)):
        alone, value = find_inputs(model, table.select(slice(n, n + 1)), **arguments)
        assert_array_equal(alone.mean[0], together.mean[n])
        assert_array_equal(alone.variance[0], together.variance[n])
        assert value[0] == values[n]


def test_moments_are_those_of_samples(case):
    """Means and variances of the functions agree with draws of x to five standard errors."""
    _, _, q, model = case
    mean, variance = model.moments(q)
    rng, size = np.random.default_rng(0), 20_000
    for n in range(3):
        X = q.mean[n] + np.sqrt(q.variance[n]) * rng.normal(size=(size, 2))
        f, v = model.posterior.mean_variance(X)
        assert (np.abs(f.mean(axis=0) - mean[n]) < 5 * f.std(axis=0) / size**0.5).all()
        second = f**2 + v
        wanted = variance[n] + mean[n] ** 2
        assert (np.abs(second.mean(axis=0) - wanted) < 5 * second.std(axis=0) / size**0.5).all()


def test_principal_components_of_a_complete_table_are_pca():
    """They span the axes of largest variance, and leave the mean of the other eigenvalues."""
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(200, 6))
    table = Table.of(Y, Scaling.fit(Y, True))
    components = PrincipalComponents.fit(table, 2, rng)
    scaled, _ = table.piece(slice(None))
    values, vectors = np.linalg.eigh(scaled.T @ scaled / 200)
    assert_allclose(components.noise_variance, values[:4].mean(), rtol=1e-6)
    overlap = np.linalg.svd(np.linalg.qr(components.W)[0].T @ vectors[:, 4:])[1]
    assert_allclose(overlap, 1.0, rtol=1e-8)
    q = starting_inputs(components, table, 0.5)
    assert_allclose(q.mean.std(axis=0), 1.0)
    assert isinstance(q, InputPosteriors) and (q.variance == 0.5).all()


def test_principal_components_with_missing_entries_find_the_plane():
    """Expectation maximisation recovers the plane of rows of which a third is missing."""
    rng = np.random.default_rng(1)
    W = rng.normal(size=(2, 8))
    Y = rng.normal(size=(400, 2)) @ W + 0.05 * rng.normal(size=(400, 8))
    Y[rng.random(Y.shape) < 0.33] = np.nan
    table = Table.of(Y, Scaling.fit(Y, True))
    components = PrincipalComponents.fit(table, 2, rng)
    axes = np.linalg.qr(components.W * table.scaling.scale[:, None])[0]
    overlap = np.linalg.svd(axes.T @ np.linalg.qr(W.T)[0])[1]
    assert (overlap > 0.99).all()
    assert components.noise_variance < 0.05


def test_factors_of_a_right_variance_are_one():
    """Errors of the stated size ask for factors near 1, errors of twice the size for 4."""
    rng = np.random.default_rng(0)
    noise, rest = rng.uniform(0.1, 0.5, 20_000), rng.uniform(0.0, 2.0, 20_000)
    errors = np.sqrt(noise + rest) * rng.normal(size=20_000)
    assert_allclose(_most_likely(errors**2, noise, rest), 1.0, rtol=0.15)
    assert_allclose(_most_likely(4.0 * errors**2, noise, rest), 4.0, rtol=0.15)
    heavy = np.sqrt(noise + rest) * rng.standard_t(3, size=20_000)
    every = np.ones((20_000, 1), dtype=bool)
    a, b = _factors(heavy[:, None], noise[:, None], rest[:, None], every)
    inside = np.abs(heavy) < norm.ppf(0.95) * np.sqrt(a * noise + b * rest)
    assert_allclose(inside.mean(), 0.9, atol=1e-3)
