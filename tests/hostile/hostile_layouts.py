"""How arrays lie in memory, and what else may hold numbers."""

import tempfile

import numpy as np
import pandas as pd
import polars as pl

# Inputs ------------------------------------------------------------------------------------------


def _strided(X):
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def _memory_map(X):
    with tempfile.TemporaryFile() as file:  # the map outlives it
        mapped = np.memmap(file, dtype=X.dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    return mapped


def _columns(X):
    return [f"column {j}" for j in range(X.shape[1])]


def _pandas(X):
    return pd.DataFrame(X, columns=_columns(X))


def _bytes(X):
    return (np.clip(np.round(np.nan_to_num(X)), -5, 5) + 5).astype(np.uint8)


_KNOWN, _OTHER = ["b", "a", "", "ñ", "c"], ["b", "new", "a", "newer", "ñ"]


def _words(column, words=_KNOWN):
    return np.array(words)[_bytes(column) % 5]


def _words_first(X, words=_KNOWN):
    first, X = _words(X[:, 0].astype(float), words), X.astype(object)
    X[:, 0] = first
    return X


def _categories_first(X, words=_KNOWN):
    frame = _pandas(X)
    frame["column 0"] = pd.Categorical(_words(X[:, 0], words))
    return frame


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": _strided,
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "strides of zero": lambda X: np.broadcast_to(X[:1], X.shape),
    "read-only": _read_only,
    "memory map": _memory_map,
    "single precision": lambda X: X.astype(np.float32),
    "half precision": lambda X: X.astype(np.float16),
    "long double": lambda X: X.astype(np.longdouble),
    "integers": lambda X: np.clip(np.round(np.nan_to_num(X)), -(2**62), 2**62).astype(np.int64),
    "bytes": _bytes,
    "truth values": lambda X: X > 0.0,
    "foreign bytes": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "pandas": _pandas,
    "pandas, nullable": lambda X: _pandas(X).astype("Float64"),
    "pandas, categories": _categories_first,
    "words": _words_first,
    "pandas, new categories": lambda X: _categories_first(X, _OTHER),
    "new words": lambda X: _words_first(X, _OTHER),
    "polars": lambda X: pl.DataFrame(X, schema=_columns(X)),
}

# Layouts of categories, and those of later tables in which some are new.
NEW_CATEGORIES = {"words": "new words", "pandas, categories": "pandas, new categories"}

# Targets and weights -----------------------------------------------------------------------------


def _is_float(y):
    return y.dtype.kind == "f"


def _spread(y):
    """Every second entry of a longer array."""
    wide = np.repeat(y, 2, axis=0)
    return wide[::2]


def _series(y):
    return pd.Series(y) if y.ndim == 1 else _pandas(y)


def _foreign(y):
    return y.astype(y.dtype.newbyteorder(">")) if y.dtype.kind in "fiu" else y


def _whole(y):
    if not _is_float(y):
        return y
    return np.clip(np.round(np.nan_to_num(y)), -(2.0**53), 2.0**53).astype(np.int64)


def _truth(y):
    return y > 0.0 if _is_float(y) else y


def _polars(y):
    return pl.Series(y) if y.ndim == 1 else pl.DataFrame(y, schema=_columns(y))


Y_LAYOUTS = {
    "array": lambda y: y,
    "strided": _spread,
    "reversed": lambda y: y[::-1].copy()[::-1],
    "read-only": _read_only,
    "memory map": _memory_map,
    "single precision": lambda y: y.astype(np.float32) if _is_float(y) else y,
    "integers": _whole,
    "truth values": _truth,
    "foreign bytes": _foreign,
    "objects": lambda y: y.astype(object),
    "lists": lambda y: y.tolist(),
    "series": _series,
    "series, nullable": lambda y: _series(y).convert_dtypes(),
    "series of another index": lambda y: _series(y).set_axis(np.arange(len(y))[::-1] + 7),
    "polars": _polars,
}
