"""Partitions that later rows join: large blocks are split, and new labels are new blocks."""

import numpy as np
import pytest
from block_helpers import LABEL, PARTITIONS, X_TEST, assert_same_model, fixed, labelled, with_labels
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

from sklearn_sgp.engines.blocks import state
from sklearn_sgp.partitions.partition import KMeansTree


class Floors(BaseEstimator):
    """A clusterer that gives the integer part of the first column as the label."""

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        return np.floor(X[:, 0]).astype(int)


def sizes_of(model):
    return np.diff(model._fitted.state.blocks.bounds)


@PARTITIONS
@pytest.mark.parametrize("model", ["pitc", "pic"])
def test_blocks_that_grow_are_split(toy, partition, model):
    """After any number of batches no block is too large, and each row is where tests would go."""
    ours = fixed(model, block_size=20, partition=partition, normalize_y=(0.0, 1.0)).fit(*toy)
    rng = np.random.default_rng(1)
    for _ in range(4):
        X = rng.uniform(-2.0, 2.0, (40, 2))
        ours.partial_fit(X, np.sin(X[:, 0]))
        assert sizes_of(ours).max() <= 30
    assert sizes_of(ours).sum() == 220 and ours.n_blocks_ == len(sizes_of(ours))
    kept = ours._fitted.state
    blocks, assign = kept.blocks, kept.partition.assign
    assert assign(X_TEST).max() < ours.n_blocks_
    if partition == "kmeans":
        for k in range(ours.n_blocks_):
            assert_array_equal(assign(blocks(k).X), k)
    labels = blocks.labels
    whole = fixed(model, normalize_y=(0.0, 1.0), block_column=LABEL)
    whole.fit(labelled(blocks.rows.X, labels), blocks.rows.y[:, 0])
    placed = assign(X_TEST)
    mean, std = ours.predict(X_TEST, return_std=True)
    expected = whole.predict(labelled(X_TEST, placed), return_std=True)
    np.testing.assert_allclose((mean, std), expected, rtol=1e-7)


def test_a_tree_that_is_split_leaves_the_old_one():
    """A split makes a new tree; the old one assigns as before, equal rows or not."""
    X = np.random.default_rng(0).uniform(0.0, 1.0, (50, 2))
    tree = KMeansTree(50, np.ones(2))
    tree.fit(X, np.random.RandomState(0))
    one, labels = tree.split(0, X, 10, np.random.RandomState(0))
    assert_array_equal(one.assign(X), labels)
    assert np.bincount(labels).max() <= 15 and tree.n_blocks == 1
    assert_array_equal(tree.assign(X), 0)
    k = int(np.bincount(labels).argmax())
    own = np.vstack([X[labels == k], X[labels == k] + 1e-3])
    two, again = one.split(k, own, 5, np.random.RandomState(0))
    assert_array_equal(two.assign(own), again)
    assert set(again) <= {k, *range(one.n_blocks, two.n_blocks)}
    others = X[labels != k]
    assert_array_equal(two.assign(others), one.assign(others))
    same, parts = two.split(k, np.ones((40, 2)), 10, np.random.RandomState(0))
    assert np.bincount(parts).max() <= 15 and parts.max() < same.n_blocks


def test_a_new_label_of_a_clusterer_begins_a_block(toy):
    """Later rows that the clusterer labels as none before are a block of their own."""
    X, y = toy
    left = X[:, 0] < 0.0
    ours = fixed(partition=Floors(), normalize_y=(0.0, 1.0))
    ours.fit(X[left], y[left])
    n_blocks = ours.n_blocks_
    ours.partial_fit(X[~left], y[~left])
    assert ours.n_blocks_ > n_blocks and ours.n_samples_seen_ == 60
    assert np.isfinite(ours.predict(X_TEST)).all()
    placed = ours._fitted.state.partition.assign(X)
    assert_array_equal(np.bincount(placed), sizes_of(ours))


@pytest.mark.parametrize("model", ["pitc", "pic"])
def test_a_block_of_the_user_may_not_grow_beyond_all_bounds(toy, model, monkeypatch):
    """A block of the user's labels that becomes too large is refused, and nothing changes."""
    monkeypatch.setattr(state, "LARGEST_BLOCK", 70)
    rows, test = with_labels(toy, np.zeros(60)), labelled(X_TEST, np.zeros(9))
    ours = fixed(model, block_column=LABEL).fit(*rows)
    mean = ours.predict(test)
    with pytest.raises(ValueError, match="Got one of 120: split it"):
        ours.partial_fit(*rows)
    assert_array_equal(ours.predict(test), mean)


def test_few_large_blocks_may_stay(toy):
    """Fewer blocks than block_size would make are not split before they outgrow their own size."""
    ours = fixed(n_blocks=2, block_size=10, partition="contiguous").fit(*toy)
    again = fixed(n_blocks=2, block_size=10, partition="contiguous").fit(*toy)
    ours.partial_fit(toy[0][:5], toy[1][:5])
    assert ours.n_blocks_ == 2
    assert_same_model(again.partial_fit(toy[0][:5], toy[1][:5]), ours)
