"""Predictions of classes from near rows, one factor for all, against dense definitions."""

import numpy as np
import pytest
from dense import conditional_parts, moments_of_information, random_informations
from labelled_rows import COUNTS, N_CLASSES, VARIANCE, labelled_case
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.data import rows as data_rows
from sklearn_sgp.factors import cells
from sklearn_sgp.factors.block_factors import SingularBlockError
from sklearn_sgp.factors.cells import ClassCell, FactorCache
from sklearn_sgp.factors.class_noise import ClassNoise
from sklearn_sgp.partitions.blocks import Blocks
from sklearn_sgp.predict.near_rows import LocalConditional

LABELS = np.repeat([0, 1, 2], 8)  # of the blocks of the 24 rows
X_TEST = np.random.default_rng(5).uniform(-2.0, 2.0, (9, 2))
TEST_LABELS = np.array([1, 0, 0, -1, 2, 2, 2, -1, 1])
NOISE = np.ones(N_CLASSES)


def conditional(n_jobs=None, cache=None):
    """From a q(u) of no data, and what it is made of."""
    case, rows = labelled_case()
    H, h = random_informations(5, N_CLASSES, seed=3)
    made = LocalConditional(case.posterior(H, h), NOISE, Blocks(rows, LABELS).around, n_jobs, cache)
    return case, rows, H, h, made


def dense(case, rows, H, h, c):
    """Mean (n,) and covariance (n, n) of the function of a class at the test rows."""
    m, S = moments_of_information(case.matrices()[0], H[c], h[:, c])
    P, K, Q = conditional_parts(case, X_TEST)
    mean, A, covariance = P @ m, P.copy(), np.zeros_like(K)
    for k in (-1, 0, 1, 2):
        test, mine = TEST_LABELS == k, LABELS == k
        local = (K - Q)[np.ix_(test, test)]
        if k >= 0:
            P_B, K_B, Q_B = conditional_parts(case, case.X[mine])
            R = K_B - Q_B + np.diag(VARIANCE[mine, c])
            cross = case.kernel(X_TEST[test], case.X[mine])
            cross -= P[test] @ case.kernel(case.Z, case.X[mine])
            gain = np.linalg.solve(R, cross.T).T
            mean[test] += gain @ (rows.targets[mine, c] - P_B @ m)
            A[test] -= gain @ P_B
            local = local - gain @ cross.T
        covariance[np.ix_(test, test)] += local
    return mean, covariance + A @ S @ A.T


def test_predictions_are_dense():
    """Means, variances and covariances of all classes, of rows with weights."""
    case, rows, H, h, made = conditional()
    found = [dense(case, rows, H, h, c) for c in range(N_CLASSES)]
    mean = np.column_stack([own for own, _ in found])
    covariance = np.stack([own for _, own in found], axis=2)
    means, variances = made.mean_variance(X_TEST, TEST_LABELS)
    assert_allclose(means, mean, rtol=1e-9, atol=1e-10)
    assert_allclose(made.mean(X_TEST, TEST_LABELS), mean, rtol=1e-9, atol=1e-10)
    assert_allclose(variances, np.einsum("iic->ic", covariance), rtol=1e-9, atol=1e-10)
    joint = made.mean_covariance(X_TEST, TEST_LABELS)
    assert_allclose(joint[0], mean, rtol=1e-9, atol=1e-10)
    assert_allclose(joint[1], covariance, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e8])
def test_they_are_those_of_each_class(scale, monkeypatch):
    """At weights that differ by orders, too; the classes' own factors lose no digits there."""
    case, rows, H, h, _ = conditional()
    heavy = np.where(np.arange(24) % 3 == 0, scale, 1.0)[:, None]
    rows = rows.with_precision(heavy / (VARIANCE * COUNTS[:, None]))
    made = LocalConditional(case.posterior(H, h), NOISE, Blocks(rows, LABELS).around)
    found = made.mean_variance(X_TEST, TEST_LABELS)
    monkeypatch.setattr(data_rows, "SHARED_FROM", N_CLASSES + 1)
    expected = made.mean_variance(X_TEST, TEST_LABELS)
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-8, atol=1e-9)


def test_many_test_rows_get_what_few_get():
    made = conditional()[-1]
    X = np.random.default_rng(3).uniform(-2.0, 2.0, (40, 2))
    many = made.mean_variance(X, np.ones(40, dtype=int))
    few = [made.mean_variance(x[None], np.ones(1, dtype=int)) for x in X]
    for found, expected in zip(many, zip(*few, strict=True), strict=True):
        assert_allclose(found, np.concatenate(expected), rtol=1e-9, atol=1e-12)


def test_jobs_and_the_cache_change_nothing(monkeypatch):
    """Nor does it matter how many cells are factorised together, but for rounding."""
    cache = FactorCache(1 << 20)
    expected = conditional(1)[-1].mean_variance(X_TEST, TEST_LABELS)
    parallel, kept = conditional(2)[-1], conditional(1, cache)[-1]
    for made in (parallel, kept, kept):
        for one, other in zip(made.mean_variance(X_TEST, TEST_LABELS), expected, strict=True):
            assert_array_equal(one, other)
    assert sorted(cache.held) == [0, 1, 2]
    assert all(isinstance(cell, ClassCell) for cell in cache.held.values())
    arrays = [each for cell in cache.held.values() for each in (cell.X, cell.F_At, cell.classes.U)]
    assert sum(each.nbytes for each in arrays) < cache.nbytes <= cache.max_bytes
    monkeypatch.setattr(cells, "_TOGETHER", 1)
    apart = conditional(1)[-1].mean_variance(X_TEST, TEST_LABELS)
    assert_allclose(np.hstack(apart), np.hstack(expected), rtol=1e-10)


def test_without_near_rows_u_alone_tells():
    case, _, H, h, made = conditional()
    nowhere, posterior = np.full(9, -1), case.posterior(H, h)
    for name in ("mean_variance", "mean_covariance"):
        found, expected = getattr(made, name)(X_TEST, nowhere), getattr(posterior, name)(X_TEST)
        for one, other in zip(found, expected, strict=True):
            assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("spoilt", ["other", "root"])
def test_rows_that_are_not_positive_definite_are_told(spoilt, monkeypatch):
    """Be it with the noise of other classes, or that of one alone."""
    made = conditional()[-1]
    value = -10.0 if spoilt == "other" else 1e3
    if spoilt == "root":
        monkeypatch.setattr(
            ClassNoise, "root", property(lambda labels: np.full(len(labels), value))
        )
    else:
        of = ClassNoise.of.__func__

        def negative(cls, weight):
            labels = of(cls, weight)
            return ClassNoise(labels.number, labels.other + value, labels.less)

        monkeypatch.setattr(ClassNoise, "of", classmethod(negative))
    with pytest.raises(SingularBlockError, match="the 8 rows of a block"):
        made.mean_variance(X_TEST, TEST_LABELS)
