"""Predictions of models whose blocks of rows stay in their partitions, for many partitions."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import Matern
from slow_variants import slow

from sklearn_sgp import AnytimeSGPClassifier, AnytimeSGPRegressor
from sklearn_sgp.collections import lazy
from sklearn_sgp.factors import cells

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


@pytest.fixture
def factorised(monkeypatch):
    """Numbers of blocks that were factorised."""
    counts, make = [], cells._plain_cells

    def noted(posterior, rows, places, noise_variance):
        counts.append(len(places))
        return make(posterior, rows, places, noise_variance)

    monkeypatch.setattr(cells, "_plain_cells", noted)
    return counts


@pytest.mark.parametrize("known", [True, False], ids=["array", "dataframe"])
@pytest.mark.parametrize("labelled", [False, True])
def test_a_task_has_the_blocks_of_its_rows(rng, visits, factorised, labelled, known):
    """Blocks of a model that was fitted to arrays are divided: each is factorised in one task."""
    X, y = table(rng, N)
    new, _ = table(rng, 2500)
    if labelled:
        names = np.char.add("route ", (np.arange(N) // 100).astype(str))
        X, new = X.assign(block=names), new.assign(block=names[:2500][::-1])
        new.iloc[:3, 2] = "nobody's"
    if known:
        X, new = X.to_numpy(), new.to_numpy()
    model = fitted(X, y, block_column=2 if labelled else None)
    expected = model.predict(new, return_std=True)
    n_hit, factorised[:] = sum(factorised), []
    chunks = chunked(new, (500, -1)) if known else dd.from_pandas(new, npartitions=5)
    mean, std = da.compute(*model.predict(chunks, return_std=True))
    assert sum(factorised) == n_hit
    assert len(visits) == 5
    assert sum(visits) == N
    assert_allclose(mean, expected[0], rtol=1e-8, atol=1e-8)
    assert_allclose(std, expected[1], rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ["heteroscedastic", slow("auto")])
def test_noise_of_each_row(rng, likelihood):
    """Predictors with more around them are divided, too, and all that they say is the same."""
    X, y = table(rng, 1000)
    y = y + rng.standard_normal(1000) * np.where(X["a"] > 3.0, 0.5, 0.05)
    model = fitted(X, y, likelihood=likelihood, optimizer="auto", max_iter=2, normalize_y="warped")
    chunks = dd.from_pandas(X, npartitions=4)
    for name in ("predict", "predict_std", "noise_std", "predict_quantiles"):
        lazily = getattr(model, name)(chunks).compute()
        assert_allclose(lazily, getattr(model, name)(X), rtol=1e-7, atol=1e-9)


@pytest.mark.quick_cases("3")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_in_blocks(rng, visits, n_classes):
    """So are blocks of a classifier, whose factors classes share."""
    X, y = table(rng, 1000)
    model = AnytimeSGPClassifier(Matern(nu=1.5), model="pic", solver="exact", n_inducing=8)
    model.set_params(optimizer=None, block_size=100, random_state=0)
    model.fit(X, np.digitize(y, [0.5, 1.5][: n_classes - 1]))
    chunks = dd.from_pandas(X, npartitions=4)
    lazily = model.predict_proba(chunks).compute()
    assert len(visits) == 4
    assert_allclose(lazily, model.predict_proba(X), rtol=1e-8, atol=1e-10)


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


@pytest.mark.parametrize("labelled", [False, True])
def test_unforeseen_holes(rng, labelled):
    """Rows that lack what no training row lacked are averaged as those of arrays are."""
    X, y = table(rng, 1000)
    new = X[:300].copy()
    new.iloc[100:, 1] = np.nan
    if labelled:
        X, new = X.assign(block=np.arange(1000) // 100), new.assign(block=np.arange(300) % 10)
    model = fitted(X.to_numpy(), y, block_column=2 if labelled else None, n_inducing=60)
    here = np.array(model.predict(new.to_numpy(), return_std=True))
    chunks = da.from_array(new.to_numpy(), (70, -1))
    lazily = np.array(da.compute(*model.predict(chunks, return_std=True)))
    assert here[1, 100:].min() > 2.0 * here[1, :100].mean()
    # without labels arrays find the block of each value that a row may have
    tolerance = 1e-8 if labelled else 0.1
    assert_allclose(lazily, here, atol=tolerance)
    assert_allclose(lazily[:, :100], here[:, :100], atol=1e-8)


def test_models_of_files_are_saved(rng, tmp_path):
    """What reads the rows of blocks is saved by the names of file and data sets."""
    stores, path = pytest.importorskip("h5py"), tmp_path / "rows.h5"
    X, y = table(rng, N)
    X = X.assign(block=np.arange(N) // 100).to_numpy()
    with stores.File(path, "w") as file:
        file["X"], file["y"] = X, y
    with stores.File(path) as file:
        model = fitted(file["X"], file["y"], block_column=2)
        expected = model.predict(file["X"], return_std=True)
        saved = pickle.dumps(model)
    again = pickle.loads(saved)
    for one in (again, model):  # whose file is closed
        assert_allclose(one.predict(X[:300], return_std=True), [part[:300] for part in expected])
    lazily = again.predict(chunked(X, 1000)).compute()
    assert_allclose(lazily, expected[0], rtol=1e-8, atol=1e-8)
    path.rename(tmp_path / "moved.h5")
    again = pickle.loads(saved)
    with pytest.raises(FileNotFoundError, match=r"reads its rows from '/X' of .* fit anew"):
        again.predict(X[:300])
    with stores.File(path, "w") as file:
        file["X"], file["y"] = X[:400], y[:400]
    with pytest.raises(ValueError, match=r"that it had in fit. Got \(400, "):
        again.predict(X[:300])


def test_rows_are_left_out_of_blocks_that_are_elsewhere(rng):
    """Rows that are given again are those of their labels, wherever these are."""
    X, y = table(rng, 600)
    X = X.assign(block=np.arange(600) // 100).to_numpy()
    there, here = (
        fitted(*rows, block_column=2, inducing=X[::100, :2])
        for rows in ((chunked(X, (200, -1)), chunked(y, 200)), (X, y))
    )
    assert_allclose(there.leave_one_out(X, y), here.leave_one_out(X, y), rtol=1e-8, atol=1e-10)


def test_rows_stay_in_dense_blocks_that_are_elsewhere(rng):
    """What a row says in a block of PITC asks for the block."""
    X, y = table(rng, 600)
    rows = chunked(X.assign(block=np.arange(600) // 100).to_numpy(), (200, -1)), chunked(y, 200)
    model = fitted(*rows, model="pitc", block_column=2, inducing=X.to_numpy()[::100, :2])
    with pytest.raises(ValueError, match="stayed on the workers"):
        model.leave_one_out(X.assign(block=np.arange(600) // 100).to_numpy(), y)
