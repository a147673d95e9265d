"""Variance that goes from a rough term to the noise: what is taken is what is given."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_sgp.data.rows import ConditionedRows, Rows
from sklearn_sgp.engines.blocks.honest_noise import _Share
from sklearn_sgp.optimize.parameters import Parameters

NOISE, CORRELATION, UNKNOWN = 0.3, 0.4, 0.9


class _Term:
    """A rough term whose variance differs from row to row."""

    def variances(self, parameters, X):
        return 1.0 + X[:, 0] ** 2

    def with_less(self, theta, kept, correlation):
        return theta


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_rows_get_the_noise_that_their_own_variance_has(share):
    """Beside its noise, which its precision divides, a row gets what its neighbour cannot tell."""
    rng = np.random.default_rng(0)
    X, precision = rng.standard_normal((7, 1)), rng.uniform(0.5, 2.0, 7)
    rows = Rows(X, np.zeros((7, 1)), None, np.zeros(1), np.ones(1)).with_precision(precision)
    piece = ConditionedRows(rows, ((np.arange(3), np.arange(3, 7)),))
    space = SimpleNamespace(clipped=lambda moved: moved)
    parameters = Parameters(None, {"theta": np.zeros(1), "log_noise": float(np.log(NOISE))})
    problem = SimpleNamespace(space=space)
    one = _Share(_Term(), problem, parameters, UNKNOWN, CORRELATION, is_own=True)
    given = one.given(piece, share).rows
    noise = one.moved(share).noise_variance / np.ravel(given.weights[0])
    expected = NOISE / precision + share * (1.0 - CORRELATION) * (1.0 + X[:, 0] ** 2)
    assert_allclose(noise, expected, rtol=1e-12)
