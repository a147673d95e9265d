"""Sums over blocks of rows in two passes, in groups and by any number of workers."""

import numpy as np
import pytest
from dense import EVERY_MODEL, MODELS, WEIGHTED, block_factor, make_case, random_information
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.factors import passes
from sklearn_sgp.factors.block_factors import Mixture
from sklearn_sgp.factors.block_sums import block_gradient_sums, block_sums, pieces_of_blocks

MIXTURE = Mixture(((MODELS["pitc"], 0.5), (MODELS["vfe"], 0.5)))


def sums_of(case, blocks, model, n_jobs=None):
    return block_sums(case.prior, pieces_of_blocks(blocks, 5, model, n_jobs), case.noise, model)


@EVERY_MODEL
@WEIGHTED
def test_sums_are_those_of_the_factors(name, weighted):
    """H, h and the constant are what the blocks' factors add, H in both triangles."""
    case, model = make_case(t=2, weighted=weighted), MODELS[name]
    sums = sums_of(case, case.blocks(), model)
    H, h = np.zeros((5, 5)), np.zeros((5, 2))
    factors = [block_factor(case.prior, rows, case.noise, model) for rows in case.blocks()]
    constant = sum(factor.add_to(H, h) for factor in factors)
    assert_allclose(sums.posterior.H[0], np.tril(H) + np.tril(H, -1).T, rtol=1e-12, atol=1e-12)
    assert_array_equal(sums.posterior.H[0], sums.posterior.H[0].T)
    assert_allclose(sums.posterior.h, h, rtol=1e-12)
    assert_allclose(sums.constant, constant, rtol=1e-12)
    assert len(sums.posterior.H) == 1 and sums.posterior.prior.Z is case.Z


def test_sums_add_and_scale():
    """Those of two sets of blocks add up to those of all; scaled ones are of so many copies."""
    case, model = make_case(t=2), MODELS["pitc"]
    blocks = case.blocks(12)
    whole = sums_of(case, blocks, model)
    total = sums_of(case, blocks[:5], model).joined(sums_of(case, blocks[5:], model))
    thrice = sums_of(case, 3 * blocks, model)
    for got, expected in ((total, whole), (whole.scaled(3.0), thrice)):
        assert_allclose(got.posterior.H[0], expected.posterior.H[0], rtol=1e-10)
        assert_allclose(got.posterior.h, expected.posterior.h, rtol=1e-10)
        assert_allclose(got.constant, expected.constant, rtol=1e-10)
    assert whole.scaled(1.0) is whole


@EVERY_MODEL
def test_gradient_sums_have_the_expected_log_factors(name):
    """Their value is the sum of E_q[log t_B], and with the divergence the evidence at its own q."""
    case, model = make_case(t=2), MODELS[name]
    pieces = pieces_of_blocks(case.blocks(12), 5, model)
    posterior, constant = block_sums(case.prior, pieces, case.noise, model)
    for q in (posterior, case.posterior(*random_information(5, 2))):
        value = block_gradient_sums(q, pieces, case.noise, model).value
        assert_allclose(value, posterior.expected_log_factor(q) + constant, rtol=1e-9)
    value = block_gradient_sums(posterior, pieces, case.noise, model).value
    assert_allclose(value - posterior.kl(), posterior.log_evidence(constant), rtol=1e-9)


def both_passes(case, model, n_jobs):
    """All numbers of both passes in one vector."""
    pieces = pieces_of_blocks(case.blocks(12), 5, model, n_jobs)
    posterior, constant = block_sums(case.prior, pieces, case.noise, model)
    gradient = block_gradient_sums(posterior, pieces, case.noise, model).gradient(case.prior)
    parts = (posterior.H[0], posterior.h, constant, *gradient.values())
    return np.concatenate([np.ravel(part) for part in parts])


@pytest.mark.quick_cases("*-threading")
@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("name", ["vfe", "pitc"])
def test_workers_change_nothing(name, backend):
    """One worker, two threads or two processes: the same sums and gradients."""
    case = make_case("columns", t=2, weighted=True, n=40)
    with parallel_config(backend=backend):
        one, two = (both_passes(case, MODELS[name], n_jobs) for n_jobs in (1, 2))
    assert_allclose(two, one, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("model", [*MODELS.values(), MIXTURE], ids=[*MODELS, "mixture"])
def test_how_much_a_pass_keeps(model, monkeypatch):
    """Factors are kept up to the limit: A, a copy of it and n x n for a dense factor."""
    blocks = make_case().blocks(3)
    size = 8 * sum(len(rows) * (5 + 5 + model.dense * len(rows)) for rows in blocks)
    for limit, kept in ((size, [[], [], []]), (size - 1, [None] * 3)):
        monkeypatch.setattr(passes, "_KEPT_BYTES", limit)
        assert pieces_of_blocks(blocks, 5, model).kept == kept
