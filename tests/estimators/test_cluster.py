"""Fits and predictions on a dask cluster are those of this process."""

import os

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF
from slow_variants import slow

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

distributed = pytest.importorskip("distributed")
# distributed's own, at start-up and shut-down
pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore:max_iter="),
]


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        yield client


def on_cluster(client, function, *args, **kwargs):
    """What the function returns, and the names of the tasks that workers did for it."""
    with distributed.get_task_stream(client=client) as stream, parallel_config(backend="dask"):
        result = function(*args, **kwargs)
    processes = client.run(os.getpid)
    assert os.getpid() not in processes.values()
    assert {task["worker"] for task in stream.data} <= set(processes)
    return result, [task["key"] for task in stream.data if task["status"] == "OK"]


@pytest.mark.quick_cases("svgp")
@pytest.mark.parametrize(
    ("estimator", "predicts_by"),
    [
        slow(AnytimeSGPRegressor(model="pic", solver="exact", n_blocks=6), "_each_part"),
        (AnytimeSGPRegressor(model="fitc", solver="exact"), "_predict_task"),
        (AnytimeSGPRegressor(n_neighbors=8, solver="exact", n_blocks=6), "_each_part"),
        pytest.param(
            AnytimeSGPRegressor(model="pic", n_blocks=6, blocks_per_step=2),
            "_each_part",
            marks=pytest.mark.slow,
        ),
        (SVGPRegressor(), "_predict_task"),
    ],
    ids=["pic", "fitc", "vif", "anytime", "svgp"],
)
def test_a_cluster_gives_the_same(rng, client, estimator, predicts_by):
    """Sums, gradients and predictions are worked out by other processes, and agree."""
    X = rng.uniform(0.0, 6.0, (2500, 1))  # three chunks of rows
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(2500)
    X_new = np.linspace(0.0, 6.0, 20_000)[:, None]  # two tasks of predictions
    # One kernel: the evidence of several is computed the same way, only more often.
    estimator.set_params(kernel=RBF(), n_inducing=8, max_iter=3, random_state=0)
    local = estimator.fit(X, y)
    expected, objective = local.predict(X_new, return_std=True), local.objective_
    remote, tasks = on_cluster(client, estimator.fit, X, y)
    learns_by = ["_gradient_group"] if predicts_by == "_predict_task" else ["_density_group"]
    for name in ("_sum_group", *learns_by):
        assert sum(name in task for task in tasks) >= 3
    got, tasks = on_cluster(client, remote.predict, X_new, return_std=True)
    assert sum(predicts_by in task for task in tasks) >= 2
    assert_allclose(got, expected, rtol=1e-6, atol=1e-6 * np.std(y))
    assert_allclose(remote.objective_, objective, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "n_classes"),
    [
        (AnytimeSGPClassifier(solver="exact", n_blocks=6, n_neighbors=10), 3),
        pytest.param(
            AnytimeSGPClassifier(solver="exact", n_blocks=6, n_neighbors=10),
            5,
            marks=pytest.mark.slow,
        ),
        (
            AnytimeSGPClassifier(model="pic", n_blocks=6, blocks_per_step=2, alpha_epsilon=0.01),
            5,
        ),
        pytest.param(SVGPClassifier(), 3, marks=pytest.mark.slow),
    ],
    ids=["vif-3", "vif-5", "pic-5", "svgp-3"],
)
def test_classes_on_a_cluster(rng, client, estimator, n_classes):
    """Probabilities are those of this process, with factors shared by classes or not."""
    X = rng.uniform(0.0, 6.0, (1100, 1))  # two chunks of rows
    y = np.digitize(np.sin(2.0 * X[:, 0]), np.linspace(-0.8, 0.8, n_classes - 1))
    X_new = np.linspace(0.0, 6.0, 500)[:, None]
    estimator.set_params(kernel=RBF(), n_inducing=8, max_iter=1, random_state=0)
    expected = estimator.fit(X, y).predict_proba(X_new)
    remote, tasks = on_cluster(client, estimator.fit, X, y)
    assert len(tasks) >= 3
    got, _ = on_cluster(client, remote.predict_proba, X_new)
    assert_allclose(got, expected, rtol=1e-5, atol=1e-7)
