"""Tables without a target, some of whose entries are missing.

As a `Problem` a table has its rows with NaN where an entry is missing in ``X``, the same rows
complete in ``X_test``, and what is known of each row besides, a class or its place on a manifold,
in ``y`` and ``y_test``. Columns are standardised by what is observed; constant ones are left out.
"""

from pathlib import Path

import numpy as np

from problems.problem import Problem

_TOY_ROWS = 90


def manifold(n, seed=0, n_columns=20, noise=0.1):
    """Rows of 20 smooth functions of three normal latent inputs, and these inputs."""
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(n, 3)), 0.7 * rng.normal(size=(3, 40))
    phase = rng.uniform(0.0, 2.0 * np.pi, 40)
    A = rng.normal(size=(40, n_columns)) / np.sqrt(20)
    return np.cos(X @ W + phase) @ A + noise * rng.normal(size=(n, n_columns)), X


def with_missing(name, Y, y, share, seed=0):
    """Problem from complete rows, a share of whose entries go missing at random."""
    rng = np.random.default_rng(seed)
    missing = rng.random(Y.shape) < share
    observed = np.where(missing, np.nan, np.asarray(Y, dtype=np.float64))
    kept = np.nanstd(observed, axis=0) > 0
    observed, Y = observed[:, kept], Y[:, kept]
    mean, scale = np.nanmean(observed, axis=0), np.nanstd(observed, axis=0)
    nothing = np.empty((0, Y.shape[1]))
    return Problem(name, (observed - mean) / scale, y, (Y - mean) / scale, y, 1.0, nothing)


def _file(name, data):
    with np.load(Path(data) / f"{name}.npz") as stored:
        return {key: stored[key] for key in stored.files}


def _oil(data, split):
    table = _file("oil_flow", data)
    own = table["split"] == split
    return table["X"][own], table["y"][own].astype(float)


def _digits(data, split):
    from sklearn.datasets import load_digits  # where this page is only read it is not needed

    X, y = load_digits(return_X_y=True)
    return X, y.astype(float)


def _drawn(name, rows, with_target=False):
    """Random rows of a file, others for each split."""

    def some(data, split):
        table = _file(name, data)
        X = np.column_stack([table["X"], table["y"]]) if with_target else table["X"]
        chosen = np.random.default_rng(split).permutation(len(X))[:rows]
        return X[chosen], table["y"][chosen].astype(float)

    return some


def _manifold_of(n):
    return lambda data, split: manifold(n, split)


# rows by name, and the share of entries that go missing
_TABLES = {
    "table_oil_flow": (_oil, 0.0),
    "table_digits": (_digits, 0.5),
    "table_manifold": (_manifold_of(100_000), 0.1),
    "coverage_digits": (_digits, 0.2),
    "coverage_pendigits": (_drawn("pendigits", 1000), 0.2),
    "coverage_oil_flow": (_oil, 0.2),
    "coverage_california": (_drawn("california_housing", 1000, with_target=True), 0.2),
    "coverage_manifold": (_manifold_of(1000), 0.2),
}


def is_table(name):
    return name in _TABLES


def load_table(name, data, split=0, toy=False):
    """A table by name, as `Problem`; a small manifold where a toy will do."""
    rows, share = _TABLES[name]
    if not toy:
        return with_missing(name, *rows(data, split), share, split)
    Y, X = manifold(_TOY_ROWS, split, 5)
    place = name in ("table_manifold", "coverage_manifold")
    return with_missing(name, Y, X if place else (X[:, 0] > 0).astype(float), share, split)
