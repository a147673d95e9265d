"""The online bound of a batch against dense definitions, identities and differences."""

import numpy as np
import pytest
from dense import exact_gp, log_normal
from numpy.testing import assert_allclose
from stream_helpers import (
    ALPHAS,
    DELTA,
    NOISE,
    bound_of,
    check_gradient,
    kernel_of,
    parameters_of,
    rows_of,
    run,
    split,
    two_steps,
)

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.streams.inducing import NO_PAIRS, identity_pairs
from sklearn_sgp.engines.streams.old_posterior import OldPosterior
from sklearn_sgp.engines.streams.online_bound import SiteOnlineBound
from sklearn_sgp.likelihoods import Gaussian, Poisson, Probit, StudentT

# Posterior and value


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("t", [1, 2])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_any_split_gives_the_batch_posterior_and_its_evidence(alpha, t, weighted):
    """At fixed kernel, noise and Z a stream ends where one batch does, with its evidence."""
    rows, Z = rows_of(40, t=t, weighted=weighted), rows_of(7, seed=1).X
    batch, evidence = run([rows], [Z], [NO_PAIRS], alpha)
    pieces = split(rows, 1, 18, 25)
    kepts = [NO_PAIRS, *[identity_pairs(Z)] * 3]
    stream, total = run(pieces, [Z] * 4, kepts, alpha)
    assert_allclose(total, evidence, rtol=1e-10)
    assert_allclose(stream.H, batch.H, atol=1e-9 * np.abs(batch.H).max())
    assert_allclose(stream.v_mean, batch.v_mean, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_exact_gp_where_every_row_becomes_an_inducing_input(alpha):
    """With every row kept, posterior and summed bounds are those of the exact GP."""
    rows = rows_of(21)
    pieces, Zs, kepts, so_far = split(rows, 6, 13), [], [], np.empty((0, 2))
    for piece in pieces:
        kepts.append(identity_pairs(so_far))
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
    assert_allclose(found[1][:, :, 0], covariance, atol=1e-6)


def jittered(kernel, X, Y=None, shared=()):
    """Covariances of inducing values, with the jitter of those that are the same."""
    K = kernel(X) + DELTA * np.eye(len(X)) if Y is None else kernel(X, Y)
    for i, j in shared:
        K[i, j] += DELTA
    return K


def new_mean(posterior):
    return posterior.prior.L @ posterior.v_mean


def new_covariance(posterior):
    return posterior.prior.L @ posterior.precisions[0].covariance @ posterior.prior.L.T


@pytest.mark.parametrize("alpha", ALPHAS)
def test_against_the_papers_energy(alpha):
    """Bui et al. (2017), eqs. 6 to 8, and their Power-EP energy, written out; 0 is their VFE."""
    old, rows, kept, new, bound = two_steps(alpha)
    Z_old, found, value = old.prior.Z, *bound.posterior(new)
    K_old, kernel = jittered(kernel_of(), Z_old), new.kernel.sklearn_kernel
    m = old.prior.L @ old.v_mean
    S = old.prior.L @ old.precisions[0].covariance @ old.prior.L.T
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
    if alpha == 0.0:
        penalty = 0.5 * (T.sum() / s2 + np.trace(np.linalg.solve(D, V)))
    else:
        share = (1.0 - alpha) / (2.0 * alpha)
        penalty = share * (
            np.log1p(alpha * T / s2).sum() + log_det(np.eye(6) + alpha * np.linalg.solve(D, V))
        )
    energy = log_normal(y, K.T @ np.linalg.solve(Kbb, K) + cov) + kappa - penalty
    assert_allclose(value, energy, rtol=1e-6)
    gain = np.linalg.solve(K.T @ np.linalg.solve(Kbb, K) + cov, K.T).T
    assert_allclose(new_mean(found), gain @ y, rtol=1e-5, atol=1e-6)
    assert_allclose(new_covariance(found), Kbb - gain @ K.T, atol=1e-6)


def test_small_powers_are_close_to_the_variational_bound():
    """A power near zero gives the variational bound in the limit."""
    exact = two_steps(0.0)[-1].posterior(two_steps(0.0)[3])[1]
    near = two_steps(0.0)[0]
    _, rows, kept, new, _ = two_steps(0.0)
    power = bound_of(rows, OldPosterior.of(near), kept, 1e-7).posterior(new)[1]
    assert_allclose(power, exact, rtol=1e-5)


def test_the_bound_is_below_the_predictive_density_of_the_batch():
    """The bound is below the predictive log density of the batch, and it where Z has the rows."""
    old, rows, _, _, _ = two_steps(0.0)
    mean, covariance = old.mean_covariance(rows.X)
    density = log_normal(rows.y - mean, covariance[:, :, 0] + NOISE * np.eye(len(rows)))
    Z = old.prior.Z
    _, value = bound_of(rows, OldPosterior.of(old), identity_pairs(Z)).posterior(parameters_of(Z))
    assert value < density
    wider = np.vstack([Z, rows.X])
    bound = bound_of(rows, OldPosterior.of(old), identity_pairs(Z))
    assert_allclose(bound.posterior(parameters_of(wider))[1], density, rtol=1e-6)


@pytest.mark.parametrize("t", [1, 2])
def test_gaussian_noise_by_sites_is_the_collapsed_bound(t):
    """Gaussian noise taken as any other likelihood ends at the collapsed bound."""
    rows, second, Z = rows_of(20, t=t), rows_of(9, seed=4, t=t), rows_of(6, seed=1).X
    sums, means = [], []
    for collapsed in (True, False):
        old, total = None, 0.0
        for part in (rows, second):
            kept = NO_PAIRS if old is None else identity_pairs(Z)
            if collapsed:
                bound = bound_of(part, old, kept)
            else:
                options = {"likelihood": Gaussian(), "n_latent": t, "tol": 0.0}
                bound = SiteOnlineBound(part, old, kept, DELTA, **options)
            posterior, value = bound.posterior(parameters_of(Z))
            old, total = OldPosterior.of(posterior), total + value
        sums.append(total)
        means.append(posterior.v_mean)
    assert_allclose(sums[1], sums[0], rtol=1e-8)
    assert_allclose(means[1], means[0], rtol=1e-6, atol=1e-8)


# Gradients


@pytest.mark.parametrize("alpha", ALPHAS)
def test_gradient_of_the_online_bound(alpha):
    """The gradient of the bound for two different steps agrees with differences."""
    *_, new, bound = two_steps(alpha, delta=1e-6)
    check_gradient(bound, new)


@pytest.mark.parametrize("t", [1, 2])
def test_gradient_of_the_first_bound(t):
    """The gradient without an old posterior agrees with differences, weights included."""
    rows = rows_of(15, t=t, weighted=True)
    check_gradient(bound_of(rows, delta=1e-6), parameters_of(rows_of(5, seed=1).X))


def targets_for(rows, likelihood):
    """The rows with targets that the likelihood can have."""
    y = rows.y[:, :1]
    if isinstance(likelihood, Probit):
        y = np.where(y > 0.0, 1.0, -1.0)
    if isinstance(likelihood, Poisson):
        y = np.floor(np.exp(y))
    return Rows(rows.X, y, rows.weight, rows.y_mean, rows.y_scale)


@pytest.mark.quick_cases("0.5-StudentT", "0.0-Poisson", "*-Probit", "*-Gaussian")
@pytest.mark.parametrize(
    "likelihood",
    [Probit(), Poisson(np.zeros(1)), StudentT(), Gaussian()],
    ids=lambda likelihood: type(likelihood).__name__,
)
@pytest.mark.parametrize("power", [0.0, 0.5])
def test_gradient_of_the_bound_by_sites(likelihood, power):
    """The gradient for other likelihoods, at the optimal q, agrees with differences."""
    old, rows, kept, new, _ = two_steps(0.0)
    rows = targets_for(rows, likelihood)
    noise = new.log_noise if likelihood.has_noise else 0.0
    new = new.with_values(log_noise=noise)
    options = {"likelihood": likelihood, "n_latent": 1, "power": power, "tol": 0.0}
    bound = SiteOnlineBound(rows, OldPosterior.of(old), kept, 1e-6, **options)
    check_gradient(bound, new, rtol=1e-4)
