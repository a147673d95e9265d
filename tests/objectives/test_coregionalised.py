"""The bound of mixed latent functions: dense definition, identities, gradients by differences."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.factors.multi_output import OutputScalars, outputs_by_rows
from sklearn_sgp.gp.prior import Prior
from sklearn_sgp.kernels import compile_kernel
from sklearn_sgp.objectives.collapsed import collapsed_bound
from sklearn_sgp.objectives.multi_output import (
    coregionalised_bound,
    coregionalised_estimate,
    optimal_coregionalised,
)
from sklearn_sgp.optimize.parameters import Group, Parameters, ParameterSpace

DELTA, N, T, Q = 1e-6, 40, 3, 2
SPACE = ParameterSpace(tuple(Group(name, None) for name in ("theta", "log_noise", "mixing", "Z")))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def rows_of(rng, missing, weighted, t=T):
    """Rows of two columns, some of whose outputs are not there."""
    X, y = rng.uniform(-2.0, 2.0, (N, 2)), rng.standard_normal((N, t))
    if missing:
        y[rng.random((N, t)) < 0.4] = np.nan
        y[0] = 1.0
    weight = rng.uniform(0.5, 2.0, N) if weighted else None
    return Rows(X, y, weight, np.full(t, 0.1), np.full(t, 1.3))


def parameters_of(rng, Z, mixing=None, noise=None):
    expression = compile_kernel(ConstantKernel(1.3) * RBF([0.9, 1.4]), np.zeros(2))
    mixing = rng.standard_normal((T, Q)) if mixing is None else mixing
    noise = np.array([0.1, 0.3, 0.2])[: len(mixing)] if noise is None else noise
    values = {"theta": expression.theta, "log_noise": np.log(noise), "mixing": mixing, "Z": Z}
    return Parameters(expression, values)


def bound(parameters, rows, **options):
    return coregionalised_bound(
        parameters, rows, DELTA, patterns=outputs_by_rows(rows.y), **options
    )


def dense(parameters, rows):
    """The bound by its definition, for all observed targets in one vector."""
    kernel, W, s2 = parameters.kernel, parameters.mixing, np.exp(parameters.log_noise)
    Z, (n, p) = parameters.Z, np.nonzero(~np.isnan(rows.y))
    y, weight = rows.targets[n, p], np.ones(N) if rows.weight is None else rows.weight
    K_uf = np.vstack([kernel.block(Z, rows.X[n]) * W[p, q] for q in range(W.shape[1])])
    K_uu = np.kron(np.eye(W.shape[1]), kernel.gram(Z) + DELTA * np.eye(len(Z)))
    explained = K_uf.T @ np.linalg.solve(K_uu, K_uf)
    noise = s2[p] / weight[n]
    S = explained + np.diag(noise)
    value = -0.5 * (y @ np.linalg.solve(S, y) + np.linalg.slogdet(2.0 * np.pi * S)[1])
    left = kernel.diag(rows.X)[n] * (W[p] ** 2).sum(axis=1) - np.diag(explained)
    value -= 0.5 * (left / noise).sum()
    # the normaliser of a weighted row counts as often as the row
    return (
        value + 0.5 * (np.log(2.0 * np.pi * noise) - weight[n] * np.log(2.0 * np.pi * s2[p])).sum()
    )


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_bound_is_its_definition(rng, missing, weighted):
    """Complete or not, with weights or without."""
    rows, parameters = (
        rows_of(rng, missing, weighted),
        parameters_of(rng, rng.uniform(-2, 2, (7, 2))),
    )
    assert len(outputs_by_rows(rows.y)) == (3 if missing else 1)
    assert_allclose(bound(parameters, rows)[0], dense(parameters, rows), rtol=1e-10)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_gradients(rng, missing, weighted):
    """In kernel, noise, mixing and Z, against differences."""
    rows, parameters = (
        rows_of(rng, missing, weighted),
        parameters_of(rng, rng.uniform(-2, 2, (7, 2))),
    )
    x = SPACE.pack(parameters)

    def value(x):
        return bound(SPACE.unpack(x, parameters), rows)[0]

    eye = 1e-5 * np.eye(len(x))
    expected = [(value(x + e) - value(x - e)) / 2e-5 for e in eye]
    gradient = SPACE.pack_gradient(bound(parameters, rows)[1])
    assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("missing", [False, True])
def test_means_are_taken_off_the_targets(rng, missing):
    """The bound is that of rows less them, and its derivative that by differences."""
    rows = rows_of(rng, missing, True)
    parameters = parameters_of(rng, rng.uniform(-2.0, 2.0, (7, 2)))
    means = rng.standard_normal(T)
    with_means = parameters.with_values(means=means)
    value, gradient = bound(with_means, rows)
    less = replace(rows, y_mean=rows.y_mean + means * rows.y_scale)
    assert_allclose(value, dense(parameters, less), rtol=1e-10)
    eye = 1e-5 * np.eye(T)
    expected = [
        (bound(with_means.with_values(means=means + e), rows)[0] - value) / 1e-5 for e in eye
    ]
    assert_allclose(gradient["means"], expected, rtol=1e-3)
    plain, own = bound(parameters, rows), bound(parameters.with_values(means=np.zeros(T)), rows)
    assert plain[0] == own[0]
    assert_allclose(own[1]["means"], plain[1]["means"])


def test_one_noise_variance_for_all_outputs(rng):
    """Its derivative is the sum of those of the outputs."""
    rows, Z = rows_of(rng, True, False), rng.uniform(-2.0, 2.0, (7, 2))
    mixing = rng.standard_normal((T, Q))
    shared = parameters_of(rng, Z, mixing=mixing).with_values(log_noise=np.log(0.2))
    each = shared.with_values(log_noise=np.full(T, np.log(0.2)))
    (value, gradient), (expected, theirs) = bound(shared, rows), bound(each, rows)
    assert_allclose(value, expected)
    assert_allclose(gradient["log_noise"], theirs["log_noise"].sum())


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_without_mixing_outputs_are_independent(rng, n_jobs):
    """Q = t and W = I: the bound, its gradients and predictions are those of separate noise."""
    rows = rows_of(rng, False, True)
    parameters = parameters_of(rng, rng.uniform(-2.0, 2.0, (7, 2)), mixing=np.eye(T))
    value, gradient = bound(parameters, rows, n_jobs=n_jobs)
    expected, theirs = collapsed_bound(parameters, rows, DELTA, n_jobs=n_jobs)
    assert_allclose(value, expected, rtol=1e-10)
    for name in ("theta", "log_noise", "Z"):
        assert_allclose(gradient[name], theirs[name], rtol=1e-8, atol=1e-8)


def test_one_output_is_the_plain_model(rng):
    """t = 1 and W = 1, with a noise variance that is a number."""
    rows = rows_of(rng, False, True, t=1)
    parameters = parameters_of(rng, rng.uniform(-2, 2, (7, 2)), mixing=np.ones((1, 1)), noise=0.2)
    value, gradient = bound(parameters, rows)
    expected, theirs = collapsed_bound(parameters, rows, DELTA)
    assert_allclose(value, expected, rtol=1e-10)
    for name in ("theta", "log_noise", "Z"):
        assert_allclose(gradient[name], theirs[name], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("missing", [False, True])
def test_with_all_rows_as_inducing_inputs_it_is_the_exact_process(rng, missing):
    """Z = X: evidence, means and covariances of the exact process of several outputs."""
    rows = rows_of(rng, missing, False)
    parameters = parameters_of(rng, rows.X)
    kernel, W, s2 = parameters.kernel, parameters.mixing, np.exp(parameters.log_noise)
    n, p = np.nonzero(~np.isnan(rows.y))
    B = W @ W.T
    delta = 1e-11
    K = kernel.gram(rows.X)[np.ix_(n, n)] * B[np.ix_(p, p)] + np.diag(s2[p])
    y = rows.targets[n, p]
    evidence = -0.5 * (y @ np.linalg.solve(K, y) + np.linalg.slogdet(2.0 * np.pi * K)[1])
    value, _ = coregionalised_bound(parameters, rows, delta, patterns=outputs_by_rows(rows.y))
    assert_allclose(value, evidence, rtol=1e-8)
    new = rng.uniform(-2.0, 2.0, (5, 2))
    q, _, _ = optimal_coregionalised(Prior.build(kernel, rows.X, delta), rows, W, s2)
    mean, covariance = q.full_covariance(new)
    outputs = np.arange(T)
    cross = kernel.block(new, rows.X[n])[:, None] * B[outputs[:, None], p]  # (5, t, k)
    assert_allclose(mean, cross @ np.linalg.solve(K, y), rtol=1e-6, atol=1e-8)
    prior = kernel.gram(new)[:, :, None, None] * B
    flat = cross.reshape(5 * T, -1)
    explained = (flat @ np.linalg.solve(K, flat.T)).reshape(5, T, 5, T).transpose(0, 2, 1, 3)
    assert_allclose(covariance, prior - explained, rtol=1e-6, atol=1e-8)
    at_rows = q.moments(new)
    assert_allclose(at_rows[0], mean, rtol=1e-8, atol=1e-10)
    own = covariance[np.arange(5), np.arange(5)]
    assert_allclose(at_rows[1], own, rtol=1e-6, atol=1e-8)
    assert_allclose(q.mean(new), mean, rtol=1e-6, atol=1e-8)
    assert_allclose(q.mean_variance(new)[1], own[:, outputs, outputs], rtol=1e-6, atol=1e-8)
    assert_allclose(
        q.mean_covariance(new)[1], covariance[:, :, outputs, outputs], rtol=1e-8, atol=1e-10
    )


def test_information_adds_up(rng):
    """q(u) of two halves of the rows joined is that of all, and padding adds nothing."""
    rows = rows_of(rng, True, True)
    parameters = parameters_of(rng, rng.uniform(-2.0, 2.0, (7, 2)))
    prior = Prior.build(parameters.kernel, parameters.Z, DELTA)
    W, s2 = parameters.mixing, np.exp(parameters.log_noise)
    whole, *halves = (
        optimal_coregionalised(prior, some, W, s2)[0]
        for some in (rows, rows.select(slice(0, 20)), rows.select(slice(20, None)))
    )
    joined = halves[0].joined(halves[1])
    assert_allclose(joined.H, whole.H, rtol=1e-10, atol=1e-12)
    assert_allclose(joined.v_mean, whole.v_mean, rtol=1e-8, atol=1e-10)
    moved = halves[0].towards(halves[1], 0.3, 2.0)
    assert_allclose(moved.h, 0.7 * halves[0].h + 0.6 * halves[1].h)
    Z = np.vstack([parameters.Z, rng.uniform(-2.0, 2.0, (2, 2))])
    padded = whole.padded(Prior.build(parameters.kernel, Z, DELTA))
    assert_allclose(padded.mean(rows.X), whole.mean(rows.X), rtol=1e-6, atol=1e-6)


def estimate(parameters, rows, scale, q=None):
    """Of some rows, at their own optimal q(u) or at another one."""
    prior, s2 = Prior.build(parameters.kernel, parameters.Z, DELTA), np.exp(parameters.log_noise)
    own, sums, patterns = optimal_coregionalised(prior, rows, parameters.mixing, s2)
    scalars = OutputScalars.of(rows, sums, patterns)
    return coregionalised_estimate(own if q is None else q, sums, scalars, patterns, s2, scale), own


@pytest.mark.parametrize("missing", [False, True])
def test_the_estimate_is_the_bound_at_the_optimum_and_below_elsewhere(rng, missing):
    """From all rows it is the collapsed bound at the optimal q(u), and less at any other."""
    rows = rows_of(rng, missing, True)
    parameters = parameters_of(rng, rng.uniform(-2, 2, (7, 2)))
    value, q = estimate(parameters, rows, 1.0)
    assert_allclose(value, bound(parameters, rows)[0], rtol=1e-10)
    for factor in (0.5, 2.0):
        assert estimate(parameters, rows, 1.0, q.scaled(factor))[0] < value


@pytest.mark.parametrize("missing", [False, True])
def test_estimates_of_parts_average_to_that_of_all_rows(rng, missing):
    """At any q(u) the mean over minibatches of one size is what all rows give."""
    rows = rows_of(rng, missing, False)
    parameters = parameters_of(rng, rng.uniform(-2, 2, (7, 2)))
    whole, q = estimate(parameters, rows, 1.0)
    for size in (5, 20):
        parts = [rows.select(slice(lo, lo + size)) for lo in range(0, N, size)]
        found = [estimate(parameters, part, N / size, q)[0] for part in parts]
        assert_allclose(np.mean(found), whole, rtol=1e-9)
