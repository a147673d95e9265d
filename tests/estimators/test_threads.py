"""Estimators in several threads at once, with BLAS and n_jobs as users have them."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from conftest import blas_thread_counts
from joblib import parallel_config
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from sklearn_sgp import (
    AnytimeSGPRegressor,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)
from sklearn_sgp import _parallel as parallel

pytestmark = pytest.mark.usefixtures("two_blas_threads")

N_THREADS = 8
COMMON = {"kernel": RBF(0.8), "n_inducing": 8, "random_state": 0}
ESTIMATORS = [
    SVGPRegressor(max_iter=3, **COMMON),
    SVGPClassifier(max_iter=2, **COMMON),
    AnytimeSGPRegressor(max_iter=2, block_size=20, **COMMON),
    StreamingSGPRegressor(max_iter=2, **COMMON),
]
MODELS = pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)


def _data(model, toy):
    X, y = toy
    return (X, (y > 5.0).astype(int)) if isinstance(model, SVGPClassifier) else (X, y)


def _predictions(model, X):
    return model.predict_proba(X) if isinstance(model, SVGPClassifier) else model.predict(X)


def _at_once(function):
    """What ``function(number)`` gives in eight threads that start together."""
    barrier = Barrier(N_THREADS)

    def task(number):
        barrier.wait(60)
        return function(number)

    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(task, range(N_THREADS)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@MODELS
def test_eight_threads_fit_predict_and_raise(model, toy):
    """Each thread gets what one alone gets, errors are its own, and BLAS keeps its threads."""
    X, y = _data(model, toy)
    alone = _predictions(clone(model).fit(X, y), X)

    def work(number):
        mine = clone(model)
        if number % 4 == 3:
            with pytest.raises(ValueError, match="infinity"):
                mine.fit(np.full_like(X, np.inf), y)
        return _predictions(mine.fit(X, y), X)

    for found in _at_once(work):
        assert_allclose(found, alone, rtol=1e-6, atol=1e-8)


class _Failing(RBF):
    """Raises in the middle of a fit, when BLAS is kept to one thread."""

    def __call__(self, X, Y=None, eval_gradient=False):
        if blas_thread_counts() == {1}:
            raise ZeroDivisionError("from the kernel")
        return super().__call__(X, Y, eval_gradient)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_errors_in_the_middle_of_overlapping_fits(wave):
    """Fits that end in an error while others go on give BLAS its threads back."""
    X, y = wave
    alone = ESTIMATORS[0].fit(X, y).predict(X)

    def work(number):
        if number % 2:
            with pytest.raises(ZeroDivisionError, match="from the kernel"):
                clone(ESTIMATORS[0]).set_params(kernel=_Failing(0.8)).fit(X, y)
            return alone
        return clone(ESTIMATORS[0]).fit(X, y).predict(X)

    for found in _at_once(work):
        assert_allclose(found, alone, rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_model_predicts_in_eight_threads(toy):
    """More rows than one task holds: predictions of all threads are the same, n_jobs=None or 2."""
    X, y = toy
    rows = np.random.default_rng(1).uniform(-2.0, 2.0, (20_000, 2))
    model = clone(ESTIMATORS[0]).fit(X, y)
    alone = model.set_params(n_jobs=1).predict(rows)
    for n_jobs in (None, 2):
        model.set_params(n_jobs=n_jobs)
        for found in _at_once(lambda _: model.predict(rows)):
            assert_allclose(found, alone, rtol=1e-9)


def _workers_seen(monkeypatch):
    """List that receives the workers of every map over more than one group."""
    seen = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, workers):
            seen.append(workers)
            super().__init__(workers)

    monkeypatch.setattr(parallel, "ThreadPoolExecutor", Pool)
    return seen


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_default_jobs_are_the_threads_of_blas(monkeypatch):
    """n_jobs=None takes two workers where BLAS has two threads, and finds what one job finds."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (2_500, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(len(X))
    seen = _workers_seen(monkeypatch)
    one = clone(ESTIMATORS[0]).set_params(n_jobs=1).fit(X, y)
    assert not seen
    default = clone(ESTIMATORS[0]).fit(X, y)
    assert seen and set(seen) == {2}
    assert_allclose(default.predict(X[:50]), one.predict(X[:50]), rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_default_jobs_do_not_go_serial_beside_another_fit(monkeypatch):
    """Threads with n_jobs=None that fit at once all take two workers, to the last."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (2_500, 2))
    y = np.sin(2.0 * X[:, 0])
    seen = _workers_seen(monkeypatch)
    asked, resolved = [], parallel.resolved_jobs

    def noted(n_jobs):
        asked.append(resolved(n_jobs))
        return asked[-1]

    monkeypatch.setattr("sklearn_sgp.estimators.settings.resolved_jobs", noted)
    _at_once(lambda _: clone(ESTIMATORS[0]).set_params(max_iter=1).fit(X, y))
    assert asked == [2] * N_THREADS
    assert set(seen) == {2}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_jobs", [None, 1])
def test_grid_search_in_threads(toy, n_jobs):
    """GridSearchCV with threads finds the scores it finds alone; BLAS keeps its threads."""
    grid = {"kernel": [RBF(0.3), RBF(0.8), RBF(2.0)]}
    model = clone(ESTIMATORS[0]).set_params(n_jobs=n_jobs)
    alone = GridSearchCV(model, grid, cv=3).fit(*toy)
    with parallel_config(backend="threading", n_jobs=4):
        threads = GridSearchCV(model, grid, cv=3).fit(*toy)
    name = "mean_test_score"
    assert_allclose(threads.cv_results_[name], alone.cv_results_[name], rtol=1e-5, atol=1e-8)


def _table_of_categories():
    """Rows of two numbers and one of twelve categories, each with a level."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(500, 2)), rng.integers(0, 12, 500)])
    y = np.sin(2.0 * X[:, 0]) * (1.0 + X[:, 1]) + 2.0 * rng.normal(size=12)[X[:, 2].astype(int)]
    return X, y + 0.1 * rng.normal(size=len(X))


@pytest.mark.quick_cases("svgp", "fitc")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [
        SVGPRegressor(),
        AnytimeSGPRegressor(model="fitc"),
        StreamingSGPRegressor(batch_size=250, init_size=250),
        SVGPClassifier(),
    ],
    ids=["svgp", "fitc", "stream", "labels"],
)
def test_threads_and_jobs_do_not_decide_what_is_learned(model):
    """With one BLAS thread or two, one job or two, kernel, objective and predictions are equal."""
    X, y = _table_of_categories()
    y = y > 0.0 if isinstance(model, SVGPClassifier) else y
    rows = np.vstack([X[:20], [[0.0, 0.0, 99.0]]])  # the last of a category not seen
    shared = {"categorical_features": [2], "n_inducing": 30, "max_iter": 15, "random_state": 0}
    found = []
    for threads, n_jobs in ((1, 1), (2, 1), (2, 2)):
        with threadpool_limits(threads, user_api="blas"):
            fitted = clone(model).set_params(n_jobs=n_jobs, **shared).fit(X, y)
        found.append((fitted.kernel_.theta, fitted.objective_, _predictions(fitted, rows)))
    for one in found[1:]:
        for ours, expected in zip(one, found[0], strict=True):
            assert_allclose(ours, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_threads_decide_nothing_of_categories():
    """Levels of twelve categories were 7 to 14 nats apart by threads and jobs, at 600 rows."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(300, 2)), rng.integers(0, 12, 300)])
    level = 2.0 * rng.normal(size=12)[X[:, 2].astype(int)]
    y = np.sin(2.0 * X[:, 0]) * (1.0 + X[:, 1]) + level + 0.1 * rng.normal(size=300)
    model = SVGPRegressor(n_inducing=30, categorical_features=[2], random_state=0)
    objectives = [clone(model).set_params(n_jobs=n).fit(X, y).objective_ for n in (1, 2)]
    with threadpool_limits(1, user_api="blas"):
        objectives.append(clone(model).set_params(n_jobs=1).fit(X, y).objective_)
    assert_allclose(objectives, objectives[0], atol=0.1)
