"""Predictions of PIC's test conditional, against dense definitions."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from dense import (
    MODELS,
    OUTPUTS,
    WEIGHTED,
    assert_moments,
    conditional_parts,
    exact_gp,
    labelled_posterior,
    make_case,
    moments_of_information,
    random_information,
)
from failures import interrupt
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp._parallel import N_GROUPS
from sklearn_sgp.factors import cells
from sklearn_sgp.factors.block_factors import SingularBlockError
from sklearn_sgp.factors.cells import FactorCache
from sklearn_sgp.gp.posterior import ExactConditional
from sklearn_sgp.partitions.blocks import Blocks
from sklearn_sgp.predict import near_rows as prediction
from sklearn_sgp.predict.near_rows import LocalConditional

PITC = MODELS["pitc"]
LABELS = np.repeat([0, 1, 2], 8)  # of the 24 rows of a case
X_TEST = np.random.default_rng(5).uniform(-2.0, 2.0, (9, 2))
TEST_LABELS = np.array([1, 0, 0, -1, 2, 2, 2, -1, 1])
NO_LABELS = np.full(9, -1)


def training(case, labels=LABELS):
    """Rows of some blocks."""
    return Blocks(case.rows, labels).around


def check(conditional, mean, covariance, blocks=TEST_LABELS, **tolerance):
    assert_moments(
        lambda name: getattr(conditional, name)(X_TEST, blocks), mean, covariance, **tolerance
    )


@WEIGHTED
@OUTPUTS
def test_pic_from_any_q(t, weighted):
    """From a q(u) of no data, a row is also told by the targets of its own block, given u."""
    case = make_case(t=t)
    weight = np.linspace(0.5, 2.0, 24) if weighted else np.ones(24)
    rows = replace(case.rows, weight=weight if weighted else None)
    H, h = random_information(5, t, seed=3)
    m, S = moments_of_information(case.matrices()[0], H, h)
    P, K, Q = conditional_parts(case, X_TEST)
    mean, A = P @ m, P.copy()
    covariance = np.zeros_like(K)
    for k in (-1, 0, 1, 2):
        test, mine = TEST_LABELS == k, LABELS == k
        local = (K - Q)[np.ix_(test, test)]
        if k >= 0:
            P_B, K_B, Q_B = conditional_parts(case, case.X[mine])
            R = K_B - Q_B + np.diag(case.noise / weight[mine])
            cross = case.kernel(X_TEST[test], case.X[mine])
            cross -= P[test] @ case.kernel(case.Z, case.X[mine])
            gain = np.linalg.solve(R, cross.T).T
            mean[test] += gain @ (case.y[mine] - P_B @ m)
            A[test] -= gain @ P_B
            local = local - gain @ cross.T
        covariance[np.ix_(test, test)] += local
    covariance += A @ S @ A.T
    conditional = LocalConditional(case.posterior(H, h), case.noise, Blocks(rows, LABELS).around)
    check(conditional, mean, covariance)


def test_pic_at_the_optimum_is_dense_conditioning():
    """PIC is the exact GP with the prior covariance that keeps K within blocks, Q elsewhere."""
    case = make_case(t=2)
    both, n = np.vstack([case.X, X_TEST]), len(case.X)
    labels = np.concatenate([LABELS, np.where(TEST_LABELS < 0, 100, TEST_LABELS)])
    _, exact, Q = conditional_parts(case, both)
    K = Q + (labels[:, None] == labels) * (exact - Q)
    _, mean, covariance = exact_gp(K[:n, :n], case.y, case.noise, K[:n, n:], K[n:, n:])
    posterior = labelled_posterior(case, LABELS, PITC)
    conditional = LocalConditional(posterior, case.noise, training(case))
    check(conditional, mean, covariance, rtol=1e-6)


@pytest.mark.parametrize("m", [1, 5])
def test_pic_with_one_block_is_the_exact_gp(m):
    """With all rows in one block, however few the inducing inputs, PIC is the exact GP."""
    case = make_case(m=m, delta=1e-8)
    posterior = labelled_posterior(case, np.zeros(24), PITC)
    conditional = LocalConditional(posterior, case.noise, training(case, np.zeros(24, dtype=int)))
    _, mean, covariance = exact_gp(
        case.kernel(case.X), case.y, case.noise, case.kernel(case.X, X_TEST), case.kernel(X_TEST)
    )
    check(conditional, mean, covariance, np.zeros(9, dtype=int), rtol=1e-5, atol=1e-6)


def test_pic_of_rows_in_no_block_is_pitc():
    """Rows that belong to no block are predicted from u alone."""
    case = make_case()
    posterior = labelled_posterior(case, LABELS, PITC)
    pic = LocalConditional(posterior, case.noise, training(case))
    mean, covariance = posterior.mean_covariance(X_TEST)
    check(pic, mean, covariance[:, :, 0], NO_LABELS)


def test_pic_with_single_rows_in_blocks():
    """A block of one row predicts finite variances, one without rows those from u alone."""
    case = make_case()
    posterior = labelled_posterior(case, LABELS, PITC)
    one = LocalConditional(posterior, case.noise, training(case, np.arange(24)))
    none = LocalConditional(posterior, case.noise, lambda some: training(case)([-1] * len(some)))
    mean, covariance = ExactConditional(posterior).mean_covariance(X_TEST)
    covariance = covariance[:, :, 0]
    check(none, mean, covariance, np.zeros(9, dtype=int))
    assert np.isfinite(one.mean_covariance(X_TEST, np.arange(9))[1]).all()
    variance = one.mean_variance(X_TEST, np.arange(9))[1][:, 0]
    assert (variance <= np.diagonal(covariance) + 1e-9).sum() > 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_jobs_change_nothing(n_jobs):
    """Any number of workers predicts the same."""
    case = make_case()
    posterior = labelled_posterior(case, LABELS, PITC)
    parallel = LocalConditional(posterior, case.noise, training(case), n_jobs)
    alone = LocalConditional(posterior, case.noise, training(case))
    mean, covariance = alone.mean_covariance(X_TEST, TEST_LABELS)
    check(parallel, mean, covariance[:, :, 0])


def test_a_cache_keeps_the_blocks_that_fit():
    """The last blocks used are kept within the bound, give the same, and no copy takes them."""
    case = make_case()
    posterior = labelled_posterior(case, LABELS, PITC)
    fresh = LocalConditional(posterior, case.noise, training(case))
    expected = fresh.mean_variance(X_TEST, TEST_LABELS)
    cache = FactorCache(1 << 20)
    kept = LocalConditional(posterior, case.noise, training(case), cache=cache)
    for _ in range(2):
        for one, other in zip(kept.mean_variance(X_TEST, TEST_LABELS), expected, strict=True):
            assert_array_equal(one, other)
    assert sorted(cache.held) == [0, 1, 2]
    assert cache.nbytes == sum(made.nbytes for made in cache.held.values())
    assert not pickle.loads(pickle.dumps(cache)).held
    two = FactorCache(cache.nbytes * 2 // 3)
    small = LocalConditional(posterior, case.noise, training(case), cache=two)
    assert_allclose(small.mean(X_TEST, TEST_LABELS), expected[0])
    assert list(two.held) == [1, 2] and two.nbytes <= two.max_bytes


@pytest.mark.parametrize("size", [1, 8192])
def test_blocks_that_share_rows(monkeypatch, size):
    """Blocks whose rows are whitened together predict what each does alone, cached or not."""
    monkeypatch.setattr(cells, "_TOGETHER", size)
    case = make_case(t=2)
    posterior = labelled_posterior(case, LABELS, PITC)
    own = {-1: np.arange(0), 0: np.arange(12), 1: np.arange(20, 4, -1), 2: np.arange(10, 24)}

    def together(numbers):
        return case.rows, [own[k] for k in numbers]

    def apart(numbers):
        ends = np.cumsum([len(own[k]) for k in numbers])
        rows = case.rows.select(np.concatenate([own[k] for k in numbers]))
        return rows, np.split(np.arange(len(rows)), ends[:-1])

    cache = FactorCache(1 << 20)
    alone = LocalConditional(posterior, case.noise, apart)
    shared = LocalConditional(posterior, case.noise, together, 2, cache)
    shared.mean_variance(X_TEST[:3], TEST_LABELS[:3])  # of blocks 0 and 1
    assert sorted(cache.held) == [0, 1]
    for name in ("mean", "mean_variance"):
        found, expected = (getattr(one, name)(X_TEST, TEST_LABELS) for one in (shared, alone))
        assert_allclose(np.hstack(found), np.hstack(expected), rtol=1e-10)


@pytest.mark.parametrize("moments", ["mean", "mean_variance", "mean_covariance"])
def test_a_block_that_is_not_positive_definite_is_told(moments):
    """The error names noise and weights, whatever is asked for; no NaN is predicted."""
    case = make_case()
    posterior = labelled_posterior(case, LABELS, PITC)
    pic = LocalConditional(posterior, -10.0, training(case))  # as if rounding were that large
    with pytest.raises(SingularBlockError, match="the 8 rows of a block"):
        getattr(pic, moments)(X_TEST, TEST_LABELS)


@pytest.mark.parametrize("t", [1, 2])
def test_many_test_rows_get_what_few_get(t):
    """More test rows than inducing inputs take another order of products, with equal results."""
    case = make_case(t=t)
    posterior = labelled_posterior(case, LABELS, PITC)
    pic = LocalConditional(posterior, case.noise, training(case))
    X = np.random.default_rng(3).uniform(-2.0, 2.0, (40, 2))
    many = pic.mean_variance(X, np.ones(40, dtype=int))
    few = [pic.mean_variance(x[None], np.ones(1, dtype=int)) for x in X]
    for found, expected in zip(many, zip(*few, strict=True), strict=True):
        assert_allclose(found, np.concatenate(expected), rtol=1e-9, atol=1e-12)


def test_means_alone_need_no_variance(monkeypatch):
    """The means are those that come with variances, and nothing of a variance is computed."""
    case = make_case(t=2)
    posterior = labelled_posterior(case, LABELS, PITC)
    pic = LocalConditional(posterior, case.noise, training(case), cache=FactorCache(1 << 20))
    expected = pic.mean_variance(X_TEST, TEST_LABELS)[0]
    posterior.warm_cache()
    interrupt(monkeypatch, prediction.la, "row_dots", 1, AssertionError)
    interrupt(monkeypatch, prediction, "condition", 1, AssertionError)
    interrupt(monkeypatch, cells, "factorise", 1, AssertionError)
    assert_allclose(pic.mean(X_TEST, TEST_LABELS), expected, rtol=1e-9)


def test_workers_that_are_processes_get_few_posteriors(monkeypatch):
    """Where a task is pickled, blocks share one, at most `N_GROUPS` in all."""
    case, sizes = make_case(), []

    def recorded(function, tasks, n_jobs):
        sizes.append([len(cells.numbers) for *_, cells in tasks])
        return [function(*task) for task in tasks]

    posterior = labelled_posterior(case, LABELS, PITC)
    pic = LocalConditional(posterior, case.noise, training(case, np.arange(24)), 2)
    X, blocks = np.repeat(X_TEST, 3, axis=0)[:24], np.arange(24)
    expected = pic.mean_variance(X, blocks)
    monkeypatch.setattr(prediction, "map_groups", recorded)
    monkeypatch.setattr(prediction, "shares_memory", lambda: False)
    assert_allclose(pic.mean_variance(X, blocks)[0], expected[0], rtol=1e-12)  # sums of BLAS
    assert len(sizes[0]) <= N_GROUPS and sum(sizes[0]) == 24
