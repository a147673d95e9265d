"""Noise that depends on one of many columns, a little."""

import numpy as np
import pytest
from varying_noise import made


@pytest.mark.parametrize("deviation", [lambda x: 0.12 * x, lambda x: 0.2 * np.sin(1.5 * x)])
def test_slight_changes_of_the_noise_are_found_among_eight_columns(deviation):
    """From short length scales learning ended at noise that is the same everywhere."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (1500, 8))
    log_sd = deviation(X[:, 0])
    y = 0.5 * X[:, 1] + np.exp(log_sd) * rng.standard_normal(1500)
    fitted = made(kernel=None, n_inducing=30, max_iter=15).fit(X, y)
    error = np.std(np.log(fitted.noise_std(X)) - log_sd)
    assert error < 0.5 * np.std(log_sd)
