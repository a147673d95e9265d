"""Factors of variances from entries that were hidden."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from sklearn_sgp.engines.latent_inputs.calibration import _FACTOR_BOUNDS, _factors


def errors_of(n, P, factors=(2.0, 5.0), seed=0):
    """Errors with these factors of noise and other variance; noise of 0.1."""
    rng = np.random.default_rng(seed)
    variance = rng.uniform(0.01, 1.0, (n, P))
    errors = np.sqrt(factors[0] * 0.1 + factors[1] * variance) * rng.normal(size=(n, P))
    return errors, variance, rng.random((n, P)) < 0.5


def test_factors_of_many_errors_come_back():
    """With 20,000 hidden entries the factors are those that the errors were drawn with."""
    errors, variance, hidden = errors_of(4000, 10)
    assert_allclose(_factors(errors, 0.1, variance, hidden), [2.0, 5.0], rtol=0.15)


def test_columns_that_are_met_exactly_change_no_factor():
    """Errors of exactly 0 in most columns are left out, whatever their variances."""
    errors, variance, hidden = errors_of(200, 4)
    wanted = _factors(errors, 0.1, variance, hidden)
    zeros, many = np.zeros((200, 40)), np.ones((200, 40), dtype=bool)
    found = _factors(
        np.hstack([errors, zeros]),
        0.1,
        np.hstack([variance, zeros + 1e-6]),
        np.hstack([hidden, many]),
    )
    assert_array_equal(found, wanted)
    assert_array_equal(_factors(zeros, 0.1, zeros + 1.0, many), np.ones(2))


def test_factors_stay_within_bounds():
    """The common size of errors cannot take a factor out of the bounds."""
    errors, variance, hidden = errors_of(400, 4)
    for size in (1e-8, 1e8):
        logs = np.log(_factors(size * errors, 0.1, variance, hidden))
        assert (logs >= _FACTOR_BOUNDS[:, 0] - 1e-12).all() and (
            logs <= _FACTOR_BOUNDS[:, 1] + 1e-12
        ).all()


def test_intervals_of_few_errors_are_wide_enough():
    """Over many draws of 60 hidden entries, 90 % of further errors are within the intervals."""
    covered = []
    for seed in range(200):
        errors, variance, hidden = errors_of(60, 2, seed=seed)
        hidden[:, 0], hidden[:, 1] = True, False
        factors = _factors(errors, 0.1, variance, hidden)
        z = errors[:, 1] / np.sqrt(factors[0] * 0.1 + factors[1] * variance[:, 1])
        covered.append(np.mean(np.abs(z) < norm.ppf(0.95)))
    assert abs(np.mean(covered) - 0.9) < 0.01


def test_the_ratio_of_factors_is_less_sure_from_few_errors():
    """The same errors shrink the ratio of the factors towards 1 where there are few of them."""
    errors, variance, _ = errors_of(60, 1)
    every = np.ones((60, 1), dtype=bool)
    few = _factors(errors, 0.1, variance, every)
    errors, variance, every = (np.tile(a, (50, 1)) for a in (errors, variance, every))
    many = _factors(errors, 0.1, variance, every)
    shrunk = np.log(few[1] / few[0]) / np.log(many[1] / many[0])
    assert_allclose(shrunk, (60 / 110) / (3000 / 3050), rtol=0.02)
