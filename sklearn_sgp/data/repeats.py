"""What rows with the same inputs say of the noise, whatever the function is."""

import numpy as np
from scipy.stats import chi2

# Rows are looked through in chunks, and at most so many of them.
_KEY_CHUNK, _MOST_REPEAT_ROWS = 1 << 16, 1 << 22
# The noise variance is at least the result with this probability.
_CONFIDENCE = 0.95
# Rows with equal inputs may cost so many nats a row of all, if the noise has the least variance.
# More is not asked, as few of them with heavy tails say little: one pair among 700,000 flights
# would ask for a noise that costs 0.15 nats a row; with this it costs nothing.
_NATS = 1e-3


def least_noise_variance(rows):
    """Return the noise variance below which rows with equal inputs would be too unlikely.

    These differ by their noise alone. The squared deviations from their means, in units of the
    noise variance, have a chi-squared distribution, whose 95 % quantile gives a bound with that
    confidence. Half of their sum is what the rows cost in nats; where they are few, the result is
    smaller: that at which they cost a thousandth of a nat a row. The rows are of independent
    outputs. A weight of two is two equal rows, and one of next to nothing says as little.

    Returns
    -------
    variance : float
        The smallest of all outputs, of the scaled targets; 0 where no inputs are equal.
    """
    rows = rows.fixed_subset(_MOST_REPEAT_ROWS)
    key = row_keys(rows.X)
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(key[order[1:]] == key[order[:-1]])
    first, second = order[same], order[same + 1]
    equal = (np.asarray(rows.X[first]) == np.asarray(rows.X[second])).all(axis=1)
    first, second = first[equal], second[equal]
    if not len(first):
        return 0.0
    # one number for each run of pairs that share a row
    run = np.cumsum(np.append(True, first[1:] != second[:-1])) - 1
    return _pooled(rows, np.concatenate([first, second]), np.concatenate([run, run]))


def row_keys(X):
    """Return a number for each row, equal where rows are.

    Columns count from the first row on: a large number that all rows have rounds nothing away.
    """
    first = np.asarray(X[:1], dtype=np.float64)
    direction = np.random.RandomState(0).uniform(1.0, 2.0, X.shape[1])
    keys = np.empty(len(X))
    for lo in range(0, len(X), _KEY_CHUNK):
        part = np.asarray(X[lo : lo + _KEY_CHUNK], dtype=np.float64)
        keys[lo : lo + _KEY_CHUNK] = ((part - first) * direction).sum(axis=1)
    return keys


def _pooled(rows, members, run):
    """Return the bound, from rows of which those of a run have equal inputs."""
    members, place = np.unique(members, return_index=True)
    run = run[place]
    repeated = rows.select(members)
    y, (weight, counts) = repeated.targets, repeated.weights
    totals = []
    for column, own in zip(y.T, np.broadcast_to(weight.T, y.T.shape), strict=True):
        mean = np.bincount(run, weights=own * column) / np.bincount(run, weights=own)
        totals.append(np.sum(own * (column - mean[run]) ** 2))
    allowed = chi2.ppf(_CONFIDENCE, _freedom(counts, run))
    return float(min(totals) / max(allowed, 2.0 * _NATS * rows.total_weight))


def _freedom(counts, run):
    """Return the degrees of freedom of the squares, of rows that count as so many each.

    A mean takes one of those of a run. Where counts are below one it takes less: as much as makes
    the expected squares right.
    """
    of_run = np.bincount(run, weights=counts)
    return (of_run - np.minimum(1.0, np.bincount(run, weights=counts**2) / of_run)).sum()
