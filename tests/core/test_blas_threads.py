"""The context that keeps BLAS to one thread, in one thread and in several that overlap."""

import os
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, local

import numpy as np
import pytest
from conftest import blas_thread_counts as counts

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor
from sklearn_sgp._parallel import (
    LEAST_THREADED,
    SingleBlasThread,
    blas_thread_count,
    blas_threads_for,
    map_groups,
    resolved_jobs,
    single_blas_thread,
)
from sklearn_sgp.optimize import lbfgs

pytestmark = pytest.mark.usefixtures("two_blas_threads")


def test_limit_holds_inside_and_is_lifted_after():
    """BLAS has one thread inside, also inside once more, and what it had outside."""
    with single_blas_thread():
        with single_blas_thread():
            assert counts() == {1}
        assert counts() == {1}
    assert counts() == {2}


def test_size_of_a_factorisation_decides():
    """Few rows are factorised on one thread, many on those that BLAS has."""
    with blas_threads_for(LEAST_THREADED - 1):
        assert counts() == {1}
    with blas_threads_for(LEAST_THREADED):
        assert counts() == {2}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", [AnytimeSGPRegressor(), SVGPRegressor()])
def test_learning_from_all_rows_at_once_keeps_to_one_thread(model, monkeypatch):
    """The exact process of few rows is learned on one thread: two wait for each other."""
    X = np.random.default_rng(0).standard_normal((60, 2))
    seen, ascend = [], lbfgs.minimize_lbfgs

    def noted(*args, **kwargs):
        seen.append(counts())
        return ascend(*args, **kwargs)

    monkeypatch.setattr(lbfgs, "minimize_lbfgs", noted)
    model.fit(X, np.sin(X[:, 0]))
    assert seen and all(threads == {1} for threads in seen)
    assert counts() == {2}


def test_limit_is_lifted_after_an_error():
    """An exception inside leaves BLAS as it was."""
    with pytest.raises(ZeroDivisionError), single_blas_thread():
        raise ZeroDivisionError
    assert counts() == {2}


def test_two_that_overlap_restore_what_the_first_one_found():
    """A second thread that enters before the first leaves, and leaves after it, restores BLAS."""
    entered, left = Event(), Event()

    def second():
        with single_blas_thread():
            entered.set()
            assert left.wait(10)
            return counts()

    with ThreadPoolExecutor(1) as pool:
        with single_blas_thread():
            other = pool.submit(second)
            assert entered.wait(10)
        left.set()
        assert other.result() == {1}
    assert counts() == {2}


def test_others_see_the_threads_that_blas_has_outside():
    """While one thread keeps BLAS to one, n_jobs=None of another means what it always means."""
    with single_blas_thread(), ThreadPoolExecutor(1) as pool:
        assert counts() == {1}
        assert pool.submit(blas_thread_count).result() == 2
        assert pool.submit(resolved_jobs, None).result() == 2
    assert resolved_jobs(None) == 2


def test_eight_threads_that_come_and_go():
    """However entries, exits and errors of eight threads fall, BLAS is as before afterwards."""
    barrier = Barrier(8)

    def task(number):
        if number == 5:
            raise ZeroDivisionError
        return counts()

    def come_and_go(number):
        barrier.wait(10)
        for _ in range(20):
            with single_blas_thread():
                assert counts() == {1}
            try:
                assert map_groups(task, [(number,)] * 2, 2) == [{1}] * 2
            except ZeroDivisionError:
                assert number == 5

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(come_and_go, range(8)))
    assert counts() == {2}


class _CountOfEachThread(local):
    """A library as threadpoolctl shows an OpenBLAS that runs on OpenMP."""

    user_api, threading_layer, num_threads = "blas", "openmp", 3

    def _real_set_num_threads(self, count):
        self.num_threads = count

    set_num_threads = _real_set_num_threads


def test_a_blas_that_counts_for_each_thread():
    """Where threads have counts of their own, each thread gets its own back."""
    library = _CountOfEachThread()
    single = SingleBlasThread([library])

    def inside():
        before = library.num_threads
        with single:
            seen = library.num_threads, single.count_outside()
        return before, *seen, library.num_threads

    with ThreadPoolExecutor(1) as pool, single:
        assert library.num_threads == 1
        assert pool.submit(inside).result() == (3, 1, 3, 3)
    assert library.num_threads == 3 and inside() == (3, 1, 3, 3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_does_not_copy_a_lock_that_is_taken():
    """A child that is forked while other threads come and go can enter and leave."""
    stop = Event()

    def come_and_go():
        while not stop.is_set():
            with single_blas_thread():
                pass

    with ThreadPoolExecutor(2) as pool:
        tasks = [pool.submit(come_and_go) for _ in range(2)]
        try:
            for _ in range(10):
                child = os.fork()
                if child == 0:
                    blas_thread_count()  # would wait for ever
                    os._exit(0)
                assert os.waitpid(child, 0)[1] == 0
        finally:
            stop.set()
        for task in tasks:
            task.result()
