"""Predictions in chunks of rows, so that memory does not grow with their number."""

import numpy as np

from .._parallel import map_groups, resolved_jobs

# Rows predicted together, and in one task of a parallel map.
PREDICT_CHUNK = 1024
PREDICT_TASK = 16 * PREDICT_CHUNK


def in_chunks(function, X, n_jobs=None):
    """Compute ``function(X)`` chunk by chunk.

    Parameters
    ----------
    function : callable
        Returns an array with a row for each row of its argument, or a tuple of such arrays. It can
        be pickled where the joblib backend is one of processes.
    X : ndarray of shape (n, d)
    n_jobs : int or None

    Returns
    -------
    result : ndarray or tuple of ndarray
    """
    if 0 < len(X) <= PREDICT_CHUNK:
        return map_groups(function, [(X,)])[0]
    tasks = [(function, X[lo : lo + PREDICT_TASK]) for lo in range(0, len(X), PREDICT_TASK)]
    return _concatenated(map_groups(_predict_task, tasks, resolved_jobs(n_jobs)))


def _predict_task(function, X):
    return _concatenated(
        [function(X[lo : lo + PREDICT_CHUNK]) for lo in range(0, len(X), PREDICT_CHUNK)]
    )


def _concatenated(parts):
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return np.concatenate(parts)
