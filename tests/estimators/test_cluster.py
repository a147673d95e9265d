"""Fits and predictions on a dask cluster are those of this process."""

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose

from sklearn_sgp import AnytimeSGPRegressor, SVGPRegressor

distributed = pytest.importorskip("distributed")
# distributed's own, at start-up and shut-down
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.parametrize(
    "estimator",
    [
        AnytimeSGPRegressor(solver="exact", n_blocks=6),
        AnytimeSGPRegressor(model="fitc", solver="exact"),
        AnytimeSGPRegressor(solver="anytime", n_blocks=6, blocks_per_step=2),
        SVGPRegressor(),
    ],
    ids=["pic", "fitc", "anytime", "svgp"],
)
def test_a_cluster_gives_the_same(wave, client, estimator):
    """Learning, the passes over blocks, and predictions with their standard deviations agree."""
    X, y = wave
    estimator.set_params(n_inducing=8, max_iter=3, random_state=0)
    local = estimator.fit(X, y)
    expected, objective = local.predict(X, return_std=True), local.objective_
    with parallel_config(backend="dask"):
        remote = estimator.fit(X, y)
        got = remote.predict(X, return_std=True)
    assert_allclose(got, expected, rtol=1e-6, atol=1e-6 * np.std(y))
    assert_allclose(remote.objective_, objective, rtol=1e-8)
