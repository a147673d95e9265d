"""Targets that are labels: rows of classifiers, and later batches of them."""

from numbers import Real

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from ..data.class_targets import ClassLabels
from ..data.label_checks import check_classes_of, check_labels_present
from ..data.rows import drop_zero_weight, merge_equal
from .steps import rows_with
from .validation import checked_rows


def checked_labels(estimator, X, y, sample_weight, *, reset, classes=None):
    """Return validated inputs, labels and weights of all rows.

    Weights are multiplied by those of the classes. Classes of None are those of the labels.
    """
    given, class_weight = y, getattr(estimator, "class_weight", None)
    try:
        inputs, y, weight = checked_rows(
            estimator, X, y, sample_weight, reset=reset, multi_output=False
        )
        check_classes_of(y)
    except (TypeError, ValueError) as error:
        # pandas' NA among words has no truth value
        if given is not None and (isinstance(error, ValueError) or "NA is" in str(error)):
            check_labels_present("y", given)  # says more where that is the reason
        raise
    if y.dtype.kind == "U" and not hasattr(given, "dtype"):
        check_labels_present("y", given)  # a NaN among strings is "nan" now
    if class_weight is not None:
        weight = np.ones(len(y)) if weight is None else weight.copy()
        counts = weight > 0.0  # other rows may have any label
        known = np.unique(y[counts]) if classes is None else classes
        weight[counts] *= weight_of_classes(class_weight, y[counts], known, weight[counts])
    if reset and weight is not None and not weight.any():
        raise ValueError(
            "class_weight must leave rows of weight above zero. Got "
            f"{class_weight!r}, which with sample_weight leaves none."
        )
    return inputs, y, weight


def are_grouped(y):
    """Return whether labels of several classes come class after class, as in a sorted table."""
    n_changes, n_classes = np.count_nonzero(y[1:] != y[:-1]), len(np.unique(y))
    return len(y) > n_classes > 1 and n_changes == n_classes - 1


def weight_of_classes(class_weight, y, classes, weight):
    """Return the weight of each row's class, or raise a ValueError."""
    place = ClassLabels(classes, None).positions(y)
    if isinstance(class_weight, dict):
        weights = list(class_weight.values())
        if not all(isinstance(w, Real) and 0.0 <= w < np.inf for w in weights):
            raise ValueError(
                "The weights of the 'class_weight' parameter must be finite and not negative. "
                f"Got {class_weight!r}."
            )
        return compute_class_weight(class_weight, classes=classes, y=classes)[place]
    total = np.bincount(place, weight, len(classes))  # not the rows of scikit-learn 1.6
    return (weight.sum() / (len(classes) * total[place])) if len(place) else np.empty(0)


def later_rows(estimator, X, y, sample_weight, merges=False):
    """Make the `Rows` of a later batch, equal ones merged if so wished; and tell how many came."""
    checked = checked_labels(
        estimator, X, y, sample_weight, reset=False, classes=estimator.classes_
    )
    (X, labels, offset, _), y, weight = checked
    X, y, weight, labels, offset = drop_zero_weight(X, y, weight, labels, offset)
    targets, n_rows = estimator._fitted.targets, len(X)
    place = targets.positions(y)
    if merges:
        X, place, weight, offset = merge_equal(X, place, weight, offset)
    return rows_with(X, targets.codes(place), weight, targets, labels, offset), n_rows
