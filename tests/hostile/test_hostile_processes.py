"""Estimators in threads, forked and spawned processes: same answers, nothing left behind.

``HOSTILE_SECONDS`` is how long the threads go on; 120 in the long run.
"""

import multiprocessing
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import kills
import numpy as np
import pytest
from conftest import blas_thread_counts
from joblib import Parallel, delayed, parallel_config
from numpy.testing import assert_allclose, assert_array_equal

pytestmark = [
    pytest.mark.hostile,
    pytest.mark.filterwarnings("ignore::UserWarning"),
    # a fork of a process with threads, which is what is tried
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
SECONDS = float(os.environ.get("HOSTILE_SECONDS", "5"))
LIMIT = 120.0
# VIF is not among what is forked: scikit-learn searches neighbours with OpenMP, and GNU's hangs in
# the child of a process that has used it. spawn, forkserver, loky and threads are not concerned.
FORKED = ["svgp, two jobs", "classifier", "stream"]
X = kills.rows(99)[0]


def taught(name):
    """What a model says after a fit and a batch."""
    model, arguments = kills.fresh(name)
    model.fit(*arguments(0))
    model.partial_fit(*arguments(1))
    return kills.answer(model, X)


def test_eight_threads_of_different_estimators(two_blas_threads):
    """Each thread gets what it gets alone, again and again, and no thread stays behind."""
    names = list(kills.MODELS)
    alone = {name: taught(name) for name in names}
    before, until = threading.active_count(), time.monotonic() + SECONDS

    def work(number):
        turns = 0
        while time.monotonic() < until or not turns:
            name = names[(number + turns) % len(names)]
            # BLAS has fewer threads here, and learning amplifies what that rounds otherwise
            assert_allclose(taught(name), alone[name], rtol=1e-5, atol=2e-6, err_msg=name)
            turns += 1
        return turns

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8), timeout=SECONDS + LIMIT))
    assert threading.active_count() == before


def _send(name, queue):
    queue.put((name, taught(name)))


@pytest.mark.parametrize(
    ("method", "name"),
    [(method, name) for method in ("fork", "spawn") for name in FORKED] + [("spawn", "vif")],
)
def test_processes(method, name):
    """A child process learns what its parent learned before, with threads in both."""
    expected = taught(name)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_send, args=(name, queue))
    child.start()
    try:
        found = queue.get(timeout=LIMIT)
        child.join(LIMIT)
        assert child.exitcode == 0
    finally:
        child.kill()
    assert found[0] == name
    assert_array_equal(found[1], expected)


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_backends_of_joblib(backend):
    """Workers of every backend learn what one process learns; BLAS keeps its threads."""
    names = ["svgp", "stream of classes", "latent"]
    names += ["vif"] if backend != "multiprocessing" else []  # see FORKED
    expected, threads = [taught(name) for name in names], blas_thread_counts()
    with parallel_config(backend=backend, n_jobs=2):
        found = Parallel(timeout=LIMIT)(delayed(taught)(name) for name in names)
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-6, atol=1e-8)
    assert blas_thread_counts() == threads


@pytest.fixture
def dask_cluster():
    """Two processes that joblib's dask backend finds."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        client.run(lambda: __import__("sys").path.extend(paths))
        yield client


@pytest.mark.filterwarnings("default")  # distributed's own, at start-up and shut-down
def test_the_dask_backend(dask_cluster):
    """Workers of a cluster learn what one process learns, and so do fits whose groups go there."""
    names = ["svgp", "vif", "stream of classes", "latent"]
    expected, threads = [taught(name) for name in names], blas_thread_counts()
    workers = set(dask_cluster.run(os.getpid).values())
    with parallel_config(backend="dask"):
        assert set(Parallel()(delayed(os.getpid)() for _ in range(4))) <= workers
        found = Parallel(timeout=LIMIT)(delayed(taught)(name) for name in names)
        inside = taught("svgp, two jobs")
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-6, atol=1e-8)
    assert_allclose(inside, taught("svgp, two jobs"), rtol=1e-6, atol=1e-8)
    assert blas_thread_counts() == threads


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_backends_inside_a_fit(backend):
    """Groups of rows of one fit in workers of a backend: what threads of our own give."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-2.0, 2.0, (2_500, 2))
    y = np.sin(rows[:, 0])
    model = kills.fresh("svgp, two jobs")[0].set_params(max_iter=1)
    expected = model.fit(rows, y).predict(rows[:50])
    with parallel_config(backend=backend, n_jobs=2):
        assert_allclose(model.fit(rows, y).predict(rows[:50]), expected, rtol=1e-6, atol=1e-8)
