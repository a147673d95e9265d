"""Tables of rows that nobody hopes for: inputs, targets, weights, and how arrays lie in memory."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
from hostile_layouts import LAYOUTS, Y_LAYOUTS
from scipy.sparse import csr_array


@dataclass(frozen=True)
class Table:
    """What a table is made from: a few words and numbers, so that a failure is a small example."""

    seed: int = 0
    n: int = 12
    d: int = 1
    inputs: str = "uniform"
    x_scale: float = 1.0
    x_shift: float = 0.0
    targets: str = "smooth"
    y_scale: float = 1.0
    y_shift: float = 0.0
    n_outputs: int = 1
    weights: str = "none"
    layout: str = "C"
    spoilt: str = "nothing"
    missing: str = "nothing"  # where that is allowed
    blocks: str = "none"  # where labels of blocks are allowed
    y_layout: str = "array"  # of targets and weights
    order: str = "as made"  # of the rows
    outputs: str = "alike"  # where there are several


# Inputs ------------------------------------------------------------------------------------------


def _units(rng, X):
    return X * 10.0 ** rng.uniform(-8.0, 8.0, X.shape[1])


def _line(rng, X, error=0.0):
    return X[:, :1] * rng.uniform(-1.0, 1.0, X.shape[1]) + error * rng.standard_normal(X.shape)


def _few_places(rng, X):
    return X[rng.integers(0, max(1, len(X) // 6), len(X))]


def _one_far(rng, X):
    X = X.copy()
    X[-1] = 1e8
    return X


def _row_major(rng, X, n_stations=None):
    """Rows of one time after another, each with all stations in turn."""
    k = n_stations or int(rng.choice([2, 4, 24]))
    place = rng.uniform(-2.0, 2.0, (k, X.shape[1]))
    index = np.arange(len(X))
    X = place[index % k]
    X[:, -1] = index // k
    return X


def _of_an_archive(rng, X):
    """Heavy tails, many zeros, few values and half of the rows again, all stations in turn."""
    X = np.exp(2.0 * np.minimum(_row_major(rng, X, int(rng.choice([3, 7]))), 14.0))
    X[:, 0] = np.round(np.log(X[:, 0]), 1) * (rng.uniform(size=len(X)) > 0.4)
    return X[np.sort(rng.integers(0, len(X), len(X)))]


INPUTS = {
    "row-major": _row_major,
    "row-major, sorted by station": lambda rng, X: (
        lambda made: made[np.argsort(made[:, 0], kind="stable")]
    )(_row_major(rng, X)),
    "uniform": lambda rng, X: X,
    "of an archive": _of_an_archive,
    "sorted": lambda rng, X: np.sort(X, axis=0),
    "integers": lambda rng, X: np.round(3.0 * X),
    "binary": lambda rng, X: (X > 0.0).astype(float),
    "few places": _few_places,
    "every row twice": lambda rng, X: X[np.arange(len(X)) // 2],
    "one place": lambda rng, X: np.ones_like(X),
    "a constant column": lambda rng, X: X * (np.arange(X.shape[1]) > 0),
    "one line": _line,
    "nearly one line": lambda rng, X: _line(rng, X, 1e-9),
    "nearly one place": lambda rng, X: 1.0 + 1e-12 * X,
    "units of all sizes": _units,
    "far clusters": lambda rng, X: X + 1e6 * rng.integers(-1, 2, (len(X), 1)),
    "heavy tails": lambda rng, X: np.clip(np.tan(0.78 * X), -1e12, 1e12),
    "one row far away": _one_far,
    "a random walk": lambda rng, X: np.cumsum(X, axis=0),
}

# Targets -----------------------------------------------------------------------------------------


def _signal(rng, X):
    spread = np.ptp(X, axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return np.sin(6.0 * (Z @ rng.standard_normal((X.shape[1], 1)))[:, 0])


def _with_last(y, value):
    y = np.array(y)
    y[-1] = value
    return y


def _rounded_levels(rng, f):
    """A level for each of a few, noise that is heavy, rounded, with a limit that many rows have."""
    y = f + np.floor(3.0 * f) + 0.2 * rng.standard_t(2.5, len(f))
    return np.minimum(np.round(y, 1), 2.0)


NUMBERS = {
    "smooth": lambda rng, f: f + 0.1 * rng.standard_normal(len(f)),
    "exact": lambda rng, f: f,
    "exact and rough": lambda rng, f: np.sqrt(np.abs(f)) * np.sign(f),
    "exact and fast": lambda rng, f: np.sin(12.0 * f),
    "fast": lambda rng, f: np.sin(12.0 * f) + 0.1 * rng.standard_normal(len(f)),
    "noise": lambda rng, f: rng.standard_normal(len(f)),
    "constant": lambda rng, f: np.full(len(f), 1.0),
    "zero": lambda rng, f: np.zeros(len(f)),
    "constant but one": lambda rng, f: _with_last(np.zeros(len(f)), 1.0),
    "a step": lambda rng, f: np.sign(f),
    "an outlier": lambda rng, f: _with_last(f + 0.1 * rng.standard_normal(len(f)), 1e8),
    "heavy tails": lambda rng, f: f + np.clip(rng.standard_cauchy(len(f)), -1e9, 1e9),
    "all sizes": lambda rng, f: np.exp(10.0 * rng.standard_normal(len(f))),
    "noise here and there": lambda rng, f: f + np.abs(f) ** 3 * rng.standard_normal(len(f)),
    "integers": lambda rng, f: np.round(3.0 * f),
    "rounded, heavy and limited": _rounded_levels,
    "contradictions": lambda rng, f: f + (-1.0) ** np.arange(len(f)),
}
COUNTS = {
    "counts": lambda rng, f: rng.poisson(np.exp(1.0 + f)).astype(float),
    "counts of zero": lambda rng, f: np.zeros(len(f)),
    "large counts": lambda rng, f: rng.poisson(1e6 * np.exp(f)).astype(float),
    "one huge count": lambda rng, f: _with_last(rng.poisson(1.0, len(f)).astype(float), 1e9),
}
POSITIVE = {
    "positive": lambda rng, f: np.exp(f) * rng.gamma(4.0, 0.25, len(f)),
    "positive, of one size": lambda rng, f: np.full(len(f), 2.0),
    "positive, of all sizes": lambda rng, f: np.exp(8.0 * rng.standard_normal(len(f))),
    "positive, nearly zero": lambda rng, f: _with_last(np.exp(f), 1e-300),
}
SHARES = {
    "shares": lambda rng, f: rng.beta(2.0 + f, 2.0 - f),
    "shares at the ends": lambda rng, f: 0.5 + 0.5 * np.sign(f) * (1.0 - 1e-12),
    "shares of one half": lambda rng, f: np.full(len(f), 0.5),
    "shares, one nearly zero": lambda rng, f: _with_last(rng.beta(2.0, 5.0, len(f)), 1e-15),
}
LIMITED = {
    "limited": lambda rng, f: np.clip(f + 0.1 * rng.standard_normal(len(f)), -0.4, 0.4),
    "limited below": lambda rng, f: np.maximum(f + 0.1 * rng.standard_normal(len(f)), 0.0),
    "mostly at a limit": lambda rng, f: np.maximum(f, 0.9),
    "at two limits": lambda rng, f: np.sign(f),
}
_WORDS = np.array(["no", "yes", "perhaps", "", "never", "ñ", "7", "x", "y", "z"])
LABELS = {
    "two classes": lambda rng, f: (f > 0.0).astype(int),
    "three classes": lambda rng, f: np.digitize(f, [-0.4, 0.4]),
    "two classes with short periods": lambda rng, f: (np.sin(12.0 * f) > 0.0).astype(int),
    "three classes with short periods": lambda rng, f: np.digitize(np.sin(12.0 * f), [-0.5, 0.5]),
    "two words": lambda rng, f: _WORDS[(f > 0.0).astype(int)],
    "three words": lambda rng, f: _WORDS[np.digitize(f, [-0.4, 0.4])],
    "a class of one member": lambda rng, f: _with_last(np.zeros(len(f), int), 1),
    "a third class of one member": lambda rng, f: _with_last((f > 0.0).astype(int), 7),
    "random classes": lambda rng, f: rng.integers(0, 2, len(f)),
    "contradicting classes": lambda rng, f: np.arange(len(f)) % 2,
    "four classes with short periods": lambda rng, f: np.digitize(np.sin(12 * f), [-0.7, 0, 0.7]),
    "ten classes": lambda rng, f: rng.integers(-5, 5, len(f)),
    "truth values": lambda rng, f: f > 0.0,
    "signs": lambda rng, f: np.where(f > 0.0, 1.0, -1.0),
    "one class": lambda rng, f: np.zeros(len(f), int),
}
TARGETS = NUMBERS | COUNTS | POSITIVE | SHARES | LIMITED | LABELS

# Weights -----------------------------------------------------------------------------------------

WEIGHTS = {
    "none": None,
    "ones": lambda rng, n: np.ones(n),
    "random": lambda rng, n: rng.gamma(2.0, 0.5, n),
    "integers": lambda rng, n: rng.integers(0, 4, n),
    "some zero": lambda rng, n: (rng.random(n) < 0.6).astype(float),
    "all zero but one": lambda rng, n: _with_last(np.zeros(n), 1.0),
    "zero": lambda rng, n: np.zeros(n),
    "huge": lambda rng, n: np.full(n, 1e12),
    "tiny": lambda rng, n: np.full(n, 1e-12),
    "one huge": lambda rng, n: _with_last(np.ones(n), 1e12),
    "one tiny": lambda rng, n: _with_last(np.ones(n), 1e-12),
    "all sizes": lambda rng, n: 10.0 ** rng.uniform(-12.0, 12.0, n),
    "sum to one": lambda rng, n: np.full(n, 1.0 / n),
}

# What is spoilt ----------------------------------------------------------------------------------


def _entry(array, value):
    array = np.array(array, dtype=object if np.asarray(array).dtype.kind in "OUSb" else float)
    array.flat[array.size // 2] = value
    return array


def _sparse(X):
    """Return sparse numbers; words, which there are none of, are zeros."""
    return csr_array(np.where(X == X.astype(str), 0.0, X).astype(float) if X.dtype == "O" else X)


def _weights(n, w):
    return np.ones(n) if w is None else w


SPOILT = {
    "nothing": lambda X, y, w: (X, y, w),
    "NaN in X": lambda X, y, w: (_entry(X, np.nan), y, w),
    "infinity in X": lambda X, y, w: (_entry(X, np.inf), y, w),
    "a huge number in X": lambda X, y, w: (_entry(X, -1e300), y, w),
    "a large number in X": lambda X, y, w: (_entry(X, 9e99), y, w),
    "X of one axis": lambda X, y, w: (X[:, 0], y, w),
    "X of three axes": lambda X, y, w: (X[:, :, None], y, w),
    "X without rows": lambda X, y, w: (X[:0], y[:0], None),
    "X without columns": lambda X, y, w: (X[:, :0], y, w),
    "sparse X": lambda X, y, w: (_sparse(X), y, w),
    "complex X": lambda X, y, w: (X + 1j, y, w),
    "words in X": lambda X, y, w: (_entry(X.astype(object), "word"), y, w),
    "NaN in y": lambda X, y, w: (X, _entry(y, np.nan), w),
    "infinity in y": lambda X, y, w: (X, _entry(y, -np.inf), w),
    "a huge number in y": lambda X, y, w: (X, _entry(y, 1e300), w),
    "short y": lambda X, y, w: (X, y[:-1], w),
    "no y": lambda X, y, w: (X, None, w),
    "negative weight": lambda X, y, w: (X, y, _entry(_weights(len(y), w), -1.0)),
    "NaN weight": lambda X, y, w: (X, y, _entry(_weights(len(y), w), np.nan)),
    "huge weight": lambda X, y, w: (X, y, _entry(_weights(len(y), w), 1e300)),
    "short weights": lambda X, y, w: (X, y, _weights(len(y), w)[:-1]),
}
# The estimator must say no to these.
REFUSED = set(SPOILT) - {"nothing", "a large number in X"}


# Those that spoil one number or word of X: with labels of blocks, one of the other columns.
ENTRIES = {"NaN in X", "infinity in X", "a huge number in X", "a large number in X", "words in X"}


# What is missing, and labels of blocks ------------------------------------------------------------


def _hole(rng, A, share):
    A = np.array(A, dtype=float)
    A[rng.random(A.shape) < share] = np.nan
    return A


def _no_row(rng, A):
    A = np.array(A, dtype=float)
    A[len(A) // 2] = np.nan
    return A


def _no_column(rng, A):
    A = np.array(A, dtype=float)
    A[:, -1:] = np.nan
    return A


MISSING = {
    "nothing": lambda rng, A: A,
    "a tenth": lambda rng, A: _hole(rng, A, 0.1),
    "most": lambda rng, A: _hole(rng, A, 0.8),
    "a row": _no_row,
    "a column": _no_column,
    "targets": lambda rng, A: _hole(rng, A, 0.2),  # of one output, too
    "all": lambda rng, A: np.full(A.shape, np.nan),
}
BLOCKS = {
    "none": None,
    "one": lambda rng, n: np.zeros(n, int),
    "three": lambda rng, n: rng.integers(0, 3, n),
    "each row": lambda rng, n: np.arange(n),
    "words": lambda rng, n: rng.choice(["a", "b", "ñ"], n),
    "numbers": lambda rng, n: rng.choice([0.5, -1.0], n),
    "NaN": lambda rng, n: np.full(n, np.nan),
    "huge": lambda rng, n: np.full(n, 9e99),
}


def _one_constant(Y):
    Y = np.array(Y, dtype=float)
    Y[:, -1] = Y[0, -1]
    return Y


OUTPUTS = {
    "alike": lambda Y: Y,
    "one constant": _one_constant,
    "copies": lambda Y: np.repeat(Y[:, :1], Y.shape[1], axis=1),
    "of other sizes": lambda Y: Y * 10.0 ** (-6.0 * np.arange(Y.shape[1])),
}
ORDERS = {
    "as made": lambda X, y: np.arange(len(X)),
    "by target": lambda X, y: np.argsort(y if y.ndim == 1 else y[:, 0], kind="stable"),
    "by first column": lambda X, y: np.argsort(X[:, 0], kind="stable"),
}


def labels_of(table):
    """Make labels of blocks, or None."""
    make = BLOCKS[table.blocks]
    return None if make is None else make(np.random.default_rng(table.seed), table.n)


def block_column(table):
    """Name the column with labels of blocks as its layout allows for, None if there is none."""
    if table.blocks == "none":
        return None
    is_named = table.layout.startswith(("pandas", "polars")) and table.spoilt == "nothing"
    return f"column {table.d}" if is_named and table.seed % 2 else table.d


def _with_labels(X, labels):
    """Append a column of labels; with words an array is one of objects."""
    if isinstance(X, list):
        return [[*row, label] for row, label in zip(X, labels.tolist(), strict=True)]
    name = f"column {X.shape[1]}"
    if isinstance(X, pd.DataFrame):
        return X.assign(**{name: labels})
    if isinstance(X, pl.DataFrame):
        return X.with_columns(pl.Series(name, labels))
    return np.column_stack([X.astype(object) if labels.dtype.kind == "U" else X, labels])


def numbers_of(table):
    """Make X (n, d), y (n,) or (n, t) and the weights, before layout and spoiling."""
    rng = np.random.default_rng(table.seed)
    X = INPUTS[table.inputs](rng, rng.uniform(-2.0, 2.0, (table.n, table.d)))
    make = TARGETS[table.targets]
    y = np.column_stack([make(rng, _signal(rng, X)) for _ in range(table.n_outputs)])
    y = y[:, 0] if table.n_outputs == 1 else OUTPUTS[table.outputs](y)
    order = ORDERS[table.order](X, y)
    X, y = X[order], y[order]
    if table.targets in NUMBERS:
        with np.errstate(over="ignore"):
            y = table.y_shift + table.y_scale * y
    weights = WEIGHTS[table.weights]
    weights = weights if weights is None else weights(rng, table.n)
    with np.errstate(over="ignore"):  # infinities are numbers to be refused, too
        X = table.x_shift + table.x_scale * X
    has_gaps = table.missing == "targets" and table.targets not in LABELS
    if table.n_outputs > 1 or has_gaps:  # of an estimator that refuses them it is a test, too
        y = MISSING[table.missing](rng, y)
    elif table.missing != "nothing":
        X = MISSING[table.missing](rng, X)
    return X, y, weights


def made(table):
    """Make X, y and weights as an estimator is given them; labels are the last column of X."""
    X, y, weights = numbers_of(table)
    labels, spoil = labels_of(table), SPOILT[table.spoilt]
    if table.spoilt == "nothing":
        laid = Y_LAYOUTS[table.y_layout]
        with np.errstate(over="ignore"):  # in single precision
            y, weights = laid(y), weights if weights is None else laid(weights)
    elif labels is None or table.spoilt in ENTRIES:
        X, y, weights = spoil(X, y, weights)
        return X if labels is None else _with_labels(X, labels), y, weights
    if table.spoilt != "nothing":
        return spoil(_with_labels(X, labels), y, weights)
    is_number = labels is not None and labels.dtype.kind != "U"
    X = _with_labels(X, labels) if is_number else X
    with np.errstate(over="ignore", invalid="ignore"):  # in half precision, and huge labels
        X = LAYOUTS[table.layout](X)
    return X if labels is None or is_number else _with_labels(X, labels), y, weights
