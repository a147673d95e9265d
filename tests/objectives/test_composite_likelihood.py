"""The density of groups given the rows around them, against dense normal densities."""

from dataclasses import replace

import numpy as np
import pytest
from block_helpers import NEAR_GROUPS, near_pieces
from dense import EVERY_KERNEL, assert_gradient, log_normal, make_case
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.factors.block_factors import Model, SingularBlockError
from sklearn_sgp.objectives.block_evidence import block_evidence
from sklearn_sgp.objectives.composite_likelihood import CompositeLikelihood


@EVERY_KERNEL
def test_it_is_the_joint_density_over_that_of_the_conditions(kernel):
    """log p(y_B | y_N) = log p(y_N, y_B) - log p(y_N), summed over groups."""
    case, expected = make_case(kernel), 0.0
    S = case.kernel(case.X) + case.noise * np.eye(24)
    for before, own in NEAR_GROUPS:
        both = before + own
        expected += log_normal(case.y[both], S[np.ix_(both, both)])
        if before:
            expected -= log_normal(case.y[before], S[np.ix_(before, before)])
    evidence = CompositeLikelihood(near_pieces(case.rows))
    assert_allclose(evidence(case.parameters)[0], expected, rtol=1e-12)
    assert evidence.weight == 8.0


@pytest.mark.parametrize("noise", [0.3, np.array([0.1, 0.7])])
def test_errors_are_those_of_each_row_given_its_conditions(noise):
    """(y - E[y | y_N]) / sd[y | y_N] by the dense conditional of each row, weights included."""
    case = replace(make_case(t=2, noise=noise), weight=np.linspace(0.3, 3.0, 24))
    K, expected = case.kernel(case.X), []
    for before, own in NEAR_GROUPS:
        for row in own:
            of_row = []
            for c, s2 in enumerate(np.broadcast_to(noise, 2)):
                S = K + np.diag(s2 / case.weight)
                G = np.linalg.solve(S[np.ix_(before, before)], S[before, row])
                std = np.sqrt(S[row, row] - S[row, before] @ G)
                of_row.append((case.y[row, c] - G @ case.y[before, c]) / std)
            expected.append(of_row)
    errors = CompositeLikelihood(near_pieces(case.rows)).standardised_errors(case.parameters)
    assert_allclose(errors, expected, rtol=1e-9)


@pytest.mark.parametrize("noise", [0.3, np.array([0.1, 0.7])])
@EVERY_KERNEL
def test_gradients_are_differences(kernel, noise):
    """Derivatives in kernel and noise, of one for all outputs or one for each."""
    case = replace(make_case(kernel, t=2, noise=noise), weight=np.linspace(0.3, 3.0, 24))
    evidence = CompositeLikelihood(near_pieces(case.rows))
    space = case.space()
    space = replace(space, groups=tuple(group for group in space.groups if group.name != "Z"))
    _, gradient = evidence(case.parameters)
    assert_gradient(gradient, lambda p: evidence(p)[0], space, case.parameters)


@pytest.mark.parametrize("noise", [0.3, np.array([0.1, 0.7])])
def test_the_value_alone_needs_no_gradient(noise, monkeypatch):
    """It is the value beside the gradient, also of other targets, and nothing of the gradient."""
    case = replace(make_case(t=2, noise=noise), weight=np.linspace(0.3, 3.0, 24))
    evidence = CompositeLikelihood(near_pieces(case.rows))
    others = [y[::-1].copy() for y, _ in evidence.targets]
    expected = evidence(case.parameters)[0], evidence.of_targets(case.parameters, others)[0]
    monkeypatch.delattr(type(case.parameters.kernel), "triangles")
    found = evidence.value(case.parameters), evidence.value(case.parameters, others)
    assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("noise", [0.3, np.array([0.1, 0.7])])
def test_of_the_noise_alone_the_kernel_is_asked_once(noise, monkeypatch):
    """Values and slopes are those of the whole function to the last bit."""
    case = replace(make_case(t=2, noise=noise), weight=np.linspace(0.3, 3.0, 24))
    evidence, begin = CompositeLikelihood(near_pieces(case.rows)), case.parameters
    places = [begin.with_values(log_noise=begin.log_noise + step) for step in (0.0, 0.3, 0.0)]
    expected = [evidence(place) for place in places]
    of_noise = evidence.of_noise(begin)
    monkeypatch.delattr(type(begin.kernel), "triangles")
    found = [of_noise(place) for place in places]
    for (value, gradient), (same, other) in zip(expected, found, strict=True):
        assert value == same
        assert_array_equal(gradient["log_noise"], other["log_noise"])
        assert other["theta"] == 0.0
    assert found[0] is found[2]


def test_it_is_the_evidence_of_conditioned_groups_without_inducing_inputs():
    """Vecchia's approximation of the same groups, weights included."""
    case = replace(make_case(t=2), weight=np.linspace(0.3, 3.0, 24))
    pieces = near_pieces(case.rows)
    none = case.parameters.with_values(Z=np.empty((0, 2)))
    expected, of_groups = block_evidence(
        none, pieces, case.delta, Model("conditioned"), with_inputs=False
    )
    value, gradient = CompositeLikelihood(pieces)(case.parameters)
    assert_allclose(value, expected, rtol=1e-12)
    for name in ("theta", "log_noise"):
        assert_allclose(gradient[name], of_groups[name], rtol=1e-9, atol=1e-11)


def test_workers_do_not_change_the_sum():
    """Groups are summed in the same order by any number of workers."""
    case = make_case()
    pieces = near_pieces(case.rows) * 5
    one, two = (CompositeLikelihood(pieces, n_jobs=n)(case.parameters) for n in (1, 2))
    assert one[0] == two[0]
    assert (one[1]["theta"] == two[1]["theta"]).all()


def test_a_singular_group_says_why():
    """Equal rows without noise have no density; the error names the noise."""
    case = make_case(noise=1e-300)
    same = replace(case, X=np.zeros_like(case.X))
    with pytest.raises(SingularBlockError, match="noise"):
        CompositeLikelihood(near_pieces(same.rows))(same.parameters)
