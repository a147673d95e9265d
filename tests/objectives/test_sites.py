"""q(u) under any likelihood: its optimum, the bound there, and the gradient."""

from types import SimpleNamespace

import numpy as np
import pytest
from dense import (
    assert_gradient,
    assert_same_gradient,
    make_parameters,
    make_space,
    random_informations,
)
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF
from slow_variants import slow

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.factors.passes import CHUNK, Pieces
from sklearn_sgp.gp.posterior import Posterior
from sklearn_sgp.gp.prior import Prior
from sklearn_sgp.likelihoods import Gaussian, Logit, Poisson, Probit, Softmax, StudentT
from sklearn_sgp.objectives.collapsed import collapsed_bound
from sklearn_sgp.objectives.sites import SiteBound, SiteProblem

DELTA = 1e-8
CASES = {
    "probit": (Probit(), 1),
    "logit": (Logit(), 1),
    "softmax": (Softmax(), 3),
    "poisson": (Poisson(), 1),
    "student_t": (StudentT(4.0), 1),
    "student_t, free df": (StudentT(df=None), 1),
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
    }.get(name.removesuffix(", free df"))
    y = np.column_stack([f, X[:, 0] ** 2]) if y is None else y[:, None]
    weight = rng.uniform(0.5, 2.5, n) if weighted else None
    t = y.shape[1]
    return Rows(X, y, weight, np.zeros(t), np.ones(t))


KERNEL = 1.5 * RBF([1.0, 1.7])


def parameters_for(name, m=7):
    Z = np.random.default_rng(1).uniform(-2.0, 2.0, (m, 2))
    theta = CASES[name][0].theta
    return make_parameters(KERNEL, Z, 0.2, **({"likelihood": theta} if len(theta) else {}))


def space_for(name):
    """Everything free that the likelihood has."""
    likelihood = CASES[name][0]
    n_likelihood = len(likelihood.theta)
    return make_space(3, np.ones(2), noise=likelihood.has_noise, n_likelihood=n_likelihood)


def prior_at(parameters):
    return Prior.build(parameters.kernel, parameters.Z, DELTA)


def problem_for(name, rows=None, **options):
    """The problem, the q(u) before any data, and the rows."""
    rows, parameters = rows_for(name) if rows is None else rows, parameters_for(name)
    prior, (likelihood, n_latent) = prior_at(parameters), CASES[name]
    problem = SiteProblem(prior, rows, likelihood, parameters.noise_variance, **options)
    return problem, Posterior.at_prior(prior, n_latent, n_latent), rows


def bound_and_gradient(bound, parameters):
    """Of a `SiteBound`, with the jitter of these tests."""
    problem, q, found, value = bound.at(parameters, prior_at(parameters))
    return value, problem.gradient_sums(q, found).gradient(problem.prior)


@pytest.mark.parametrize("name", ["probit", "poisson", "student_t"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_end_of_the_iterations_is_the_optimum(name, weighted):
    """A dense optimiser over mean and Cholesky factor of q(v) finds the same bound and q."""
    problem, q, rows = problem_for(name, rows_for(name, weighted=weighted))
    q, _, bound = problem.ascend(q, 1e-11, max_iter=200)
    A, m = problem.prior.whitened(rows.X), len(problem.prior.Z)
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
    assert_allclose(bound, -best.fun, atol=1e-7)
    assert_allclose(q.v_mean[:, 0], best.x[:m], atol=1e-4)


@pytest.mark.parametrize("name", ["softmax", "poisson"])
def test_what_more_steps_would_gain_is_told(name):
    """After too few steps it is the gain of the last one, at the optimum nothing."""
    problem, q, _ = problem_for(name)
    first = problem.site_pass(q).value - q.kl()
    q, _, bound = problem.ascend(q, 1e-11, max_iter=1)
    assert_allclose(problem.missed, bound - first)
    problem.ascend(q, 1e-9, max_iter=300)
    assert problem.missed == 0.0


@ALL
def test_every_step_raises_the_bound(name):
    """The iterations never lower it, and end where another step changes nothing."""
    problem, q, _ = problem_for(name)
    bounds = [problem.site_pass(q).value - q.kl()]
    for _ in range(5):
        q, _, bound = problem.ascend(q, 1e-12, max_iter=1)
        bounds.append(bound)
    assert (np.diff(bounds) >= -1e-9).all()
    assert bounds[-1] > bounds[0]


@pytest.mark.parametrize("name", ["gaussian", "gaussian, two outputs"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gaussian_noise_is_the_collapsed_bound(name, weighted):
    """One step reaches the optimum, and value and gradient are those of the closed form."""
    parameters, rows = parameters_for(name), rows_for(name, weighted=weighted)
    expected, gradient = collapsed_bound(parameters, rows, DELTA)
    value, got = bound_and_gradient(SiteBound(rows, *CASES[name], 1e-10), parameters)
    assert_allclose(value, expected, rtol=1e-9)
    assert_same_gradient(got, gradient, rtol=1e-6, atol=1e-6)


@pytest.mark.slow_cases("student_t-True")
@pytest.mark.parametrize(
    ("name", "weighted"),
    [*((name, True) for name in CASES), ("gaussian", False)]
    + [slow(name, False) for name in CASES if name != "gaussian"],
)
def test_gradient_by_differences(name, weighted):
    """It is that of the bound at its optimum over q(u), in all parameters, for each likelihood."""
    rows = rows_for(name, 25, weighted)
    start = parameters_for(name, 5)

    def bound(parameters):
        return bound_and_gradient(SiteBound(rows, *CASES[name], 1e-12), parameters)

    assert_gradient(
        bound(start)[1],
        lambda parameters: bound(parameters)[0],
        space_for(name),
        start,
        rtol=1e-4,
        atol=2e-4,
        step=1e-4,
    )


def test_gradient_in_the_degrees_of_freedom():
    """At the optimal q(u) too, which noise wide enough for all of Student-t's sites allows."""
    name, rows = "student_t, free df", rows_for("gaussian", 25)
    start = parameters_for(name, 5).with_values(log_noise=2.0)

    def bound(parameters):
        problem, q, found, value = SiteBound(rows, *CASES[name], 1e-12).at(
            parameters, prior_at(parameters)
        )
        assert (found.gamma < 0.0).all()
        return value, problem.gradient_sums(q, found).gradient(problem.prior)

    gradient = bound(start)[1]
    assert set(gradient) == {"theta", "log_noise", "likelihood", "Z"}
    assert gradient["likelihood"].shape == (1,) and abs(gradient["likelihood"][0]) > 1e-2
    assert_gradient(
        gradient,
        lambda parameters: bound(parameters)[0],
        space_for(name),
        start,
        rtol=1e-4,
        atol=2e-4,
        step=1e-4,
    )


@ALL
def test_gradient_at_any_q(name):
    """With (H, h) held, at a q(u) that is no optimum, in all parameters, by differences."""
    rows, start = rows_for(name, 25), parameters_for(name, 5)
    likelihood, n_latent = CASES[name]
    H, h = random_informations(5, n_latent)

    def bound(parameters):
        q = Posterior(prior_at(parameters), H, h)
        given = likelihood.with_theta(parameters.likelihood_theta)
        problem = SiteProblem(q.prior, rows, given, parameters.noise_variance)
        found = problem.site_pass(q)
        return found.value - q.kl(), problem.gradient_sums(q, found).gradient(problem.prior)

    gradient = bound(start)[1]
    assert ("likelihood" in gradient) == bool(len(likelihood.theta))
    value = lambda parameters: bound(parameters)[0]  # noqa: E731
    assert_gradient(gradient, value, space_for(name), start, rtol=1e-5, atol=1e-5)


@ALL
def test_sites_carry_over_to_another_kernel(name):
    """Started from the sites of a near kernel, few passes are needed, and the end is the same."""
    parameters, rows = parameters_for(name), rows_for(name)
    bound = SiteBound(rows, *CASES[name], 1e-9)
    bound_and_gradient(bound, parameters)
    near = parameters.with_values(theta=parameters.theta + 0.02)
    warm = bound_and_gradient(bound, near)[0]
    cold = bound_and_gradient(SiteBound(rows, *CASES[name], 1e-9), near)[0]
    assert_allclose(warm, cold, atol=1e-6)


@ALL
def test_the_first_call_may_begin_anywhere(name):
    """Begun at some q(u) rather than at the prior, the end is the same."""
    parameters, rows = parameters_for(name), rows_for(name)
    prior, n_latent = prior_at(parameters), CASES[name][1]
    expected = SiteBound(rows, *CASES[name], 1e-11).at(parameters, prior)[3]
    start = Posterior(prior, *random_informations(7, n_latent)).scaled(0.1)
    assert_allclose(
        SiteBound(rows, *CASES[name], 1e-11).at(parameters, prior, start)[3], expected, atol=1e-5
    )


@pytest.mark.parametrize("name", ["gaussian", "gaussian, two outputs"])
def test_a_base_is_the_information_of_other_rows(name):
    """With the other rows' sites as base, some rows have the q(u) of all."""
    parameters, rows = parameters_for(name), rows_for(name)
    prior = prior_at(parameters)
    parts = [rows.select(slice(0, 15)), rows.select(slice(15, None))]
    problem, q, found, _ = SiteBound(parts[0], *CASES[name], 1e-12).at(parameters, prior)
    base = problem.from_sites(found.lambda_1, found.lambda_2)
    bound = SiteBound(parts[1], *CASES[name], 1e-12)
    whole = SiteBound(rows, *CASES[name], 1e-12).at(parameters, prior)[1]
    for _ in range(2):  # from q, then from the last sites
        got = bound.at(parameters, prior, q, base)[1]
        for one, other in zip(got.H, whole.H, strict=True):
            assert_allclose(one, other, rtol=1e-9, atol=1e-9)
        assert_allclose(got.h, whole.h, rtol=1e-9, atol=1e-9)


@ALL
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_any_number_of_jobs_agrees(name, n_jobs):
    """One worker or two find the value and the target of the default."""
    problem, q, _ = problem_for(name, n_jobs=n_jobs)
    found, reference = problem.site_pass(q), problem_for(name)[0].site_pass(q)
    assert_allclose(found.value, reference.value, rtol=1e-12)
    assert_allclose(found.target.h, reference.target.h, rtol=1e-12)


# Many rows: groups with several chunks

MANY = pytest.mark.parametrize("name", ["poisson", "softmax", "student_t, free df"])


def many(name, n_jobs=None, chunk=None, keep=True):
    """Problem, q(u) and rows of more chunks than groups."""
    rows = rows_for(name, 2_100 if chunk else 8 * CHUNK + 300, weighted=True)
    problem, q, rows = problem_for(name, rows, n_jobs=n_jobs, keep=keep)
    if chunk:
        problem.pieces = Pieces.of_rows(rows, 7 if keep else None, n_jobs, chunk)
    sizes = [len(group) for group in problem.pieces.groups]
    assert len(sizes) > 1 and max(sizes) > 1
    return problem, Posterior(q.prior, *random_informations(7, len(q.H))), rows


def dense_pass(name, q, rows, parameters):
    """What a pass finds, by whole matrices."""
    likelihood, n_latent = CASES[name]
    A = np.linalg.solve(q.prior.L, KERNEL(q.prior.Z, rows.X))  # (m, n)
    covariances = [np.linalg.inv(np.eye(len(H)) + H) for H in q.H]
    mean = np.column_stack([A.T @ S @ q.h[:, c] for c, S in enumerate(covariances)])
    unexplained = KERNEL.diag(rows.X) - np.sum(A * A, axis=0)
    variance = np.column_stack([unexplained + np.sum(A * (S @ A), axis=0) for S in covariances])
    expected = likelihood.expected_log_density(
        rows.targets, mean, variance, parameters.noise_variance
    )
    w = rows.weight[:, None]
    lambda_2 = -2.0 * w * expected.d_variance
    lambda_1 = w * expected.d_mean + lambda_2 * mean
    return SimpleNamespace(
        value=rows.weight @ expected.value,
        log_noise=rows.weight @ expected.d_log_noise,
        theta=0.0 if expected.d_theta is None else rows.weight @ expected.d_theta,
        g=w * expected.d_mean,
        gamma=w * expected.d_variance,
        lambda_1=lambda_1,
        lambda_2=lambda_2,
        H=[(A * lambda_2[:, c]) @ A.T for c in range(n_latent)],
        h=A @ lambda_1,
    )


@pytest.mark.parametrize("chunk", [None, 100])
@MANY
def test_a_pass_over_many_rows_is_the_dense_one(name, chunk):
    """From several groups of several chunks come the sums and the rows' numbers of whole arrays."""
    problem, q, rows = many(name, chunk=chunk)
    expected = dense_pass(name, q, rows, parameters_for(name))
    for _ in range(2):  # the second from blocks that were kept
        found = problem.site_pass(q)
        for field in ("value", "log_noise", "theta", "g", "gamma", "lambda_1", "lambda_2"):
            value = getattr(expected, field)
            assert_allclose(getattr(found, field), value, rtol=1e-8, atol=1e-8, err_msg=field)
        again = problem.from_sites(found.lambda_1, found.lambda_2)
        for target in (found.target, again):
            for H, value in zip(target.H, expected.H, strict=True):
                assert_allclose(H, value, rtol=1e-8, atol=1e-8 * np.abs(value).max())
            assert_allclose(target.h, expected.h, rtol=1e-8, atol=1e-8 * np.abs(expected.h).max())


@MANY
def test_gradient_from_many_rows_by_differences(name):
    """The gradient from several groups of several chunks is that of the dense bound."""
    problem, q, rows = many(name, chunk=100)
    start, likelihood = parameters_for(name), CASES[name][0]

    def bound(parameters):
        moved = Posterior(prior_at(parameters), q.H, q.h)
        given = likelihood.with_theta(parameters.likelihood_theta)
        whole = SiteProblem(moved.prior, rows, given, parameters.noise_variance, keep=False)
        whole.pieces = Pieces([rows])
        return whole.site_pass(moved).value - moved.kl()

    gradient = problem.gradient_sums(q, problem.site_pass(q)).gradient(problem.prior)
    assert_gradient(gradient, bound, space_for(name), start, rtol=1e-5, step=1e-4)


@pytest.mark.parametrize("keep", [False, True])
@MANY
def test_jobs_and_kept_blocks_change_nothing_of_many_rows(name, keep):
    """Passes, gradients and iterations are the same to the last bit, whoever does the work."""

    def numbers(n_jobs, keep):
        problem, q, _ = many(name, n_jobs=n_jobs, keep=keep)
        found = problem.site_pass(q)
        gradient = problem.gradient_sums(q, found).gradient(problem.prior)
        end, _, bound = problem.ascend(q, 1e-3, max_iter=3)
        parts = (*found[:-1], *found.target.H, *gradient.values(), *end.H, end.h, bound)
        return np.concatenate([np.ravel(part) for part in parts])

    assert_array_equal(numbers(2, keep), numbers(1, True))


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
