"""Online bounds and posteriors against dense definitions, identities and differences."""

from itertools import pairwise

import numpy as np
import pytest
from dense import central_difference, exact_gp, log_normal
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_sgp.streams.old_posterior import Carried, CarriedBlock, Link
from sklearn_sgp.kernels import compile_kernel
from sklearn_sgp.optimize.learning import Parameters, ParameterSpace
from sklearn_sgp.likelihoods import Gaussian, Poisson, Probit, StudentT
from sklearn_sgp.gp.posterior import Posterior, Prior
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.streams.online_bound import GaussianBound, SitesBound

DELTA, NOISE = 1e-8, 0.09
NOTHING_KEPT = np.empty((0, 2), dtype=int)
ALPHAS = [0.0, 0.01, 0.5, 1.0]


def kernel_of(length_scale=(0.7, 1.3), variance=1.4):
    return ConstantKernel(variance) * RBF(list(length_scale))


def parameters_of(Z, noise=NOISE, **kernel):
    expression = compile_kernel(kernel_of(**kernel), np.zeros(2))
    return Parameters(expression, expression.theta, np.log(noise), np.array(Z))


def rows_of(n, seed=0, t=1, weighted=False):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    y = np.sin(2.0 * X[:, :1]) + X[:, 1:] * np.arange(t) + 0.3 * rng.standard_normal((n, t))
    weight = rng.choice([0.5, 1.0, 2.0], n) if weighted else None
    return Rows(X, y, weight, np.zeros(t), np.ones(t))


def all_kept(m):
    return np.column_stack([np.arange(m)] * 2)


def bound_of(rows, carried=None, kept=NOTHING_KEPT, alpha=0.0, delta=DELTA):
    return GaussianBound(rows, carried, kept, delta, alpha=alpha, power=alpha)


def run(batches, Zs, kepts, alpha=0.0, **kernel):
    """Posterior and summed bounds after some batches, each with its own inducing inputs."""
    carried, total = None, 0.0
    for rows, Z, kept in zip(batches, Zs, kepts, strict=True):
        bound = bound_of(rows, carried, kept, alpha)
        posterior, value = bound.last(parameters_of(Z, **kernel))
        carried, total = Carried.of(posterior), total + value
    return posterior, total


def split(rows, *cuts):
    edges = [0, *cuts, len(rows)]
    return [rows.select(slice(lo, hi)) for lo, hi in pairwise(edges)]


def predictions(posterior, X):
    return np.column_stack(posterior.mean_variance(X))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("t", [1, 2])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_any_split_gives_the_batch_posterior_and_its_evidence(alpha, t, weighted):
    rows, Z = rows_of(40, t=t, weighted=weighted), rows_of(7, seed=1).X
    batch, evidence = run([rows], [Z], [NOTHING_KEPT], alpha)
    pieces = split(rows, 1, 18, 25)
    kepts = [NOTHING_KEPT, *[all_kept(7)] * 3]
    stream, total = run(pieces, [Z] * 4, kepts, alpha)
    assert_allclose(total, evidence, rtol=1e-10)
    assert_allclose(stream.H, batch.H, atol=1e-9 * np.abs(batch.H).max())
    assert_allclose(stream.v_mean, batch.v_mean, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_exact_gp_where_every_row_becomes_an_inducing_input(alpha):
    rows = rows_of(21)
    pieces, Zs, kepts, so_far = split(rows, 6, 13), [], [], np.empty((0, 2))
    for piece in pieces:
        kepts.append(all_kept(len(so_far)))
        so_far = np.vstack([so_far, piece.X])
        Zs.append(so_far)
    posterior, total = run(pieces, Zs, kepts, alpha)
    X, kernel = rows_of(5, seed=3).X, kernel_of()
    evidence, mean, covariance = exact_gp(
        kernel(rows.X), rows.y, NOISE, kernel(rows.X, X), kernel(X)
    )
    assert_allclose(total, evidence, rtol=1e-6)
    found = posterior.mean_covariance(X)
    assert_allclose(found[0], mean, atol=1e-6)
    assert_allclose(found[1], covariance, atol=1e-6)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_more_inducing_inputs_without_rows_change_nothing(alpha):
    first, Z = rows_of(30), rows_of(6, seed=1).X
    posterior, _ = run([first], [Z], [NOTHING_KEPT], alpha)
    carried = Carried.of(posterior)
    wider = np.vstack([rows_of(4, seed=2).X, Z])
    kept = np.column_stack([4 + np.arange(6), np.arange(6)])
    prior = Prior.build(posterior.prior.kernel, wider, DELTA)
    block = CarriedBlock(Link(prior, carried.prior, kept), carried.factors[0], alpha)
    H, h = np.zeros((10, 10)), np.zeros((10, 1))
    lost = block.add_to(H, h)
    X = rows_of(9, seed=3).X
    assert_allclose(predictions(Posterior(prior, H, h), X), predictions(posterior, X), atol=1e-9)
    after = Carried.of(Posterior(prior, H, h))
    assert_allclose(carried.constant + lost - after.constant, 0.0, atol=1e-9)


def test_projections_onto_the_same_inducing_inputs_lose_nothing():
    rows, Z = rows_of(30), np.linspace(-2.0, 2.0, 30)[:, None] * [1.0, 0.5]  # ill conditioned
    posterior, _ = run([rows], [Z], [NOTHING_KEPT])
    X = rows_of(9, seed=3).X
    before = predictions(posterior, X)
    for _ in range(10_000):
        prior = Prior.build(posterior.prior.kernel, Z, DELTA)
        carried = Carried.of(posterior)
        block = CarriedBlock(Link(prior, carried.prior, all_kept(30)), carried.factors[0], 0.0)
        H, h = np.zeros((30, 30)), np.zeros((30, 1))
        block.add_to(H, h)
        posterior = Posterior(prior, H, h)
    assert_allclose(predictions(posterior, X), before, atol=1e-9)


def jittered(kernel, X, Y=None, shared=()):
    """Covariances of inducing values, with the jitter of those that are the same."""
    K = kernel(X) + DELTA * np.eye(len(X)) if Y is None else kernel(X, Y)
    for i, j in shared:
        K[i, j] += DELTA
    return K


def two_steps(alpha, delta=DELTA):
    """A first batch, then a second under another kernel, noise and inducing inputs."""
    first, second = rows_of(25), rows_of(12, seed=5)
    Z_old, moved = rows_of(6, seed=1).X, rows_of(7, seed=2).X
    moved[4] = Z_old[1]
    moved[5] = Z_old[3] + 0.05  # kept, and moved
    kept = np.array([[4, 1], [5, 3]])
    posterior, _ = run([first], [Z_old], [NOTHING_KEPT], alpha)
    new = parameters_of(moved, noise=0.14, length_scale=(0.9, 1.1), variance=2.0)
    bound = bound_of(second, Carried.of(posterior), kept, alpha, delta)
    return posterior, second, kept, new, bound


@pytest.mark.parametrize("alpha", ALPHAS[1:])
def test_against_the_papers_energy(alpha):
    """Bui et al. (2017), eqs. 6 to 9, and their Power-EP energy, written out."""
    old, rows, kept, new, bound = two_steps(alpha)
    Z_old, found, value = old.prior.Z, *bound.last(new)
    K_old, kernel = jittered(kernel_of(), Z_old), new.kernel.sklearn_kernel
    m = old.prior.L @ old.v_mean
    S = old.prior.L @ old.B_inv @ old.prior.L.T
    D = np.linalg.inv(np.linalg.inv(S) - np.linalg.inv(K_old))
    D = 0.5 * (D + D.T)
    pseudo = D @ np.linalg.solve(S, m)
    Kbb, Kaa = jittered(kernel, new.Z), jittered(kernel, Z_old)
    Kba = jittered(kernel, new.Z, Z_old, kept)
    Kbf = kernel(new.Z, rows.X)
    K = np.hstack([Kbf, Kba])
    V = Kaa - Kba.T @ np.linalg.solve(Kbb, Kba)
    T = kernel.diag(rows.X) - np.sum(Kbf * np.linalg.solve(Kbb, Kbf), axis=0)
    n, s2 = len(rows), new.noise_variance
    cov = np.zeros((K.shape[1],) * 2)
    cov[:n, :n] = np.diag(s2 + alpha * T)
    cov[n:, n:] = D + alpha * V
    y = np.vstack([rows.y, pseudo])
    S_inv = np.linalg.inv(S)

    def log_det(M):
        return np.linalg.slogdet(M)[1]

    kappa = -log_det(S) + log_det(K_old) + log_det(D) + len(m) * np.log(2.0 * np.pi)
    kappa = 0.5 * (kappa + float((m.T @ (S_inv @ D @ S_inv - S_inv) @ m).item()))
    share = (1.0 - alpha) / (2.0 * alpha)
    penalty = share * (
        np.log1p(alpha * T / s2).sum() + log_det(np.eye(6) + alpha * np.linalg.solve(D, V))
    )
    energy = log_normal(y, K.T @ np.linalg.solve(Kbb, K) + cov) + kappa - penalty
    assert_allclose(value, energy, rtol=1e-6)
    gain = np.linalg.solve(K.T @ np.linalg.solve(Kbb, K) + cov, K.T).T
    assert_allclose(new_mean(found), gain @ y, rtol=1e-5, atol=1e-6)
    assert_allclose(new_covariance(found), Kbb - gain @ K.T, atol=1e-6)


def new_mean(posterior):
    return posterior.prior.L @ posterior.v_mean


def new_covariance(posterior):
    return posterior.prior.L @ posterior.B_inv @ posterior.prior.L.T


def test_small_powers_are_close_to_the_variational_bound():
    exact = two_steps(0.0)[-1].last(two_steps(0.0)[3])[1]
    near = two_steps(0.0)[0]
    _, rows, kept, new, _ = two_steps(0.0)
    power = bound_of(rows, Carried.of(near), kept, 1e-7).last(new)[1]
    assert_allclose(power, exact, rtol=1e-5)


def test_the_bound_is_below_the_predictive_density_of_the_batch():
    old, rows, _, _, _ = two_steps(0.0)
    mean, covariance = old.mean_covariance(rows.X)
    density = log_normal(rows.y - mean, covariance + NOISE * np.eye(len(rows)))
    Z = old.prior.Z
    _, value = bound_of(rows, Carried.of(old), all_kept(6)).last(parameters_of(Z))
    assert value < density
    wider = np.vstack([Z, rows.X])
    bound = bound_of(rows, Carried.of(old), all_kept(6))
    assert_allclose(bound.last(parameters_of(wider))[1], density, rtol=1e-6)


SPACE = ParameterSpace(np.tile([-9.0, 9.0], (3, 1)), (-9.0, 9.0), np.array([0.7, 1.2]))


def check_gradient(bound, parameters, rtol=1e-5):
    x = SPACE.pack(parameters)
    value, gradient = bound(parameters)
    assert np.isfinite(value)
    found = SPACE.pack_gradient(gradient)
    expected = central_difference(lambda x: bound(SPACE.unpack(x, parameters))[0], x)
    assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


@pytest.mark.parametrize("alpha", ALPHAS)
def test_gradient_of_the_online_bound(alpha):
    *_, new, bound = two_steps(alpha, delta=1e-6)
    check_gradient(bound, new)


@pytest.mark.parametrize("t", [1, 2])
def test_gradient_of_the_first_bound(t):
    rows = rows_of(15, t=t, weighted=True)
    check_gradient(bound_of(rows, delta=1e-6), parameters_of(rows_of(5, seed=1).X))


def labels(rows, likelihood):
    y = rows.y[:, :1]
    if isinstance(likelihood, Probit):
        y = np.where(y > 0.0, 1.0, -1.0)
    if isinstance(likelihood, Poisson):
        y = np.floor(np.exp(y))
    return Rows(rows.X, y, rows.weight, rows.y_mean, rows.y_scale)


@pytest.mark.parametrize(
    "likelihood",
    [Probit(), Poisson(np.zeros(1)), StudentT(), Gaussian()],
    ids=lambda likelihood: type(likelihood).__name__,
)
@pytest.mark.parametrize("power", [0.0, 0.5])
def test_gradient_of_the_bound_by_sites(likelihood, power):
    old, rows, kept, new, _ = two_steps(0.0)
    rows = labels(rows, likelihood)
    noise = new.log_noise if likelihood.n_noise else 0.0
    new = Parameters(new.expression, new.theta, noise, new.Z)
    options = {"likelihood": likelihood, "n_latent": 1, "power": power}
    bound = SitesBound(rows, Carried.of(old), kept, 1e-6, **options)
    bound.tol = 0.0
    check_gradient(bound, new, rtol=1e-4)


@pytest.mark.parametrize("t", [1, 2])
def test_gaussian_noise_by_sites_is_the_collapsed_bound(t):
    rows, second, Z = rows_of(20, t=t), rows_of(9, seed=4, t=t), rows_of(6, seed=1).X
    sums, means = [], []
    for collapsed in (True, False):
        carried, total = None, 0.0
        for part in (rows, second):
            kept = NOTHING_KEPT if carried is None else all_kept(6)
            if collapsed:
                bound = bound_of(part, carried, kept)
            else:
                bound = SitesBound(part, carried, kept, DELTA, likelihood=Gaussian(), n_latent=t)
                bound.tol = 0.0
            posterior, value = bound.last(parameters_of(Z))
            carried, total = Carried.of(posterior), total + value
        sums.append(total)
        means.append(posterior.v_mean)
    assert_allclose(sums[1], sums[0], rtol=1e-8)
    assert_allclose(means[1], means[0], rtol=1e-6, atol=1e-8)


def test_forgetting_tempers_the_old_factor():
    posterior, *_ = two_steps(0.0)
    carried = Carried.of(posterior)
    half = carried.tempered(0.5)
    assert_allclose(half.factors[0].H, 0.5 * posterior.H)
    assert_allclose(half.factors[0].h, 0.5 * posterior.h)
    assert_allclose(half.constant, 0.5 * carried.constant)
    assert carried.tempered(1.0) is carried
