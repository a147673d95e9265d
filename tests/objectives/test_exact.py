"""The exact process of rows that are inducing inputs, against dense definitions."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from dense import assert_gradient, exact_gp, log_normal, make_case
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sklearn_sgp._linalg import NotPositiveDefiniteError
from sklearn_sgp.data.distinct import DistinctRows
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.gp.prior import Prior
from sklearn_sgp.kernels._compile import compile_without_noise
from sklearn_sgp.objectives.exact import (
    exact_evidence,
    exact_posterior,
    exact_posterior_of_rows,
    exact_value,
)
from sklearn_sgp.predict.inducing import InducingPoints

KERNELS = pytest.mark.parametrize("kernel", ["rbf", "sum", "product", "columns"])
JITTERS = pytest.mark.parametrize("jitter", [1e-10, 1e-6, 0.1, 0.4, 10.0])


def repeated(kernel="rbf", t=1, noise=0.3, **options):
    """A case whose rows come up to three times, with inducing inputs at all of them and more."""
    case = make_case(kernel, n=30, t=t, noise=noise, **options)
    X = np.vstack([case.X[:10], case.X[:15], case.X[:5]])
    return replace(case, X=X, Z=np.vstack([case.Z, case.X[:15]]))


def distinct(case):
    return DistinctRows.within_inputs(case.Z, case.rows)


def covariance(case):
    return case.kernel(case.X) + case.noise * np.eye(len(case.X))


@KERNELS
@pytest.mark.parametrize("t", [1, 3])
def test_evidence_of_repeated_rows(kernel, t):
    """The evidence is the log density of all rows, each with noise of its own."""
    case = repeated(kernel, t)
    value, _ = exact_evidence(case.parameters, distinct(case))
    assert_allclose(value, log_normal(case.y, covariance(case)), rtol=1e-10)
    assert exact_value(case.parameters, distinct(case)) == value


@KERNELS
@pytest.mark.parametrize("noise", [0.3, np.array([0.1, 1.0, 0.02])], ids=["shared", "each"])
def test_gradient(kernel, noise):
    """Derivatives in kernel and noise are those of the value, and there is none in Z."""
    case = repeated(kernel, t=3, noise=noise)
    rows, space, start = distinct(case), case.space(["Z", "log_noise"]), case.parameters
    _, gradient = exact_evidence(start, rows)
    assert_gradient(gradient, lambda p: exact_evidence(p, rows)[0], space, start)
    assert gradient["Z"] == 0.0
    assert np.shape(gradient["log_noise"]) == np.shape(noise)
    for c in range(np.size(noise)):
        step = (1e-5 * np.eye(np.size(noise))[c]).reshape(np.shape(noise))
        ends = (
            exact_evidence(start.with_values(log_noise=start.log_noise + s), rows)[0]
            for s in (step, -step)
        )
        slope = (next(ends) - next(ends)) / 2e-5
        assert_allclose(np.ravel(gradient["log_noise"])[c], slope, rtol=1e-5)


def test_weights_are_repetitions_and_precisions():
    """Weights count as repeated rows; a precision changes the noise, and counts once."""
    case = repeated()
    twice = replace(case, weight=np.full(30, 2.0))
    double = replace(case, X=np.tile(case.X, (2, 1)), y=np.tile(case.y, (2, 1)))
    value, _ = exact_evidence(twice.parameters, distinct(twice))
    assert_allclose(value, log_normal(double.y, covariance(double)), rtol=1e-10)
    precision = np.random.default_rng(1).gamma(2.0, 1.0, 30)
    value, _ = exact_evidence(case.parameters, distinct(replace(case, precision=precision)))
    dense = case.kernel(case.X) + np.diag(case.noise / precision)
    constant = 0.5 * np.log(precision).sum()  # is the noise model's
    assert_allclose(value + constant, log_normal(case.y, dense), rtol=1e-10)


def test_noise_beyond_rounding_is_refused():
    """Where K(X, X) and its noise do not factorise there is no evidence, and no q(u)."""
    case = repeated(noise=0.3)
    case = replace(case, kernel=case.kernel * 1e6, noise=1e-15)
    case = replace(case, X=np.tile(case.X[:15], (2, 1)) + 1e-12 * np.arange(30)[:, None])
    case = replace(case, Z=case.X)
    with pytest.raises(NotPositiveDefiniteError):
        exact_evidence(case.parameters, distinct(case))
    prior = Prior.build(case.parameters.kernel, case.Z, 1e-3)
    assert exact_posterior(prior, distinct(case), case.noise) is None


@JITTERS
@KERNELS
def test_posterior_is_exact_whatever_the_jitter(kernel, jitter):
    """A jitter that is part of the noise changes neither predictions nor evidence."""
    case = repeated(kernel, t=2)
    prior = Prior.build(case.parameters.kernel, case.Z, jitter * case.noise / 3.0)
    found = exact_posterior(prior, distinct(case), case.noise)
    Xs = np.random.default_rng(3).uniform(-2.0, 2.0, (9, 2))
    evidence, mean, cov = exact_gp(
        case.kernel(case.X), case.y, case.noise, case.kernel(case.X, Xs), case.kernel(Xs)
    )
    assert_allclose(found.evidence, evidence, rtol=1e-10)
    assert_allclose(found.posterior.log_evidence(found.constant), evidence, rtol=1e-10)
    got_mean, got_cov = found.posterior.mean_covariance(Xs)
    assert_allclose(got_mean, mean, atol=1e-6)
    assert_allclose(got_cov[..., 0], cov, atol=1e-6)


def test_jitter_is_at_most_half_of_the_noise():
    """More would leave a row none."""
    case = repeated()
    prior = Prior.build(case.parameters.kernel, case.Z, 0.6 * case.noise / 3.0)
    found = exact_posterior(prior, distinct(case), case.noise)
    assert_allclose(found.posterior.prior.delta, case.noise / 6.0)


def test_outputs_with_noise_of_their_own():
    """Each output has the exact process of its own noise."""
    noise = np.array([0.1, 2.0])
    case = repeated(t=2, noise=noise)
    prior = Prior.build(case.parameters.kernel, case.Z, 1e-9)
    found = exact_posterior(prior, distinct(case), noise)
    expected = [
        log_normal(case.y[:, [c]], case.kernel(case.X) + s2 * np.eye(30))
        for c, s2 in enumerate(noise)
    ]
    assert_allclose(found.evidence, sum(expected), rtol=1e-10)
    assert len(found.posterior.H) == 2


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_noise_of_next_to_nothing(rng, n_outputs):
    """Means, variances and covariances are those of a dense process, not of a rounded I + H."""
    kernel = ConstantKernel(1e3) * RBF([2.0, 3.0])
    X, new = rng.uniform(-2.0, 2.0, (50, 2)), rng.uniform(-2.0, 2.0, (30, 2))
    y = np.sin(X) @ rng.normal(size=(2, n_outputs))
    noise = 1e-8 if n_outputs == 1 else np.array([1e-8, 1e-7])
    compiled = compile_without_noise(kernel, np.zeros(2))[0]
    rows = Rows(X, y, None, np.zeros(n_outputs), np.ones(n_outputs))
    prior = Prior.build(compiled.bind(compiled.theta), X, 1e-6, 1e-9)
    found = exact_posterior_of_rows(prior, DistinctRows.within_inputs(X, rows), noise)
    mean, variance = found.posterior.mean_variance(new)
    joint = found.posterior.mean_covariance(new)
    for c, s2 in enumerate(np.ravel(noise)):
        expected = exact_gp(kernel(X), y[:, [c]], s2, kernel(X, new), kernel(new))
        assert_allclose(mean[:, [c]], expected[1], atol=1e-5)
        assert_allclose(joint[0][:, c], mean[:, c])
        assert_allclose(joint[1][:, :, c], expected[2], atol=1e-8)
        assert_allclose(variance[:, c], np.diagonal(joint[1][:, :, c]), atol=1e-10)
    again = pickle.loads(pickle.dumps(found.posterior.without_caches()))
    assert_allclose(again.mean(new), mean, rtol=1e-12)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_rows_left_out_of_noise_of_next_to_nothing(rng, n_outputs):
    """Each observation given all others, of rows that come once and twice, is the dense one's."""
    kernel = ConstantKernel(10.0) * Matern([2.0, 3.0], nu=2.5)
    X, places = rng.uniform(-2.0, 2.0, (40, 2)), np.append(np.arange(40), np.arange(6))
    y = np.sin(X) @ rng.normal(size=(2, n_outputs))
    y = y[places] + 1e-5 * rng.normal(size=(46, n_outputs))
    noise = 1e-9 if n_outputs == 1 else np.array([1e-9, 4e-9])
    compiled = compile_without_noise(kernel, np.zeros(2))[0]
    prior = Prior.build(compiled.bind(compiled.theta), X, 1e-7, 1e-8)
    rows = Rows(X[places], y, None, np.zeros(n_outputs), np.ones(n_outputs))
    found = exact_posterior_of_rows(prior, DistinctRows.within_inputs(X, rows), noise)
    predictor = InducingPoints(found.posterior, noise)
    mean, variance = predictor.left_out(rows)
    for c, s2 in enumerate(np.ravel(noise)):
        P = np.linalg.inv(kernel(X[places]) + s2 * np.eye(46))
        of_y = variance[:, c] + s2
        assert_allclose(of_y, 1.0 / np.diag(P), rtol=1e-3)
        error = np.linalg.solve(kernel(X[places]) + s2 * np.eye(46), y[:, c]) / np.diag(P)
        assert_allclose((y - mean)[:, c] / np.sqrt(of_y), error / np.sqrt(of_y), atol=1e-3)
    some = np.array([2, 30, 43])
    for own, all_rows in zip(predictor.left_out(rows.select(some)), (mean, variance), strict=True):
        assert_allclose(own, all_rows[some], rtol=1e-9, atol=1e-15)
    assert found.posterior.sites_of(X + 1.0) is None
