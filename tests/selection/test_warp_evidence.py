"""The evidence of kernel, noise and warp, against dense definitions and differences."""

from dataclasses import replace

import numpy as np
import pytest
from dense import assert_gradient, log_normal, make_case
from numpy.testing import assert_allclose
from scipy.stats import norm

from sklearn_sgp.data.rows import ConditionedRows, Rows
from sklearn_sgp.data.warps import tanh_sum
from sklearn_sgp.likelihoods import Gaussian
from sklearn_sgp.objectives.composite_likelihood import CompositeLikelihood
from sklearn_sgp.optimize.parameters import Group, ParameterSpace
from sklearn_sgp.partitions.sampling import sampled_groups
from sklearn_sgp.selection.warp_bases import PowerBase
from sklearn_sgp.selection.warp_evidence import WarpedEvidence

PSI = np.array([0.3, -1.0, 1.2, 0.5, -0.7, 1.0, 0.4, -1.1, 0.2])
SPACE = ParameterSpace((Group("theta", None), Group("log_noise", None), Group("warp", None)))
GROUPS = [([7, 3, 11], [0, 1, 2, 5]), ([], [4, 9, 20]), ([0, 1, 2, 3, 6, 5], [21, 12])]


def pieces_of(rows, groups):
    pieces = []
    for before, own in groups:
        places = np.arange(len(own) + len(before))
        some = rows.select(np.array([*own, *before]))
        pieces.append(ConditionedRows(some, ((places[len(own) :], places[: len(own)]),)))
    return pieces


def evidence_of(case, groups=GROUPS, **settings):
    rows = Rows(case.X, case.y, case.weight, np.zeros(1), np.ones(1))
    pieces, reference = pieces_of(rows, groups), rows.targets[:, 0]
    return WarpedEvidence(pieces, reference, rows.weights[1], **settings)


def standardised(y, psi, weight):
    value, slope = tanh_sum(y, psi)
    center = np.average(value, weights=weight)
    scale = np.sqrt(np.average((value - center) ** 2, weights=weight))
    return (value - center) / scale, np.log(slope / scale)


def test_all_rows_in_one_group_have_the_evidence_of_snelson_and_others():
    """One group of all rows: log N(phi(y); 0, K + noise) + sum of log phi'(y)."""
    case = make_case()
    rows = Rows(case.X, case.y, None, np.zeros(1), np.ones(1))
    groups = sampled_groups(rows, np.ones(2), 3, 5, 5, np.random.RandomState(0))
    evidence = WarpedEvidence(groups, rows.targets[:, 0], np.ones(24))
    value, _ = evidence(case.parameters.with_values(warp=PSI))
    z, log_slope = standardised(case.y[:, 0], PSI, None)
    S = case.kernel(case.X) + case.noise * np.eye(24)
    assert_allclose(value, log_normal(z[:, None], S) + log_slope.sum(), rtol=1e-12)


def test_groups_have_the_density_of_their_own_rows():
    """Each group: the joint density of warped rows over that of its conditions, with slopes."""
    case, expected = make_case(), 0.0
    z, log_slope = standardised(case.y[:, 0], PSI, None)
    S = case.kernel(case.X) + case.noise * np.eye(24)
    for before, own in GROUPS:
        both = before + own
        expected += log_normal(z[both, None], S[np.ix_(both, both)]) + log_slope[own].sum()
        if before:
            expected -= log_normal(z[before, None], S[np.ix_(before, before)])
    value, _ = evidence_of(case)(case.parameters.with_values(warp=PSI))
    assert_allclose(value, expected, rtol=1e-12)


@pytest.mark.parametrize("psi", [None, PSI])
def test_the_value_alone_is_that_beside_the_gradient(psi):
    """The evidence without a gradient is the same number, with a warp and without."""
    case, evidence = make_case(), evidence_of(make_case())
    parameters = case.parameters if psi is None else case.parameters.with_values(warp=psi)
    assert_allclose(evidence.value(parameters), evidence(parameters)[0], rtol=1e-12)


def test_a_whole_weight_counts_rows():
    """Weight 2 is the row twice, in the density, in the slopes, and in what is standardised."""
    case = make_case()
    weight = np.where(np.arange(24) % 3 == 0, 2.0, 1.0)
    index = np.repeat(np.arange(24), weight.astype(int))
    whole = [([], list(range(24)))]
    rows = Rows(case.X, case.y, weight, np.zeros(1), np.ones(1))
    weighted = WarpedEvidence(pieces_of(rows, whole), rows.targets[:, 0], weight)
    rows = Rows(case.X[index], case.y[index], None, np.zeros(1), np.ones(1))
    repeated = WarpedEvidence(
        pieces_of(rows, [([], list(range(len(index))))]), rows.targets[:, 0], np.ones(len(index))
    )
    parameters = case.parameters.with_values(warp=PSI)
    (value, gradient), (expected, slopes) = weighted(parameters), repeated(parameters)
    assert_allclose(value, expected, rtol=1e-11)
    assert_allclose(gradient["warp"], slopes["warp"], rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_is_that_by_differences(weighted):
    """In the kernel's parameters, the noise and all parameters of the warp."""
    case = make_case(weighted=weighted)
    if weighted:
        case.weight[case.weight == 0.0] = 0.5
    evidence, start = evidence_of(case), case.parameters.with_values(warp=PSI)
    assert_gradient(evidence(start)[1], lambda at: evidence(at)[0], SPACE, start)


def test_without_a_warp_it_is_the_density_of_scaled_targets():
    """No warp: the density of near rows for targets of mean 0 and variance 1, in units of y."""
    case = make_case()
    value, gradient = evidence_of(case)(case.parameters)
    mean, std = case.y.mean(axis=0), case.y.std(axis=0)
    pieces = pieces_of(Rows(case.X, case.y, None, mean, std), GROUPS)
    expected, slopes = CompositeLikelihood(pieces)(case.parameters)
    assert_allclose(value, expected - 9 * np.log(std[0]), rtol=1e-12)
    assert_allclose(gradient["theta"], slopes["theta"], rtol=1e-10)


def test_the_slope_in_the_targets():
    """Other targets of the groups have the gradient that differences give."""
    case, step = make_case(t=2, noise=np.array([0.1, 0.7])), 1e-6
    evidence = CompositeLikelihood(pieces_of(case.rows, GROUPS))
    targets = [y for y, _ in evidence.targets]
    _, _, slopes = evidence.of_targets(case.parameters, targets)
    for g, row, c in ((0, 1, 0), (0, 5, 1), (1, 2, 0), (2, 0, 1)):
        values = []
        for sign in (1, -1):
            moved = [y.copy() for y in targets]
            moved[g][row, c] += sign * step
            values.append(evidence.of_targets(case.parameters, moved)[0])
        assert_allclose(slopes[g][row, c], (values[0] - values[1]) / (2 * step), rtol=1e-6)


# Powers, rounded targets and scores of rows


def _positive_case():
    """A case with positive targets, and the base of their logarithm."""
    case = make_case()
    case = replace(case, y=np.exp(case.y))
    return case, PowerBase.of(case.y[:, 0], 0.0)


def _with_base(case, base, **settings):
    rows = Rows(case.X, case.y, case.weight, np.array([base.center]), np.array([base.spread]))
    pieces, reference = pieces_of(rows, GROUPS), rows.targets[:, 0]
    return WarpedEvidence(pieces, reference, rows.weights[1], before=base, **settings)


@pytest.mark.parametrize("psi", [None, PSI])
def test_the_score_of_densities_adds_up_to_the_evidence(psi):
    """Rows one after the other have the density of their groups, after a power and a warp, too."""
    case, base = _positive_case()
    evidence = _with_base(case, base)
    parameters = case.parameters if psi is None else case.parameters.with_values(warp=psi)
    score = evidence.score(Gaussian(), parameters)
    assert_allclose(score.each @ score.weight, evidence(parameters)[0], rtol=1e-10)


def test_the_evidence_of_the_logarithm_is_that_of_log_y():
    """The base of power 0: the density of log y, less the sum of log y."""
    case, base = _positive_case()
    rows = Rows(case.X, np.log(case.y), None, np.zeros(1), np.ones(1))
    pieces = pieces_of(rows, GROUPS)
    of_log = WarpedEvidence(pieces, rows.targets[:, 0], rows.weights[1])(case.parameters)[0]
    own = np.concatenate([own for _, own in GROUPS])
    value = _with_base(case, base)(case.parameters)[0] - len(own) * np.log(base.spread)
    assert_allclose(value, of_log - np.log(case.y[own, 0]).sum(), rtol=1e-10)


def test_the_gradient_with_rounded_targets_is_that_by_differences():
    """Means of slopes over intervals are in the gradient, after a power, too."""
    case, base = _positive_case()
    evidence = _with_base(case, base, step=0.3)
    start = case.parameters.with_values(warp=PSI)
    assert_gradient(evidence(start)[1], lambda at: evidence(at)[0], SPACE, start)


@pytest.mark.parametrize("psi", [None, PSI])
def test_the_score_of_rounded_targets_is_of_intervals(psi):
    """Each row has the normal probability of its warped interval, less the log of the step."""
    case, step = make_case(), 0.4
    parameters = case.parameters if psi is None else case.parameters.with_values(warp=psi)
    evidence, y = evidence_of(case, step=step), case.y[:, 0]
    score, expected = evidence.score(Gaussian(), parameters), []

    def z(t):
        if psi is None:
            return (t - y.mean()) / y.std()
        value = tanh_sum(y, psi)[0]
        return (tanh_sum(t, psi)[0] - value.mean()) / value.std()

    for before, own in GROUPS:
        for i, n in enumerate(own):
            known, at = [*before, *own[:i]], case.X[[n]]
            K = case.kernel(case.X[known]) + case.noise * np.eye(len(known)) if known else None
            k = case.kernel(case.X[known], at)[:, 0] if known else np.zeros(0)
            solved = np.linalg.solve(K, k) if known else k
            mean = solved @ z(y[known])
            sd = np.sqrt(case.kernel(at)[0, 0] + case.noise - solved @ k)
            ends = norm.cdf((z(y[n] + np.array([0.5, -0.5]) * step) - mean) / sd)
            expected.append(np.log((ends[0] - ends[1]) / step))
    assert_allclose(score.each, expected, rtol=1e-7)
