"""Checks of labels of classes."""

import numpy as np

from .checks import check_classification_targets, is_missing


def check_labels_present(name, labels):
    """Refuse labels of which one is missing, by a ValueError.

    numpy would make a string of a NaN among strings.
    """
    values = list(np.ravel(np.asarray(labels, dtype=object)))
    missing = [place for place, value in enumerate(values) if is_missing(value)]
    if missing:
        place, count = missing[0], f"{len(missing)} of {len(values)}"
        got = "NaN" if isinstance(values[place], float) else values[place]
        raise ValueError(
            f"{name} must hold labels, none of which is missing. Got {got} at index {place}; "
            f"{count} are missing: leave them out, or give them a label."
        )


def sorted_classes(classes):
    """Return classes (n,), each once, in their order; a ValueError where they have none."""
    check_labels_present("classes", classes)
    classes = np.asarray(classes)
    if classes.ndim != 1:
        raise ValueError(f"classes must be a sequence of labels. Got shape {classes.shape}.")
    try:
        return np.unique(classes)
    except TypeError as error:
        raise ValueError(not_sortable("classes", classes)) from error


def not_sortable(name, labels):
    """Return the message for labels that have no order."""
    kinds = sorted({type(label).__name__ for label in np.ravel(labels)})
    return (
        f"{name} must hold labels of one kind, words or numbers. Got labels of {kinds}: make words "
        "of all of them."
    )


def check_classes_of(y):
    """Refuse what is no label, and labels that cannot be sorted, such as numbers among words."""
    try:
        check_classification_targets(y)
    except TypeError as error:
        raise ValueError(not_sortable("y", y)) from error
    except ValueError as error:
        if "Unknown label type" not in str(error):
            raise
        raise ValueError(_words_of_labels(y, str(error))) from error


def _words_of_labels(y, words):
    """Return what to do about targets that are no labels, behind scikit-learn's first words."""
    first, kinds = words.partition(".")[0], {type(label) for label in np.ravel(y)}
    if kinds & {str, np.str_} and len(kinds) > 1:
        return f"{first}. {not_sortable('y', y)}"
    if np.asarray(y).dtype == object and kinds <= {bool, np.bool_, int, np.int64}:
        names = {"bool" if kind in (bool, np.bool_) else "int" for kind in kinds}
        name = "int" if "int" in names else "bool"
        return (
            f"{first}. y must hold classes of one type. Got an array of objects that are "
            f"{' and '.join(sorted(names))}: pass y.astype({name})."
        )
    return (
        f"{first}. y must hold classes: words, whole numbers or bool. Got {np.ravel(y)[0]!r}: take "
        "a regressor, such as SVGPRegressor, for numbers, or make classes of them (pandas.cut)."
    )
