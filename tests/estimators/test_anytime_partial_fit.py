"""More rows for a model in blocks: as if they had been there from the start."""

import itertools
import pickle

import numpy as np
import pytest
from block_helpers import (
    LABEL,
    LABELLED_TEST,
    LABELS,
    MODELS,
    PARTITIONS,
    X_TEST,
    assert_same_model,
    fixed,
    labelled,
    labels_of,
    with_labels,
)
from failures import assert_unchanged, interrupt, state_of
from fitted_models import fitted
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, clone

from sklearn_sgp.engines.blocks import solver


@MODELS
@pytest.mark.parametrize("splits", [(30,), (20, 21, 50)])
def test_partial_fit_in_any_split_equals_fit(toy, model, splits):
    """Batches give what one fit of all rows gives, where nothing is learned."""
    X, y = with_labels(toy)
    ours = fixed(model, normalize_y=(0.3, 2.0), block_column=LABEL)
    whole = clone(ours).fit(X, y)
    order = np.random.default_rng(2).permutation(60)
    for part in np.split(order, splits):
        ours.partial_fit(X[part], y[part])
    assert ours.n_samples_seen_ == 60
    assert_same_model(whole, ours, rtol=1e-7, at=LABELLED_TEST)


@MODELS
def test_partial_fit_weighs_rows(toy, model):
    """Weights of a later batch count as in fit, weight 0 as no row."""
    X, y = with_labels(toy)
    weight = np.random.default_rng(4).integers(0, 4, 60).astype(float)
    ours = fixed(model, normalize_y=(0.3, 2.0), block_column=LABEL)
    whole = clone(ours).fit(X, y, weight)
    for part in (slice(25), slice(25, None)):
        ours.partial_fit(X[part], y[part], weight[part])
    assert_same_model(whole, ours, rtol=1e-7, at=LABELLED_TEST)


@PARTITIONS
def test_partial_fit_puts_rows_where_the_partition_does(toy, partition):
    """Later rows join the blocks that the first batch's partition finds for them."""
    X, y = toy
    ours = fixed(n_blocks=3, partition=partition, normalize_y=(0.0, 1.0)).fit(X[:40], y[:40])
    labels = np.concatenate([labels_of(ours, X[:40]), fitted(ours).state.partition.assign(X[40:])])
    test_labels = fitted(ours).state.partition.assign(X_TEST)
    ours.partial_fit(X[40:], y[40:])
    given = fixed(normalize_y=(0.0, 1.0), block_column=LABEL).fit(labelled(X, labels), y)
    got = ours.predict(X_TEST, return_std=True)
    expected = given.predict(labelled(X_TEST, test_labels), return_std=True)
    assert_allclose(got, expected, rtol=1e-7)


def test_partial_fit_after_part_of_an_epoch(toy):
    """A step, then rows of every block: each joins whole, seen by the step or not."""
    X, y = with_labels(toy)
    exact = fixed("pitc", normalize_y=(0.3, 2.0), block_column=LABEL)
    whole = fitted(clone(exact).fit(X, y)).posterior
    assert set(LABELS[40:]) == set(LABELS)
    for seed in range(5):
        ours = clone(exact).set_params(solver="anytime", max_steps=1, random_state=seed)
        ours.fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
        posterior, H, h = fitted(ours).posterior, whole.H[0], whole.h
        assert_allclose(posterior.H[0], H, atol=1e-10 * np.abs(H).max())
        assert_allclose(posterior.h, h, rtol=1e-8, atol=1e-8)
        mean, std = ours.predict(LABELLED_TEST, return_std=True)
        assert np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()


def test_a_partial_fit_that_fails_leaves_the_estimator(toy, monkeypatch):
    """An error in a later batch changes nothing, and the next batch is as if it had not been."""
    X, y = with_labels(toy)
    ours = fixed(block_column=LABEL).fit(X[:40], y[:40])
    again = pickle.loads(pickle.dumps(ours))
    before = state_of(ours)
    places = "sums_of_joined", "KnownBlocks"  # in the middle, and at the end
    for place, error in itertools.product(places, (KeyboardInterrupt, MemoryError)):
        with monkeypatch.context() as patch:
            interrupt(patch, solver, place, 1, error)
            with pytest.raises(error):
                ours.partial_fit(X[40:], y[40:])
        assert_unchanged(ours, before)
    with pytest.raises(ValueError, match="infinity"):
        ours.partial_fit(labelled(np.full((2, 2), np.inf), LABELS[:2]), y[:2])
    assert_unchanged(ours, before)
    for model in (ours, again):
        model.partial_fit(X[40:], y[40:])
    assert_same_model(ours, again, at=LABELLED_TEST)


@pytest.mark.parametrize("markov_order", [0, 1])
def test_new_labels_come_at_the_end_of_the_chain(toy, markov_order):
    """Blocks of new labels are conditioned on those before them, as if they had been there."""
    (X, y), early = with_labels(toy), LABELS < 2
    ours = fixed("lma", markov_order=markov_order, normalize_y=(0.3, 2.0), block_column=LABEL)
    whole = clone(ours).fit(X, y)
    for part in (early, ~early):
        ours.partial_fit(X[part], y[part])
    assert_same_model(whole, ours, rtol=1e-7, at=LABELLED_TEST)


class Halves(BaseEstimator):
    """A clusterer that has a third cluster for rows far away."""

    def fit(self, X):
        return self

    def predict(self, X):
        return (X[:, 0] > 0.0).astype(int) + (X[:, 0] > 5.0)


def test_new_clusters_of_a_chain(toy):
    """A clusterer's new label begins a new block of a chain, where its rows are predicted."""
    X, y = toy
    ours = fixed("lma", partition=Halves()).fit(X, y).partial_fit(X + 20.0, y + 1.0)
    assert ours.n_blocks_ == 3
    assert np.abs(ours.predict(X + 20.0) - y - 1.0).mean() < 0.5 * np.abs(y - y.mean()).mean()


@pytest.mark.parametrize("changed", [{"model": "lma"}, {"n_neighbors": 7}, {"block_size": 9}])
def test_the_model_stays_as_in_the_first_batch(toy, changed):
    """Other parameters of blocks were ignored without a word."""
    X, y = toy
    ours = fixed("pic").fit(X[:40], y[:40])
    ours.set_params(**changed)
    with pytest.raises(ValueError, match=f"{next(iter(changed))} must stay as in the first batch"):
        ours.partial_fit(X[40:], y[40:])
    assert ours.n_samples_seen_ == 40


def test_the_course_of_a_fit_goes_on(toy):
    """Each batch adds its objective, and the time at which it was reached."""
    X, y = toy
    ours = fixed("pic").fit(X[:40], y[:40])
    before = len(ours.objectives_)
    ours.partial_fit(X[40:], y[40:])
    assert len(ours.objectives_) == len(ours.fit_times_) == before + 1
    assert ours.objectives_[-1] == ours.objective_
    assert (np.diff(ours.fit_times_) >= 0.0).all()
