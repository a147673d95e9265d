"""Threads: limits of those of BLAS, and maps whose results do not depend on how many there are."""

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from threading import Lock, local

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import SequentialBackend, ThreadingBackend, get_active_backend
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

# BLAS has its own threads for factorisations of so many rows, and one for all else, whatever else
# the machine does. Its threads wait for each other by spinning: with other processes on both of two
# cores, factor and inverse of 1,000 rows took 29 ms of processor time on one thread and 329 ms on
# two, of 1,500 75 and 1,130, of 2,000 167 and 1,213, of 4,000 1,157 and 4,118. On idle cores two
# threads can at best halve the time, and up to 700 rows they lengthen it (500: 1.4 and 2.1 ms).
LEAST_THREADED = 4096
# Rows predicted together, and in one task of a parallel map.
PREDICT_CHUNK = 1024
PREDICT_TASK = 16 * PREDICT_CHUNK

# Accumulators of a map: fixed, so that the order of summation is too.
N_GROUPS = 8

_listener = ContextVar("listener", default=None)


# ---- Threads of BLAS and OpenMP


class _Limit:
    """One thread for some BLAS libraries, from the first who enters to the last who leaves."""

    def __init__(self, libraries):
        self.libraries, self.holders, self.before = libraries, 0, []

    def enter(self):
        if self.holders == 0:
            self.before = [library.num_threads for library in self.libraries]
            self._set([1] * len(self.libraries))
        self.holders += 1

    def leave(self):
        self.holders -= 1
        if self.holders == 0:
            self._set(self.before)

    def _set(self, counts):
        for library, count in zip(self.libraries, counts, strict=True):
            # since threadpoolctl 3.7 the public method does nothing in all threads but one, and the
            # last to leave may be any
            getattr(library, "_real_set_num_threads", library.set_num_threads)(count)

    def outside(self):
        """Return the thread counts while nobody is inside."""
        return self.before if self.holders else [library.num_threads for library in self.libraries]


class _LimitOfEachThread(local, _Limit):
    """The same where each thread that calls BLAS has a count of its own."""


class SingleBlasThread:
    """Context in which BLAS keeps to one thread, for any number of threads at once.

    The count belongs to the whole process: were each to save it and put it back, two that overlap
    would leave it at one. So the first to enter lowers it, and the last to leave restores it.
    """

    def __init__(self, libraries):
        by_thread = [library for library in libraries if _has_a_count_for_each_thread(library)]
        self._shared = _Limit([library for library in libraries if library not in by_thread])
        self._of_threads = _LimitOfEachThread(by_thread)
        self._lock = Lock()
        if hasattr(os, "register_at_fork"):  # a fork must not copy a lock that is taken
            free = self._lock.release
            os.register_at_fork(
                before=self._lock.acquire, after_in_parent=free, after_in_child=free
            )

    def __enter__(self):
        with self._lock:
            self._shared.enter()
        self._of_threads.enter()

    def __exit__(self, *_):
        self._of_threads.leave()
        with self._lock:
            self._shared.leave()

    def count_outside(self):
        """Return the most threads of a library while nobody is inside."""
        with self._lock:
            return max([*self._shared.outside(), *self._of_threads.outside()], default=1)


def _has_a_count_for_each_thread(library):
    """Return True if threadpoolctl sets OpenMP's count, as since 3.7 for such an OpenBLAS."""
    is_openmp = getattr(library, "threading_layer", None) == "openmp"
    return is_openmp and hasattr(library, "_real_set_num_threads")


class SingleOpenMPThread:
    """Context in which loops by OpenMP keep to the thread that calls; counts belong to threads."""

    def __init__(self, libraries):
        self._of_threads = _LimitOfEachThread(libraries)

    def __enter__(self):
        self._of_threads.enter()

    def __exit__(self, *_):
        self._of_threads.leave()


_LIBRARIES = ThreadpoolController().lib_controllers
_SINGLE = SingleBlasThread([library for library in _LIBRARIES if library.user_api == "blas"])
_SINGLE_OPENMP = SingleOpenMPThread([one for one in _LIBRARIES if one.user_api == "openmp"])


def blas_thread_count():
    """Return the threads that BLAS may use, whoever keeps it to one thread at the moment."""
    return _SINGLE.count_outside()


def single_blas_thread():
    """Keep BLAS to one thread in a context."""
    return _SINGLE


def blas_threads_for(n_rows):
    """Return a context for factorisations of so many rows: BLAS's own threads if many, else one."""
    return _SINGLE if n_rows < LEAST_THREADED else nullcontext()


def single_openmp_thread(when=True):
    """Keep OpenMP to one thread in a context; it does nothing where ``when`` is False."""
    return _SINGLE_OPENMP if when else nullcontext()


# ---- Maps over groups of rows


def group_bounds(n_rows, chunk):
    """Return (first, end) of contiguous groups, at most N_GROUPS, of whole chunks but for the last.

    ``chunk`` rows are worked on together.
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


def begun_ahead(pairs, n_jobs):
    """Yield pairs of anything and a call without arguments, which threads have begun.

    Calls are begun in order, and at most one more than there are threads before its turn: what is
    yielded in its place returns the result. With one thread, or workers that are processes, pairs
    are as they come.
    """
    workers = effective_n_jobs(n_jobs)
    if workers == 1 or not shares_memory():
        yield from pairs
        return
    begun, pool = deque(), ThreadPoolExecutor(workers)
    try:
        for of_call, call in pairs:
            begun.append((of_call, pool.submit(_run, call, ()).result))
            if len(begun) > workers:
                yield begun.popleft()
        yield from begun
    finally:
        pool.shutdown(cancel_futures=True)


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
