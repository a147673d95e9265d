"""Rows that models learn from in `same_bits`: inputs, targets, weights, labels, memory layouts."""

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Rows:
    """Rows of a table, of which models get parts.

    Parameters
    ----------
    X : ndarray or DataFrame
    y : ndarray or None
    weight, labels : ndarray or None
        Labels of blocks are numbers.
    """

    X: object
    y: object
    weight: object = None
    labels: object = None

    def __len__(self):
        return len(self.X)

    def select(self, low, high):
        """Take rows of consecutive numbers."""
        frame = isinstance(self.X, pd.DataFrame)
        X = self.X.iloc[low:high] if frame else self.X[low:high]
        others = (self.y, self.weight, self.labels)
        return Rows(X, *(None if part is None else part[low:high] for part in others))

    def counts(self):
        """Make weights for scores."""
        return 1.0 + np.arange(len(self)) % 3

    def part(self, values, layout):
        """Lay out targets or weights."""
        if values is None or not layout.startswith("dask"):
            return values
        if layout == "dask":
            return in_chunks(values)
        return in_partitions(pd.Series(values, index=self.X.index, name="values"))

    def laid_out(self, layout):
        """Lay out inputs and labels: C, F, float32, list, dask or dask frame."""
        if layout == "F":
            return np.asfortranarray(self.X), self.labels
        if layout == "float32":
            return self.X.astype(np.float32), self.labels
        if layout == "list":
            return self.X.tolist(), self.labels
        if layout == "dask":
            labels = None if self.labels is None else in_chunks(self.labels)
            return in_chunks(self.X), labels
        if layout == "dask frame":
            return in_partitions(self.X), self.labels
        return self.X, self.labels


def in_chunks(values, size=700):
    """Make a dask array of chunks of rows."""
    import dask.array as da

    return da.from_array(values, chunks=(size, *values.shape[1:]))


def in_partitions(values, count=4):
    """Make a dask dataframe or series of a few partitions."""
    import dask.dataframe as dd

    return dd.from_pandas(values, npartitions=count)


def with_column(X, labels):
    """Append the labels of blocks as the last column."""
    if isinstance(X, pd.DataFrame):
        return X.assign(block=labels)
    if isinstance(X, np.ndarray):
        return np.column_stack([X, labels])
    import dask.array as da

    return da.concatenate([X, labels[:, None].astype(X.dtype)], axis=1)


# Tables ------------------------------------------------------------------------------------------


def _inputs(rng, n, d):
    return rng.uniform(-2.0, 2.0, (n, d))


def _signal(X):
    f = np.sin(3.0 * X[:, 0])
    return f if X.shape[1] == 1 else f + 0.5 * X[:, 1] * np.cos(X[:, -1])


def wave(rng, n, d=2):
    """Numbers of a smooth function with noise."""
    X = _inputs(rng, n, d)
    return X, _signal(X) + 0.1 * rng.standard_normal(n)


def line(rng, n):
    """The same in one column."""
    return wave(rng, n, 1)


def wide(rng, n):
    """The same in twelve columns."""
    return wave(rng, n, 12)


def four(rng, n):
    """Numbers with a rough part in some of four columns."""
    X, y = wave(rng, n, 4)
    return X, y + 0.5 * np.sin(40.0 * X[:, 2])


def far(rng, n):
    """Numbers in other units."""
    X, y = wave(rng, n)
    return 1e3 + 10.0 * X, 1e5 - 250.0 * y


def skewed(rng, n):
    """Numbers whose logarithms have the noise."""
    X, y = wave(rng, n)
    return X, np.exp(1.5 * y)


def outliers(rng, n):
    """Numbers with heavy tails."""
    X = _inputs(rng, n, 1)
    return X, _signal(X) + 0.1 * rng.standard_t(2.5, n)


def noisy(rng, n):
    """Numbers whose noise grows with the input."""
    X = _inputs(rng, n, 1)
    return X, _signal(X) + 0.1 * np.exp(X[:, 0]) * rng.standard_normal(n)


def noisy_outliers(rng, n):
    """Numbers whose noise grows with the input and has heavy tails."""
    X = _inputs(rng, n, 1)
    return X, _signal(X) + 0.1 * np.exp(X[:, 0]) * rng.standard_t(2.5, n)


def counts(rng, n):
    """Counts of a rate that moves."""
    X = _inputs(rng, n, 1)
    rate = np.exp(1.0 + _signal(X))
    return X, rng.negative_binomial(2.0, 2.0 / (2.0 + rate)).astype(float)


def two_counts(rng, n):
    """Two columns of counts."""
    X, y = counts(rng, n)
    return X, np.column_stack([y, rng.poisson(2.0 + X[:, 0])]).astype(float)


def outputs(rng, n, t=2):
    """Several columns of numbers with noise of their own."""
    X = _inputs(rng, n, 2)
    g = np.column_stack([_signal(X), np.cos(2.0 * X[:, 1]), X[:, 0]])
    noise = 0.05 * (1.0 + np.arange(t)) * rng.standard_normal((n, t))
    return X, g @ np.array([[1.0, 0.5, 2.0], [0.3, -1.0, 1.0], [0.0, 0.2, -0.5]])[:, :t] + noise


def mixed(rng, n):
    """Three columns of numbers, where some were not observed."""
    X, y = outputs(rng, n, 3)
    y[rng.random(y.shape) < 0.2] = np.nan
    y[1::17] = np.nan
    return X, y


def skewed_outputs(rng, n):
    """Two columns of numbers, one of which is skewed."""
    X, y = outputs(rng, n)
    return X, np.column_stack([np.exp(y[:, 0]), y[:, 1]])


def repeated(rng, n):
    """Inputs that come several times."""
    X, _ = wave(rng, n)
    X = np.round(X)
    return X, _signal(X) + 0.1 * rng.standard_normal(n)


def close(rng, n):
    """Inputs so close to one another that the jitter must be raised."""
    X = np.repeat(_inputs(rng, 3, 2), -(-n // 3), axis=0)[:n] + 1e-9 * _inputs(rng, n, 2)
    return X, _signal(X) + 0.1 * rng.standard_normal(n)


def constant(rng, n):
    """Targets without variance."""
    return _inputs(rng, n, 2), np.full(n, 3.0)


def noise(rng, n):
    """Targets that do not depend on the inputs for 100 rows, and do then."""
    X, y = wave(rng, n)
    return X, np.where(np.arange(n) < 100, rng.standard_normal(n), 3.0 * y)


def jumps(rng, n):
    """Targets that are much larger after 100 rows."""
    X, y = wave(rng, n)
    return X, np.where(np.arange(n) < 100, y, 30.0 + 5.0 * y)


def broken(rng, n):
    """Readings of which every fortieth is broken after 120 rows."""
    X, y = wave(rng, n, 1)
    return X, np.where((np.arange(n) > 120) & (np.arange(n) % 40 == 7), -9999.0, y)


def smooth(rng, n):
    """Numbers without noise."""
    X, _ = wave(rng, n)
    return X, _signal(X)


def fast(rng, n):
    """Numbers of a function of many waves in one column."""
    X = _inputs(rng, n, 1)
    return X, np.sin(60.0 * X[:, 0]) + 0.1 * rng.standard_normal(n)


def one_axis_more(rng, n):
    """Targets as one column."""
    X, y = wave(rng, n)
    return X, y[:, None]


def bump(rng, n):
    """Numbers whose noise is large in the middle."""
    X = rng.uniform(0.0, 10.0, (n, 1))
    noise = 0.05 + 0.3 * np.exp(-0.5 * (X[:, 0] - 6.0) ** 2)
    return X, np.sin(X[:, 0]) + noise * rng.standard_normal(n)


def uneven(rng, n):
    """Numbers of a function that is smooth on one side and not on the other."""
    X = rng.uniform(0.0, 10.0, (n, 1))
    f = np.sin(X[:, 0]) + np.where(X[:, 0] > 6.0, np.sin(50.0 * X[:, 0]), 0.0)
    return X, f + 0.05 * rng.standard_normal(n)


def _labels(names, bounds):
    def table(rng, n):
        X = _inputs(rng, n, 2)
        y = _signal(X) + 0.4 * rng.standard_normal(n)
        return X, np.array(names)[np.digitize(y, bounds)]

    return table


def late_class(rng, n):
    """Labels of one class in the first rows, and of three later."""
    X, y = TABLES["three"](rng, n)
    return X, np.where(np.arange(n) < 40, "b", y)


def rare_class(rng, n):
    """Labels of which one comes once."""
    X, y = TABLES["two"](rng, n)
    return X, np.where(np.arange(n) == 5, "once", y)


def places(rng, n, kind="object"):
    """A data frame of a number, a category whose later rows have new values, and a number."""
    X, _ = wave(rng, n)
    known = np.where(np.arange(n) < 100, 5, 7)
    code = rng.integers(0, known)
    names = ["Aix", "Brest", "Caen", "Dax", "Evry", "Foix", "Gap"]  # codespell:ignore evry
    names = np.array(names, dtype=object)
    y = _signal(X) * np.where(code % 2, 1.0, -0.5) + 0.3 * code + 0.1 * rng.standard_normal(n)
    frame = pd.DataFrame({"x": X[:, 0], "place": names[code], "z": X[:, 1]})
    return frame.astype({"place": kind}), y


def typed_places(rng, n):
    """The same with pandas' type of categories."""
    return places(rng, n, "category")


def place_labels(rng, n):
    """The same with labels."""
    X, y = places(rng, n)
    return X, np.where(y > np.median(y), "high", "low")


def codes(rng, n):
    """Categories as numbers in the second column, some missing."""
    X, y = wave(rng, n)
    X[:, 1] = rng.integers(0, 4, n)
    y = y + X[:, 1]
    X[::19, 1] = np.nan
    return X, y


def many_codes(rng, n):
    """Forty categories in the second column."""
    X, y = wave(rng, n)
    X[:, 1] = rng.integers(0, 40, n)
    return X, y + np.sin(X[:, 1])


def frame(rng, n):
    """A data frame of numbers."""
    X, y = wave(rng, n)
    return pd.DataFrame(X, columns=["a", "b"]), y


def curve(rng, n):
    """Five columns that follow a curve."""
    t = rng.uniform(-2.0, 2.0, n)
    Y = np.column_stack([np.sin(t), np.cos(t), t, t**2, np.sin(2.0 * t)])
    return Y + 0.1 * rng.standard_normal(Y.shape), None


def curve_with_holes(rng, n):
    """The same, where a tenth of the values is missing."""
    Y, _ = curve(rng, n)
    Y[rng.random(Y.shape) < 0.1] = np.nan
    return Y, None


def curve_with_constants(rng, n):
    """The same with a column that varies only after 90 rows."""
    Y, _ = curve(rng, n)
    Y[:90, 1] = 2.0
    return Y, None


def curve_frame(rng, n):
    """A data frame of the five columns."""
    return pd.DataFrame(curve(rng, n)[0], columns=list("pqrst")), None


TABLES = {
    table.__name__: table
    for table in (
        *(wave, line, wide, four, far, skewed, outliers, noisy, noisy_outliers),
        *(counts, two_counts, outputs, mixed, skewed_outputs, repeated, close, constant, noise),
        *(jumps, broken, smooth, fast, one_axis_more, bump, uneven, late_class, rare_class),
        *(places, typed_places, place_labels, codes, many_codes, frame),
        *(curve, curve_with_holes, curve_with_constants, curve_frame),
    )
} | {
    "two": _labels(["no", "yes"], [0.1]),
    "three": _labels(["a", "b", "c"], [-0.5, 0.5]),
    "five": _labels([10, 20, 30, 40, 50], [-0.9, -0.3, 0.3, 0.9]),
    "truth": _labels([False, True], [0.4]),
}

# Weights and labels ------------------------------------------------------------------------------

WEIGHTS = {
    None: lambda rng, n: None,
    "some zero": lambda rng, n: rng.choice([0.0, 1.0, 2.0], n),
    "random": lambda rng, n: rng.gamma(2.0, 0.5, n),
    "precisions": lambda rng, n: 1.0 / rng.uniform(0.05, 0.3, n) ** 2,
    "all zero": lambda rng, n: np.zeros(n),
}


def block_labels(X, n_labels, n_new, in_runs):
    """Number blocks by the first column, or by runs of 100 rows; some new rows are in no block."""
    if in_runs:
        labels = np.arange(len(X)) // 100
        labels[-n_new:] = np.arange(n_new) % (n_labels + 1)
        return labels
    first = np.asarray(X)[:, 0].astype(float)
    labels = np.floor((first - first.min()) / np.ptp(first) * (n_labels - 1e-9)).astype(int)
    labels[-n_new::7] = 99
    return labels


def rows_of(case, n_new):
    """Make all rows of a case: those of its fit and of later batches, and new ones."""
    rng = np.random.default_rng(case.seed)
    n = case.n + sum(case.later) + n_new
    X, y = TABLES[case.table](rng, n)
    weight = WEIGHTS[case.weight](rng, n)
    labels = (
        None if case.labels is None else block_labels(X, case.labels, n_new, case.layout == "dask")
    )
    return Rows(X, y, weight, labels)
