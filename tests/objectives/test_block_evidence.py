"""Evidence of the block models: its value, and its gradient by two passes."""

import numpy as np
import pytest
from dense import (
    EVERY_MODEL,
    MODELS,
    WEIGHTED,
    assert_gradient,
    assert_same_gradient,
    block_definition,
    log_normal,
    make_case,
    make_space,
)
from joblib import parallel_config
from numpy.testing import assert_allclose
from scipy.linalg import block_diag

from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.factors import block_sums, passes
from sklearn_sgp.factors.block_sums import pieces_of_blocks
from sklearn_sgp.objectives.block_evidence import block_evidence
from sklearn_sgp.objectives.collapsed import collapsed_bound


def definition(case, model):
    """log Z from the dense covariances of the blocks."""
    parts = [block_definition(case, rows, model) for rows in case.blocks()]
    P, R = np.vstack([part[1] for part in parts]), block_diag(*[part[2] for part in parts])
    y, t = np.vstack([rows.targets for rows in case.blocks()]), case.y.shape[1]
    return log_normal(y, P @ parts[0][0] @ P.T + R) - t * sum(part[3] for part in parts)


@EVERY_MODEL
@WEIGHTED
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_gradient_of_the_evidence(name, weighted, n_jobs):
    """The value is the dense evidence, the gradient that of the value, by any number of jobs."""
    case, model = make_case(t=2, weighted=weighted), MODELS[name]
    start, blocks = case.parameters, case.blocks()
    value, gradient = block_evidence(start, blocks, case.delta, model, n_jobs=n_jobs)
    assert_allclose(value, definition(case, model), rtol=1e-10)

    def at(parameters):
        return block_evidence(parameters, blocks, case.delta, model)[0]

    space = make_space(len(start.theta), np.ones(2))
    assert_gradient(gradient, at, space, start, rtol=1e-5, atol=1e-5)


def test_the_variational_evidence_is_the_collapsed_bound():
    """VFE's evidence and gradient are those of the bound of Titsias."""
    case = make_case(t=2, weighted=True)
    value, gradient = block_evidence(case.parameters, case.blocks(), case.delta, MODELS["vfe"])
    bound, expected = collapsed_bound(case.parameters, case.rows, case.delta)
    assert_allclose(value, bound, rtol=1e-10)
    assert_same_gradient(gradient, expected, rtol=1e-7, atol=1e-8)


@EVERY_MODEL
def test_copies_are_blocks_again(name):
    """Where each block stands for three, value and gradient are those of the blocks repeated."""
    case, model = make_case(t=2), MODELS[name]
    value, gradient = block_evidence(case.parameters, case.blocks(), case.delta, model, copies=3.0)
    repeated, expected = block_evidence(case.parameters, 3 * case.blocks(), case.delta, model)
    assert_allclose(value, repeated, rtol=1e-10)
    assert_same_gradient(gradient, expected, rtol=1e-8, atol=1e-8)


@EVERY_MODEL
def test_without_inputs(name):
    """Without the gradient in Z the others are the same, and Z's is the number 0."""
    case, model = make_case(t=2), MODELS[name]
    args = case.parameters, case.blocks(), case.delta, model
    value, gradient = block_evidence(*args)
    same, other = block_evidence(*args, with_inputs=False)
    assert same == value and other["Z"] == 0.0
    assert_same_gradient({**other, "Z": gradient["Z"]}, gradient, rtol=1e-12)


def test_values_that_are_not_finite():
    """Targets that overflow raise what the optimisers step back from."""
    case = make_case()
    rows = case.rows.select(slice(None))
    blocks = [type(rows)(rows.X, 1e200 * rows.y, None, rows.y_mean, rows.y_scale)]
    with np.errstate(all="ignore"), pytest.raises(NotPositiveDefiniteError, match="not finite"):
        block_evidence(case.parameters, blocks, case.delta, MODELS["fitc"])


@EVERY_MODEL
def test_factors_that_are_too_large_to_keep_are_made_again(name, monkeypatch):
    """The gradient is the same, and nothing is kept for workers of other processes either."""
    case = make_case(n=24, t=2)
    args = case.parameters, case.blocks(6), case.delta, MODELS[name]
    made = count_calls(monkeypatch, block_sums.block_factors)
    value, gradient = block_evidence(*args)
    assert len(made) == 6
    assert None not in pieces_of_blocks(args[1], len(case.Z), args[3]).kept
    with parallel_config("loky"):
        kept = pieces_of_blocks(args[1], len(case.Z), args[3]).kept
        assert kept == [None] * len(kept)
    monkeypatch.setattr(passes, "_KEPT_BYTES", 0)
    again, same = block_evidence(*args)
    assert len(made) == 18
    assert again == value
    assert_same_gradient(gradient, same, rtol=1e-12)


def count_calls(monkeypatch, function):
    """What a function of block_sums returned, from now on."""
    found = []

    def counted(*args):
        found.append(function(*args))
        return found[-1]

    monkeypatch.setattr(block_sums, function.__name__, counted)
    return found
