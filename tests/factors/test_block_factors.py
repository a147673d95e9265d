"""Factors of blocks against their definitions, for every model."""

from dataclasses import replace

import numpy as np
import pytest
from dense import (
    EVERY_MODEL,
    MODELS,
    OUTPUTS,
    WEIGHTED,
    block_definition,
    block_factor,
    exact_gp,
    log_normal,
    make_case,
    random_information,
)
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import block_diag

from sklearn_sgp.factors.block_factors import Mixture, Model


def factors(case, model, n_blocks=3):
    """Pairs of a block and its factor."""
    blocks = case.blocks(n_blocks)
    return [(rows, block_factor(case.prior, rows, case.noise, model)) for rows in blocks]


def information(case, model, n_blocks=3):
    """H, h and the constant of all blocks."""
    m, t = len(case.Z), case.y.shape[1]
    H, h = np.zeros((m, m)), np.zeros((m, t))
    constant = sum(factor.add_to(H, h) for _, factor in factors(case, model, n_blocks))
    return np.tril(H) + np.tril(H, -1).T, h, constant


def evidence(case, model, n_blocks=3):
    """log Z from the sums of blocks."""
    H, h, constant = information(case, model, n_blocks)
    B, t = np.eye(len(H)) + H, h.shape[1]
    return constant - 0.5 * t * np.linalg.slogdet(B)[1] + 0.5 * np.sum(h * np.linalg.solve(B, h))


def random_q(m, t):
    H, h = random_information(m, t)
    return h, np.linalg.inv(np.eye(m) + H)


@EVERY_MODEL
@WEIGHTED
@OUTPUTS
def test_sums_give_the_evidence(name, weighted, t):
    """What factors add up to has the dense log evidence of the model."""
    case, model = make_case(t=t, weighted=weighted), MODELS[name]
    parts = [block_definition(case, rows, model) for rows in case.blocks()]
    Kuu, P = parts[0][0], np.vstack([part[1] for part in parts])
    R = block_diag(*[part[2] for part in parts])
    y = np.vstack([rows.targets for rows in case.blocks()])
    expected = log_normal(y, P @ Kuu @ P.T + R) - t * sum(part[3] for part in parts)
    assert_allclose(evidence(case, model), expected, rtol=1e-9)


@EVERY_MODEL
@WEIGHTED
@OUTPUTS
def test_value_is_the_expected_log_factor(name, weighted, t):
    """A factor's value is the expectation of its log under any Gaussian q(v)."""
    case, model = make_case(t=t, weighted=weighted), MODELS[name]
    mean, covariance = random_q(len(case.Z), t)
    L = case.prior.L
    for rows, factor in factors(case, model):
        _, P, R, c = block_definition(case, rows, model)
        error = rows.targets - P @ L @ mean
        spread = P @ L @ covariance @ L.T @ P.T
        expected = log_normal(error, R) - 0.5 * t * np.trace(np.linalg.solve(R, spread)) - t * c
        assert_allclose(factor.gradient(mean, covariance).value, expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["vfe", "power-ep", "fitc", "block power-ep", "pitc"])
def test_a_weight_of_two_is_a_row_twice(name):
    """In one block, a row of weight two gives the evidence of the row twice."""
    case, model = make_case(n=12), MODELS[name]
    weight = np.ones(12)
    weight[3] = 2.0
    heavy = replace(case, weight=weight)
    twice = replace(
        case, X=np.insert(case.X, 3, case.X[3], axis=0), y=np.insert(case.y, 3, case.y[3], axis=0)
    )
    assert_allclose(evidence(heavy, model, 1), evidence(twice, model, 1), rtol=1e-9)


def test_one_dense_block_is_the_exact_gp():
    """PITC with all rows in one block has the evidence of the exact GP."""
    case = make_case(delta=1e-10)
    expected, _, _ = exact_gp(
        case.kernel(case.X), case.y, case.noise, np.zeros((len(case.y), 1)), np.eye(1)
    )
    assert_allclose(evidence(case, MODELS["pitc"], 1), expected, rtol=1e-8)


def test_single_rows_make_pitc_fitc():
    """With a block for each row PITC and FITC are the same model."""
    case = make_case()
    n = len(case.y)
    assert_allclose(
        evidence(case, MODELS["pitc"], n), evidence(case, MODELS["fitc"], n), rtol=1e-10
    )


def test_evidence_grows_with_alpha_to_that_of_the_dense_block():
    """From the variational limit at alpha 0 on, the evidence rises with alpha."""
    case = make_case()
    path = [evidence(case, Model("full", alpha)) for alpha in (0.0, 1e-7, 0.3, 0.7, 1.0)]
    assert_allclose(path[0], path[1], rtol=1e-5)
    assert (np.diff(path[1:]) > 0).all()


MIXTURE = Mixture(((MODELS["pitc"], 0.25), (MODELS["vfe"], 0.45), (MODELS["dtc"], 0.3)))


@WEIGHTED
def test_a_mixture_adds_log_factors(weighted):
    """Information, constant and derivatives of a mixture are the weighted sums of its models'."""
    case = make_case(t=2, weighted=weighted)
    q = random_q(5, 2)
    found = information(case, MIXTURE)
    each = [(share, information(case, model)) for model, share in MIXTURE.components]
    for k in range(3):
        assert_allclose(found[k], sum(share * part[k] for share, part in each), rtol=1e-10)
    for i, (_, factor) in enumerate(factors(case, MIXTURE)):
        got = factor.gradient(*q)
        parts = [
            (share, factors(case, model)[i][1].gradient(*q)) for model, share in MIXTURE.components
        ]
        for name in ("value", "A", "log_noise"):
            expected = sum(share * getattr(part, name) for share, part in parts)
            assert_allclose(getattr(got, name), expected, rtol=1e-10, atol=1e-12)
        (dense, full), (diagonal, row), (_, nothing) = parts
        assert nothing.K_XX is None
        assert_allclose(got.K_XX, dense * full.K_XX + np.diag(diagonal * row.K_XX), rtol=1e-10)


def test_a_mixture_of_one_is_its_model():
    """A mixture with one component makes that model's factor."""
    case, model = make_case(), MODELS["fitc"]
    one = information(case, Mixture(((model, 1.0),)))
    for part, expected in zip(one, information(case, model), strict=True):
        assert_array_equal(part, expected)


def test_which_models_need_a_dense_factor():
    """Only rows that keep their covariance given u need a dense factor."""
    dense = [name for name, model in MODELS.items() if model.dense]
    assert dense == ["block power-ep", "pitc"]
    assert MIXTURE.dense
    assert not Mixture(((MODELS["vfe"], 0.5), (MODELS["dtc"], 0.5))).dense
