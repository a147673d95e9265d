"""With warm_start, SVGP estimators go on from the last fit, except where the user asks anew."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from sklearn_sgp import AnytimeSGPRegressor, SVGPClassifier, SVGPRegressor

C = ConstantKernel


def fitted(X, y, kernel=None, **parameters):
    defaults = {"n_inducing": 5, "max_iter": 3, "warm_start": True, "random_state": 0}
    return SVGPRegressor(kernel, **(defaults | parameters)).fit(X, y)


@pytest.mark.parametrize("inducing", ["kmeans", "random", "greedy"])
def test_more_inducing_inputs(wave, inducing):
    """A larger n_inducing keeps the inducing inputs that were learned and adds others."""
    model = fitted(*wave, inducing=inducing)
    before = model.inducing_points_
    model.set_params(n_inducing=20, optimizer=None).fit(*wave)
    count = len(model.inducing_points_)
    assert 15 < count <= 20 if inducing == "greedy" else count == 20  # greedy may want no more
    assert_array_equal(model.inducing_points_[:5], before)
    assert len(np.unique(model.inducing_points_, axis=0)) == count


def test_a_kernel_that_was_chosen_stays_without_an_optimizer(wave):
    """Of two default kernels the second was learned; the next fit began at the first."""
    X, y = wave
    y = y + 0.5 * np.cumsum(np.random.default_rng(0).standard_normal(len(y)))[np.argsort(X[:, 0])]
    model = AnytimeSGPRegressor(n_inducing=20, max_iter=10, warm_start=True, random_state=0)
    learned = model.fit(X, y).kernel_
    assert "nu=0.5" in str(learned)
    assert model.set_params(optimizer=None).fit(X, y).kernel_ == learned


def test_fewer_inducing_inputs(wave):
    """A smaller n_inducing is heeded."""
    model = fitted(*wave, n_inducing=20).set_params(n_inducing=5).fit(*wave)
    assert len(model.inducing_points_) == 5


def test_no_more_inducing_inputs_than_distinct_rows(toy):
    """A second fit to few rows adds no inducing inputs, even if the first ones have moved."""
    X, y = toy
    model = fitted(X[:12], y[:12], n_inducing=50)
    assert len(model.fit(X[:12], y[:12]).inducing_points_) == 12


def test_given_inducing_inputs(wave):
    """A newly given array is taken; the same array again goes on from what was learned."""
    model, Z = fitted(*wave), np.linspace(0.0, 6.0, 7)[:, None]
    assert_array_equal(
        model.set_params(inducing=Z, optimize_inducing=False).fit(*wave).inducing_points_, Z
    )
    learned = model.set_params(optimize_inducing=True).fit(*wave).inducing_points_
    assert np.all(learned != Z)
    assert_array_equal(model.set_params(optimizer=None).fit(*wave).inducing_points_, learned)
    model.set_params(inducing=Z + 0.1).fit(*wave)
    assert_array_equal(model.inducing_points_, Z + 0.1)


@pytest.mark.parametrize(
    "other",
    [RBF(0.5) * C(4.0), C(4.0) * Matern(0.5), C(4.0) * RBF(0.5) + C(1.0, "fixed")],
    ids=str,
)
def test_another_kernel_starts_at_its_own_values(wave, other):
    """Parameters of a kernel of another structure are not taken, however many it has."""
    model = fitted(*wave, C(4.0) * RBF(0.5)).set_params(kernel=other, optimizer=None).fit(*wave)
    assert_allclose(model.kernel_.theta, other.theta)


def test_the_same_kernel_goes_on(wave):
    """A kernel of the same structure, with or without its noise, takes the learned parameters."""
    model = fitted(*wave, C(4.0) * RBF(0.5), n_inducing=12)
    theta, noise = model.kernel_.theta, model.noise_variance_
    assert np.all(theta != np.log([4.0, 0.5]))
    again = model.set_params(kernel=C(2.0) * RBF(1.0), optimizer=None).fit(*wave)
    assert_allclose(again.kernel_.theta, theta)
    again = model.set_params(kernel=C(2.0) * RBF(1.0) + WhiteKernel()).fit(*wave)
    assert_allclose(again.kernel_.theta, [*theta, np.log(noise)])


def test_new_bounds(wave):
    """New bounds of kernel and noise hold for what the last fit learned, and "fixed" is fixed."""
    model = fitted(*wave, RBF(0.5, (0.1, 0.6)), noise_variance_bounds=(1e-3, 0.5))
    model.set_params(optimizer=None, kernel=RBF(0.5, (1.0, 3.0)), noise_variance_bounds=(0.7, 2.0))
    model.fit(*wave)
    assert model.kernel_.length_scale == pytest.approx(1.0)
    assert model.noise_variance_ == pytest.approx(0.7)
    model.set_params(noise_variance=0.2, noise_variance_bounds="fixed").fit(*wave)
    assert model.noise_variance_ == pytest.approx(0.2)


def test_other_columns(wave):
    """Rows with other columns start anew."""
    X, y = wave
    model = fitted(X, y).fit(np.column_stack([X, X**2]), y)
    assert model.inducing_points_.shape == (5, 2)


def test_classifiers(wave):
    """Classifiers go on, too, and heed a changed n_inducing."""
    X, y = wave
    model = SVGPClassifier(n_inducing=5, max_iter=3, warm_start=True, random_state=0).fit(X, y > 0)
    theta = model.kernel_.theta
    model.set_params(n_inducing=9, optimizer=None).fit(X, y > 0)
    assert_allclose(model.kernel_.theta, theta)
    assert len(model.inducing_points_) == 9
