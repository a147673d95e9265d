"""Shares of the variances of observations, by their definition."""

from dataclasses import dataclass

import numpy as np
from numpy.testing import assert_allclose

from sklearn_sgp.predict.vouched_bands import with_vouched_bands

MEAN, VARIANCE = np.zeros((5, 2)), np.array([[0.0, 0.1, 0.5, 1.0, 4.0]]).T * [1.0, 3.0]


class Known:
    """Predicts moments that are given."""

    def moments(self, inputs, n_jobs=None):
        return MEAN, VARIANCE


@dataclass
class Observed:
    """What `with_vouched_bands` takes of `Observations`."""

    predictor: object
    noise_variance: object


def test_what_is_usual_and_what_is_beyond_have_a_factor_each():
    """Noise is part of what is usual, and of no more than that."""
    noise, usual = np.array([0.2, 0.3]), np.array([0.6, 1.5])
    share, beyond = np.array([0.25, 0.5]), np.array([1.5, 2.0])
    model = with_vouched_bands(Observed(Known(), noise), share, usual, beyond)
    mean, variance = model.predictor.moments(None)
    total = VARIANCE + noise
    expected = share * np.minimum(total, usual) + beyond * np.maximum(total - usual, 0.0)
    assert_allclose(variance + model.noise_variance, expected, rtol=1e-12)
    assert mean is MEAN


def test_with_shares_of_one_nothing_changes():
    model = Observed(Known(), 0.2)
    assert with_vouched_bands(model, np.ones(1), np.ones(1), np.ones(1)) is model
