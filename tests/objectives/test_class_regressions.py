"""Regressions of classes: their collapsed bound against dense ones, class by class."""

from dataclasses import replace

import numpy as np
import pytest
from dense import EVERY_KERNEL, assert_gradient, log_normal, make_case
from numpy.testing import assert_allclose

from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.gp.prior import Prior
from sklearn_sgp.likelihoods import Dirichlet
from sklearn_sgp.objectives.class_regressions import ClassRegressions

LIKELIHOOD = Dirichlet(0.02, offset=np.array([-3.0, -4.0, -5.0, -6.0]))
WEIGHT = np.linspace(0.4, 2.0, 24)


def labelled(kernel="rbf", weight=WEIGHT):
    """A case whose targets are numbers of four classes, of which one has no row."""
    case = make_case(kernel)
    number = np.random.default_rng(1).choice([0, 1, 3], len(case.X)).astype(float)
    return replace(case, y=number[:, None], weight=weight)


def regressions_of(case, n_jobs=None):
    rows = Rows(case.X, case.y, case.weight, np.zeros(1), np.ones(1))
    return ClassRegressions(rows, LIKELIHOOD, n_jobs)


def prior_of(parameters, delta):
    return Prior.build(parameters.kernel, parameters.Z, delta)


def regression_of(case, c):
    """Centred targets (n, 1) and noise variances (n,) of one class, by (35)."""
    alpha = np.where(case.y[:, 0] == c, 1.02, 0.02)
    variance = np.log(1.0 / alpha + 1.0)
    return (np.log(alpha) - 0.5 * variance - LIKELIHOOD.offset[c])[:, None], variance


@pytest.mark.parametrize("weight", [None, WEIGHT])
@EVERY_KERNEL
def test_the_bound_is_the_sum_of_those_of_the_classes(kernel, weight):
    """Titsias' bound with the noise of each row, densities to the power of their weights."""
    case = labelled(kernel, weight)
    Kuu, Kuf, kff = case.matrices()
    Q, w = Kuf.T @ np.linalg.solve(Kuu, Kuf), np.ones(24) if weight is None else weight
    expected = 0.0
    for c in range(4):
        y, s2 = regression_of(case, c)
        expected += log_normal(y, Q + np.diag(s2 / w))
        expected += np.sum(0.5 * (1.0 - w) * np.log(2.0 * np.pi * s2) - 0.5 * np.log(w))
        expected -= np.sum(w * (kff - np.diagonal(Q)) / s2) / 2.0
    prior = prior_of(case.parameters, case.delta)
    q, value = regressions_of(case).optimal_q(prior)
    assert_allclose(value, expected, rtol=1e-10)
    assert_allclose(regressions_of(case).bound(prior)[0], value, rtol=1e-13)
    mean, variance = q.mean_variance(case.X)
    for c in range(4):
        y, s2 = regression_of(case, c)
        gain = np.linalg.solve(Q + np.diag(s2 / w), Q)
        assert_allclose(mean[:, c], (y.T @ gain)[0], rtol=1e-8, atol=1e-8)
        assert_allclose(variance[:, c], kff - np.sum(Q * gain, axis=0), rtol=1e-7, atol=1e-9)


@EVERY_KERNEL
def test_the_gradient_is_that_of_differences(kernel):
    """In the kernel's parameters and the inducing inputs."""
    case = labelled(kernel)
    regressions, space = regressions_of(case), case.space()
    space = replace(space, groups=tuple(one for one in space.groups if one.name != "log_noise"))

    def value(parameters):
        return regressions.optimal_q(prior_of(parameters, case.delta))[1]

    _, gradient = regressions.bound(prior_of(case.parameters, case.delta))
    assert_gradient(gradient, value, space, case.parameters)


def test_it_does_not_depend_on_the_number_of_workers():
    case = labelled()
    prior = prior_of(case.parameters, case.delta)
    one, two = (regressions_of(case, n).bound(prior) for n in (1, 2))
    assert one[0] == two[0]
    assert all(np.array_equal(one[1][name], two[1][name]) for name in ("theta", "Z"))


def test_a_bound_that_is_no_number_is_an_error():
    case = labelled()
    nowhere = Dirichlet(0.02, offset=np.full(4, np.nan))
    rows = Rows(case.X, case.y, case.weight, np.zeros(1), np.ones(1))
    with pytest.raises(NotPositiveDefiniteError, match="not finite"):
        ClassRegressions(rows, nowhere).optimal_q(prior_of(case.parameters, case.delta))
