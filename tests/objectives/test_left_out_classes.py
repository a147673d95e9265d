"""The temperature of left-out rows, against a minimiser that asks far more often."""

from dataclasses import replace

import numpy as np
import pytest
from dense import make_case
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from sklearn_sgp.data.class_targets import ClassTargets
from sklearn_sgp.data.rows import ConditionedRows, Rows
from sklearn_sgp.likelihoods import Probit, Softmax
from sklearn_sgp.likelihoods._dirichlet import Dirichlet
from sklearn_sgp.objectives import left_out_classes as left_out
from sklearn_sgp.objectives.composite_likelihood import CompositeLikelihood
from sklearn_sgp.objectives.scores import Score


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


def left_out_whole(X, counts, y, targets, kernel):
    """Means and variances of each row given all others, by dense conditionals."""
    K, noise = kernel(X), 1.0 / (targets.precision(y).T * counts).T
    y, mean, variance = y - targets.mean, np.empty(y.shape), np.empty(y.shape)
    for k in range(len(X)):
        others = np.arange(len(X)) != k
        for c in range(y.shape[1]):
            S = K[np.ix_(others, others)] + np.diag(noise[others, c])
            G = np.linalg.solve(S, K[others, k])
            mean[k, c], variance[k, c] = G @ y[others, c], K[k, k] - G @ K[others, k]
    return mean, variance


def test_of_equal_rows_one_is_left_out(rng):
    """Rows that stand for several are left out as one of these is, whatever classes weigh."""
    case = make_case()
    X, place = case.X[rng.integers(12, size=20)], np.arange(20) % 3
    counts = rng.integers(1, 5, size=20).astype(float)
    counts[:3] = 1.0
    copies = np.repeat(np.arange(20), counts.astype(int))
    likelihood = Dirichlet(0.1).centred(np.bincount(place, counts))
    targets = ClassTargets(np.arange(3), likelihood)

    def moments(some, counts):
        y = targets.codes(place[some])
        rows = Rows(X[some], y, None, targets.mean, targets.scale)
        weight = (targets.precision(y).T * counts).T
        group = np.arange(0), np.arange(len(some))
        piece = ConditionedRows(
            replace(rows, weight=weight, counts=counts, of_classes=True), (group,)
        )
        return CompositeLikelihood([piece], 1).left_out(case.parameters)

    merged = moments(np.arange(20), counts)
    of_copies = moments(copies, np.ones(len(copies)))
    for one, each in zip(merged, of_copies, strict=True):
        assert_allclose(one[copies], each, atol=1e-8)
    # weights of classes are no copies: rows are left out whole, and their own says nothing
    heavy = np.array([1.0, 5.0, 20.0])[place]
    plain = left_out_whole(X, heavy, targets.codes(place), targets, case.kernel)
    for one, each in zip(moments(np.arange(20), heavy), plain, strict=True):
        assert_allclose(one, each, atol=1e-8)


def test_a_temperature_is_to_gain_more_than_what_is_asked(rng):
    """Otherwise it is 1: what hardly gains in some rows may lose in others."""
    mean, ones = 2.0 * rng.standard_normal((4000, 1)), np.ones(4000)
    label = np.where(rng.random(4000) < norm.cdf(mean[:, 0] / 1.5), 1.0, -1.0)
    judge = left_out.LeftOutClasses(Probit(0.0), (mean, np.zeros((4000, 1))), label, ones)
    temperature = judge.calibrated().temperature
    assert 1.4 < temperature < 1.6
    before, after = (Score(judge.log_probabilities(t), ones) for t in (1.0, temperature))
    gain, error = after.gain(before)
    for factor, told in ((0.9, temperature), (1.1, 1.0)):
        assert judge.calibrated(left_out.LeastGain(factor * gain, 1.0)).temperature == told
        errors = factor * gain / error
        assert judge.calibrated(left_out.LeastGain(0.0, errors)).temperature == told


@pytest.mark.parametrize("n", [0, 1])
def test_hardly_any_rows_tell_no_temperature(n):
    """One that is certain of the wrong class would ask for the largest, with no error of it."""
    label, moments = np.full(n, -1.0), (np.full((n, 1), 9.0), np.zeros((n, 1)))
    judge = left_out.LeftOutClasses(Probit(0.0), moments, label, np.ones(n))
    assert judge.calibrated().temperature == 1.0
