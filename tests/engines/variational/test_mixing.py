"""Where mixing starts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal

from sklearn_sgp.data.rows import Rows
from sklearn_sgp.engines.variational.mixing import _Observed, starting_mixing

W = np.array([[1.0, 0.2], [0.8, -0.6], [-0.5, 0.9], [0.1, 1.0]])


@pytest.fixture
def y():
    """300 rows of four outputs of two functions, of which 40 % are not there."""
    rng = np.random.default_rng(0)
    y = rng.standard_normal((300, 2)) @ W.T + 0.3 * rng.standard_normal((300, 4)) + 0.2
    return np.where(rng.random(y.shape) < 0.4, np.nan, y)


def rows_of(y):
    t = y.shape[1]
    return Rows(np.zeros((len(y), 1)), y, None, np.zeros(t), np.ones(t))


def test_components_are_the_most_likely(y):
    """No W nearby gives what is there a larger density, with any noise."""
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    observed = _Observed(y, weight)
    found = observed.components(observed.starting_mixing(2))

    patterns, of_row = np.unique(~np.isnan(y), axis=0, return_inverse=True)
    own_rows = [np.flatnonzero(of_row.ravel() == k) for k in range(len(patterns))]

    def density(W):
        def negative(noise):
            total = 0.5 * (W**2).sum()
            covariance = W @ W.T + noise * np.eye(4)
            for seen, rows in zip(patterns, own_rows, strict=True):
                own = np.flatnonzero(seen)
                if len(own):
                    there = multivariate_normal(np.zeros(len(own)), covariance[np.ix_(own, own)])
                    total -= weight[rows] @ np.atleast_1d(there.logpdf(y[np.ix_(rows, own)]))
            return total

        return -minimize_scalar(negative, bounds=(0.02, 0.4), method="bounded").fun

    value, rng = density(found), np.random.default_rng(2)
    for _ in range(4):
        assert density(found + 0.03 * rng.standard_normal((4, 2))) < value + 0.02


def test_complete_targets_start_from_their_correlations(y):
    """The eigenvectors of the correlations, nine tenths of whose eigenvalues are no noise."""
    complete = np.where(np.isnan(y), 0.3, y)
    correlation = complete.T @ complete
    size = np.sqrt(np.diag(correlation))
    correlation = correlation / np.outer(size, size) * 300.0 / 310.0
    np.fill_diagonal(correlation, 1.0)
    value, vector = np.linalg.eigh(correlation)
    start = starting_mixing(rows_of(complete), 2)
    assert_allclose(start @ start.T, 0.9 * (vector[:, 2:] * value[2:]) @ vector[:, 2:].T)


def test_no_column_and_no_output_starts_empty():
    """Outputs of one function leave directions of small size, constant ones have none."""
    rng = np.random.default_rng(0)
    y = rng.standard_normal((200, 1)) * np.array([1.0, -1.0, 0.0])
    y[rng.random(y.shape) < 0.3] = np.nan
    start = starting_mixing(rows_of(y), 2)
    assert (np.abs(start).max(axis=0) > 0.01).all()
    assert not start[2].any()
    assert start[:2].any(axis=1).all()


def test_pairs_that_disagree_do_not_decide():
    """Outputs that are alike where three of them are there start alike, whatever a pair says."""
    rng = np.random.default_rng(1)
    g = rng.standard_normal(300)
    y = g[:, None] * np.array([1.0, 0.9, 1.1]) + 0.1 * rng.standard_normal((300, 3))
    y[:40, 1], y[40:, 0] = np.nan, np.where(rng.random(260) < 0.9, np.nan, y[40:, 0])
    start = starting_mixing(rows_of(y), 1)
    assert (start > 0.5).all()
