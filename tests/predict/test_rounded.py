"""Log probabilities of the intervals that observations were rounded from (theory.md, eq. 88)."""

from functools import cache

import numpy as np
import pytest

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor
from sklearn_sgp.likelihoods import Censored
from sklearn_sgp.metrics import log_density_scorer, negative_log_predictive_density


def _table(n=160, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 6, (n, 1))
    return X, np.exp(1.0 + np.sin(X[:, 0]) + 0.3 * rng.normal(size=n))


def _mass(model, x, low, high):
    """Integrate the density of one row over pieces of an interval, by 20 nodes on each."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    ends = np.linspace(low, high, 15)
    half = 0.5 * np.diff(ends)[:, None]
    y = (0.5 * (ends[1:] + ends[:-1])[:, None] + half * nodes).ravel()
    density = model.predict_distribution(np.repeat(x, len(y), axis=0)).pdf(y)
    return density @ (half * weights).ravel()


SETTINGS = [
    {},
    {"likelihood": "student_t"},
    {"likelihood": "heteroscedastic"},
    {"normalize_y": "yeo-johnson"},
    {"normalize_y": "warped", "likelihood": "heteroscedastic_student_t"},
]


@cache
def _fitted(number):
    """A fit that no test changes."""
    model = SVGPRegressor(n_inducing=15, max_iter=20, random_state=0, **SETTINGS[number])
    return model.fit(*_table())


each_setting = pytest.mark.parametrize(
    "number", range(len(SETTINGS)), ids=lambda number: str(SETTINGS[number])
)


@each_setting
def test_is_the_integral_of_the_density(number):
    """The log density with a resolution is that of the mean density in the interval."""
    model, (X, _) = _fitted(number), _table()
    some, at = X[:4], np.array([0.3, 2.0, 5.5, 40.0])
    with_step = model.log_density(some, at, resolution=0.7)
    for i in range(4):
        total = _mass(model, some[[i]], at[i] - 0.35, at[i] + 0.35)
        np.testing.assert_allclose(with_step[i], np.log(total / 0.7), rtol=1e-6, atol=1e-6)


@each_setting
def test_a_tiny_step_gives_the_density(number):
    """With steps that go to 0 the value goes to the log density, in tails, too."""
    model, (X, _) = _fitted(number), _table()
    at = np.linspace(-3.0, 60.0, len(X))
    for step in (1e-5, 1e-9):
        value = model.log_density(X, at, resolution=step)
        np.testing.assert_allclose(value, model.log_density(X, at), rtol=1e-5, atol=1e-5)


def test_far_intervals_are_finite_and_steps_bound_the_value():
    """An interval has a finite log probability, at most 0."""
    X, y = _table()
    model = SVGPRegressor(n_inducing=15, optimizer=None, random_state=0).fit(X, y)
    for at in (1e3, 1e6, -1e6):
        value = model.log_density(X[:3], np.full(3, at), resolution=2.0)
        assert np.isfinite(value).all()
    near = model.log_density(X, y, resolution=1e4)
    assert (near <= -np.log(1e4)).all()


def test_steps_of_outputs_are_their_own():
    """Each output has a step, and one with none counts by its density."""
    X, y = _table()
    Y = np.column_stack([y, -2.0 * y])
    model = SVGPRegressor(n_inducing=15, max_iter=10, random_state=0).fit(X, Y)
    both = model.log_density(X, Y, resolution=[0.5, 0.0])
    one = model.predict_distribution(X)
    first = np.log((one.cdf(Y + [0.25, 0.0]) - one.cdf(Y - [0.25, 0.0]))[:, 0] / 0.5)
    np.testing.assert_allclose(both, first + one.logpdf(Y)[:, 1], rtol=1e-9)


def test_the_metric_is_that_of_gaussian_predictions():
    """The metric, the scorer and the method agree where predictions are Gaussian."""
    X, y = _table()
    model = AnytimeSGPRegressor(optimizer=None, random_state=0).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    for step in (1e-7, 1e-4, 0.3, 2.0, 50.0):
        at = np.concatenate([y[:80], y[80:] + 30.0 * std[80:]])
        value = model.log_density(X, at, resolution=step)
        metric = negative_log_predictive_density(at, mean, std, resolution=step)
        np.testing.assert_allclose(metric, -value.mean(), rtol=1e-6)
        np.testing.assert_allclose(
            log_density_scorer(model, X, at, resolution=step), value.mean(), rtol=1e-12
        )
    for far in (1e8, 1e160):
        score = negative_log_predictive_density([far], [0.0], [1.0], resolution=0.1)
        assert score >= 0.49 * far**2 if far < 1e10 else score == np.inf


def test_bad_steps_are_refused():
    """Steps that are negative, not finite or of another shape raise a ValueError."""
    X, y = _table()
    model = SVGPRegressor(n_inducing=15, optimizer=None, random_state=0).fit(X, y)
    for step in (-1.0, np.nan, np.inf, [1.0, 2.0], "a"):
        with pytest.raises(ValueError, match="resolution must be"):
            model.log_density(X, y, resolution=step)
    with pytest.raises(ValueError, match="resolution must be"):
        negative_log_predictive_density(y, y, np.ones(len(y)), resolution=-1.0)
    mixed = SVGPRegressor(n_latent=1, n_inducing=9, optimizer=None).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="n_latent"):
        mixed.log_density(X, np.column_stack([y, y]), resolution=1.0)


@pytest.mark.parametrize("likelihood", ["poisson", "negative_binomial"])
def test_counts_have_their_probability_however_small(likelihood):
    """A step of 1 changes nothing; those that are far from likely in a lower tail were NaN."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 1))
    model = SVGPRegressor(likelihood=likelihood, n_inducing=5, max_iter=20, random_state=0)
    model.fit(X, rng.poisson(40.0, 200).astype(float))
    at = np.array([0.0, 1.0, 4.0, 12.0, 40.0, 90.0, 400.0])
    rounded = model.log_density(X[:7], at, resolution=1.0)
    np.testing.assert_allclose(rounded, model.log_density(X[:7], at), rtol=1e-5, atol=1e-7)


def test_targets_at_a_limit_have_its_probability_whatever_the_step():
    """They were scored as numbers within half a step of the limit."""
    X, y = _table()
    y = np.maximum(y, 2.0)
    model = SVGPRegressor(likelihood=Censored(lower=2.0), n_inducing=9, max_iter=20, random_state=0)
    model.fit(X, y)
    at_limit = np.full(len(X), 2.0)
    plain = model.log_density(X, at_limit)
    np.testing.assert_allclose(model.log_density(X, at_limit, resolution=0.1), plain, rtol=1e-12)
    assert (plain <= 0.0).all()
    for step in (1e-6, 0.1):
        value = model.log_density(X, y + 0.3, resolution=step)
        np.testing.assert_allclose(value, model.log_density(X, y + 0.3), atol=0.02)


def test_the_scorer_takes_the_steps_of_outputs():
    """An array of steps was an error of NumPy's."""
    X, y = _table()
    Y = np.column_stack([y.round(), y])
    model = SVGPRegressor(n_inducing=9, max_iter=10, random_state=0).fit(X, Y)
    steps = model.resolution_
    assert steps[0] == 1.0 and steps[1] == 0.0
    expected = model.log_density(X, Y, resolution=steps).mean()
    assert log_density_scorer(model, X, Y, resolution=steps) == expected
