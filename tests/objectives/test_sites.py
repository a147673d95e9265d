"""q(u) under any likelihood: its optimum, the bound there, and the gradient."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp.kernels import compile_kernel
from sklearn_sgp.gp.latents import Latents
from sklearn_sgp.optimize.learning import Parameters, ParameterSpace
from sklearn_sgp.likelihoods import Gaussian, Logit, Poisson, Probit, Softmax, StudentT
from sklearn_sgp.objectives.collapsed import collapsed_bound
from sklearn_sgp.gp.posterior import Prior
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.objectives.sites import SiteBound, SiteProblem

DELTA = 1e-8
CASES = {
    "probit": (Probit(), 1),
    "logit": (Logit(), 1),
    "softmax": (Softmax(), 3),
    "poisson": (Poisson(), 1),
    "student_t": (StudentT(4.0), 1),
    "gaussian": (Gaussian(), 1),
    "gaussian, two outputs": (Gaussian(), 2),
}
ALL = pytest.mark.parametrize("name", CASES)


def rows_for(name, n=40, weighted=False, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    f = 2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1]
    y = {
        "probit": np.sign(f + rng.standard_normal(n)),
        "logit": np.sign(f + rng.standard_normal(n)),
        "softmax": np.digitize(f + 0.3 * rng.standard_normal(n), [-1.0, 1.0]).astype(float),
        "poisson": rng.poisson(np.exp(0.5 * f)).astype(float),
        "student_t": f + 0.2 * rng.standard_t(3, n),
        "gaussian": f + 0.3 * rng.standard_normal(n),
    }.get(name)
    y = np.column_stack([f, X[:, 0] ** 2]) if y is None else y[:, None]
    weight = rng.uniform(0.5, 2.5, n) if weighted else None
    t = y.shape[1]
    return Rows(X, y, weight, np.zeros(t), np.ones(t))


def parameters_for(m=7):
    expression = compile_kernel(1.5 * RBF([1.0, 1.7]), np.zeros(2))
    Z = np.random.default_rng(1).uniform(-2.0, 2.0, (m, 2))
    return Parameters(expression, expression.theta, float(np.log(0.2)), Z)


def problem_for(name, weighted=False, n_jobs=None):
    parameters, rows = parameters_for(), rows_for(name, weighted=weighted)
    prior = Prior.build(parameters.kernel, parameters.Z, DELTA)
    likelihood, n_latent = CASES[name]
    problem = SiteProblem(prior, rows, likelihood, parameters.noise_variance, n_jobs)
    return problem, Latents.at_prior(prior, n_latent)


@pytest.mark.parametrize("name", ["probit", "poisson", "student_t"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_end_of_the_iterations_is_the_optimum(name, weighted):
    """A dense optimiser over mean and Cholesky factor of q(v) finds the same bound and q."""
    problem, latents = problem_for(name, weighted)
    latents, _, bound = problem.ascend(latents, 1e-11, max_iter=200)
    A, rows, m = problem.prior.whitened(problem.rows.X), problem.rows, len(problem.prior.Z)
    diagonal = problem.prior.kernel.diag(rows.X) - np.sum(A * A, axis=0)
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    lower = np.tril_indices(m)

    def negated(x):
        mean, root = x[:m], np.zeros((m, m))
        root[lower] = x[m:]
        variance = diagonal + np.sum((root.T @ A) ** 2, axis=0)
        found = problem.likelihood.expected_log_density(
            rows.y, (A.T @ mean)[:, None], variance[:, None], problem.noise_variance
        )
        kl = 0.5 * (np.sum(root**2) + mean @ mean - m) - np.log(np.abs(np.diag(root))).sum()
        by_variance = A * (weight * found.d_variance[:, 0])
        grad_root = 2.0 * by_variance @ (A.T @ root) - root
        grad_root[np.diag_indices(m)] += 1.0 / np.diag(root)
        gradient = np.concatenate([A @ (weight * found.d_mean[:, 0]) - mean, grad_root[lower]])
        return kl - weight @ found.value, -gradient

    start = np.concatenate([np.zeros(m), np.eye(m)[lower]])
    options = {"maxiter": 3000, "ftol": 1e-15, "gtol": 1e-10}
    best = minimize(negated, start, jac=True, method="L-BFGS-B", options=options)
    # where a density is not log-concave, precisions are kept positive: close to the optimum
    atol = 5e-2 if name == "student_t" else 1e-7
    assert_allclose(bound, -best.fun, atol=atol)
    if name != "student_t":
        assert_allclose(latents.v_mean[:, 0], best.x[:m], atol=1e-4)


@ALL
def test_every_step_raises_the_bound(name):
    """The iterations never lower it, and end where another step changes nothing."""
    problem, latents = problem_for(name)
    bounds = [problem.visit(latents).value - latents.kl()]
    for _ in range(5):
        latents, _, bound = problem.ascend(latents, 1e-12, max_iter=1)
        bounds.append(bound)
    assert (np.diff(bounds) >= -1e-9).all()
    assert bounds[-1] > bounds[0]


@pytest.mark.parametrize("name", ["gaussian", "gaussian, two outputs"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gaussian_noise_is_the_collapsed_bound(name, weighted):
    """One step reaches the optimum, and value and gradient are those of the closed form."""
    parameters, rows = parameters_for(), rows_for(name, weighted=weighted)
    expected, gradient = collapsed_bound(parameters, rows, DELTA)
    bound = SiteBound(rows, *CASES[name], DELTA, 1e-10)
    value, got = bound(parameters)
    assert_allclose(value, expected, rtol=1e-9)
    for one, other in zip(got, gradient, strict=True):
        assert_allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in CASES if name != "student_t"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_by_differences(name, weighted):
    """Of the bound at its optimum over q(u), in kernel, noise and Z.

    Student-t's sites are kept positive, so that its q(u) is not quite the optimum: see below.
    """
    parameters, rows = parameters_for(5), rows_for(name, 25, weighted)
    likelihood, n_latent = CASES[name]
    space = ParameterSpace(
        np.full((3, 2), (-9.0, 9.0)), (-9.0, 9.0) if likelihood.n_noise else None, np.ones(2)
    )

    def bound(x):
        fresh = SiteBound(rows, likelihood, n_latent, DELTA, 1e-12)
        return fresh(space.unpack(x, parameters))

    x = space.pack(parameters)
    gradient = space.pack_gradient(bound(x)[1])
    for k in range(len(x)):
        step = np.zeros(len(x))
        step[k] = 1e-4
        difference = (bound(x + step)[0] - bound(x - step)[0]) / 2e-4
        assert_allclose(gradient[k], difference, rtol=1e-4, atol=2e-4)


@ALL
def test_gradient_at_any_q(name):
    """With (H, h) held, at a q(u) that is no optimum, by differences in kernel, noise and Z."""
    parameters, rows = parameters_for(5), rows_for(name, 25)
    likelihood, n_latent = CASES[name]
    bounds = (-9.0, 9.0) if likelihood.n_noise else None
    space = ParameterSpace(np.full((3, 2), (-9.0, 9.0)), bounds, np.ones(2))
    rng = np.random.default_rng(0)
    roots = rng.standard_normal((n_latent, 5, 5))
    h = rng.standard_normal((5, n_latent))

    def bound(x):
        now = space.unpack(x, parameters)
        prior = Prior.build(now.kernel, now.Z, DELTA)
        latents = Latents(prior, tuple(root @ root.T for root in roots), h)
        problem = SiteProblem(prior, rows, likelihood, now.noise_variance)
        found = problem.visit(latents)
        return found.value - latents.kl(), problem.gradient(latents, found)

    x = space.pack(parameters)
    gradient = space.pack_gradient(bound(x)[1])
    for k in range(len(x)):
        step = np.zeros(len(x))
        step[k] = 1e-5
        difference = (bound(x + step)[0] - bound(x - step)[0]) / 2e-5
        assert_allclose(gradient[k], difference, rtol=1e-5, atol=1e-5)


@ALL
def test_sites_carry_over_to_another_kernel(name):
    """Started from the sites of a near kernel, few passes are needed, and the end is the same."""
    parameters, rows = parameters_for(), rows_for(name)
    bound = SiteBound(rows, *CASES[name], DELTA, 1e-9)
    bound(parameters)
    near = Parameters(
        parameters.expression, parameters.theta + 0.02, parameters.log_noise, parameters.Z
    )
    warm, cold = bound(near)[0], SiteBound(rows, *CASES[name], DELTA, 1e-9)(near)[0]
    assert_allclose(warm, cold, atol=1e-6)


@ALL
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_any_number_of_jobs_agrees(name, n_jobs):
    problem, latents = problem_for(name, n_jobs=n_jobs)
    found, reference = problem.visit(latents), problem_for(name)[0].visit(latents)
    assert_allclose(found.value, reference.value, rtol=1e-12)
    assert_allclose(found.target.h, reference.target.h, rtol=1e-12)


def test_the_bound_of_the_noisy_function_is_looser(rng):
    """Hensman et al. (2013), section 3.4, with probit, against the bound of its own likelihood."""
    mean, variance = rng.normal(0.0, 2.0, (200, 1)), rng.uniform(0.01, 4.0, (200, 1))
    y = np.sign(rng.standard_normal((200, 1)))
    for noise in (0.1, 1.0, 5.0):
        root = np.sqrt(1.0 + noise)
        # log Phi(y f / root) is probit's with f / root
        ours = Probit().expected_log_density(y, mean / root, variance / root**2).value
        theirs = norm.logcdf(y * mean / root)[:, 0] - variance[:, 0] / (2.0 * noise)
        assert (theirs <= ours + 1e-12).all() and (theirs < ours - 1e-3).any()
