"""Mixed latent functions under any likelihood: dense definition, identities, differences."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.factors.multi_output import outputs_by_rows
from sklearn_sgp.gp.prior import Prior
from sklearn_sgp.kernels import compile_kernel
from sklearn_sgp.likelihoods import Censored, Gaussian, NegativeBinomial, Poisson, StudentT
from sklearn_sgp.objectives.multi_output import coregionalised_bound
from sklearn_sgp.objectives.sites import SiteBound, SiteProblem, functions_of
from sklearn_sgp.optimize.parameters import Group, Parameters, ParameterSpace

DELTA, N, T, Q, M = 1e-8, 40, 3, 2, 7


class GaussianBySites(Gaussian):
    """Gaussian noise that does not say it is."""

    conjugate = False


LIKELIHOODS = {
    "gaussian": GaussianBySites(),
    "poisson": Poisson(offset=[0.3, 0.0, -0.2]),
    "negative_binomial": NegativeBinomial(offset=0.1).initialized(np.ones((1, T)), None),
    "student_t": StudentT(df=[3.0, 5.0, 8.0]),
    "student_t, free df": StudentT(df=None).initialized(np.ones((1, T)), None),
    "censored": Censored(lower=-0.5, upper=[1.0, 2.0, 3.0]).initialized(np.ones((1, T)), None),
}
ALL = pytest.mark.parametrize("name", LIKELIHOODS)
MISSING = pytest.mark.parametrize("missing", [False, True])


def rows_of(name, missing=True, weighted=True, t=T):
    """Rows of two columns, some of whose outputs were not observed."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-2.0, 2.0, (N, 2)), rng.standard_normal((N, t))
    if name in ("poisson", "negative_binomial"):
        y = rng.poisson(np.exp(0.7 * y)).astype(float)
    if missing:
        y[rng.random((N, t)) < 0.4] = np.nan
        y[0] = 1.0
    weight = rng.uniform(0.5, 2.0, N) if weighted else None
    return Rows(X, y, weight, np.zeros(t), np.ones(t))


def parameters_of(name, t=T, mixing=None, means=True):
    rng = np.random.default_rng(1)
    expression = compile_kernel(ConstantKernel(1.3) * RBF([0.9, 1.4]), np.zeros(2))
    values = {"theta": expression.theta, "log_noise": np.log([0.1, 0.3, 0.2][:t])}
    values["mixing"] = 0.6 * rng.standard_normal((t, Q)) if mixing is None else mixing
    values["Z"] = rng.uniform(-2.0, 2.0, (M, 2))
    if means:
        values["means"] = 0.3 * rng.standard_normal(t)
    if len(LIKELIHOODS[name].theta):
        values["likelihood"] = LIKELIHOODS[name].theta
    return Parameters(expression, values)


def at(name, parameters, rows, tol=1e-12, **options):
    """Problem, q(u), sites and bound."""
    bound = SiteBound(rows, LIKELIHOODS[name], len(parameters.mixing), tol, **options)
    prior = Prior.build(parameters.kernel, parameters.Z, DELTA)
    for _ in range(3):  # each goes on where the last one ended
        found = bound.at(parameters, prior)
    return found


def value_and_gradient(name, parameters, rows, **options):
    problem, q, sites, value = at(name, parameters, rows, **options)
    return value, problem.gradient_sums(q, sites).gradient(q.prior)


def dense(name, parameters, rows, mean, S):
    """The bound at u ~ N(mean, S), (Q m,), latent function by latent function, entry by entry."""
    kernel, W, Z = parameters.kernel, parameters.mixing, parameters.Z
    likelihood = LIKELIHOODS[name].with_theta(parameters.likelihood_theta)
    weight = np.ones(N) if rows.weight is None else rows.weight
    K = np.kron(np.eye(Q), kernel.gram(Z) + DELTA * np.eye(M))
    total = 0.0
    for n, p in np.argwhere(~np.isnan(rows.y)):
        k = np.kron(W[p], kernel.block(Z, rows.X[n : n + 1])[:, 0])
        a = np.linalg.solve(K, k)
        own = kernel.diag(rows.X[n : n + 1])[0] * (W[p] @ W[p])
        f, v = a @ mean, own - k @ a + a @ S @ a
        if parameters.has_means:
            f = f + parameters.means[p]
        expected = likelihood.for_output(p).expected_log_density(
            rows.targets[n, p].reshape(1, 1),
            np.full((1, 1), f),
            np.full((1, 1), v),
            parameters.noise_variance[p],
        )
        total += weight[n] * expected.value[0]
    divergence = np.trace(np.linalg.solve(K, S)) + mean @ np.linalg.solve(K, mean) - Q * M
    divergence += np.linalg.slogdet(K)[1] - np.linalg.slogdet(S)[1]
    return total - 0.5 * divergence


@pytest.mark.quick_cases(
    "True-False-student_t, free df",
    "False-True-student_t",
    "True-True-poisson",
    "False-False-negative_binomial",
    "True-False-censored",
    "False-True-gaussian",
)
@ALL
@MISSING
@pytest.mark.parametrize("weighted", [False, True])
def test_the_bound_is_its_definition_and_q_its_optimum(name, missing, weighted):
    """Its value at q(u), and no direction in which mean or covariance would raise it."""
    rows, parameters = rows_of(name, missing, weighted), parameters_of(name)
    problem, q, _, value = at(name, parameters, rows)
    root = np.kron(np.eye(Q), problem.prior.L)
    mean, S = root @ q.v_mean.T.ravel(), root @ q.covariance.reshape(Q * M, -1) @ root.T
    assert_allclose(value, dense(name, parameters, rows, mean, S), rtol=1e-9)
    rng = np.random.default_rng(2)
    for _ in range(3):
        away = root @ rng.standard_normal(Q * M)
        wide = root @ rng.standard_normal((Q * M, Q * M))
        wide = 0.01 * wide @ wide.T / (Q * M)
        for sign in (-1.0, 1.0):
            moved = mean + 1e-3 * sign * away
            assert dense(name, parameters, rows, moved, S) < value + 1e-9
            scaled = np.linalg.inv(np.linalg.inv(S) + 0.01 * sign * np.linalg.inv(S + wide))
            assert dense(name, parameters, rows, mean, scaled) < value + 1e-9


@pytest.mark.quick_cases(
    "False-student_t", "False-negative_binomial", "True-poisson", "False-censored", "True-gaussian"
)
@ALL
@MISSING
def test_all_gradients(name, missing):
    """In kernel, noise, mixing, means, Z and the likelihood's own, against differences."""
    rows, parameters = rows_of(name, missing), parameters_of(name)
    names = ["theta", "mixing", "means", "Z"]
    names += ["log_noise"] if LIKELIHOODS[name].has_noise else []
    names += ["likelihood"] if len(LIKELIHOODS[name].theta) else []
    space = ParameterSpace(tuple(Group(one, None) for one in names))
    x = space.pack(parameters)

    def value(x):
        return at(name, space.unpack(x, parameters), rows, tol=1e-13)[3]

    eye = 1e-4 * np.eye(len(x))
    expected = [(value(x + e) - value(x - e)) / 2e-4 for e in eye]
    gradient = space.pack_gradient(value_and_gradient(name, parameters, rows)[1])
    assert_allclose(gradient, expected, rtol=2e-5, atol=2e-5)


@MISSING
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("means", [False, True])
def test_gaussian_noise_by_sites_is_gaussian_noise(missing, weighted, means):
    """Bound and gradients are those that have a closed form."""
    rows, parameters = rows_of("gaussian", missing, weighted), parameters_of("gaussian")
    parameters = parameters if means else parameters.without("means")
    patterns = outputs_by_rows(rows.y)
    expected, theirs = coregionalised_bound(parameters, rows, DELTA, patterns=patterns)
    value, gradient = value_and_gradient("gaussian", parameters, rows)
    assert_allclose(value, expected, rtol=1e-10)
    for name in ["theta", "log_noise", "mixing", "Z", *(["means"] if means else [])]:
        assert_allclose(gradient[name], theirs[name], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ["poisson", "student_t, free df"])
def test_without_mixing_outputs_are_independent(name):
    """Q = t and W = I: the bound and its gradients are those of independent functions."""
    rows, parameters = rows_of(name, missing=False), parameters_of(name, means=False)
    mixed = parameters.with_values(mixing=np.eye(T))
    value, gradient = value_and_gradient(name, mixed, rows)
    plain = parameters.without("mixing")
    bound = SiteBound(rows, LIKELIHOODS[name], T, 1e-12)
    prior = Prior.build(plain.kernel, plain.Z, DELTA)
    problem, q, sites, expected = bound.at(plain, prior)
    theirs = problem.gradient_sums(q, sites).gradient(prior)
    assert_allclose(value, expected, rtol=1e-10)
    for group in theirs:
        assert_allclose(gradient[group], theirs[group], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["poisson", "negative_binomial", "student_t"])
def test_a_row_for_each_target_says_the_same(name):
    """What is missing is not there: the bound is that of rows with one output each."""
    rows, parameters = rows_of(name), parameters_of(name)
    n, p = np.nonzero(~np.isnan(rows.y))
    y = np.full((len(n), T), np.nan)
    y[np.arange(len(n)), p] = rows.y[n, p]
    apart = replace(rows, X=rows.X[n], y=y, weight=rows.weight[n])
    value, gradient = value_and_gradient(name, parameters, rows)
    expected, theirs = value_and_gradient(name, parameters, apart)
    assert_allclose(value, expected, rtol=1e-9)
    for group in theirs:
        assert_allclose(gradient[group], theirs[group], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["gaussian", "poisson", "student_t"])
def test_other_rows_stay_as_information(name):
    """Half of the rows held as sites, the other half learned: q(u) and bound are those of all."""
    rows, parameters = rows_of(name), parameters_of(name)
    _, q, sites, value = at(name, parameters, rows)
    halves = slice(0, N // 2), slice(N // 2, None)
    held = sites.lambda_1[halves[0]], sites.lambda_2[halves[0]]
    functions = functions_of(parameters)
    likelihood = LIKELIHOODS[name].with_theta(parameters.likelihood_theta)
    parts = [
        SiteProblem(
            q.prior, rows.select(i), likelihood, parameters.noise_variance, functions=functions
        )
        for i in halves
    ]
    base = parts[0].from_sites(*held)
    found, _, bound = parts[1].ascend(base, 1e-13, max_iter=200, base=base)
    assert_allclose(found.v_mean, q.v_mean, rtol=1e-5, atol=1e-6)
    of_held = parts[0].site_pass(q).value - base.expected_log_factor(q)
    assert_allclose(bound + of_held, value, rtol=1e-9)
