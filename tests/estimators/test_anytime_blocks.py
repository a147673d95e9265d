"""Blocks of rows: from labels, from a partition, and where test rows belong."""

import numpy as np
import pytest
from block_helpers import (
    LABELS,
    MODELS,
    PARTITIONS,
    TEST_LABELS,
    WITHOUT_LABELS,
    X_TEST,
    assert_same_model,
    fixed,
    labels_of,
)
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans

# Partitions


@PARTITIONS
@pytest.mark.parametrize("model", ["pitc", "pic"])
def test_labels_of_the_partition_give_the_same(toy, model, partition):
    """Labels that equal the partition's own give the same model."""
    X, y = toy
    own = fixed(model, n_blocks=4, partition=partition).fit(X, y)
    labels = labels_of(own, X)
    given = fixed(model).fit(X, y, blocks=labels)
    assert own.n_blocks_ == given.n_blocks_ == labels.max() + 1 > 1
    test_labels = own._blocks.partition.assign(X_TEST)
    mean, std = own.predict(X_TEST, return_std=True)
    again, again_std = given.predict(X_TEST, return_std=True, blocks=test_labels)
    assert_allclose(again, mean, rtol=1e-9)
    assert_allclose(again_std, std, rtol=1e-9)
    assert_allclose(given.objective_, own.objective_, rtol=1e-9)


def test_a_clusterer_is_a_partition(toy):
    """A clusterer puts training and test rows into blocks by its predict, on scaled inputs."""
    X, y = toy
    own = fixed(partition=KMeans(3, n_init=1, random_state=0)).fit(X, y)
    assert own.n_blocks_ == 3
    labels = labels_of(own, X)
    assert_array_equal(own._blocks.partition.assign(X), labels)
    given = fixed().fit(X, y, blocks=labels)
    test_labels = own._blocks.partition.assign(X_TEST)
    assert_allclose(given.predict(X_TEST, blocks=test_labels), own.predict(X_TEST), rtol=1e-9)


@PARTITIONS
@pytest.mark.parametrize("block_size", [1, 7, 25])
def test_no_block_is_too_large(toy, partition, block_size):
    """No block has more than 1.5 times block_size rows, and all rows are in one."""
    ours = fixed(block_size=block_size, partition=partition).fit(*toy)
    sizes = [len(ours._blocks.blocks(k)) for k in range(ours.n_blocks_)]
    assert sum(sizes) == 60 and max(sizes) <= 1.5 * block_size


def test_contiguous_blocks_are_runs_of_rows_as_given(toy):
    """The order of the rows is theirs, repeated rows and weights of zero or not."""
    X, y = np.tile(toy[0], (2, 1)), np.tile(toy[1], 2)
    weight = np.ones(120)
    weight[::10] = 0.0
    ours = fixed(partition="contiguous", n_blocks=6).fit(X, y, weight)
    kept = weight > 0
    labels = np.arange(kept.sum()) * 6 // kept.sum()
    for k in range(6):
        assert_array_equal(ours._blocks.blocks(k).X, X[kept][labels == k])


@pytest.mark.parametrize("n_blocks", [1, 3, 7, 20, 60, 1000])
def test_about_as_many_blocks_as_asked_for(toy, n_blocks):
    """Exactly so many for runs of rows, and from two thirds to twice as many for k-means."""
    count = min(n_blocks, 60)
    for partition in ("contiguous", "random"):
        assert fixed(partition=partition, n_blocks=n_blocks).fit(*toy).n_blocks_ == count
    made = fixed(partition="kmeans", n_blocks=n_blocks).fit(*toy).n_blocks_
    assert count / 1.5 <= made <= 2 * count


# Labels


@pytest.mark.parametrize("names", [["south", "n", "east", "w"], [-5, 1000, 7, 12], [3, 2, 1, 0]])
@pytest.mark.parametrize("kind", [np.array, list, lambda a: np.array(a, dtype=object)])
@MODELS
def test_names_of_labels_do_not_matter(toy, model, names, kind):
    """Strings, objects and integers with gaps, in any order, are labels as good as 0 to 3."""
    plain = fixed(model).fit(*toy, blocks=LABELS)
    named = fixed(model).fit(*toy, blocks=kind([names[k] for k in LABELS]))
    assert named.n_blocks_ == plain.n_blocks_
    unseen = "a label that is longer" if isinstance(names[0], str) else 99
    test = kind([names[k] if k < 4 else unseen for k in TEST_LABELS])
    assert_same_model(plain, named, blocks=TEST_LABELS, other_blocks=test)


@pytest.mark.filterwarnings(WITHOUT_LABELS)
def test_an_unseen_label_is_pitc(toy):
    """Test rows of a block without training rows, or of none, have PITC's prediction."""
    pitc, pic = (fixed(name).fit(*toy, blocks=LABELS) for name in ("pitc", "pic"))
    mean, cov = pitc.predict(X_TEST, return_cov=True)
    for blocks in (np.full(9, 77), None):
        got, got_cov = pic.predict(X_TEST, return_cov=True, blocks=blocks)
        assert_allclose(got, mean, rtol=1e-12)
        assert_allclose(got_cov, cov, rtol=1e-9, atol=1e-12)
        std = pic.predict_std(X_TEST, blocks=blocks)
        assert_allclose(std, pitc.predict_std(X_TEST), rtol=1e-12)


def test_a_block_of_weight_zero_is_no_block(toy):
    """A label whose rows all weigh nothing was never seen."""
    weight = (LABELS != 2).astype(float)
    model = fixed().fit(*toy, weight, blocks=LABELS)
    assert model.n_blocks_ == 3
    got = model.predict(X_TEST, blocks=np.full(9, 2))
    assert_allclose(got, model.predict(X_TEST, blocks=np.full(9, 77)), rtol=1e-12)


def test_labels_of_another_kind_than_in_fit(toy):
    """Strings where fit had integers are refused, and the other way round."""
    names = LABELS.astype(str)
    for labels, other in [(LABELS, names), (names, LABELS)]:
        with pytest.raises(ValueError, match="blocks must hold labels like those of fit"):
            fixed().fit(*toy, blocks=labels).predict(toy[0], blocks=other)


def test_predicting_without_the_labels_of_fit_is_said(toy):
    """PIC then leaves out the rows of a block; the other models do not need the labels."""
    with pytest.warns(UserWarning, match="fitted with labels of blocks"):
        fixed(model="pic").fit(*toy, blocks=LABELS).predict(toy[0])
    fixed(model="pitc").fit(*toy, blocks=LABELS).predict(toy[0])


@MODELS
def test_blocks_only_where_fit_had_them(toy, model):
    """Labels for predict or partial_fit are refused if fit had none, and missed if it had."""
    ours = fixed(model, n_blocks=3).fit(*toy)
    for method in (ours.predict, ours.predict_std, ours.predict_quantiles):
        with pytest.raises(ValueError, match="blocks must be given to fit"):
            method(toy[0], blocks=LABELS)
    with pytest.raises(ValueError, match="blocks must be given to fit"):
        ours.partial_fit(*toy, blocks=LABELS)
    with pytest.raises(ValueError, match="blocks must be given, as they were"):
        fixed(model).fit(*toy, blocks=LABELS).partial_fit(*toy)


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (LABELS[:50], "one label for each of the 60 rows"),
        (np.column_stack([LABELS, LABELS]), "one label for each of the 60 rows"),
        (LABELS + 0.5, "integers or strings"),
        (np.full(60, np.nan), "integers or strings"),
        (LABELS.astype("M8[D]"), "integers or strings"),
        (7, "one label for each of the 60 rows"),
    ],
)
def test_labels_that_cannot_be(toy, labels, match):
    """Labels of the wrong length or kind are refused by fit, partial_fit and predict."""
    with pytest.raises(ValueError, match=match):
        fixed().fit(*toy, blocks=labels)
    ours = fixed().fit(*toy, blocks=LABELS)
    for method in (ours.predict, ours.predict_std, ours.predict_quantiles):
        with pytest.raises(ValueError, match=match):
            method(toy[0], blocks=labels)
    with pytest.raises(ValueError, match=match):
        ours.partial_fit(*toy, blocks=labels)
