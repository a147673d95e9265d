"""Every predicting method knows the blocks; what a fitted model keeps for predictions."""

import pickle
from functools import partial

import numpy as np
import pytest
from block_helpers import (
    LABEL,
    LABELLED_TEST,
    LABELS,
    MODELS,
    TEST_LABELS,
    X_TEST,
    column_of,
    fixed,
    labelled,
    with_labels,
)
from failures import interrupt
from fitted_models import fitted
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sklearn_sgp.factors import cells


def test_every_predicting_method_knows_the_blocks(toy):
    """Quantiles, densities, draws and score rest on the prediction for the same blocks."""
    X, y = with_labels(toy)
    model = fixed(block_column=LABEL).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    quantiles = model.predict_quantiles(X, [0.5])
    assert_allclose(quantiles[:, 0], mean, rtol=1e-12)
    density = -0.5 * ((y - mean) / std) ** 2 - np.log(std) - 0.5 * np.log(2.0 * np.pi)
    assert_allclose(model.log_density(X, y), density, rtol=1e-9)
    r2 = 1.0 - np.sum((y - mean) ** 2) / np.sum((y - y.mean()) ** 2)
    assert_allclose(model.score(X, y), r2, rtol=1e-9)
    draws = model.sample_y(X, 2000)
    assert np.abs((draws.mean(axis=1) - mean) / std).max() < 5.0 / np.sqrt(2000)
    assert_allclose(draws.std(axis=1), std, rtol=0.1)
    paths = partial(model.sample_y, X, method="pathwise")
    for draw in (paths, model.sample_functions):
        with pytest.raises(ValueError, match="joint"):
            draw()


@MODELS
@pytest.mark.parametrize("labels", [None, LABELS], ids=["partition", "labels"])
def test_pickle_and_clone(toy, model, labels):
    """A pickle predicts the same bits and goes on alike; a clone is not fitted."""
    ours = fixed(model, n_blocks=3, block_column=column_of(labels))
    ours.fit(*with_labels(toy, labels))
    test = labelled(X_TEST, None if labels is None else TEST_LABELS)
    mean, std = ours.predict(test, return_std=True)
    again = pickle.loads(pickle.dumps(ours))
    got, got_std = again.predict(test, return_std=True)
    assert_array_equal(got, mean)
    assert_array_equal(got_std, std)
    for one in (ours, again):
        one.partial_fit(test, np.sin(X_TEST[:, 0]))
    assert_array_equal(again.predict(test), ours.predict(test))
    assert not hasattr(clone(ours), "kernel_")


def test_predictions_twice_are_from_the_cache(toy, monkeypatch):
    """A block that was predicted in is not factorised again, until its rows change."""
    ours = fixed(block_column=LABEL).fit(*with_labels(toy))
    first = ours.predict(LABELLED_TEST)
    with monkeypatch.context() as patch:
        interrupt(patch, cells, "factorise", 1, AssertionError)
        assert_array_equal(ours.predict(LABELLED_TEST), first)
    ours.partial_fit(LABELLED_TEST, first + 1.0)
    assert (ours.predict(LABELLED_TEST) > first).all()


@pytest.mark.parametrize("model", ["sor", "dtc", "vfe", "fitc", "fic"])
def test_only_models_of_whole_blocks_keep_their_rows(toy, model):
    """The others keep no row and no target, not in pickles either, and take more rows as before."""
    X, y = toy
    ours = fixed(model, inducing="kmeans", n_inducing=6, normalize_y=(0.3, 2.0)).fit(X, y)
    assert keeps_nothing(ours, X, y)
    half = clone(ours).fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
    assert keeps_nothing(half, X, y)
    assert fitted(fixed("pitc").fit(X, y)).state.blocks.is_kept


def keeps_nothing(model, X, y):
    """Whether the pickle has the bytes of no row of X and of no target."""
    data = pickle.dumps(model)
    return not any(part.tobytes() in data for part in (*X, *y))
