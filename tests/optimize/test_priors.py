"""Priors of parameters: values of their definition, gradients of differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_sgp.optimize.parameters import Group, ParameterSpace, TiedLengthScales
from sklearn_sgp.optimize.priors import CategoryPlaces, Product, TiedCategories

PLACES = (
    CategoryPlaces(np.array([1, 2, 3]), np.array([[4, 5], [6, 7], [8, 9]])),
    CategoryPlaces(np.empty(0, dtype=int), np.array([[10], [11]]), 0.7),
    CategoryPlaces(np.array([12, 13]), np.empty((0, 2), dtype=int)),
)
CATEGORIES = TiedCategories(PLACES, (4.0, 0.5, 0.3))
SCALES = TiedLengthScales(np.zeros(3), (np.array([0, 1, 2]),), 2.0)


@pytest.fixture
def theta():
    return np.random.default_rng(0).standard_normal(14)


def test_categories_scatter_about_their_mean(theta):
    """The log density is that of normal variables about the mean, of F in units of the kernel."""
    expected = 0.0
    for place in PLACES:
        log_b, F = theta[place.diagonal], theta[place.factor]
        if len(log_b):
            expected -= 0.5 * 4.0 * len(log_b) * log_b.var()
        if len(F):
            own = np.exp(log_b) if len(log_b) else np.full(len(F), place.fixed_variance)
            variance = np.diag(F @ F.T + np.diag(own)).mean()
            expected -= 0.5 * 0.5 * len(F) * F.var(axis=0).sum() / variance
            expected -= 0.5 * 0.3 * np.log(variance) ** 2
    assert_allclose(CATEGORIES(theta)[0], expected)


def test_scatter_is_in_units_of_the_kernel(theta):
    """Without the part of the scale, all covariances may be multiplied by a number."""
    prior, larger = TiedCategories(PLACES[:1], (4.0, 0.5, 0.0)), theta.copy()
    larger[PLACES[0].factor] *= 3.0
    larger[PLACES[0].diagonal] += 2.0 * np.log(3.0)
    assert_allclose(prior(larger)[0], prior(theta)[0])


@pytest.mark.parametrize("prior", [CATEGORIES, Product((CATEGORIES, SCALES))])
def test_gradients(prior, theta):
    """Gradients agree with differences, of several priors together too."""
    eye = 1e-6 * np.eye(len(theta))
    expected = [(prior(theta + e)[0] - prior(theta - e)[0]) / 2e-6 for e in eye]
    assert_allclose(prior(theta)[1], expected, rtol=1e-6, atol=1e-8)


def test_several_priors_add_up(theta):
    """The log density of a product is the sum."""
    both = Product((CATEGORIES, SCALES))(theta)[0]
    assert_allclose(both, CATEGORIES(theta)[0] + SCALES(theta)[0])


@pytest.mark.parametrize("prior", [CATEGORIES, SCALES, Product((CATEGORIES, SCALES))])
def test_a_share_of_a_prior_is_its_power(prior, theta):
    """Batches of a stream count it by their share of the rows."""
    for found, whole in zip(prior.weighted(0.3)(theta), prior(theta), strict=True):
        assert_allclose(found, 0.3 * whole)


class _Like:
    """Stands in for `Parameters`: values by name."""

    def __init__(self, **values):
        self.values = values

    def with_values(self, **values):
        return _Like(**{**self.values, **values})


def test_held_columns_are_not_in_the_vector():
    """Columns of categories keep their values to the last bit, whatever the units."""
    Z = np.array([[0.3, 7.0, 1.1], [0.6, 9.0, 2.3]])
    space = ParameterSpace((Group("Z", None, np.array([0.7, 1.7, 0.3]), np.array([1])),))
    x = space.pack(_Like(Z=Z))
    assert_allclose(x, [0.3 / 0.7, 1.1 / 0.3, 0.6 / 0.7, 2.3 / 0.3])
    assert space.bounds(_Like(Z=Z)).shape == (4, 2)
    assert_allclose(space.pack_gradient({"Z": Z}), [0.3 * 0.7, 1.1 * 0.3, 0.6 * 0.7, 2.3 * 0.3])
    moved = space.unpack(x + 1.0, _Like(Z=Z)).values["Z"]
    assert (moved[:, 1] == Z[:, 1]).all()
    assert_allclose(moved[:, [0, 2]], Z[:, [0, 2]] + [0.7, 0.3])
    units = np.array([[0.7, 1.7, 0.3], [1.0, 1.0, 1.0]])
    by_row = space.with_group("Z", unit=units)
    assert_allclose(by_row.unpack(by_row.pack(_Like(Z=Z)), _Like(Z=Z)).values["Z"], Z)
