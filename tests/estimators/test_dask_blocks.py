"""Predictions of models whose blocks of rows stay in their partitions, for many partitions."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import Matern

from sklearn_sgp import AnytimeSGPRegressor
from sklearn_sgp.collections import lazy

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
N = 3000


def table(rng, n, names=("b", "a")):
    X = pd.DataFrame(rng.uniform(0.0, 6.0, (n, len(names))), columns=list(names))
    return X, np.sin(2.0 * X["a"]) + 0.3 * X["b"]


def chunked(table, size):
    """An array, whose partitions have known sizes."""
    return da.from_array(np.asarray(table), size)


def fitted(X, y, **parameters):
    model = AnytimeSGPRegressor(Matern(nu=1.5), model="pic", solver="exact", n_inducing=8)
    model.set_params(optimizer=None, normalize_y=(0.0, 1.0), block_size=100, random_state=0)
    return model.set_params(**parameters).fit(X, y)


@pytest.fixture
def visits(monkeypatch):
    """Numbers of rows of the partitions of the model that answered."""
    seen, here = [], lazy.blocks_here

    def noted(rows):
        seen.append(len(rows))
        return here(rows)

    monkeypatch.setattr(lazy, "blocks_here", noted)
    return seen


@pytest.mark.parametrize("labelled", [False, True])
def test_partitions_are_answered_together(rng, visits, labelled):
    """Blocks are worked on once for about as many rows as the model has, not once a partition."""
    X, y = table(rng, N)
    new, _ = table(rng, 5000)
    if labelled:
        X, new = X.assign(block=np.arange(N) // 100), new.assign(block=np.arange(5000) % 31)
    model = fitted(chunked(X, 1000), chunked(y, 1000), block_column=2 if labelled else None)
    lazily = model.predict(chunked(new, 250), return_std=True)
    mean, std = da.compute(*lazily)
    # runs of 12 and 8 partitions of 250 rows; each of the three of the model answers once a run
    assert len(visits) == 6
    here = model.predict(new.to_numpy(), return_std=True)
    assert_allclose(mean, here[0], rtol=1e-8, atol=1e-8)
    assert_allclose(std, here[1], rtol=1e-8)


def test_partitions_of_unknown_size(rng, visits):
    """They count as parts of the model's rows; some are empty."""
    X, y = table(rng, N)
    new, _ = table(rng, 1500)
    model = fitted(dd.from_pandas(X, npartitions=3), dd.from_pandas(y, npartitions=3))
    chunks = dd.from_pandas(new, npartitions=6)
    chunks = chunks[chunks["a"] > chunks["a"].quantile(0.5).compute()]
    chunks = dd.concat([chunks, chunks[chunks["a"] > 10.0]])
    assert np.isnan(model.predict(chunks).chunks[0]).all()
    assert_allclose(
        model.predict(chunks).compute(), model.predict(chunks.compute()), rtol=1e-8, atol=1e-8
    )
    assert len(visits) <= 12


@pytest.mark.parametrize(
    ("sizes", "bounds"),
    [
        ([5, 5, 5], [(0, 2), (2, 3)]),
        ([50, 1, 50], [(0, 1), (1, 2), (2, 3)]),
        ([np.nan] * 5, [(0, 2), (2, 4), (4, 5)]),
        ([0, 0, 10, 0, 1], [(0, 4), (4, 5)]),
        ([3], [(0, 1)]),
    ],
)
def test_runs_of_partitions(sizes, bounds):
    """For a model of ten rows in two partitions."""
    assert lazy._together(sizes, 10, 2) == bounds
