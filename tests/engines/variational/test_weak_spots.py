"""Warnings where a fit explains little."""

import numpy as np
import pytest

from sklearn_sgp import SVGPRegressor
from sklearn_sgp.engines.explained import _explained


@pytest.mark.parametrize("size", [0.0, 1e-300])
def test_numbers_without_squares_are_explained(size):
    """Constants, and numbers whose squares are zero, leave nothing to explain."""
    y = size * np.arange(4.0)[:, None] + 1e-300
    assert _explained(y, np.zeros((4, 1))) == 1.0


def test_tiny_targets():
    """A fit of targets of 1e-300 ends without a word about overflow or division."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(60, 2)), 1e-300 * rng.standard_normal(60)
    model = SVGPRegressor(init_size=20, max_iter=2, n_inducing=5, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
