"""Classes in an order: cumulative probit with learned thresholds."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from sklearn_sgp.likelihoods import Ordinal, Probit

CUTS = np.array([-1.0, 0.2, 1.5])


def learned(absent=()):
    return Ordinal(CUTS)._with(CUTS)._without(np.array(absent))


def test_probabilities_are_between_thresholds():
    """P(class) is what a normal variable has between two thresholds, and all sum to one."""
    mean, variance = (
        np.array([[-3.0], [0.0], [0.7], [40.0]]),
        np.array([[0.0], [0.5], [3.0], [0.2]]),
    )
    p = Ordinal(CUTS).probabilities(mean, variance)
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-14)
    below = stats.norm.cdf((CUTS - mean) / np.sqrt(1.0 + variance))
    assert_allclose(np.cumsum(p, axis=1)[:, :-1], below, rtol=1e-12, atol=1e-14)
    for c in range(4):
        found = Ordinal(CUTS).log_predictive_density(np.full((4, 1), c), mean, variance)
        assert np.isfinite(found).all()
        assert_allclose(np.exp(found), p[:, c], rtol=1e-10)


def test_two_classes_are_probit():
    """With one threshold it is a probit with an offset of minus that."""
    y, f = np.array([[0.0], [1.0], [1.0]]), np.array([[0.3], [-2.0], [1.0]])
    found = Ordinal([0.4]).log_density(y, f)
    assert_allclose(found, Probit(offset=-0.4).log_density(2.0 * y - 1.0, f), rtol=1e-12)


@pytest.mark.parametrize("power", [1.0, 0.3])
@pytest.mark.parametrize("far", [0.0, 12.0])
def test_tilted_moments_are_those_of_quadrature(power, far):
    """Closed forms are what quadrature finds, also where a class is far from its thresholds."""
    y, mean = np.arange(4.0)[:, None], np.array([far, -far + 0.3, far - 0.5, -far])
    parts = y, mean, np.full(4, 0.8), np.full(4, power)
    found = Ordinal(CUTS).tilted_moments(*parts)
    expected = super(Ordinal, Ordinal(CUTS)).tilted_moments(*parts)
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("absent", [(), (2,), (0,), (0, 3)])
def test_expected_densities_and_their_derivatives(absent):
    """They are those of quadrature, in thresholds, too."""
    rng, likelihood = np.random.default_rng(0), learned(absent)
    y = np.resize(np.arange(4.0), (12, 1))
    mean, variance = rng.normal(size=(12, 1)), rng.uniform(0.05, 4.0, (12, 1))
    found = likelihood.expected_log_density(y, mean, variance)
    expected = super(Ordinal, likelihood).expected_log_density(y, mean, variance)
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_expectations_far_from_zero():
    """Nodes are dense about the thresholds, wherever these are."""
    likelihood, z = Ordinal([500.0, 520.0]), np.linspace(-12.0, 12.0, 100_001)
    density = np.exp(-0.5 * z**2)
    for y, mean in itertools.product([0.0, 1.0, 2.0], [440.0, 500.0, 530.0]):
        dense = likelihood.log_density(np.array([[y]]), mean + 30.0 * z[None])[0]
        parts = np.array([[y]]), np.array([[mean]]), np.array([[900.0]])
        found = likelihood.expected_log_density(*parts).value
        assert_allclose(found, dense @ density / density.sum(), rtol=1e-3)


@pytest.mark.parametrize(
    ("absent", "widths"),
    [((), [2.0, 3.0]), ((2,), [2.0, 2.0]), ((0,), [3.0, 3.0]), ((0, 3), [1.2, 1.3])],
)
def test_widths_of_classes_without_rows(absent, widths):
    """They are those of the others; where no rows tell of any they stay."""
    likelihood = learned(absent)
    found = likelihood.with_theta(np.array([-1.0, np.log(2.0), np.log(3.0)]))
    assert_allclose(np.diff(found.thresholds), widths, rtol=1e-12)
    assert_allclose(found.with_theta(found.theta).thresholds, found.thresholds, rtol=1e-12)
    later = found.after_labels(np.array([[0.0], [3.0], [2.0]]))
    theta = np.array([0.0, -1.0, 1.0])
    assert_allclose(later.with_theta(theta).theta, theta, rtol=1e-12, atol=1e-12)
    assert found.after_labels(np.array([[1.0]])) is found


def test_a_class_without_rows_begins_as_the_others():
    """It had half a row, and its thresholds had no reason to stay apart."""
    begun = Ordinal().for_classes(np.array([10.0, 10.0, 0.0, 10.0]))
    others = Ordinal().for_classes(np.full(4, 10.0))
    assert_allclose(begun.thresholds, others.thresholds, rtol=1e-12)


def test_thresholds_begin_at_frequencies():
    """They increase, whatever the classes' weights, and go through theta and back."""
    for weight in ([10.0, 20.0, 5.0], [0.0, 3.0, 0.0, 100.0], [1e-3, 1.0]):
        begun = Ordinal().for_classes(np.array(weight))
        assert (np.diff(begun.thresholds) > 0.0).all()
        assert begun.theta_bounds.shape == (len(weight) - 1, 2)
        assert_allclose(begun.with_theta(begun.theta).thresholds, begun.thresholds, rtol=1e-12)
    given = Ordinal([0.0, 1.0])
    assert given.for_classes(np.ones(3)) is given and not len(given.theta)
    assert_array_equal(given.theta_bounds, np.empty((0, 2)))


@pytest.mark.parametrize("wrong", [[0.0], [1.0, 0.0], [0.0, np.nan], "two", [0.0, 0.0]], ids=str)
def test_thresholds_that_cannot_be(wrong):
    """They must be as many as needed, and increase."""
    with pytest.raises(ValueError, match="2 increasing finite numbers"):
        Ordinal(wrong).for_classes(np.ones(3))
