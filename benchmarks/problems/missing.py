"""Values of a table that go missing, for reasons that have to do with them or not."""

import numpy as np
from scipy.stats import rankdata

REASONS = ("at random", "by another column", "by the value")


def with_missing(problem, *, share, reason, n):
    """At most n training and n test rows, of which a share of all values is NaN.

    Parameters
    ----------
    problem : Problem
    share : float
        Half at most.
    reason : str
        One of `REASONS`: a value is missing with the same probability everywhere, or in proportion
        to the rank of the next column's value, or to that of its own.

    Returns
    -------
    X, y, X_test, y_test : ndarray
    """
    rng = np.random.default_rng(0)
    train, test = (rng.permutation(len(X))[:n] for X in (problem.X, problem.X_test))
    X = np.concatenate([problem.X[train], problem.X_test[test]]).astype(np.float64)
    rank = rankdata(X, axis=0) / len(X)
    probability = {
        "at random": np.full(X.shape, share),
        "by another column": 2.0 * share * np.roll(rank, -1, axis=1),
        "by the value": 2.0 * share * rank,
    }[reason]
    X[rng.random(X.shape) < probability] = np.nan
    return X[: len(train)], problem.y[train], X[len(train) :], problem.y_test[test]
