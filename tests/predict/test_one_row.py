"""One row alone is predicted as it is among many, whatever cells are known already."""

import numpy as np
import pytest
from fitted_models import fitted
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp import AnytimeSGPClassifier, AnytimeSGPRegressor, SVGPRegressor
from sklearn_sgp.factors.cells import Cells
from sklearn_sgp.predict import near_rows

COMMON = {"n_inducing": 20, "optimizer": None, "random_state": 0}


def _table(n_outputs=1):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (400, 3))
    f = np.sin(2.0 * X[:, 0]) * X[:, 1]
    return X, np.column_stack([f + 0.1 * rng.standard_normal(400) for _ in range(n_outputs)])


REGRESSORS = [
    AnytimeSGPRegressor(model="vif", **COMMON),
    AnytimeSGPRegressor(model="pic", block_size=40, **COMMON),
    AnytimeSGPRegressor(model="lma", block_size=40, **COMMON),
    AnytimeSGPRegressor(model="fitc", **COMMON),
    SVGPRegressor(**COMMON),
]


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize(
    "model", REGRESSORS, ids=lambda m: f"{type(m).__name__} {vars(m).get('model')}"
)
def test_moments_of_one_row(model, n_outputs):
    """Mean and deviation of a row are the same alone, once more, and among all rows."""
    X, y = _table(n_outputs)
    model.fit(X, y if n_outputs > 1 else y[:, 0])
    rows = np.vstack([X[:15], np.full((1, 3), 40.0)])  # the last one is far from all cells
    alone = [model.predict(rows[[i]], return_std=True) for i in range(len(rows))]
    again = [model.predict(rows[[i]], return_std=True) for i in range(len(rows))]
    for which, whole in enumerate(model.predict(rows, return_std=True)):
        for parts in (alone, again):
            assert_allclose(np.concatenate([part[which] for part in parts]), whole, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_probabilities_of_one_row(n_classes):
    """Probabilities of a row are the same alone, once more, and among all rows."""
    X, y = _table()
    labels = np.digitize(y[:, 0], np.quantile(y, np.arange(1, n_classes) / n_classes))
    model = AnytimeSGPClassifier(**COMMON).fit(X, labels)
    whole = model.predict_proba(X[:15])
    for _ in range(2):
        alone = np.vstack([model.predict_proba(X[[i]]) for i in range(15)])
        assert_allclose(alone, whole, rtol=1e-8, atol=1e-12)


def test_cells_that_are_known_need_no_rows(monkeypatch):
    """Rows around a cell are gathered once; what is predicted there later finds it factorised."""
    X, y = _table()
    model = AnytimeSGPRegressor(model="vif", **COMMON).fit(X, y[:, 0])
    first = model.predict(X[:1], return_std=True)
    blocks = type(model._fitted.predictor.blocks)

    def refuse(*_):
        raise AssertionError("rows are gathered again")

    monkeypatch.setattr(blocks, "around", refuse)
    assert_allclose(model.predict(X[:1], return_std=True), first, rtol=0.0)


@pytest.mark.parametrize(("n_tasks", "together"), [(32, 1), (4, 3)])
@pytest.mark.parametrize("share", [0.3, 0.7])
def test_cells_that_are_held_come_first(monkeypatch, share, n_tasks, together):
    """Where a cache holds a part of the cells, later predictions factorise the others alone.

    Or those of one task, some of which are held, and no digit changes.
    """
    monkeypatch.setattr(near_rows, "_TASKS", n_tasks)
    X, y = _table()
    model = AnytimeSGPRegressor(model="vif", n_neighbors=10, n_jobs=1, **COMMON).fit(X, y[:, 0])
    first, cache = model.predict(X, return_std=True), fitted(model).predictor.cache
    every, cache.max_bytes = len(cache.held), int(share * cache.nbytes)
    assert every > 6
    cache._clear()
    model.predict(X, return_std=True)
    held, counts = len(cache.held), []
    assert 1 < held < every
    factorised = Cells._factorised
    monkeypatch.setattr(
        Cells, "_factorised", lambda *given: counts.append(len(given[2])) or factorised(*given)
    )
    assert_array_equal(model.predict(X, return_std=True), first)
    assert sum(counts) < every - held + together
