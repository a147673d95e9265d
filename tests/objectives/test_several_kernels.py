"""Latent functions with a kernel each: dense definition, gradients, the exact process."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.factors.multi_output import outputs_by_rows
from sklearn_sgp.gp.prior import Prior
from sklearn_sgp.gp.several_kernels import PosteriorOfKernels, priors_of_terms
from sklearn_sgp.kernels import compile_kernel
from sklearn_sgp.objectives.multi_output import (
    coregionalised_bound,
    optimal_coregionalised,
)
from sklearn_sgp.optimize.parameters import Group, Parameters, ParameterSpace

DELTAS, N, T, Q = (1e-6, 3e-6), 40, 3, 2
NOISE = np.array([0.1, 0.3, 0.2])
KERNELS = [ConstantKernel(1.3) * RBF([0.9, 1.4]) + Matern(0.7, nu=1.5), RBF([2.0, 0.6])]
SPACE = ParameterSpace(tuple(Group(name, None) for name in ("theta", "log_noise", "mixing", "Z")))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def rows_of(rng, missing, n=N):
    X, y = rng.uniform(-2.0, 2.0, (n, 2)), rng.standard_normal((n, T))
    if missing:
        y[rng.random((n, T)) < 0.4] = np.nan
        y[0] = 1.0
    return Rows(X, y, rng.uniform(0.5, 2.0, n), np.full(T, 0.1), np.full(T, 1.3))


def parameters_of(rng, Z, kernels=KERNELS):
    expression = compile_kernel(sum(kernels[1:], kernels[0]), np.zeros(2))
    values = {"theta": expression.theta, "log_noise": np.log(NOISE), "Z": Z}
    return Parameters(expression, {**values, "mixing": rng.standard_normal((T, Q))})


def bound(parameters, rows, deltas=DELTAS):
    return coregionalised_bound(parameters, rows, deltas, patterns=outputs_by_rows(rows.y))


def optimum(parameters, rows, deltas=DELTAS):
    terms = zip(parameters.kernel.terms(Q), deltas, strict=True)
    priors = tuple(Prior.build(kernel, parameters.Z, delta) for kernel, delta in terms)
    return optimal_coregionalised(priors, rows, parameters.mixing, NOISE)[0]


def test_terms_are_the_kernels(rng):
    """A sum within a term stays one, and gradients of terms are at their places."""
    X, parameters = rng.uniform(-2.0, 2.0, (6, 2)), parameters_of(rng, np.zeros((1, 2)))
    whole, terms = parameters.kernel, parameters.kernel.terms(Q)
    for term, kernel in zip(terms, KERNELS, strict=True):
        assert_allclose(term.gram(X), kernel(X), rtol=1e-12)
    G = rng.standard_normal((6, 6))
    parts = [term.block_vjp(X, X, G.copy())[0] for term in terms]
    assert_allclose(sum(parts), whole.block_vjp(X, X, G.copy())[0])
    assert (parts[0][-2:] == 0.0).all() and (parts[1][:-2] == 0.0).all()


@pytest.mark.parametrize("missing", [False, True])
def test_the_bound_is_its_definition(rng, missing):
    """For all observed targets in one vector."""
    rows, parameters = rows_of(rng, missing), parameters_of(rng, rng.uniform(-2, 2, (7, 2)))
    W, Z, (n, p) = parameters.mixing, parameters.Z, np.nonzero(~np.isnan(rows.y))
    y, weight = rows.targets[n, p], rows.weight
    parts = []
    for q, (kernel, delta) in enumerate(zip(KERNELS, DELTAS, strict=True)):
        K_uf = kernel(Z, rows.X[n]) * W[p, q]
        parts.append(K_uf.T @ np.linalg.solve(kernel(Z) + delta * np.eye(len(Z)), K_uf))
    noise, prior = (
        NOISE[p] / weight[n],
        sum(kernel.diag(rows.X)[n] * W[p, q] ** 2 for q, kernel in enumerate(KERNELS)),
    )
    S = sum(parts) + np.diag(noise)
    value = -0.5 * (y @ np.linalg.solve(S, y) + np.linalg.slogdet(2.0 * np.pi * S)[1])
    value -= 0.5 * ((prior - np.diag(sum(parts))) / noise).sum()
    # the normaliser of a weighted row counts as often as the row
    once, often = np.log(2.0 * np.pi * noise), weight[n] * np.log(2.0 * np.pi * NOISE[p])
    assert_allclose(bound(parameters, rows)[0], value + 0.5 * (once - often).sum(), rtol=1e-10)


@pytest.mark.parametrize("missing", [False, True])
def test_all_gradients(rng, missing):
    """In kernels, noise, mixing and Z, against differences."""
    rows, parameters = rows_of(rng, missing), parameters_of(rng, rng.uniform(-2, 2, (6, 2)))
    x = SPACE.pack(parameters)

    def value(x):
        return bound(SPACE.unpack(x, parameters), rows)[0]

    expected = [(value(x + e) - value(x - e)) / 2e-5 for e in 1e-5 * np.eye(len(x))]
    gradient = SPACE.pack_gradient(bound(parameters, rows)[1])
    assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


def test_equal_kernels_are_one(rng):
    """Two equal kernels have the bound of the one that both functions share."""
    rows, Z = rows_of(rng, True), rng.uniform(-2.0, 2.0, (7, 2))
    both = parameters_of(rng, Z, [RBF(0.8), RBF(0.8)])
    expression = compile_kernel(RBF(0.8), np.zeros(2))
    shared = Parameters(expression, {**both.values, "theta": expression.theta})
    (value, gradient), (expected, theirs) = (
        bound(both, rows, (1e-6, 1e-6)),
        bound(shared, rows, 1e-6),
    )
    assert_allclose(value, expected, rtol=1e-10)
    assert_allclose(gradient["theta"].sum(), theirs["theta"][0], rtol=1e-8)
    for name in ("log_noise", "mixing", "Z"):
        assert_allclose(gradient[name], theirs[name], rtol=1e-7, atol=1e-8)


def test_with_all_rows_as_inducing_inputs_it_is_the_exact_process(rng):
    """Z = X: means and covariances are those of the sum of k_q W_q W_q^T."""
    rows = rows_of(rng, True, n=25)
    parameters, new = parameters_of(rng, rows.X), rng.uniform(-2.0, 2.0, (4, 2))
    W, (n, p) = parameters.mixing, np.nonzero(~np.isnan(rows.y))
    outputs = np.arange(T)

    def covariance(A, a, B, b):
        return sum(kernel(A, B) * np.outer(W[a, q], W[b, q]) for q, kernel in enumerate(KERNELS))

    y, X = rows.targets[n, p], rows.X[n]
    K = covariance(X, p, X, p) + np.diag(NOISE[p] / rows.weight[n])
    at, which = np.repeat(new, T, axis=0), np.tile(outputs, 4)
    cross = covariance(at, which, X, p)
    mean = cross @ np.linalg.solve(K, y)
    expected = covariance(at, which, at, which) - cross @ np.linalg.solve(K, cross.T)
    q = optimum(parameters, rows, (1e-10, 1e-10))
    assert isinstance(q, PosteriorOfKernels)
    found, joint = q.full_covariance(new)
    assert_allclose(found.ravel(), mean, rtol=1e-5, atol=1e-6)
    assert_allclose(joint.transpose(0, 2, 1, 3).reshape(12, 12), expected, rtol=1e-5, atol=1e-6)
    own = joint[np.arange(4), np.arange(4)]
    assert_allclose(q.moments(new)[1], own, rtol=1e-6, atol=1e-7)
    assert_allclose(q.mean_variance(new)[1], own[:, outputs, outputs], rtol=1e-6, atol=1e-7)
    assert_allclose(q.mean(new), found, rtol=1e-8, atol=1e-10)


def test_information_adds_up(rng):
    """Halves of the rows joined are all; more inducing inputs that go again change nothing."""
    rows, parameters = rows_of(rng, True), parameters_of(rng, rng.uniform(-2.0, 2.0, (7, 2)))
    whole = optimum(parameters, rows)
    first, second = (optimum(parameters, rows.select(half)) for half in (slice(20), slice(20, 40)))
    joined = first.joined(second)
    assert_allclose(joined.H, whole.H, rtol=1e-10, atol=1e-12)
    assert_allclose(joined.v_mean, whole.v_mean, rtol=1e-8, atol=1e-10)
    assert_allclose(first.scaled(2.0).h, 2.0 * first.h)
    larger = Prior.build(parameters.kernel, np.vstack([parameters.Z, rows.X[:2]]), 1e-6)
    padded = whole.padded(larger)
    assert_allclose(padded.mean(rows.X), whole.mean(rows.X), rtol=1e-6, atol=1e-6)
    back = padded.restricted(np.arange(7))
    assert_allclose(back.H, whole.H, rtol=1e-6, atol=1e-6)
    assert_allclose(back.moments(rows.X)[1], whole.moments(rows.X)[1], rtol=1e-6, atol=1e-8)
    covariance, means = whole.inducing_values
    assert_allclose(covariance, parameters.kernel.gram(parameters.Z) + sum(DELTAS) * np.eye(7))
    X = parameters.Z
    assert_allclose(means @ parameters.mixing.T, whole.mean(X), atol=1e-4)


def test_each_term_has_the_jitter_that_it_needs(rng):
    """A smooth kernel needs more than its sum with a rough one."""
    Z = np.linspace(0.0, 1.0, 40)[:, None]
    expression = compile_kernel(RBF(5.0) + Matern(0.1, nu=0.5), np.zeros(1))
    prior = Prior.build(expression.bind(expression.theta), Z, 1e-16)
    smooth, rough = priors_of_terms(prior, 2)
    assert smooth.delta > 10.0 * rough.delta > 0.0
    assert priors_of_terms(prior, 1) == (prior,)
