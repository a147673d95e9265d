"""Targets and class labels: how they are encoded, and how results come back in their units."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_sgp.data.class_targets import ClassLabels, ClassTargets
from sklearn_sgp.data.rows import Rows
from sklearn_sgp.data.targets import Targets, count_samples, target_columns
from sklearn_sgp.likelihoods import Logit, Probit, Softmax
from sklearn_sgp.likelihoods._dirichlet import Dirichlet
from sklearn_sgp.likelihoods._names import sites_of_classes


def scaling(y, weight, normalize_y):
    targets = Targets.fit(y, weight, normalize_y)
    return targets.mean, targets.scale


# Scaling of targets


@pytest.mark.parametrize("weight", [None, np.array([1.0, 0.0, 2.0, 1.0])])
def test_target_scaling(weight):
    """With normalize_y targets are scaled to weighted mean 0 and variance 1, each output."""
    y = np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0], [8.0, 5.0]])
    mean, scale = scaling(y, weight, True)
    scaled = (y - mean) / scale
    assert_allclose(np.average(scaled, axis=0, weights=weight), 0.0, atol=1e-15)
    assert_allclose(np.average(scaled**2, axis=0, weights=weight), [1.0, 0.0], atol=1e-15)
    assert scale[1] == 1.0  # constant


def test_target_scaling_as_given():
    """False leaves targets alone, a pair is used as it is, for all outputs or each its own."""
    y = np.ones((3, 2))
    assert_array_equal(scaling(y, None, False), [[0.0, 0.0], [1.0, 1.0]])
    assert_array_equal(scaling(y, None, (3.0, 2.0)), [[3.0, 3.0], [2.0, 2.0]])
    assert_array_equal(scaling(y, None, ([1.0, 2.0], 4.0)), [[1.0, 2.0], [4.0, 4.0]])


@pytest.mark.parametrize(
    "pair",
    [
        (0.0, 0.0),
        (0.0, -1.0),
        (np.nan, 1.0),
        (0.0, np.inf),
        (0.0,),
        (0.0, "wide"),
        ([0.0, 0.0, 0.0], 1.0),
    ],
)
def test_target_scaling_refuses(pair):
    """What is not a finite mean and a positive scale is an error that says so and what came."""
    with pytest.raises(ValueError, match=r"finite mean and a positive scale.*Got \("):
        Targets.fit(np.ones((3, 2)), None, pair)


def test_target_scaling_refuses_what_overflows():
    """A scale so small that squares of scaled targets would overflow is an error."""
    with pytest.raises(ValueError, match=r"scale of the 'normalize_y'.*Got \(0\.0, 1e-250\)"):
        Targets.fit(np.ones((3, 1)), None, (0.0, 1e-250))


@pytest.mark.parametrize("value", [0.0, 0.1, -3e7, 1e90])
def test_constant_targets_have_scale_one(value):
    """Targets that do not vary, but by rounding, are centred and not scaled."""
    y = np.full((37, 1), value) * (1.0 + 1e-16 * np.arange(37.0)[:, None])
    mean, scale = scaling(y, None, True)
    assert_allclose(mean, value)
    assert scale == 1.0


def test_size_of_constant_targets_can_be_their_scale():
    """Where a stream's targets have not varied yet, their size becomes the scale, but not zero."""
    y = np.array([[-30.0, 0.0, 1.0], [-30.0, 0.0, 3.0]])
    targets = Targets.fit(y, None, True).with_scale_of_constants(y)
    assert_array_equal(targets.mean, [-30.0, 0.0, 2.0])
    assert_array_equal(targets.scale, [30.0, 1.0, 1.0])


# Encoding of targets


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_targets_become_columns(dtype):
    """Targets are float64 columns, whatever their type and number of axes."""
    y = np.array([3, 1, 2], dtype=dtype)
    for given in (y, y[:, None]):
        columns = target_columns(given)
        assert columns.dtype == np.float64
        assert_array_equal(columns, [[3.0], [1.0], [2.0]])


def test_targets_of_later_batches_become_columns():
    """Later batches are encoded like the first one."""
    one, two = Targets(1, np.zeros(1), np.ones(1)), Targets(2, np.zeros(2), np.ones(2))
    assert_array_equal(one.encode(np.array([3, 4])), [[3.0], [4.0]])
    assert_array_equal(two.encode(np.array([[3, 4]])), [[3.0, 4.0]])


@pytest.mark.parametrize(
    "ndim, n_outputs, shape",
    [(1, 1, (4, 1)), (1, 1, (4, 2)), (2, 1, (4,)), (2, 2, (4,)), (2, 2, (4, 3)), (2, 2, (4, 1))],
)
def test_targets_of_another_shape_are_refused(ndim, n_outputs, shape):
    """A later batch with other columns than the first is an error that shows its shape."""
    targets = Targets(ndim, np.zeros(n_outputs), np.ones(n_outputs))
    expected = r"\(n_samples,\)" if ndim == 1 else rf"\(n_samples, {n_outputs}\)"
    with pytest.raises(ValueError, match=rf"shape {expected}, as in .*Got shape \(4"):
        targets.encode(np.ones(shape))


def test_targets_that_overflow_are_refused():
    """Targets whose squares overflow are an error in the first batch and in later ones."""
    huge = np.array([1.0, -1e101])
    for encode in (target_columns, Targets(1, np.zeros(1), np.ones(1)).encode):
        with pytest.raises(ValueError, match=r"^y must hold numbers of at most 1e\+100"):
            encode(huge)


def test_number_of_samples():
    """Rows of weight 0 are not counted as samples."""
    X = np.zeros((4, 2))
    assert count_samples(X, None) == 4
    assert count_samples(X, np.array([0.0, 0.5, 3.0, 0.0])) == 2


# Results in units of y


def test_attributes_have_the_shape_of_the_targets():
    """Centre, scale and step are numbers for targets of one axis, arrays for those of two."""
    mean, scale = np.array([3.0]), np.array([2.0])
    one = Targets(1, mean, scale).attributes
    assert one == {"y_mean_": 3.0, "y_scale_": 2.0, "resolution_": 0.0}
    assert all(type(value) is float for value in one.values())
    two = Targets(2, mean, scale).attributes
    assert_array_equal(two["y_mean_"], mean)
    assert_array_equal(two["y_scale_"], scale)


@pytest.mark.parametrize("ndim, n_outputs", [(1, 1), (2, 1), (2, 3)])
def test_results_are_in_units_of_the_targets(ndim, n_outputs, rng):
    """Means and draws of scaled targets are undone to the unit and the axes of y."""
    y = rng.standard_normal((6, n_outputs)) * [1.0, 1e-3, 50.0][:n_outputs] + 7.0
    targets = Targets.fit(y, None, True, ndim)
    assert targets.n_outputs == n_outputs
    scaled = (y - targets.mean) / targets.scale
    expected = y[:, 0] if ndim == 1 else y
    assert_allclose(targets.mean_in_units(scaled), expected, rtol=1e-12)
    draws = np.stack([scaled, 2.0 * scaled], axis=2)
    both = np.stack([y, 2.0 * y - targets.mean], axis=2)
    assert_allclose(targets.samples_in_units(draws), both[:, 0] if ndim == 1 else both, rtol=1e-12)
    assert targets.squeezed(scaled).shape == expected.shape
    covariances = np.zeros((6, 6, n_outputs))
    assert targets.squeezed(covariances).shape == (6, 6) + expected.shape[1:]


def test_log_densities_are_in_units_of_the_targets():
    """A log density of scaled targets exceeds that in units of y by the logs of the scales."""
    targets = Targets(2, np.zeros(3), np.array([1.0, 0.1, 20.0]))
    assert_allclose(targets.log_scale, np.log(2.0))
    assert Targets(1, np.array([5.0]), np.ones(1)).log_scale == 0.0


def test_numbers_are_always_informative():
    """Rows of numbers can say something about the kernel, constant ones too."""
    rows = Rows(np.zeros((2, 1)), np.ones((2, 1)), None, np.zeros(1), np.ones(1))
    assert Targets(1, np.zeros(1), np.ones(1)).is_informative(rows) is True


# Class labels


TWO, THREE = np.array(["no", "yes"]), np.array([2, 5, 7])


@pytest.mark.parametrize(
    "classes, likelihood, y, codes",
    [
        (TWO, Probit(), ["yes", "no", "yes"], [1.0, -1.0, 1.0]),
        (TWO, Logit(), ["yes", "no", "yes"], [1.0, -1.0, 1.0]),
        (TWO, Softmax(), ["yes", "no", "yes"], [1.0, 0.0, 1.0]),
        (THREE, Softmax(), [7, 2, 5, 5], [2.0, 0.0, 1.0, 1.0]),
        (np.array([False, True]), Probit(), [True, False], [1.0, -1.0]),
    ],
)
def test_labels_become_the_codes_of_the_likelihood(classes, likelihood, y, codes):
    """Two classes are -1 and 1 for one function, else classes are numbers from 0, in a column."""
    labels = ClassLabels(classes, likelihood)
    encoded = labels.encode(np.array(y))
    assert encoded.dtype == np.float64
    assert_array_equal(encoded, np.array(codes)[:, None])
    assert_array_equal(classes[labels.positions(np.array(y))], y)


def test_attributes_of_labels():
    """A classifier has classes_, one output for each class, and nothing that is scaled."""
    labels = ClassLabels(THREE, Softmax())
    assert list(labels.attributes) == ["classes_"]
    assert_array_equal(labels.attributes["classes_"], THREE)
    assert labels.n_outputs == 3
    assert_array_equal([labels.mean, labels.scale], [[0.0], [1.0]])
    assert labels.log_scale == 0.0


def test_unknown_labels_are_refused():
    """A label that is no class is an error that shows the classes and what came."""
    with pytest.raises(ValueError, match=r"among the classes \[2, 5, 7\]\. Got also \[3, 9\]"):
        ClassLabels(THREE, Softmax()).encode(np.array([5, 9, 3, 2]))


def test_classes_of_later_batches_are_the_same():
    """Classes may be named again in any order; others are an error that shows both."""
    labels = ClassLabels(THREE, Softmax())
    labels.check_same(None)
    labels.check_same([7, 5, 2, 2])
    with pytest.raises(ValueError, match=r"first call, \[2, 5, 7\]\. Got \[2, 5\]"):
        labels.check_same([5, 2])


@pytest.mark.parametrize("codes, expected", [([1.0, 1.0], False), ([1.0, -1.0], True)])
def test_labels_that_are_all_the_same_say_nothing(codes, expected):
    """Rows of one class are not informative."""
    rows = Rows(np.zeros((2, 1)), np.array(codes)[:, None], None, np.zeros(1), np.ones(1))
    assert ClassLabels(TWO, Probit()).is_informative(rows) is expected


def test_attributes_are_no_part_of_the_scaling():
    """Public means and scales cannot be written to, and are no views."""
    targets = Targets.fit(np.array([[1.0, 5.0], [2.0, 7.0]]), None, True)
    for name, own in (("y_mean_", targets.mean), ("y_scale_", targets.scale)):
        public = targets.attributes[name]
        assert_array_equal(public, own)
        assert not np.shares_memory(public, own)
        assert not public.flags.writeable
    labels = ClassLabels(np.array(["a", "b"]), Probit())
    assert not np.shares_memory(labels.attributes["classes_"], labels.classes)


@pytest.mark.parametrize("kind", ["regressions", "against rest", "softmax"])
def test_places_of_many_classes(kind):
    """Encoded labels of 200 classes took a mask of n x C x C, 80 MB of 2,000 rows."""
    place, classes = np.arange(2000) % 200, np.arange(200)
    likelihood = {"softmax": Softmax(), "regressions": Dirichlet()}.get(kind)
    if likelihood is None:
        likelihood = sites_of_classes(classes).for_classes(np.full(200, 10.0))
    encoding = (ClassTargets if kind == "regressions" else ClassLabels)(classes, likelihood)
    y = encoding.codes(place)
    tracemalloc.start()
    assert_array_equal(encoding.places(y), place)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6
