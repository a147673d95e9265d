"""Noise that is known for each row and output: evidences and what rows left out are given."""

from dataclasses import replace

import numpy as np
import pytest
from block_helpers import NEAR_GROUPS, near_pieces
from dense import EVERY_KERNEL, assert_gradient, log_normal, make_case
from numpy.testing import assert_allclose

from sklearn_sgp.factors.block_factors import Model
from sklearn_sgp.objectives.block_evidence import block_evidence
from sklearn_sgp.objectives.composite_likelihood import CompositeLikelihood

T = 5


def known_noise(kernel="rbf", shared=False):
    """Rows of five outputs with two noise variances, a case, and these variances (n, t)."""
    case = make_case(kernel, t=T, noise=np.ones(T))
    rng = np.random.default_rng(3)
    label = rng.integers(0, T, len(case.X)) if not shared else np.zeros(len(case.X), dtype=int)
    variance = np.where(label[:, None] == np.arange(T), 0.7, 4.6)
    weight = np.linspace(0.5, 2.0, len(case.X))
    rows = replace(case, weight=weight).rows.with_precision(1.0 / variance)
    rows = replace(rows, of_classes=True)
    return case, rows, variance / weight[:, None]


@pytest.mark.parametrize("shared", [False, True])
def test_each_output_has_its_own_density(shared):
    """The sum over outputs of densities with their own noise, up to what weights alone add."""
    case, rows, variance = known_noise(shared=shared)
    K, difference = case.kernel(case.X), []
    for step in (1.0, 2.0):  # the constant of weights does not depend on the targets
        expected, scaled = 0.0, replace(rows, y=step * rows.y)
        for before, own in NEAR_GROUPS:
            both = before + own
            for c in range(T):
                S = K + np.diag(variance[:, c])
                expected += log_normal(scaled.targets[both, c : c + 1], S[np.ix_(both, both)])
                if before:
                    of_before = S[np.ix_(before, before)]
                    expected -= log_normal(scaled.targets[before, c : c + 1], of_before)
        value = CompositeLikelihood(near_pieces(scaled))(case.parameters)[0]
        difference.append(value - expected)
    assert_allclose(difference[0], difference[1], rtol=1e-9)


@EVERY_KERNEL
def test_gradients_are_differences(kernel):
    case, rows, _ = known_noise(kernel)
    evidence = CompositeLikelihood(near_pieces(rows))
    space = case.space()
    space = replace(space, groups=tuple(group for group in space.groups if group.name == "theta"))
    _, gradient = evidence(case.parameters)
    assert_gradient(gradient, lambda p: evidence(p)[0], space, case.parameters)


@pytest.mark.parametrize("model", ["conditioned", "full", "diagonal", "none"])
def test_gradients_of_whole_models_are_differences(model):
    case, rows, _ = known_noise()
    pieces = near_pieces(rows)
    if model != "conditioned":
        pieces = [piece.rows for piece in pieces]
    space = case.space()
    names = ("theta", "Z")
    space = replace(space, groups=tuple(each for each in space.groups if each.name in names))
    parts = (pieces, case.delta, Model(model))
    _, gradient = block_evidence(case.parameters, *parts)
    assert_gradient(
        gradient, lambda p: block_evidence(p, *parts)[0], space, case.parameters, rtol=1e-5
    )


def test_it_is_the_evidence_of_conditioned_groups_without_inducing_inputs():
    case, rows, _ = known_noise()
    pieces, none = near_pieces(rows), case.parameters.with_values(Z=np.empty((0, 2)))
    expected, _ = block_evidence(none, pieces, case.delta, Model("conditioned"), with_inputs=False)
    assert_allclose(CompositeLikelihood(pieces)(case.parameters)[0], expected, rtol=1e-12)


def test_rows_are_left_out_one_by_one():
    """Means and variances of the function at each own row, by solving without one of it.

    A row of weight 1.7 whose class has rows of weight 1 at least stays with a weight of 0.7.
    """
    case, rows, variance = known_noise()
    K, targets, weight = case.kernel(case.X), rows.targets, rows.weights[1]
    label = np.argmin(variance, axis=1)
    means, variances, stay = [], [], 0
    for before, own in NEAR_GROUPS:
        both = np.array(before + own)
        for row in own:
            one = max(1.0, weight[both][label[both] == label[row]].min())
            rest = [other for other in both if other != row or weight[row] > one]
            left = variance.copy()
            left[row] *= weight[row] / max(weight[row] - one, 1e-9)
            stay += row in rest
            for c in range(T):
                S = (K + np.diag(left[:, c]))[np.ix_(rest, rest)]
                gain = np.linalg.solve(S, K[rest, row])
                means.append(gain @ targets[rest, c])
                variances.append(K[row, row] - gain @ K[rest, row])
    assert 0 < stay < len(means) // T
    mean, found = CompositeLikelihood(near_pieces(rows)).left_out(case.parameters)
    assert_allclose(mean.ravel(), means, rtol=1e-8, atol=1e-10)
    assert_allclose(found.ravel(), variances, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("weight", [1e-18, 1e-60, 1e-200])
def test_rows_of_tiny_weight_are_no_more_uncertain_than_the_prior(weight):
    """Where the noise rounds the function's variance away."""
    case, rows, _ = known_noise()
    light = replace(rows, weight=weight * rows.weight, counts=weight * rows.counts)
    _, found = CompositeLikelihood(near_pieces(light)).left_out(case.parameters)
    assert (found >= 0.0).all() and (found <= case.kernel(case.X)[0, 0] * (1.0 + 1e-12)).all()


def test_outputs_of_rows_keep_their_weights():
    _, rows, _ = known_noise()
    some = rows.of_outputs(slice(1, 3))
    assert_allclose(some.weight, rows.weight[:, 1:3])
    joined = rows.select(slice(0, 5)).joined(rows.select(slice(5, None)))
    assert_allclose(joined.weight, rows.weight)
    assert joined.total_weight == rows.total_weight
