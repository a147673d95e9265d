"""Rows whose noise has a precision of its own: every objective against its dense definition.

The objectives leave half the logarithm of each precision out: whoever gives precisions knows what
is expected of it.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from dense import (
    COORDINATES,
    EVERY_MODEL,
    MODELS,
    assert_gradient,
    central_difference,
    log_normal,
    make_case,
    minibatch,
)
from numpy.testing import assert_allclose
from scipy.linalg import block_diag

from sklearn_sgp.data.rows import ConditionedRows, Rows
from sklearn_sgp.factors.block_factors import Model
from sklearn_sgp.factors.passes import Pieces
from sklearn_sgp.objectives.block_evidence import block_evidence
from sklearn_sgp.objectives.collapsed import collapsed_bound, optimal_q
from sklearn_sgp.objectives.composite_likelihood import CompositeLikelihood

PRECISION = np.random.default_rng(8).gamma(2.0, 0.5, 24)
EDGES = [0, 8, 16, 24]


def left_out(precision, t=2):
    return 0.5 * t * np.log(precision).sum()


def blocks_of(rows):
    return [rows.select(slice(lo, hi)) for lo, hi in pairwise(EDGES)]


def definition(case, model):
    """log Z of a block model with a noise variance of each row (docs/theory.md, section 9)."""
    Kuu, Kuf, _ = case.matrices()
    P, noise, penalty = np.linalg.solve(Kuu, Kuf).T, case.noise / PRECISION, 0.0
    residual = case.kernel(case.X) - P @ Kuf
    parts = []
    for lo, hi in pairwise(EDGES):
        T, own = residual[lo:hi, lo:hi], np.diag(noise[lo:hi])
        if model.residual == "none":
            T = np.zeros_like(T)
        elif model.residual == "diagonal" or model.alpha == 0.0:
            T = np.diag(np.diagonal(T))
        scaled = np.linalg.solve(own, T)
        if model.alpha == 0.0:
            penalty += 0.5 * np.trace(scaled)
        else:
            log_det = np.linalg.slogdet(np.eye(len(T)) + model.alpha * scaled)[1]
            penalty += 0.5 * (1.0 - model.alpha) / model.alpha * log_det
        parts.append(own + model.alpha * T)
    return log_normal(case.y, P @ Kuu @ P.T + block_diag(*parts)) - case.y.shape[1] * penalty


@EVERY_MODEL
def test_evidence_of_blocks(name):
    """Of every model of blocks, with its gradient."""
    case, model = make_case(t=2), MODELS[name]
    blocks = blocks_of(case.rows.with_precision(PRECISION))
    value, gradient = block_evidence(case.parameters, blocks, case.delta, model)
    assert_allclose(value + left_out(PRECISION), definition(case, model), rtol=1e-10)

    def at(parameters):
        return block_evidence(parameters, blocks, case.delta, model)[0]

    assert_gradient(gradient, at, case.space(), case.parameters, rtol=1e-5, atol=1e-5)


def test_evidence_of_conditioned_groups():
    """Conditioned on all earlier rows it is the exact process with that noise."""
    case = make_case(t=2)
    groups = tuple((np.arange(lo), np.arange(lo, lo + 6)) for lo in range(0, 24, 6))
    pieces = [ConditionedRows(case.rows.with_precision(PRECISION), groups)]
    model = Model("conditioned")
    value, gradient = block_evidence(case.parameters, pieces, 0.0, model)
    S = case.kernel(case.X) + np.diag(case.noise / PRECISION)
    assert_allclose(value + left_out(PRECISION), log_normal(case.y, S), rtol=1e-8)

    def at(parameters):
        return block_evidence(parameters, pieces, case.delta, model)[0]

    _, gradient = block_evidence(case.parameters, pieces, case.delta, model)
    assert_gradient(gradient, at, case.space(), case.parameters, rtol=1e-5, atol=1e-5)


def test_density_of_near_rows():
    """log p(y_B | y_N) with the noise of each row, N's included."""
    case = make_case(t=2)
    rows = case.rows.with_precision(PRECISION)
    evidence = CompositeLikelihood([ConditionedRows(rows, ((np.arange(9), np.arange(9, 24)),))])
    S = case.kernel(case.X) + np.diag(case.noise / PRECISION)
    expected = log_normal(case.y, S) - log_normal(case.y[:9], S[:9, :9])
    value, gradient = evidence(case.parameters)
    assert_allclose(value + left_out(PRECISION[9:]), expected, rtol=1e-10)
    space = case.space(fixed=("Z",))
    assert_gradient(gradient, lambda p: evidence(p)[0], space, case.parameters)


@pytest.mark.parametrize("noise", [0.3, np.array([0.2, 0.7])])
def test_the_collapsed_bound(noise):
    """Titsias' bound with a noise variance of each row, and its slope in the logarithm of noise."""
    case = make_case(t=2, noise=noise)
    rows = case.rows.with_precision(PRECISION)
    value, gradient = collapsed_bound(case.parameters, rows, case.delta)
    outputs = [replace(case, y=case.y[:, [c]], noise=s) for c, s in enumerate(noise + np.zeros(2))]
    expected = sum(definition(one, MODELS["vfe"]) for one in outputs)
    assert_allclose(value + left_out(PRECISION), expected, rtol=1e-10)

    def at(log_noise):
        moved = case.parameters.with_values(log_noise=log_noise if np.ndim(noise) else log_noise[0])
        return collapsed_bound(moved, rows, case.delta)[0]

    found = np.atleast_1d(gradient["log_noise"])
    assert_allclose(found, central_difference(at, np.log(np.atleast_1d(noise))), rtol=1e-6)


@COORDINATES
def test_a_minibatch(coordinates):
    """At the optimal q(u) of all rows it has value and gradient of the collapsed bound."""
    case = make_case(t=2)
    rows = case.rows.with_precision(PRECISION)
    q, _ = optimal_q(case.prior, Pieces.of_rows(rows), case.noise, coordinates)
    value, gradient = collapsed_bound(case.parameters, rows, case.delta)
    terms = minibatch(q, case, rows=rows)
    assert_allclose(terms.value, value, rtol=1e-10)
    assert_allclose(terms.gradient["log_noise"], gradient["log_noise"], rtol=1e-8)
    assert_allclose(terms.gradient["theta"], gradient["theta"], rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_keep_their_counts(weighted):
    """Parts, multiples and unions of rows have weights and counts that belong together."""
    case = make_case(weighted=weighted)
    rows = case.rows.with_precision(PRECISION)
    weight = np.ones(24) if case.weight is None else case.weight
    assert_allclose(rows.weights, [weight * PRECISION, weight])
    assert_allclose(rows.total_weight, weight.sum())
    assert_allclose(
        rows.with_precision(2.0 * PRECISION).weights, [2.0 * weight * PRECISION, weight]
    )
    assert_allclose(rows.select(slice(3, 9)).weights, [part[3:9] for part in rows.weights])
    assert_allclose(rows.weighted(3.0).weights, 3.0 * np.array(rows.weights))
    both = rows.joined(case.rows)
    assert_allclose(both.weights, np.hstack([rows.weights, [weight, weight]]))
    assert isinstance(both, Rows)
