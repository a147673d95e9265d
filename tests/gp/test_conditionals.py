"""Predictions of every test conditional, against dense definitions."""

import numpy as np
import pytest
from dense import exact_gp, make_case
from numpy.testing import assert_allclose

from sklearn_sgp.factors.block_sums import factor_sums
from sklearn_sgp.factors.block_factors import Model
from sklearn_sgp.gp.posterior import Posterior
from sklearn_sgp.gp.conditionals import Conditional, Deterministic, InBlocks, Independent

PITC, FITC, DTC = Model("block"), Model("diagonal"), Model("nothing")
LABELS = np.repeat([0, 1, 2], 8)  # of the 24 rows of a case
X_TEST = np.random.default_rng(5).uniform(-2.0, 2.0, (9, 2))
TEST_LABELS = np.array([1, 0, 0, -1, 2, 2, 2, -1, 1])


def training(case):
    """Rows of each block."""
    return lambda k: case.rows.select(LABELS == k)


def at_optimum(case, model):
    """The optimal q(u) from the blocks."""
    blocks = [training(case)(k) for k in range(3)]
    sums = factor_sums(case.prior, blocks, case.noise, model)
    return Posterior(case.prior, sums.H, sums.h)


def somewhere(case):
    """A q(u) that belongs to no data."""
    rng = np.random.default_rng(3)
    m, t = len(case.Z), case.y.shape[1]
    root = rng.standard_normal((m, m + 2))
    return Posterior(case.prior, root @ root.T, rng.standard_normal((m, t)))


def moments(posterior):
    """Mean and covariance of u."""
    L, S = posterior.prior.L, np.linalg.inv(np.eye(len(posterior.H)) + posterior.H)
    return L @ S @ posterior.h, L @ S @ L.T


def pieces(case, X):
    Kuu = case.kernel(case.Z) + case.delta * np.eye(len(case.Z))
    Kxu = case.kernel(X, case.Z)
    P = np.linalg.solve(Kuu, Kxu.T).T
    return P, case.kernel(X), P @ Kxu.T


def check(predictor, mean, covariance, X=X_TEST, blocks=None, **tolerance):
    tolerance = {"rtol": 1e-7, "atol": 1e-9, **tolerance}
    ours, full = predictor.mean_covariance(X, blocks)
    assert_allclose(ours, mean, **tolerance)
    assert_allclose(full, covariance, **tolerance)
    ours, variance = predictor.mean_variance(X, blocks)
    assert_allclose(ours, mean, **tolerance)
    assert_allclose(variance, np.diagonal(covariance), **tolerance)
    assert_allclose(predictor.mean(X, blocks), mean, **tolerance)


@pytest.mark.parametrize("t", [1, 2])
def test_conditionals_from_any_q(t):
    case = make_case(t=t)
    posterior = somewhere(case)
    m, S = moments(posterior)
    P, K, Q = pieces(case, X_TEST)
    through_u = P @ S @ P.T
    check(Conditional(posterior), P @ m, K - Q + through_u)
    check(Deterministic(posterior), P @ m, through_u)
    check(Independent(posterior), P @ m, np.diag(np.diagonal(K - Q)) + through_u)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("t", [1, 2])
def test_pic_from_any_q(t, weighted):
    case = make_case(t=t)
    weight = np.linspace(0.5, 2.0, 24) if weighted else np.ones(24)
    rows = case.rows
    rows = type(rows)(rows.X, rows.y, weight if weighted else None, rows.y_mean, rows.y_scale)
    posterior = somewhere(case)
    m, S = moments(posterior)
    P, K, Q = pieces(case, X_TEST)
    mean, A = P @ m, P.copy()
    covariance = np.zeros_like(K)
    for k in (-1, 0, 1, 2):
        test, mine = TEST_LABELS == k, LABELS == k
        local = (K - Q)[np.ix_(test, test)]
        if k >= 0:
            P_B, K_B, Q_B = pieces(case, case.X[mine])
            R = K_B - Q_B + np.diag(case.noise / weight[mine])
            cross = case.kernel(X_TEST[test], case.X[mine])
            cross -= P[test] @ case.kernel(case.Z, case.X[mine])
            gain = np.linalg.solve(R, cross.T).T
            mean[test] += gain @ (case.y[mine] - P_B @ m)
            A[test] -= gain @ P_B
            local = local - gain @ cross.T
        covariance[np.ix_(test, test)] += local
    covariance += A @ S @ A.T
    predictor = InBlocks(posterior, case.noise, PITC, lambda k: rows.select(LABELS == k))
    check(predictor, mean, covariance, blocks=TEST_LABELS)


def effective(case, X, labels, model):
    """Prior covariance of the model: Q, plus what its factors keep, within blocks."""
    _, K, Q = pieces(case, X)
    kept = {"nothing": 0.0, "diagonal": np.eye(len(X)), "block": labels[:, None] == labels}
    return Q + kept[model.part] * (K - Q)


@pytest.mark.parametrize(
    "name, model, predictor",
    [
        ("SoR", DTC, Deterministic),
        ("DTC", DTC, Conditional),
        ("FITC", FITC, Conditional),
        ("FIC", FITC, Independent),
        ("PITC", PITC, Conditional),
        ("PIC", PITC, InBlocks),
    ],
)
def test_optimal_q_is_dense_conditioning(name, model, predictor):
    case = make_case(t=2)
    both, n = np.vstack([case.X, X_TEST]), len(case.X)
    labels = np.concatenate([LABELS, np.where(TEST_LABELS < 0, 100, TEST_LABELS)])
    posterior = at_optimum(case, model)
    extra = (case.noise, model, training(case)) if name == "PIC" else ()
    K = effective(case, both, labels, model)
    _, exact, Q = pieces(case, both)
    prior = {"SoR": Q, "FIC": K, "PIC": K}.get(name, exact)[n:, n:]
    cross = (K if name == "PIC" else Q)[:n, n:]
    _, mean, covariance = exact_gp(K[:n, :n], case.y, case.noise, cross, prior)
    check(predictor(posterior, *extra), mean, covariance, blocks=TEST_LABELS, rtol=1e-6)


@pytest.mark.parametrize("m", [1, 5])
def test_pic_with_one_block_is_the_exact_gp(m):
    case = make_case(m=m, delta=1e-8)
    sums = factor_sums(case.prior, [case.rows], case.noise, PITC)
    posterior = Posterior(case.prior, sums.H, sums.h)
    predictor = InBlocks(posterior, case.noise, PITC, lambda k: case.rows)
    _, mean, covariance = exact_gp(
        case.kernel(case.X), case.y, case.noise, case.kernel(case.X, X_TEST), case.kernel(X_TEST)
    )
    check(predictor, mean, covariance, blocks=np.zeros(9, dtype=int), rtol=1e-5, atol=1e-6)


def test_pic_without_blocks_is_pitc():
    case = make_case()
    posterior = at_optimum(case, PITC)
    pic = InBlocks(posterior, case.noise, PITC, training(case))
    mean, covariance = Conditional(posterior).mean_covariance(X_TEST)
    check(pic, mean, covariance)


def test_pic_with_single_rows_in_blocks():
    case = make_case()
    posterior = at_optimum(case, PITC)
    one = InBlocks(posterior, case.noise, PITC, lambda k: case.rows.select(slice(k, k + 1)))
    none = InBlocks(posterior, case.noise, PITC, lambda k: case.rows.select(slice(0, 0)))
    mean, covariance = Conditional(posterior).mean_covariance(X_TEST)
    check(none, mean, covariance, blocks=np.zeros(9, dtype=int))
    assert np.isfinite(one.mean_covariance(X_TEST, np.arange(9))[1]).all()
    assert (one.mean_variance(X_TEST, np.arange(9))[1] <= np.diagonal(covariance) + 1e-9).sum() > 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_jobs_change_nothing(n_jobs):
    case = make_case()
    posterior = at_optimum(case, PITC)
    parallel = InBlocks(posterior, case.noise, PITC, training(case), n_jobs)
    mean, covariance = InBlocks(posterior, case.noise, PITC, training(case)).mean_covariance(
        X_TEST, TEST_LABELS
    )
    check(parallel, mean, covariance, blocks=TEST_LABELS)
