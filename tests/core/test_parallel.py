"""The map over groups of rows: which groups, in which order, by which workers."""

import os
import time
from functools import partial

import numpy as np
import pytest
from joblib import parallel_config
from threadpoolctl import threadpool_info, threadpool_limits

from sklearn_sgp._parallel import (
    N_GROUPS,
    begun_ahead,
    group_bounds,
    map_groups,
    told_of_tasks,
)


@pytest.mark.parametrize("chunk", [1, 3, 16, 1024])
@pytest.mark.parametrize("n_rows", [1, 2, 15, 16, 17, 129, 8192, 8193])
def test_groups_partition_the_rows(n_rows, chunk):
    """Groups follow one another, hold every row once, and end on whole chunks but for the last."""
    bounds = group_bounds(n_rows, chunk)
    assert [row for lo, hi in bounds for row in range(lo, hi)] == list(range(n_rows))
    assert len(bounds) <= N_GROUPS
    assert all((hi - lo) % chunk == 0 and hi > lo for lo, hi in bounds[:-1])


def test_many_rows_give_all_groups():
    """Enough chunks give N_GROUPS groups, so that as many workers have something to do."""
    assert len(group_bounds(10 * N_GROUPS * 64, 64)) == N_GROUPS


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_whoever_listens_is_told_of_each_task(n_jobs):
    """In order, of the outer map only, and not after the context."""
    told = []

    def outer(k):
        return sum(map_groups(int, [(k,), (1,)], n_jobs))

    with told_of_tasks(lambda done, total: told.append((done, total))):
        assert map_groups(outer, [(k,) for k in range(3)], n_jobs) == [1, 2, 3]
    map_groups(outer, [(0,)], n_jobs)
    assert told == [(1, 3), (2, 3), (3, 3)]


def _slow_first(index):
    time.sleep(0.02 if index == 0 else 0.0)
    return index, os.getpid()


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_results_keep_their_order(n_jobs):
    """Results come in the order of the arguments, from threads of this process."""
    results = map_groups(_slow_first, [(i,) for i in range(6)], n_jobs)
    assert results == [(i, os.getpid()) for i in range(6)]


def test_a_chosen_backend_is_used():
    """A backend from joblib's parallel_config overrides the threads."""
    with parallel_config(backend="loky", n_jobs=2):
        results = map_groups(_slow_first, [(i,) for i in range(6)])
    assert [index for index, _ in results] == list(range(6))
    assert os.getpid() not in {pid for _, pid in results}


def _blas_threads():
    np.ones((4, 4)) @ np.ones((4, 4))
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blas_threads_in_workers(n_jobs):
    """Each worker has one BLAS thread, also where there is but one of them."""
    with threadpool_limits(2, user_api="blas"):
        if _blas_threads() != {2}:
            pytest.skip("BLAS here does not take two threads")
        assert map_groups(_blas_threads, [()] * 3, n_jobs) == [{1}] * 3
        assert _blas_threads() == {2}


def _fail():
    raise ZeroDivisionError("from the worker")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_reach_the_caller(n_jobs):
    """An exception in a group is raised as it is."""
    with pytest.raises(ZeroDivisionError, match="from the worker"):
        map_groups(_fail, [(), ()], n_jobs)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_calls_are_begun_ahead_in_order(n_jobs):
    """Of an endless run few are taken before their turn; an error comes at its own."""
    taken = []

    def endless():
        for item in range(10**9):
            taken.append(item)
            yield item, partial(divmod, 6, 3 - item)

    pairs = begun_ahead(endless(), n_jobs)
    for item in range(3):
        own, call = next(pairs)
        assert (own, call()) == (item, divmod(6, 3 - item))
        assert len(taken) <= item + 1 + (n_jobs > 1) * n_jobs
    _, call = next(pairs)
    with pytest.raises(ZeroDivisionError):
        call()
    pairs.close()
    assert len(taken) <= 6
