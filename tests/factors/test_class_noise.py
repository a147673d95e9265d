"""One factor for the regressions of all classes, against each class on its own."""

from dataclasses import replace

import numpy as np
import pytest
from block_helpers import NEAR_GROUPS, near_pieces
from dense import conditional_parts, log_normal, moments_of_information
from labelled_rows import COUNTS, LABEL, N_CLASSES, VARIANCE, labelled_case
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.data import rows as data_rows
from sklearn_sgp.data.rows import ConditionedRows
from sklearn_sgp.factors.block_factors import Mixture, Model, SingularBlockError
from sklearn_sgp.factors.block_sums import block_sums
from sklearn_sgp.factors.class_noise import ClassFactors, ClassNoise
from sklearn_sgp.factors.passes import Pieces

MODELS = {
    "conditioned": Model("conditioned"),
    "full": Model("full"),
    "half full": Model("full", 0.4),
    "diagonal": Model("diagonal"),
    "half diagonal": Model("diagonal", 0.3),
    "variational": Model("diagonal", 0.0),
    "none": Model("none"),
    "mixture": Mixture(((Model("none"), 0.3), (Model("full"), 0.7))),
}
# All rows in groups, each conditioned on some of those before it.
GROUPS = [([], [4, 9, 20, 2, 13]), ([9, 2, 4], list(range(14, 20))), ([16, 20], [0, 1, 3, 5])]
GROUPS.append(([5, 14, 0, 17, 4, 3], [6, 7, 8, 10, 11, 12, 21, 22, 23]))


def sums(case, rows, model, n_jobs=1, pieces=None):
    pieces = near_pieces(rows) if pieces is None else pieces
    if not model.conditioned:
        pieces = [piece.rows for piece in pieces]
    noise = np.ones(rows.y.shape[1])
    return block_sums(case.prior, Pieces(pieces, n_jobs=n_jobs), noise, model)


@pytest.mark.parametrize("name", MODELS)
def test_sums_are_those_of_each_class(name, monkeypatch):
    """H, h and constant of every model, of rows with weights."""
    case, rows = labelled_case()
    found = sums(case, rows, MODELS[name])
    monkeypatch.setattr(data_rows, "SHARED_FROM", N_CLASSES + 1)
    expected = sums(case, rows, MODELS[name])
    assert_allclose(found.posterior.H, expected.posterior.H, rtol=1e-11, atol=1e-12)
    assert_allclose(found.posterior.h, expected.posterior.h, rtol=1e-11, atol=1e-12)
    assert_allclose(found.constant, expected.constant, rtol=1e-12)


def residual_precision(case, S):
    """Inverse of the covariance that y has given u, where groups know rows before them."""
    precision = np.zeros_like(S)
    for before, own in GROUPS:
        C = np.linalg.solve(S[np.ix_(before, before)], S[np.ix_(before, own)])
        R = S[np.ix_(own, own)] - S[np.ix_(own, before)] @ C
        U = np.zeros((len(own), len(S)))
        U[:, own], U[:, before] = np.eye(len(own)), -C.T
        precision += U.T @ np.linalg.solve(R, U)
    return precision


def test_evidence_and_moments_are_dense():
    """Of groups that are conditioned on earlier rows: each class by dense matrices."""
    case, rows = labelled_case()
    groups = tuple((np.array(a, dtype=int), np.array(b)) for a, b in GROUPS)
    found = sums(case, rows, MODELS["conditioned"], pieces=[ConditionedRows(rows, groups)])
    P, K, Q = conditional_parts(case, case.X)
    Kuu, expected = case.matrices()[0], 0.0
    for c in range(N_CLASSES):
        precision = residual_precision(case, K - Q + np.diag(VARIANCE[:, c]))
        y = rows.targets[:, c : c + 1]
        expected += log_normal(y, Q + np.linalg.inv(precision))
        weight = 1.0 / VARIANCE[:, c]
        expected -= 0.5 * np.sum((COUNTS - 1.0) * np.log(2.0 * np.pi) + np.log(weight))
        covariance = np.linalg.inv(np.linalg.inv(Kuu) + P.T @ precision @ P)
        H, h = found.posterior.H[c], found.posterior.h[:, [c]]
        mean, found_covariance = moments_of_information(Kuu, H, h)
        assert_allclose(found_covariance, covariance, rtol=1e-8, atol=1e-10)
        assert_allclose(mean, covariance @ P.T @ precision @ y, rtol=1e-8, atol=1e-10)
    assert_allclose(found.posterior.log_evidence(found.constant), expected, rtol=1e-10)


@pytest.mark.parametrize("name", ["conditioned", "full", "diagonal"])
def test_jobs_change_nothing(name):
    case, rows = labelled_case()
    one, two = (sums(case, rows, MODELS[name], n_jobs) for n_jobs in (1, 2))
    assert_array_equal(one.posterior.H, two.posterior.H)
    assert_array_equal(one.posterior.h, two.posterior.h)
    assert one.constant == two.constant


def test_inverses_of_all_classes():
    """W + F_c^T F_c is inv(S_c), and the determinants are those of the S_c."""
    case, rows = labelled_case()
    labels, K = ClassNoise.of(rows.weight), case.kernel(case.X)
    S_0 = K + np.diag(labels.other)
    W, log_det = np.linalg.inv(S_0), 0.0
    factors = ClassFactors(W, labels)
    F = factors.F_times(W)
    for c, own in labels.members:
        S = K + np.diag(VARIANCE[:, c])
        assert_allclose(W + F[own].T @ F[own], np.linalg.inv(S), rtol=1e-10, atol=1e-13)
        log_det += np.linalg.slogdet(S)[1] - np.linalg.slogdet(S_0)[1]
    assert_allclose(factors.log_det, log_det, rtol=1e-10)
    solved = np.column_stack(
        [np.linalg.solve(K + np.diag(v), y) for v, y in zip(VARIANCE.T, case.y.T, strict=True)]
    )
    assert_allclose(W @ (case.y + factors.corrections(W @ case.y)), solved, rtol=1e-9, atol=1e-12)
    assert_array_equal(labels.number, LABEL)


def test_noise_that_does_not_depend_on_the_class():
    """With one noise variance for all, nothing is added; W alone serves."""
    case, rows = labelled_case()
    equal = replace(rows, weight=np.ones_like(rows.weight))
    labels = ClassNoise.of(equal.weight)
    assert_array_equal(labels.less, 0.0)
    assert ClassFactors(np.linalg.inv(case.kernel(case.X) + np.eye(24)), labels).log_det == 0.0
    found, one = sums(case, equal, MODELS["conditioned"]), replace(case, noise=1.0)
    rows_of_one = replace(rows, weight=np.ones(24), of_classes=False)
    expected = block_sums(one.prior, Pieces(near_pieces(rows_of_one)), 1.0, MODELS["conditioned"])
    for H in found.posterior.H:
        assert_allclose(H, expected.posterior.H[0], rtol=1e-12)


@pytest.mark.parametrize("name", ["conditioned", "full"])
def test_a_class_that_is_not_positive_definite_is_told(name, monkeypatch):
    """Rows whose own noise is below 0: the error has cause and cure."""
    case, rows = labelled_case()
    monkeypatch.setattr(ClassNoise, "root", property(lambda labels: np.full(len(labels), 1e3)))
    with pytest.raises(SingularBlockError, match="must be positive definite with the noise"):
        sums(case, rows, MODELS[name])


def test_some_groups_are_there():
    """The pieces of these tests have rows of several classes, as conditions and of their own."""
    both = [np.unique(LABEL[before + own]) for before, own in NEAR_GROUPS]
    assert max(len(numbers) for numbers in both) >= 3
    assert sorted(row for _, own in GROUPS for row in own) == list(range(24))
