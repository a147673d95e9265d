"""What is spoilt of rows, so that models refuse them."""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array


def _entry(value, kind=float):
    def spoil(values):
        values = np.array(values, dtype=kind)
        values[1] = value
        return values

    return spoil


INPUTS = {
    "infinity in X": _entry(np.inf),
    "huge numbers in X": _entry(1e120),
    "words in X": _entry("word", object),
    "nothing in X": _entry(None, object),
    "sparse X": csr_array,
    "complex X": lambda X: X + 1j,
    "one axis of X": lambda X: X[:, 0],
    "three axes of X": lambda X: X[:, :, None],
    "one column of X more": lambda X: np.hstack([X, X[:, :1]]),
    "no columns of X": lambda X: X[:, :0],
    "no rows of X": lambda X: X[:0],
    "fewer rows of X": lambda X: X[:-1],
}
TARGETS = {
    "NaN in y": _entry(np.nan, object),
    "None in y": _entry(None, object),
    "infinity in y": _entry(np.inf, object),
    "huge numbers in y": _entry(1e120, object),
    "a word in y": _entry("word", object),
    "three axes of y": lambda y: y[:, None, None],
    "two columns of y": lambda y: np.column_stack([y, y]),
    "fewer rows of y": lambda y: y[:-1],
    "no y": lambda y: None,
    "sparse y": lambda y: csr_array(np.ones((len(y), 1))),
}
WEIGHTS = {
    "NaN in weights": _entry(np.nan),
    "infinity in weights": _entry(np.inf),
    "huge weights": _entry(1e120),
    "negative weights": _entry(-1.0),
    "weights of zero": np.zeros_like,
    "fewer weights": lambda weight: weight[:-1],
    "two axes of weights": lambda weight: weight[:, None],
    "words in weights": _entry("word", object),
}


def spoilt(rows, name):
    """Spoil inputs, targets or weights."""
    if name in INPUTS:
        return replace(rows, X=INPUTS[name](rows.X))
    if name in TARGETS:
        return replace(rows, y=TARGETS[name](rows.y))
    return replace(rows, weight=WEIGHTS[name](np.ones(len(rows))))
