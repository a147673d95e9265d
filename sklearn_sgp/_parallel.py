"""Maps over groups and chunks of rows whose results do not depend on how many workers there are."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import SequentialBackend, ThreadingBackend, get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from ._linalg import blas_thread_count, single_blas_thread

# Rows predicted together, and in one task of a parallel map.
PREDICT_CHUNK = 1024
PREDICT_TASK = 16 * PREDICT_CHUNK

# Accumulators of a map: fixed, so that the order of summation is too.
N_GROUPS = 8

_listener = ContextVar("listener", default=None)


def group_bounds(n_rows, chunk):
    """Return contiguous groups of rows, at most N_GROUPS, of whole chunks but for the last.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    chunk : int
        Rows that are worked on together.

    Returns
    -------
    bounds : list of (int, int)
        First and last-plus-one row of each group.
    """
    n_chunks = -(-n_rows // chunk)
    per_group = -(-n_chunks // N_GROUPS) * chunk
    return [(lo, min(n_rows, lo + per_group)) for lo in range(0, n_rows, per_group)]


def resolved_jobs(n_jobs):
    """Return the number of workers that ``n_jobs`` asks for.

    None, where joblib is not configured otherwise, takes as many as BLAS would use threads: no more
    cores than BLAS's own threads would, but kernel blocks run in parallel too (8,192 rows and 500
    inducing inputs: 156 ms an evaluation instead of 210).
    """
    workers = effective_n_jobs(n_jobs)
    return blas_thread_count() if n_jobs is None and workers == 1 else workers


def shares_memory():
    """Return True if workers of a map see the caller's arrays: threads do, processes do not."""
    backend, _ = get_active_backend(prefer="threads")
    return isinstance(backend, ThreadingBackend | SequentialBackend)


@contextmanager
def told_of_tasks(listener):
    """Have maps call ``listener(done, total)`` after each task, but for maps within tasks."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def map_groups(function, argument_lists, n_jobs=None):
    """Return the list of ``function(*arguments)``, in order, on one thread of BLAS each.

    Threads by default, since the work runs without the GIL; a backend chosen with
    ``joblib.parallel_config`` overrides that. Threads are our own, as joblib's polling costs some
    10 ms a call.
    """
    n_tasks = len(argument_lists)
    workers = 1 if n_tasks == 1 else min(effective_n_jobs(n_jobs), n_tasks)
    with single_blas_thread():
        if workers == 1 and _listener.get() is None:
            return [function(*arguments) for arguments in argument_lists]
        if workers == 1:
            return _gathered((function(*arguments) for arguments in argument_lists), n_tasks)
        if shares_memory():
            with ThreadPoolExecutor(workers) as pool:
                return _gathered(pool.map(partial(_run, function), argument_lists), n_tasks)
        return Parallel(n_jobs=n_jobs, prefer="threads", batch_size=1)(
            delayed(function)(*arguments) for arguments in argument_lists
        )


def _gathered(results, n_tasks):
    """Return the list of results; the listener, if any, is called after each."""
    listener = _listener.get()
    if listener is None:
        return list(results)
    gathered = []
    with told_of_tasks(None):
        for result in results:
            gathered.append(result)
            listener(len(gathered), n_tasks)
    return gathered


def _run(function, arguments):
    with single_blas_thread():  # again, for a BLAS that counts for each thread
        return function(*arguments)


# ---- Chunks of rows, so that the memory of predictions does not grow with their number


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
