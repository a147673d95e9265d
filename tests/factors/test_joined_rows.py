"""Rows that join dense blocks: what is held of those before makes no difference but to time."""

import copy
import pickle

import numpy as np
import pytest
from block_helpers import LABEL, LABELLED_TEST, LABELS, assert_same_model, fixed, with_labels
from fitted_models import fitted
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.engines.blocks import solver
from sklearn_sgp.factors import joined_rows

ORDER = np.random.default_rng(3).permutation(60)
GIVEN = {"block_column": LABEL, "normalize_y": (0.3, 2.0)}


def in_batches(model, X, y, sizes=(20, 15, 15, 10), weight=None):
    for part in np.split(ORDER, np.cumsum(sizes)[:-1]):
        model.partial_fit(X[part], y[part], None if weight is None else weight[part])
    return model


def held_sizes(model):
    """Return how many rows are known of each block."""
    state = fitted(model).state
    known = state.held.among(state.blocks, fitted(model).posterior.prior)
    return {int(k): len(parts[0].y) for k, parts in known.items()}


@pytest.mark.parametrize("model", ["pic", "pitc"])
@pytest.mark.parametrize("room", [1 << 28, 2500, 0])
def test_batches_give_the_model_of_all_rows(toy, monkeypatch, model, room):
    """However much is held, batches of weighted rows end in the model of one fit."""
    monkeypatch.setattr(joined_rows, "_MOST_BYTES", room)
    (X, y), weight = with_labels(toy), np.random.default_rng(4).uniform(0.5, 3.0, 60)
    ours = in_batches(fixed(model, **GIVEN), X, y, weight=weight)
    assert_same_model(fixed(model, **GIVEN).fit(X, y, weight), ours, rtol=1e-7, at=LABELLED_TEST)
    sizes = np.bincount(LABELS)
    if room > 2500:
        assert held_sizes(ours) == dict(enumerate(sizes))
    assert len(held_sizes(ours)) < len(sizes) or room > 2500


def test_only_new_rows_are_summed(toy, monkeypatch):
    """No block is summed again that rows join."""
    X, y = with_labels(toy)
    ours = fixed(**GIVEN).partial_fit(X[ORDER[:40]], y[ORDER[:40]])
    monkeypatch.setattr(solver, "block_sums", None)
    ours.partial_fit(X[ORDER[40:]], y[ORDER[40:]])
    assert held_sizes(ours) == dict(enumerate(np.bincount(LABELS)))


def test_outputs_have_factors_of_their_own(toy):
    """Each output with a noise of its own joins as it does alone."""
    X, y = with_labels(toy)
    both, noise = np.column_stack([y, y**2]), np.array([0.1, 0.4])
    ours = in_batches(fixed(noise_variance=noise, block_column=LABEL, normalize_y=False), X, both)
    mean, std = ours.predict(LABELLED_TEST, return_std=True)
    for c in range(2):
        one = fixed(noise_variance=noise[c], block_column=LABEL, normalize_y=False)
        expected = one.fit(X, both[:, c]).predict(LABELLED_TEST, return_std=True)
        assert_allclose((mean[:, c], std[:, c]), expected, rtol=1e-7)


def test_copies_go_on_apart(toy):
    """Two copies that go on with other rows, as many, know nothing of each other."""
    X, y = with_labels(toy)
    first = in_batches(fixed(**GIVEN), X[ORDER], y[ORDER], sizes=(30, 30))
    other, rows = copy.copy(first), ORDER[::-1]
    loaded = pickle.loads(pickle.dumps(first))
    assert held_sizes(first) and not held_sizes(loaded)
    for model, targets in ((first, y), (other, -y), (first, y), (loaded, y), (loaded, y)):
        model.partial_fit(X[rows[:20]], targets[rows[:20]])
    again, turned = (in_batches(fixed(**GIVEN), X[ORDER], y[ORDER], sizes=(60,)) for _ in range(2))
    for _ in range(2):
        again.partial_fit(X[rows[:20]], y[rows[:20]])
    turned.partial_fit(X[rows[:20]], -y[rows[:20]])
    for one, expected in ((first, again), (loaded, again), (other, turned)):
        assert_same_model(expected, one, rtol=1e-7, at=LABELLED_TEST)


def test_blocks_that_are_split_are_known_no_more(rng):
    """After splits what is held has the rows of the blocks, and the model is that of these."""
    ours = fixed(block_size=20, partition="kmeans", normalize_y=(0.0, 1.0))
    for _ in range(6):
        X = rng.uniform(-2.0, 2.0, (15, 2))
        ours.partial_fit(X, np.sin(X[:, 0]))
    blocks = fitted(ours).state.blocks
    for k, n in held_sizes(ours).items():
        assert n == len(blocks(k))
    labels = blocks.labels
    whole = fixed(block_column=LABEL, normalize_y=(0.0, 1.0))
    whole.fit(np.column_stack([blocks.rows.X, labels]), blocks.rows.y[:, 0])
    assert_allclose(fitted(ours).posterior.H[0], fitted(whole).posterior.H[0], rtol=1e-7, atol=1e-7)
    assert_allclose(fitted(ours).posterior.h, fitted(whole).posterior.h, rtol=1e-7, atol=1e-7)


def test_jobs_do_not_matter(toy):
    """What several workers find is what one finds, to the last bit."""
    X, y = with_labels(toy)
    one, two = (in_batches(fixed(n_jobs=n, **GIVEN), X, y) for n in (1, 2))
    assert_array_equal(one.predict(LABELLED_TEST), two.predict(LABELLED_TEST))
