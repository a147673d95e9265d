"""Targets that are learned in their own units: what is left to the fit follows these units."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from sklearn_sgp import AnytimeSGPRegressor, StreamingSGPRegressor, SVGPRegressor

RNG = np.random.default_rng(0)
X = RNG.uniform(0.0, 10.0, (300, 2))
F = np.sin(X[:, 0]) + 0.3 * np.cos(X[:, 1])
Y = F + 0.3 * RNG.standard_normal(300)
BOTH = np.column_stack([Y, np.cos(X[:, 0]) + 0.1 * RNG.standard_normal(300)])
STATIONS = np.column_stack([X[:, 0], RNG.integers(0, 5, 300)])
LEVELS = np.sin(X[:, 0]) + STATIONS[:, 1] - 2.0 + 0.2 * RNG.standard_normal(300)
BATCHES = {"init_size": 100, "batch_size": 100}
CASES = {
    "svgp": (SVGPRegressor, {}, X, Y),
    "student_t": (SVGPRegressor, {"likelihood": "student_t"}, X, Y),
    "outputs": (SVGPRegressor, {}, X, BOTH),
    "mixed outputs": (SVGPRegressor, {"n_latent": 2}, X, BOTH),
    "categories": (SVGPRegressor, {"categorical_features": [1]}, STATIONS, LEVELS),
    "adam": (SVGPRegressor, {"optimizer": "adam", "max_steps": 50}, X, Y),
    "vif": (AnytimeSGPRegressor, {}, X, Y),
    "vif categories": (AnytimeSGPRegressor, {"categorical_features": [1]}, STATIONS, LEVELS),
    "fitc": (AnytimeSGPRegressor, {"model": "fitc"}, X, Y),
    "stream": (StreamingSGPRegressor, BATCHES, X, Y),
    "mixed stream": (StreamingSGPRegressor, {"n_latent": 2, **BATCHES}, X, BOTH),
}


# Targets that are not normalised are not rounded to a grid either, and learning amplifies that.
# A kernel with a part for each output is flat where it ends: 0.25 nats of 600 targets, no more.
ROUGH = {"mixed outputs": 2e-2, "outputs": 2e-2}


def made(make, **options):
    return make(n_inducing=20, random_state=0, normalize_y=False, **options)


@pytest.mark.slow
@pytest.mark.quick_cases("svgp", "stream")
@pytest.mark.filterwarnings("ignore:max_iter=200")
@pytest.mark.parametrize("name", CASES)
def test_every_unit_of_the_targets(name):
    """Means and deviations are the same numbers in every unit, without normalisation too."""
    make, options, rows, y = CASES[name]
    first = made(make, **options).fit(rows, y).predict(rows[:50] + 0.01 * (rows is X), True)
    for unit in (1e4, 1e-3):
        model = made(make, **options).fit(rows, unit * y)
        parts = model.predict(rows[:50] + 0.01 * (rows is X), True)
        for part, expected in zip(parts, first, strict=True):
            assert_allclose(part / unit, expected, atol=ROUGH.get(name, 3e-3))


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e4, 1e9])
def test_noise_of_any_size_is_learned(unit):
    """Noise of three tenths is found in every unit, and bands of 90 % hold about that."""
    model = made(SVGPRegressor).fit(X, unit * Y)
    assert_allclose(np.sqrt(model.noise_variance_), 0.3 * unit, rtol=0.1)
    low, high = model.predict_quantiles(X, [0.05, 0.95]).T
    assert 0.85 < np.mean((low < unit * Y) & (unit * Y < high)) < 0.95


@pytest.mark.parametrize("make", [SVGPRegressor, AnytimeSGPRegressor, StreamingSGPRegressor])
def test_targets_far_from_zero(make):
    """A function far from zero, the mean of its prior, is found with noise of its own size.

    Noise of 0.3 is 0.36 for a stream of twenty inducing inputs here, 0.31 to 0.33 in four draws.
    """
    model = made(make, **(BATCHES if make is StreamingSGPRegressor else {})).fit(X, 100.0 + Y)
    assert np.sqrt(np.mean((model.predict(X) - 100.0 - F) ** 2)) < 0.25
    assert 0.2 < np.sqrt(model.noise_variance_) < 0.37


def test_given_bounds_hold():
    """Bounds that are given mean what they say, of kernels and of the noise."""
    kernel = ConstantKernel(1.0, (0.5, 2.0)) * RBF([1.0, 1.0], (0.1, 10.0))
    model = made(SVGPRegressor, kernel=kernel, noise_variance_bounds=(1e-4, 10.0))
    with pytest.warns(UserWarning, match="close to the specified upper bound"):
        model.fit(X, 1e4 * Y)
    assert 0.5 <= model.kernel_.k1.constant_value <= 2.0 + 1e-9
    assert model.noise_variance_ <= 10.0 + 1e-9


def test_both_bounds_that_hold_a_fit_are_told():
    """Noise at its upper bound is told by its name, however small its lower one is."""
    inputs = np.array([[1.0], [3.0], [5.0], [6.0], [7.0], [8.0]])
    kernel = WhiteKernel(noise_level_bounds=(1e-5, 1e-3)) + RBF(1e3, (1e3, 1e5))
    model = SVGPRegressor(kernel, normalize_y=False, random_state=0)
    with (
        pytest.warns(UserWarning, match=r"k1__noise_level .* upper bound 0\.001"),
        pytest.warns(UserWarning, match=r"k2__length_scale .* lower bound 1000"),
    ):
        model.fit(inputs, (inputs * np.sin(inputs)).ravel())


@pytest.mark.parametrize("noise_variance", [1e-4, 0.09, 1e4])
def test_a_given_noise_variance_is_where_learning_begins(noise_variance):
    """A noise variance that is given is in units of y and not moved by default bounds."""
    model = made(SVGPRegressor, noise_variance=noise_variance, optimizer=None)
    for unit in (1e-4, 1.0, 1e4):
        assert_allclose(model.fit(X, unit * Y).noise_variance_, noise_variance)


def test_noise_in_the_kernel_is_as_given():
    """White noise of a kernel is in units of y, start and bounds."""
    kernel = RBF([1.0, 1.0]) + WhiteKernel(0.5, (0.1, 1.0))
    model = made(SVGPRegressor, kernel=kernel, optimizer=None).fit(X, 1e4 * Y)
    assert_allclose(model.noise_variance_, 0.5)


# Squares of these are zero.
TINY = {name: CASES[name] for name in ("svgp", "outputs", "mixed outputs", "vif", "fitc")}
TINY |= {name: CASES[name] for name in ("stream", "mixed stream")}


@pytest.mark.quick_cases("*-weights")
@pytest.mark.filterwarnings("ignore:y should vary")
@pytest.mark.parametrize("weight", [None, RNG.uniform(0.2, 2.0, 300)], ids=["", "weights"])
@pytest.mark.parametrize("name", TINY)
def test_targets_whose_squares_are_zero(name, weight):
    """Of targets of 1e-200 and 1e-300 the same is learned as of those of 1, batches included."""
    make, options, rows, y = TINY[name]
    found = []
    for unit in (1.0, 1e-200, 1e-300):
        model = make(n_inducing=8, max_iter=5, random_state=0, **options)
        for part in (slice(60), slice(60, 90)):
            given = None if weight is None else weight[part]
            model.partial_fit(rows[part], unit * y[part], sample_weight=given)
        mean, std = model.predict(rows[100:120], return_std=True)
        density = model.log_density(rows[100:120], unit * y[100:120])
        density += y[0].size * np.log(unit)
        found.append((mean / unit, std / unit, density))
    for parts in found[1:]:
        for part, expected in zip(parts, found[0], strict=True):
            assert_allclose(part, expected, rtol=1e-6, atol=1e-6)
