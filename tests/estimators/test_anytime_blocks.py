"""Blocks of rows: from a column of labels, from a partition, and where test rows belong."""

import numpy as np
import pytest
from block_helpers import (
    LABEL,
    LABELLED_TEST,
    LABELS,
    MODELS,
    PARTITIONS,
    TEST_LABELS,
    X_TEST,
    assert_same_model,
    fixed,
    labelled,
    labels_of,
    with_labels,
)
from failures import assert_unchanged, state_of
from fitted_models import fitted
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans

from sklearn_sgp import AnytimeSGPClassifier
from sklearn_sgp.engines.left_out import kept_rows

# Partitions


def own_moments(model):
    """What is told of training rows, sorted by their first column."""
    rows = kept_rows(fitted(model).state)
    order = np.argsort(rows.X[:, 0])
    return [part[order] for part in fitted(model).predictor.training_moments(rows)]


@PARTITIONS
@pytest.mark.parametrize("model", ["pitc", "pic"])
def test_labels_of_the_partition_give_the_same(toy, model, partition):
    """Labels that equal the partition's own give the same model."""
    X, y = toy
    own = fixed(model, n_blocks=4, partition=partition).fit(X, y)
    labels = labels_of(own, X)
    given = fixed(model, block_column=LABEL).fit(labelled(X, labels), y)
    assert own.n_blocks_ == given.n_blocks_ == labels.max() + 1 > 1
    test_labels = fitted(own).state.partition.assign(X_TEST)
    mean, std = own.predict(X_TEST, return_std=True)
    again, again_std = given.predict(labelled(X_TEST, test_labels), return_std=True)
    assert_allclose(again, mean, rtol=1e-9)
    assert_allclose(again_std, std, rtol=1e-9)
    assert_allclose(given.objective_, own.objective_, rtol=1e-9)
    assert_allclose(given.leave_one_out(), own.leave_one_out(), rtol=1e-9)
    for one, other in zip(own_moments(given), own_moments(own), strict=True):
        assert_allclose(one, other, rtol=1e-9)


def test_a_clusterer_is_a_partition(toy):
    """A clusterer puts training and test rows into blocks by its predict, on scaled inputs."""
    X, y = toy
    own = fixed(partition=KMeans(3, n_init=1, random_state=0)).fit(X, y)
    assert own.n_blocks_ == 3
    labels = labels_of(own, X)
    assert_array_equal(fitted(own).state.partition.assign(X), labels)
    given = fixed(block_column=LABEL).fit(labelled(X, labels), y)
    test_labels = fitted(own).state.partition.assign(X_TEST)
    again = given.predict(labelled(X_TEST, test_labels))
    assert_allclose(again, own.predict(X_TEST), rtol=1e-9)


@PARTITIONS
@pytest.mark.parametrize("block_size", [1, 7, 25])
def test_no_block_is_too_large(toy, partition, block_size):
    """No block has more than 1.5 times block_size rows, and all rows are in one."""
    ours = fixed(block_size=block_size, partition=partition).fit(*toy)
    sizes = [len(fitted(ours).state.blocks(k)) for k in range(ours.n_blocks_)]
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
        assert_array_equal(fitted(ours).state.blocks(k).X, X[kept][labels == k])


@pytest.mark.parametrize("n_blocks", [1, 3, 7, 20, 60, 1000])
def test_about_as_many_blocks_as_asked_for(toy, n_blocks):
    """Exactly so many for runs of rows, and from two thirds to twice as many for k-means."""
    count = min(n_blocks, 60)
    for partition in ("contiguous", "random"):
        assert fixed(partition=partition, n_blocks=n_blocks).fit(*toy).n_blocks_ == count
    made = fixed(partition="kmeans", n_blocks=n_blocks).fit(*toy).n_blocks_
    assert count / 1.5 <= made <= 2 * count


# Labels


def as_object(X, names):
    """X with labels of any kind in its last column, an array of objects."""
    column = np.empty(len(X), dtype=object)
    column[:] = names
    return np.column_stack([X.astype(object), column])


def as_lists(X, names):
    return [[*row, name] for row, name in zip(X.tolist(), names, strict=True)]


def as_frame(X, names):
    """A data frame whose first column has the labels."""
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"route": names, "east": X[:, 0], "north": X[:, 1]})


@pytest.mark.parametrize("names", [["south", "n", "east", "w"], [-5, 1000, 7, 12], [3, 2, 1, 0]])
@pytest.mark.parametrize("kind", [as_object, as_lists, as_frame])
@MODELS
def test_names_of_labels_do_not_matter(toy, model, names, kind):
    """Strings and integers with gaps, in any order and table, are labels as good as 0 to 3."""
    (X, y), column = toy, "route" if kind is as_frame else LABEL
    plain = fixed(model, block_column=LABEL).fit(labelled(X), y)
    named = fixed(model, block_column=column).fit(kind(X, [names[k] for k in LABELS]), y)
    assert named.n_blocks_ == plain.n_blocks_
    unseen = "a label that is longer" if isinstance(names[0], str) else 99
    test = kind(X_TEST, [names[k] if k < 4 else unseen for k in TEST_LABELS])
    assert_same_model(plain, named, at=LABELLED_TEST, other_at=test)


def test_numbers_are_labels_alike_in_any_table(toy):
    """Lists after an array, or columns of several types: 10 comes after 2, and 2.0 is 2."""
    X, y = toy
    numbers = np.array([2, 10, 1, 30])[LABELS]
    model = fixed("lma", block_column=LABEL).fit(labelled(X, numbers), y)
    lists = [[*row, k] for row, k in zip(X.tolist(), numbers.tolist(), strict=True)]
    for table in (lists, as_object(X, numbers.astype(float)), as_frame(X, numbers)):
        column = "route" if hasattr(table, "columns") else LABEL
        other = fixed("lma", block_column=column).fit(table, y)
        assert_allclose(other.objective_, model.objective_, rtol=1e-9)
        if column == LABEL:
            assert_allclose(model.predict(table), other.predict(labelled(X, numbers)), rtol=1e-9)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("kind", [np.array, np.asfortranarray, np.float32, "int"])
def test_the_column_may_be_any(toy, place, kind):
    """Its place changes nothing; numbers of any type are labels if they are whole."""
    X, y = np.round(10.0 * toy[0]), toy[1]
    options = {"inducing": "kmeans", "n_inducing": 6}
    plain = fixed(block_column=LABEL, **options).fit(labelled(X), y)
    moved = np.insert(X, place, LABELS, axis=1)
    moved = moved.astype(int) if kind == "int" else kind(moved)
    model = fixed(block_column=place, **options).fit(moved, y)
    assert model.n_features_in_ == 3 and model.inducing_points_.shape == (6, 2)
    assert model.kernel_.k2.length_scale.shape == (2,)
    assert_allclose(model.predict(moved), plain.predict(labelled(X)), rtol=1e-9)
    assert_allclose(model.objective_, plain.objective_, rtol=1e-9)


def test_an_unseen_label_is_pitc(toy):
    """Test rows of a block without training rows have PITC's prediction."""
    pitc, pic = (fixed(name, block_column=LABEL).fit(*with_labels(toy)) for name in ("pitc", "pic"))
    test = labelled(X_TEST, np.full(9, 77))
    mean, cov = pitc.predict(test, return_cov=True)
    got, got_cov = pic.predict(test, return_cov=True)
    assert_allclose(got, mean, rtol=1e-12)
    assert_allclose(got_cov, cov, rtol=1e-9, atol=1e-12)
    assert_allclose(pic.predict_std(test), pitc.predict_std(test), rtol=1e-12)
    assert_allclose(pitc.predict(LABELLED_TEST), mean, rtol=1e-12)


def test_a_block_of_weight_zero_is_no_block(toy):
    """A label whose rows all weigh nothing was never seen."""
    weight = (LABELS != 2).astype(float)
    model = fixed(block_column=LABEL).fit(*with_labels(toy), weight)
    assert model.n_blocks_ == 3
    got = model.predict(labelled(X_TEST, np.full(9, 2)))
    assert_allclose(got, model.predict(labelled(X_TEST, np.full(9, 77))), rtol=1e-12)


def test_labels_of_another_kind_than_in_fit(toy):
    """Strings where fit had integers are refused, and the other way round."""
    X, y = toy
    numbers, names = labelled(X), as_object(X, LABELS.astype(str))
    for table, other in [(numbers, names), (names, numbers)]:
        model = fixed(block_column=LABEL).fit(table, y)
        for asked in (lambda X, m=model: m.predict(X), lambda X, m=model: m.partial_fit(X, y)):
            with pytest.raises(ValueError, match="labels like those of fit"):
                asked(other)


@MODELS
def test_a_table_without_the_column_is_refused(toy, model):
    """The column belongs to X wherever X goes."""
    ours = fixed(model, block_column=LABEL).fit(*with_labels(toy))
    for method in (ours.predict, ours.predict_std, ours.predict_quantiles):
        with pytest.raises(ValueError, match=r"X has 2 features, but .* 3 features"):
            method(toy[0])
    with pytest.raises(ValueError, match=r"X has 2 features, but .* 3 features"):
        ours.partial_fit(*toy)


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (LABELS + 0.5, "integers or strings"),
        (np.full(60, np.nan), "integers or strings"),
        (np.where(LABELS == 1, np.inf, LABELS), "integers or strings"),
        ([None, *LABELS[1:]], "block_column must hold labels, none of which is missing"),
        ([np.nan, *LABELS[1:].astype(str)], "Got NaN at index 0"),
        ([LABELS.astype("M8[D]")[0]] * 60, "integers or strings"),
    ],
)
def test_labels_that_cannot_be(toy, labels, match):
    """Labels of the wrong kind are refused by fit, partial_fit and predict, and change nothing."""
    X, y = toy
    table = labelled(X, labels) if isinstance(labels, np.ndarray) else as_object(X, labels)
    with pytest.raises(ValueError, match=match):
        fixed(block_column=LABEL).fit(table, y)
    ours = fixed(block_column=LABEL).fit(labelled(X), y)
    before = state_of(ours)
    for method in (ours.predict, ours.predict_std, ours.predict_quantiles):
        with pytest.raises(ValueError, match=match):
            method(table)
    with pytest.raises(ValueError, match=match):
        ours.partial_fit(table, y)
    assert_unchanged(ours, before)


@pytest.mark.parametrize("column", [3, 7, "route"])
def test_a_column_that_is_not_there(toy, column):
    """The message has what there is."""
    for model in (fixed(), AnytimeSGPClassifier(max_iter=1)):
        ours = model.set_params(block_column=column)
        with pytest.raises(ValueError, match=r"'block_column'.*3 columns with no names"):
            ours.fit(labelled(toy[0]), toy[1] > 5.0)
        with pytest.raises(ValueError, match=r"'block_column'.*names \['road', 'east', 'north'\]"):
            frame = as_frame(toy[0], LABELS).rename(columns={"route": "road"})
            ours.fit(frame, toy[1] > 5.0)
        assert not hasattr(ours, "kernel_")


@pytest.mark.parametrize("column", [-1, 1.5, True, ["route"]])
def test_what_is_no_column(toy, column):
    with pytest.raises(ValueError, match="'block_column' parameter"):
        fixed(block_column=column).fit(*with_labels(toy))
