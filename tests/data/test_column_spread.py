"""Means and deviations of columns, which a fit computes once."""

import numpy as np
from numpy.testing import assert_array_equal

from sklearn_sgp.data import column_spread
from sklearn_sgp.data.column_spread import column_mean_std, column_summary, columns_remembered


def test_columns_are_summarised_once_in_a_context(rng, monkeypatch):
    """The same array with the same weights alone; whoever asks may change what is returned."""
    X, weight, asked = rng.standard_normal((10_001, 2)), np.full(10_001, 2.0), []
    own, plain = column_spread._summary, column_mean_std(X, None)
    monkeypatch.setattr(column_spread, "_summary", lambda *of: asked.append(of) or own(*of))
    with columns_remembered():
        for _ in range(3):
            mean, std = column_mean_std(X, None)
            assert_array_equal((mean, std), plain)
            column_summary(X, None)[0][:] = np.nan
        assert len(asked) == 1
        column_mean_std(X, weight)
        column_mean_std(X.copy(), None)
        column_mean_std(X[:100], None)  # few rows cost nothing, and take no place
        column_mean_std(X[:100], None)
        assert len(asked) == 5
    X *= 2.0
    assert_array_equal(column_mean_std(X, None)[1], 2.0 * plain[1])
    with columns_remembered():
        assert_array_equal(column_mean_std(X, None)[1], 2.0 * plain[1])
