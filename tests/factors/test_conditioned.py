"""Groups that are conditioned on earlier rows, against dense matrices and identities."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from dense import EVERY_KERNEL, assert_gradient, log_normal, make_case
from numpy.testing import assert_allclose

from sklearn_sgp.data.rows import ConditionedRows
from sklearn_sgp.factors.block_factors import Mixture, Model, SingularBlockError
from sklearn_sgp.objectives.block_evidence import block_evidence

CONDITIONED, PITC = Model("conditioned"), Model("full")


def random_groups(n, sizes, n_before, rng):
    """Groups of given sizes in a random order, each conditioned on some earlier rows."""
    order = rng.permutation(n)
    edges = np.cumsum([0, *sizes])
    groups = []
    for lo, hi in pairwise(edges):
        before = rng.permutation(order[:lo])[:n_before]
        groups.append((before, order[lo:hi]))
    return groups


def pieces_of(case, groups, n_pieces=2):
    """The groups in pieces, each with only the rows that it needs."""
    pieces = []
    for some in np.array_split(np.arange(len(groups)), n_pieces):
        needed = np.unique(np.concatenate([np.concatenate(groups[g]) for g in some]))
        local = [tuple(np.searchsorted(needed, part) for part in groups[g]) for g in some]
        pieces.append(ConditionedRows(case.rows.select(needed), tuple(local)))
    return pieces


def residual_precision(case, groups):
    """U^T inv(R) U of all rows, dense."""
    Kuu, Kuf, _ = case.matrices()
    K = case.kernel(case.X)
    w = np.ones(len(K)) if case.weight is None else case.weight
    S, n = K - Kuf.T @ np.linalg.solve(Kuu, Kuf) + np.diag(case.noise / w), len(K)
    precision = np.zeros((n, n))
    for before, own in groups:
        C = np.linalg.solve(S[np.ix_(before, before)], S[np.ix_(before, own)])
        R = S[np.ix_(own, own)] - S[np.ix_(own, before)] @ C
        U = np.zeros((len(own), n))
        U[:, own], U[:, before] = np.eye(len(own)), -C.T
        precision += U.T @ np.linalg.solve(R, U)
    return precision


def dense_evidence(case, groups, shares=(1.0,)):
    """log N(y; 0, Q + inv(P)), and what weights and shares add.

    P is the sum over the models of share times `residual_precision`.
    """
    Kuu, Kuf, _ = case.matrices()
    Q, t = Kuf.T @ np.linalg.solve(Kuu, Kuf), case.y.shape[1]
    w = np.ones(len(Q)) if case.weight is None else case.weight
    each = groups if len(shares) > 1 else (groups,)
    parts = [residual_precision(case, of_one) for of_one in each]
    P = sum(share * part for share, part in zip(shares, parts, strict=True))
    powers = np.sum(0.5 * (1.0 - w) * np.log(2.0 * np.pi * case.noise) - 0.5 * np.log(w))
    for share, part in zip(shares, parts, strict=True):
        powers += 0.5 * share * np.linalg.slogdet(part / (2.0 * np.pi))[1]
    powers -= 0.5 * np.linalg.slogdet(P / (2.0 * np.pi))[1]
    return log_normal(case.y, Q + np.linalg.inv(P)) + t * powers


def evidence(case, groups, parameters=None, model=CONDITIONED, **options):
    parameters = case.parameters if parameters is None else parameters
    return block_evidence(parameters, pieces_of(case, groups), case.delta, model, **options)


@pytest.fixture
def groups(rng):
    return random_groups(24, [5, 1, 7, 4, 4, 3], 6, rng)


def positive_weights(case):
    return replace(case, weight=np.linspace(0.3, 3.0, len(case.X)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("t", [1, 2])
@EVERY_KERNEL
def test_evidence_is_the_dense_one(kernel, t, weighted, groups):
    """The sums over groups have the evidence of the dense precision of the residuals."""
    case = make_case(kernel, t=t)
    case = positive_weights(case) if weighted else case
    assert_allclose(evidence(case, groups)[0], dense_evidence(case, groups), rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@EVERY_KERNEL
def test_gradients_are_differences(kernel, weighted, groups):
    """Derivatives in kernel, noise and inducing inputs are those of central differences."""
    case = make_case(kernel, t=2)
    case = positive_weights(case) if weighted else case
    _, gradient = evidence(case, groups)
    assert_gradient(gradient, lambda p: evidence(case, groups, p)[0], case.space(), case.parameters)


def alone(groups):
    """The groups as blocks that know no other rows."""
    return [(own[:0], own) for _, own in groups]


@pytest.mark.parametrize("shares", [(0.3, 0.7), (0.6, 0.9), (1.4, -0.2)])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_mixture_with_blocks_that_know_no_other_rows(weighted, shares, groups):
    """Evidence and gradient are those of the precisions of both models, weighted and added."""
    case = make_case(t=2)
    case = positive_weights(case) if weighted else case
    mixed = Mixture(tuple(zip((CONDITIONED, PITC), shares, strict=True)))
    value, gradient = evidence(case, groups, model=mixed)
    if not weighted:
        expected = dense_evidence(case, (groups, alone(groups)), shares)
        assert_allclose(value, expected, rtol=1e-9)
    function = partial(evidence, case, groups, model=mixed)
    assert_gradient(gradient, lambda p: function(p)[0], case.space(), case.parameters)


def test_a_mixture_for_outputs_with_their_own_noise(groups):
    """With a noise variance for each output, the evidence is the sum of those of the outputs."""
    mixed = Mixture(((PITC, 0.4), (CONDITIONED, 0.6)))
    case = make_case(t=2, noise=np.array([0.1, 0.7]))
    each = [replace(case, y=case.y[:, [c]], noise=float(s)) for c, s in enumerate(case.noise)]
    found = [evidence(one, groups, model=mixed) for one in each]
    value, gradient = evidence(case, groups, model=mixed)
    assert_allclose(value, sum(part for part, _ in found))
    for name in ("theta", "Z"):
        assert_allclose(gradient[name], sum(part[name] for _, part in found), rtol=1e-9)


def test_several_noise_variances_add_up(groups):
    """With a noise variance for each output, the evidence is the sum of those of the outputs."""
    case = make_case(t=2, noise=np.array([0.1, 0.7]))
    alone = [replace(case, y=case.y[:, [c]], noise=float(s)) for c, s in enumerate(case.noise)]
    found = [evidence(one, groups) for one in alone]
    value, gradient = evidence(case, groups)
    assert_allclose(value, sum(part for part, _ in found))
    for name in ("theta", "Z"):
        assert_allclose(gradient[name], sum(part[name] for _, part in found), rtol=1e-9)
    assert_allclose(gradient["log_noise"], [part["log_noise"] for _, part in found])


def test_without_conditions_it_is_pitc():
    """Groups that are conditioned on nothing are the blocks of PITC."""
    case = positive_weights(make_case(t=2))
    empty = np.empty(0, dtype=int)
    groups = [(empty, own) for own in np.array_split(np.arange(24), 4)]
    value, gradient = evidence(case, groups)
    blocks = [case.rows.select(own) for _, own in groups]
    expected, of_pitc = block_evidence(case.parameters, blocks, case.delta, PITC)
    assert_allclose(value, expected, rtol=1e-12)
    for name in ("theta", "log_noise", "Z"):
        assert_allclose(gradient[name], of_pitc[name], rtol=1e-8, atol=1e-9)


def test_all_earlier_rows_give_the_exact_gp(rng):
    """Conditioned on everything before it, the evidence is exact for any inducing inputs."""
    case, order = make_case(delta=1e-12), rng.permutation(24)
    groups = [(order[:lo], order[lo : lo + 3]) for lo in range(0, 24, 3)]
    K = case.kernel(case.X) + case.noise * np.eye(24)
    assert_allclose(evidence(case, groups)[0], log_normal(case.y, K), rtol=1e-10)


def test_weights_are_repetitions():
    """A row of weight two, as own row and as a condition, is two rows."""
    case = make_case()
    before, own, rest = np.arange(0, 6), np.arange(6, 14), np.arange(14, 24)
    empty = np.empty(0, dtype=int)
    groups = [(empty, before), (before, own), (own, rest)]
    weight = np.ones(24)
    weight[[2, 9, 20]] = 2.0
    extra = {2: 24, 9: 25, 20: 26}

    def repeated(index):
        return np.concatenate([index, [extra[i] for i in index if i in extra]]).astype(int)

    twice = replace(
        case, X=np.vstack([case.X, case.X[[2, 9, 20]]]), y=np.vstack([case.y, case.y[[2, 9, 20]]])
    )
    found = evidence(replace(case, weight=weight), groups)[0]
    centre = case.parameters  # the same centre of inputs
    expected = evidence(twice, [(repeated(a), repeated(b)) for a, b in groups], centre)[0]
    assert_allclose(found, expected, rtol=1e-10)


def test_a_covariance_that_does_not_factorise():
    """Repeated rows without noise are not positive definite; the error names noise and weights."""
    case = make_case(noise=1e-30)
    case = replace(case, X=np.repeat(case.X[:4], 6, axis=0))
    groups = [(np.arange(0), np.arange(5)), (np.arange(5), np.arange(5, 24))]
    with pytest.raises(SingularBlockError, match=r"noise variance of a row is 1.0e-30 .* Lower"):
        evidence(case, groups)
