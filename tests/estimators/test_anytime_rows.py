"""Weights, several outputs, types and layouts of rows, and rows that say little."""

import itertools
import pickle

import numpy as np
import pytest
from block_helpers import (
    KERNEL,
    LABEL,
    LABELLED_TEST,
    LABELS,
    MODELS,
    NOISE,
    PARTITIONS,
    X_TEST,
    assert_same_model,
    column_of,
    fixed,
    labelled,
    with_labels,
)
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone


@MODELS
@pytest.mark.parametrize("labels", [None, LABELS], ids=["False", "True"])
@pytest.mark.parametrize("solver", ["exact", "anytime"])
def test_weights_are_repetitions(toy, model, labels, solver):
    """Weight 2 is the row twice in its block, and weight 0 no row."""
    X, y = with_labels(toy, labels)
    weight = np.random.default_rng(4).integers(0, 4, 60)
    test = X_TEST if labels is None else LABELLED_TEST
    ours = fixed(model, solver=solver, n_blocks=3, block_column=column_of(labels))
    weighted = clone(ours).fit(X, y, sample_weight=weight)
    repeated = clone(ours).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert_same_model(repeated, weighted, rtol=1e-7, at=test)
    assert weighted.n_samples_seen_ == np.count_nonzero(weight)
    keep = weight > 0
    kept = clone(ours).fit(X[keep], y[keep], weight[keep])
    assert_same_model(kept, weighted, at=test)


@MODELS
def test_each_output_is_a_model_of_its_own(toy_outputs, model):
    """With a fixed kernel several outputs are as many independent models, objectives summed."""
    X, y = toy_outputs
    both = fixed(model, block_column=LABEL).fit(labelled(X), y)
    apart = [fixed(model, block_column=LABEL).fit(labelled(X), column) for column in y.T]
    for predict in ("predict", "predict_std"):
        columns = [getattr(m, predict)(LABELLED_TEST) for m in apart]
        ours = getattr(both, predict)(LABELLED_TEST)
        assert_allclose(ours, np.column_stack(columns), rtol=1e-9)
    assert_allclose(both.objective_, sum(m.objective_ for m in apart), rtol=1e-9)
    assert both.predict(LABELLED_TEST, return_cov=True)[1].shape == (9, 9, 2)
    assert both.predict_quantiles(LABELLED_TEST).shape == (9, 2, 3)
    assert both.sample_y(LABELLED_TEST, 4).shape == (9, 2, 4)


@MODELS
def test_float32_and_layout(toy, model):
    """float32 and Fortran-ordered inputs, in fit, in predict or both, give the same model."""
    X, y = toy
    X32, test32 = X.astype(np.float32), X_TEST.astype(np.float32)
    X64, test64 = X32.astype(np.float64), test32.astype(np.float64)
    reference = fixed(model, n_blocks=3).fit(X64, y)
    mean, std = reference.predict(test64, return_std=True)
    cov = reference.predict(test64, return_cov=True)[1]
    layouts = (X32, X64, np.asfortranarray(X64))
    tests = (test32, test64, np.asfortranarray(test64))
    for rows, test in itertools.product(layouts, tests):
        ours = fixed(model, n_blocks=3).fit(rows, y)
        got, got_std = ours.predict(test, return_std=True)
        assert got.dtype == got_std.dtype == np.float64
        assert_allclose(got, mean, rtol=1e-6)
        assert_allclose(got_std, std, rtol=1e-6)
        got_cov = ours.predict(test, return_cov=True)[1]
        assert_allclose(got_cov, cov, rtol=1e-5, atol=1e-6 * cov.max())


@pytest.mark.parametrize("model", ["vfe", "pic"])
def test_memory_maps(toy, tmp_path, model):
    """A read-only float32 memory map gives what the same numbers give in memory."""
    for labels in (None, LABELS):
        X = labelled(toy[0], labels)
        name, shape = tmp_path / str(X.shape[1]), X.shape
        np.memmap(name, dtype=np.float32, mode="w+", shape=shape)[:] = X
        X = np.memmap(name, dtype=np.float32, mode="r", shape=shape)
        ours = fixed(model, n_blocks=3, block_column=column_of(labels))
        mapped, plain = (clone(ours).fit(rows, toy[1]) for rows in (X, np.array(X)))
        assert_array_equal(mapped.predict(X), plain.predict(X))
        loaded = pickle.loads(pickle.dumps(mapped))
        assert_array_equal(loaded.predict(X), plain.predict(X))


@pytest.mark.parametrize("model", ["pitc", "pic"])
@PARTITIONS
def test_degenerate_data(model, partition):
    """One row, equal rows and constant y are predicted within y's range and the prior's spread."""
    X = np.tile([[0.5, -1.0]], (12, 1))
    for rows, y in [(X[:1], [3.0]), (X, np.arange(12.0)), (X_TEST, np.ones(9))]:
        ours = fixed(model, block_size=4, partition=partition).fit(rows, y)
        mean, std = ours.predict(X_TEST, return_std=True)
        assert np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()
        assert (np.min(y) - 1e-9 <= mean).all() and (mean <= np.max(y) + 1e-9).all()
        of_prior = np.sqrt(KERNEL.diag(X_TEST) + NOISE) * ours.y_scale_
        assert (std <= of_prior * (1.0 + 1e-9)).all()
