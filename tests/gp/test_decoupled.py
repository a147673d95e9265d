"""Complete outputs: the decoupled form of q(u) is the general one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.factors.multi_output import outputs_by_rows
from sklearn_sgp.gp.decoupled import DecoupledPosterior
from sklearn_sgp.gp.multi_output import CoregionalisedPosterior
from sklearn_sgp.gp.prior import Prior
from sklearn_sgp.kernels import compile_kernel
from sklearn_sgp.objectives import multi_output as objective
from sklearn_sgp.optimize.parameters import Parameters

DELTA, NOISE = 1e-6, np.array([0.1, 0.3, 0.2, 0.5])


@pytest.fixture
def parts():
    """Rows with all outputs, parameters, and both forms of the optimal q(u)."""
    rng = np.random.default_rng(0)
    X, y, weight = rng.uniform(-2, 2, (60, 2)), rng.standard_normal((60, 4)), rng.uniform(1, 2, 60)
    rows = Rows(X, y, weight, np.zeros(4), np.ones(4))
    expression = compile_kernel(RBF([0.9, 1.4]), np.zeros(2))
    Z, W = rng.uniform(-2.0, 2.0, (9, 2)), rng.standard_normal((4, 3))
    values = {"theta": expression.theta, "log_noise": np.log(NOISE), "mixing": W, "Z": Z}
    parameters = Parameters(expression, values)
    prior = Prior.build(parameters.kernel, Z, DELTA)
    q, sums, patterns = objective.optimal_coregionalised(prior, rows, W, NOISE)
    return rows, parameters, q, CoregionalisedPosterior.from_sums(prior, sums, patterns, W, NOISE)


def assert_same(decoupled, general, X):
    """All that is asked of either form."""
    assert isinstance(decoupled, DecoupledPosterior)
    assert_allclose(decoupled.coupled.H, general.H, rtol=1e-8, atol=1e-8)
    for name in ("h", "v_mean", "coefficients", "log_det"):
        assert_allclose(getattr(decoupled, name), getattr(general, name), rtol=1e-8, atol=1e-8)
    for ours, theirs in (
        (decoupled.moments(X), general.moments(X)),
        (decoupled.full_covariance(X), general.full_covariance(X)),
        (decoupled.mean_covariance(X), general.mean_covariance(X)),
    ):
        assert_allclose(ours[0], theirs[0], rtol=1e-8, atol=1e-8)
        assert_allclose(ours[1], theirs[1], rtol=1e-8, atol=1e-8)


def test_it_is_the_general_form(parts):
    """Means, covariances, determinant; scaled, padded, and after a natural step."""
    rows, _, decoupled, general = parts
    X = rows.X[:5] + 0.1
    assert_same(decoupled, general, X)
    assert_same(decoupled.scaled(0.3), general.scaled(0.3), X)
    assert_same(decoupled.towards(decoupled, 0.3, 2.0), general.towards(general, 0.3, 2.0), X)
    Z = np.vstack([general.prior.Z, X[:2]])
    prior = Prior.build(general.prior.kernel, Z, DELTA)
    assert_same(decoupled.padded(prior), general.padded(prior), X)
    back = decoupled.padded(prior).restricted(np.arange(9))
    assert_same(back, general, X)
    picked = [5, 0, 2, 7, 8]
    assert_same(decoupled.restricted(picked), general.restricted(picked), X)


def test_another_rotation_joins_in_the_general_form(parts):
    """Information about functions that another rotation decouples is added as it is."""
    rows, parameters, decoupled, general = parts
    W, noise = parameters.mixing, NOISE[::-1].copy()
    other, sums, patterns = objective.optimal_coregionalised(decoupled.prior, rows, W, noise)
    joined = decoupled.joined(other)
    theirs = CoregionalisedPosterior.from_sums(decoupled.prior, sums, patterns, W, noise)
    assert_allclose(joined.H, general.H + theirs.H, rtol=1e-8, atol=1e-8)
    assert_allclose(joined.h, general.h + theirs.h, rtol=1e-8, atol=1e-8)


def test_the_bound_and_its_gradients(parts, monkeypatch):
    """In kernel, noise, mixing and Z, by either form."""
    rows, parameters, _, _ = parts
    patterns = outputs_by_rows(rows.y)
    value, gradient = objective.coregionalised_bound(parameters, rows, DELTA, patterns=patterns)
    monkeypatch.setattr(objective, "DecoupledPosterior", CoregionalisedPosterior)
    expected, theirs = objective.coregionalised_bound(parameters, rows, DELTA, patterns=patterns)
    assert_allclose(value, expected, rtol=1e-10)
    for name, part in theirs.items():
        assert_allclose(gradient[name], part, rtol=1e-8, atol=1e-8)


def test_rows_with_gaps_join(parts):
    """Either form takes up rows of which some outputs are not there."""
    rows, parameters, decoupled, general = parts
    y = rows.y.copy()
    y[::2, 1] = np.nan
    gaps = Rows(rows.X + 0.1, y, None, np.zeros(4), np.ones(4))
    other, _, _ = objective.optimal_coregionalised(
        general.prior, gaps, parameters.mixing, parameters.noise_variance
    )
    assert isinstance(other, CoregionalisedPosterior)
    expected = general.joined(other)
    assert_allclose(decoupled.joined(other).v_mean, expected.v_mean, rtol=1e-8, atol=1e-8)
    assert_allclose(other.joined(decoupled).H, expected.H, rtol=1e-8, atol=1e-8)


def test_draws_have_the_covariance(parts):
    """The map from standard normal numbers is a root of S, in both forms."""
    _, _, decoupled, general = parts
    size = 3 * len(general.prior.Z)
    for q in (decoupled, general):
        root = q.drawn(np.eye(size)).transpose(1, 0, 2).reshape(size, size)
        S = general.covariance.reshape(size, size)
        assert_allclose(root @ root.T, S, rtol=1e-8, atol=1e-8)
