"""The evidence of groups given the rows around them, for likelihoods that are not Gaussian."""

from dataclasses import replace

import numpy as np
import pytest
from block_helpers import NEAR_GROUPS, near_pieces
from dense import assert_gradient, make_case
from numpy.testing import assert_allclose

from sklearn_sgp.data.rows import ConditionedRows, Rows
from sklearn_sgp.likelihoods import (
    Beta,
    Censored,
    Gamma,
    Likelihood,
    NegativeBinomial,
    Poisson,
    Probit,
)
from sklearn_sgp.objectives.composite_likelihood import CompositeLikelihood
from sklearn_sgp.objectives.expectation_propagation import Observed, Sites, propagate
from sklearn_sgp.objectives.near_sites import NearSites
from sklearn_sgp.optimize.parameters import ParameterSpace


class LearnedNoise(Likelihood):
    """Numbers with Gaussian noise whose standard deviation is learned."""

    def __init__(self, std=0.5):
        self.std = std

    @property
    def theta(self):
        return np.log([self.std])

    @property
    def theta_bounds(self):
        return np.array([[-5.0, 5.0]])

    def with_theta(self, theta):
        return LearnedNoise(float(np.exp(theta[0])))

    def log_density(self, y, f, noise_variance=None):
        return -0.5 * ((y - f) / self.std) ** 2 - np.log(self.std) - 0.5 * np.log(2.0 * np.pi)


def counted(case):
    """The rows of a case, counts instead of numbers."""
    y = np.random.RandomState(0).poisson(2.0, case.y.shape).astype(np.float64)
    return Rows(case.X, y, case.weight, np.zeros(y.shape[1]), np.ones(y.shape[1]))


def test_it_is_the_evidence_of_all_less_that_of_the_conditions():
    """log Z of rows and conditions less log Z of conditions, summed over groups and outputs."""
    case = make_case(t=2)
    rows, K, expected = counted(case), case.kernel(case.X), 0.0
    for before, own in NEAR_GROUPS:
        for sign, index in ((1.0, before + own), (-1.0, before)):
            for c in range(2 if index else 0):
                observed = Observed(rows.y[index, c : c + 1], np.ones(len(index)))
                part = K[np.ix_(index, index)]
                found = propagate(part, observed, Poisson(0.3), Sites.none(len(index)), 1e-10)
                expected += sign * found.evidence
    evidence = NearSites(near_pieces(rows), Poisson(0.3), tol=1e-10)
    assert_allclose(evidence(case.parameters)[0], expected, rtol=1e-9)
    score = evidence.score(case.parameters)
    assert_allclose(score.mean * evidence.weight, expected, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "sum", "columns"])
def test_gradients_are_differences(kernel):
    """Derivatives in the kernel, of two outputs with weights, with sites that are found anew."""
    case = replace(make_case(kernel, t=2), weight=np.linspace(0.3, 3.0, 24))
    evidence = NearSites(near_pieces(counted(case)), Poisson(0.3), tol=1e-10)
    space = ParameterSpace(case.space(fixed=("Z", "log_noise")).groups)
    _, gradient = evidence(case.parameters)
    assert_gradient(
        gradient, lambda p: evidence(p)[0], space, case.parameters, rtol=1e-4, atol=1e-5
    )


@pytest.mark.quick_cases("likelihood0-<lambda>", "likelihood1-<lambda>")
@pytest.mark.parametrize(
    ("likelihood", "own"),
    [
        (NegativeBinomial(offset=0.3), lambda y: y),
        (Gamma(offset=0.3), lambda y: y + 0.5),
        (Beta(offset=-0.2), lambda y: (y + 0.5) / (y.max() + 1.0)),
        (Censored(lower=1.0, upper=3.0), lambda y: y),
    ],
)
def test_gradients_in_learned_parameters_are_differences(likelihood, own):
    """So are those in the width of each output, with sites that are found anew."""
    case = replace(make_case(t=2), weight=np.linspace(0.3, 3.0, 24))
    rows = counted(case)
    rows = replace(rows, y=own(rows.y), offset=np.linspace(-0.5, 0.5, 24))
    likelihood = likelihood.initialized(rows.y, None)
    evidence = NearSites(near_pieces(rows), likelihood, tol=1e-11)
    at = case.parameters.with_values(likelihood=likelihood.theta + [0.1, -0.2])
    _, gradient = evidence(at)
    for c in range(2):
        step, ends = 1e-4 * np.eye(2)[c], []
        for sign in (1.0, -1.0):
            theta = at.likelihood_theta + sign * step
            ends.append(evidence(at.with_values(likelihood=theta))[0])
        assert_allclose(gradient["likelihood"][c], (ends[0] - ends[1]) / 2e-4, rtol=1e-4, atol=1e-5)


def test_gaussian_sites_are_the_density_of_near_rows():
    """With Gaussian noise of one's own, value and gradients are those without sites."""
    case = make_case("sum", noise=0.25)
    rows = replace(case.rows, y=case.y, y_mean=np.zeros(1), y_scale=np.ones(1))
    parameters = case.parameters.with_values(likelihood=np.log([0.5]))
    value, gradient = NearSites(near_pieces(rows), LearnedNoise(), tol=1e-11)(parameters)
    expected, slopes = CompositeLikelihood(near_pieces(rows))(case.parameters)
    assert_allclose(value, expected, rtol=1e-10)
    assert_allclose(gradient["theta"], slopes["theta"], rtol=1e-8)
    # the logarithm of a variance is twice that of a deviation
    assert_allclose(gradient["likelihood"], 2.0 * slopes["log_noise"], rtol=1e-6)


def test_one_job_or_two():
    """Results do not depend on the number of jobs."""
    case = make_case()
    values = [
        NearSites(near_pieces(counted(case)), Poisson(0.0), n_jobs)(case.parameters)
        for n_jobs in (1, 2)
    ]
    assert values[0][0] == values[1][0]
    assert (values[0][1]["theta"] == values[1][1]["theta"]).all()


def test_sites_begin_where_they_ended():
    """A second evaluation at the same parameters changes nothing but the last digits."""
    case = make_case()
    y = np.where(case.y > 0.0, 1.0, -1.0)
    rows = Rows(case.X, y, None, np.zeros(1), np.ones(1))
    evidence = NearSites(near_pieces(rows), Probit(0.0))
    first, _ = evidence(case.parameters)
    assert_allclose(evidence(case.parameters)[0], first, rtol=1e-4)


def test_own_rows_are_predicted_from_the_rows_before_alone():
    """Predictions are those of the exact process given the sites of the rows before, by solving."""
    case, rng = make_case(t=1), np.random.RandomState(1)
    y, counts = rng.choice([-1.0, 1.0], (len(case.X), 1)), rng.choice([1.0, 2.0, 3.0], len(case.X))
    rows, K = Rows(case.X, y, counts, np.zeros(1), np.ones(1)), case.kernel(case.X)
    before, own = np.arange(1, len(K)), np.array([0, len(K) - 1])
    before = np.setdiff1d(before, own)
    evidence = NearSites([ConditionedRows(rows, ((before, own),))], Probit(0.3), tol=1e-9)
    mean, variance = evidence.predicted(case.parameters)
    K_before, counts = K[np.ix_(before, before)], rows.weights[1][before]
    observed = Observed(y[before], counts)
    sites = propagate(K_before, observed, Probit(0.3), Sites.none(len(before)), 1e-9).sites
    noise = np.diag(1.0 / (counts * sites.precision))
    A = np.linalg.solve(K_before + noise, K[np.ix_(before, own)])
    assert_allclose(mean[:, 0], A.T @ (sites.shift / sites.precision), rtol=1e-5)
    cross = np.einsum("ij,ij->j", A, K[np.ix_(before, own)])
    assert_allclose(variance[:, 0], np.diagonal(K)[own] - cross, rtol=1e-5)
    again = evidence.predicted(case.parameters)
    assert_allclose(again[0], mean, rtol=1e-6)
