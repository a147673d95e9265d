"""What explains a batch that its stream did not expect: log densities and what numbers cost."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from sklearn_sgp import StreamingSGPRegressor
from sklearn_sgp.data.inputs import Inputs
from sklearn_sgp.engines.streams.answers import _explained, answer_to
from sklearn_sgp.engines.streams.shifts import gathered

N, NOISE = 24, 0.1


def explanations(residual, function):
    """Log density, less its constant and half the logarithm of the rows for each number."""
    found, price = [], 0.5 * np.log(N)
    for factor in (1.0, 4.0):
        covariance = function + factor * NOISE * np.eye(N)
        inverse = np.linalg.inv(covariance)
        least_squares = inverse.sum(axis=0) @ residual / inverse.sum()
        for level in (0.0, least_squares):
            normal = multivariate_normal(np.full(N, level), covariance)
            value = normal.logpdf(residual) + 0.5 * N * np.log(2.0 * np.pi)
            found.append((value - price * sum((factor != 1.0, level != 0.0)), level, factor))
    return found


@pytest.mark.parametrize(
    ("moved", "spread", "taken"), [(0.0, 1.0, 0), (3.0, 1.0, 1), (0.0, 2.2, 2), (3.0, 2.2, 3)]
)
def test_numbers_are_taken_where_they_are_worth_their_price(moved, spread, taken):
    """Of a level and a factor of the noise, neither, one or both explain most."""
    x = np.linspace(0.0, 3.0, N)
    function = 0.1 * np.exp(-0.5 * (x[:, None] - x) ** 2)
    noise = np.sqrt(NOISE) * np.tile([1.0, -1.0], N // 2)
    residual = moved + spread * noise
    expected = explanations(residual, function)
    assert np.argmax([value for value, *_ in expected]) == taken
    found = _explained(residual, function, np.full(N, NOISE), (1.0, 4.0))
    assert_allclose(found, expected[taken], rtol=1e-9, atol=1e-12)


def test_a_factor_that_gains_less_than_its_price_is_not_taken():
    """Deviations that are somewhat too small have a higher density with more noise, no more."""
    function = 1e-6 * np.eye(N)
    residual = 1.4 * np.sqrt(NOISE) * np.tile([1.0, -1.0], N // 2)
    expected = explanations(residual, function)
    assert expected[2][0] < expected[0][0] < expected[2][0] + 0.5 * np.log(N)
    found = _explained(residual, function, np.full(N, NOISE), (1.0, 4.0))
    assert_allclose(found, expected[0], rtol=1e-9)


def test_nothing_begins_anew_for_an_output_that_fell_silent(rng):
    """Of two answers that explain none of its rows the first was taken: a kernel learned anew."""
    X = rng.uniform(0.0, 6.0, (120, 1))
    y = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 0])]) + 0.1 * rng.normal(size=(120, 2))
    model = StreamingSGPRegressor(random_state=0).partial_fit(X[:100], y[:100])
    wrong, silent = y[100:] + np.array([0.0, 5.0]), y[100:].copy()
    silent[:, 1] = np.nan
    rows = model._later_rows
    seen = gathered(model._fitted, rows(Inputs(X[100:]), wrong, None), 1)[0]
    some = rows(Inputs(X[100:]), silent, None)
    answer = answer_to(model._fitted, some, seen, np.array([False, True]), 1)
    assert not answer.begins_anew and answer.share == 1.0
    assert_allclose([*answer.level, *answer.noise], [0.0, 0.0, 1.0, 1.0])
