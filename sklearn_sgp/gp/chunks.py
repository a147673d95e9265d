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
    X : ndarray of shape (n, d), or tuple of ndarray
        Arrays of as many rows are arguments of the function.
    n_jobs : int or None

    Returns
    -------
    result : ndarray or tuple of ndarray
    """
    arrays = X if isinstance(X, tuple) else (X,)
    if 0 < len(arrays[0]) <= PREDICT_CHUNK:
        return map_groups(function, [arrays])[0]
    tasks = [(function, *part) for part in _parts(arrays, PREDICT_TASK)]
    return _concatenated(map_groups(_predict_task, tasks, resolved_jobs(n_jobs)))


def _predict_task(function, *arrays):
    return _concatenated([function(*part) for part in _parts(arrays, PREDICT_CHUNK)])


def _parts(arrays, size):
    """Return so many rows of each array at a time."""
    bounds = range(0, len(arrays[0]), size)
    return [[array[lo : lo + size] for array in arrays] for lo in bounds]


def _concatenated(parts):
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return np.concatenate(parts)
