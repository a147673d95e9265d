"""Tiny data for all tests, one BLAS thread, and matplotlib without a screen."""

import gc

import numpy as np
import pytest
import threadpoolctl
from slow_variants import mark_slow_cases
from threadpoolctl import threadpool_info, threadpool_limits

try:
    import matplotlib
except ImportError:  # the oldest supported versions are tested without it
    pass
else:
    matplotlib.use("Agg")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Give each process of `-n` neighbouring tests: they share fitted models."""
    if config.getoption("numprocesses", None) and config.getoption("dist") == "no":
        config.option.dist = "worksteal"


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage among 16,000 cases, all of which stay (14.0 CPU s, without it 8.7)."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem():
    """Leave the cases that a test function calls slow to `pytest -m slow`."""
    items = yield
    if isinstance(items, list) and items:
        mark_slow_cases(items)
    return items


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread():
    """Two threads wait for each other where other processes run (190 s instead of 45)."""
    with threadpool_limits(1, user_api="blas"):
        yield


def blas_thread_counts():
    """Thread counts of the BLAS libraries that are loaded."""
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def two_blas_threads():
    """BLAS as users have it: two threads, and no thread of Python alone may change that."""
    with threadpool_limits(2, user_api="blas"):
        if blas_thread_counts() != {2}:
            pytest.skip("BLAS here does not take two threads")
        openblas = threadpoolctl.OpenBLASController
        if hasattr(openblas, "clear_controlling_thread"):  # threadpoolctl >= 3.7
            openblas.clear_controlling_thread(force=True)
        yield
        left = blas_thread_counts()
    assert left == {2}, "BLAS has not got its threads back"


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def toy(rng):
    """60 rows of a smooth function of two inputs, with noise: X (60, 2) and y (60,)."""
    X = rng.uniform(-2.0, 2.0, (60, 2))
    return X, 5.0 + 3.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(60)


@pytest.fixture
def toy_outputs(toy):
    """The inputs of ``toy`` with two outputs of different offset and scale: y (60, 2)."""
    X, y = toy
    return X, np.column_stack([y, 100.0 * np.cos(X[:, 0]) - 40.0])


@pytest.fixture
def wave(rng):
    """600 rows of a sine, with noise: X (600, 1) and y (600,)."""
    X = rng.uniform(0.0, 6.0, (600, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(600)
