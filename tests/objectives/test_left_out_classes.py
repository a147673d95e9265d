"""The temperature of left-out rows, against a minimiser that asks far more often."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from sklearn_sgp.likelihoods import Softmax
from sklearn_sgp.objectives import left_out_classes as left_out


def of_temperature(temperature, n=2000, C=4, seed=0):
    """Labels that were drawn with a temperature, and nearly certain functions."""
    rng = np.random.default_rng(seed)
    mean, variance = 3.0 * rng.standard_normal((n, C)), rng.uniform(0.0, 0.3, (n, C))
    p = Softmax(0.0, temperature).probabilities(mean, variance)
    place = (rng.uniform(size=(n, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
    weight = rng.uniform(0.5, 2.0, n)
    return left_out.LeftOutClasses(Softmax(0.0), (mean, variance), place, weight)


@pytest.mark.parametrize("temperature", [0.11, 0.4, 0.9, 1.0, 1.3, 3.0, 9.0, 1000.0])
def test_the_best_temperature(temperature, monkeypatch):
    classes, calls = of_temperature(temperature), []
    log_p = classes.log_probabilities

    def mean_log_p(temperature):
        return np.average(log_p(temperature), weights=classes.weight)

    price = 0.5 / (2000 * 0.5**2)
    expected = minimize_scalar(
        lambda log_t: price * log_t**2 - mean_log_p(np.exp(log_t)),
        bounds=(np.log(0.1), np.log(10.0)),
        method="bounded",
        options={"xatol": 1e-5},
    )
    monkeypatch.setattr(classes, "log_probabilities", lambda t: calls.append(t) or log_p(t))
    found, best = classes.best_temperature()
    assert abs(np.log(found) - expected.x) < 0.05
    assert_allclose(best, -expected.fun, atol=5e-5)
    assert len(calls) <= (7 if 0.5 < temperature < 2.0 else 10)


def test_temperatures_that_make_no_difference():
    """Functions that are all equal have the same probabilities with each."""
    mean = np.zeros((10, 3))
    classes = left_out.LeftOutClasses(Softmax(0.0), (mean, mean), np.zeros(10, int), np.ones(10))
    assert classes.best_temperature()[0] == 1.0


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
def test_models_are_compared_near_their_best_temperature(temperature):
    """Some of the rows find it; all together lose less than a third of the standard error."""
    classes = of_temperature(temperature, n=5000)
    log_p = classes.score().each
    assert log_p.shape == (5000,)
    best, error = classes.log_probabilities(classes.best_temperature()[0]), log_p.std()
    assert abs(np.average(log_p - best, weights=classes.weight)) < error / np.sqrt(5000) / 3.0
