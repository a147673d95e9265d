"""Problems of several outputs, of which some are not known; targets stay in their own units."""

from pathlib import Path

import numpy as np

from problems.problem import Problem

METALS = ("Cd", "Ni", "Zn")
_STRETCHES = 20
NOISE_STD = 0.3


def jura_hidden(data, split, toy):
    """Cadmium where it is held out, from itself elsewhere and from nickel and zinc everywhere."""
    X, y, test = _jura(data, toy)
    hidden = y.copy()
    hidden[test, 0] = np.nan
    wanted = np.full((test.sum(), y.shape[1]), np.nan)
    wanted[:, 0] = y[test, 0]
    return _problem("jura_hidden", X, hidden, X[test], wanted)


def jura_random(data, split, toy):
    """All three metals at a random sixth of the places, another one for each split."""
    X, y, _ = _jura(data, toy)
    test = np.zeros(len(X), dtype=bool)
    test[np.random.default_rng(split).permutation(len(X))[: len(X) // 6]] = True
    return _problem("jura_random", X[~test], y[~test], X[test], y[test])


def _jura(data, toy):
    if toy:
        rng = np.random.default_rng(0)
        X = rng.uniform(0.0, 5.0, (60, 2))
        y = np.sin(X[:, :1] + np.arange(3.0)) + 0.1 * rng.standard_normal((60, 3))
        return X, y, np.arange(60) % 4 == 0
    with np.load(Path(data) / "jura.npz") as table:
        columns = [list(table["target_names"]).index(name) for name in METALS]
        X, y = table["X"].astype(np.float64), table["Y"][:, columns].astype(np.float64)
        return X, y, table["test_mask"]


def drawn(split, toy):
    """Four outputs that mix two functions of one column.

    Returns inputs (n, 1), functions (n, 2), their weights in the outputs (4, 2), and the generator.
    """
    rng, n, length = np.random.default_rng(split), 600 if toy else 20_000, 10.0 if toy else 100.0
    x = np.sort(rng.uniform(0.0, length, n))
    g = np.column_stack([_waves(rng, x), _waves(rng, x)])
    return x[:, None], g, rng.standard_normal((4, 2)), rng


def _waves(rng, x, count=2000, at_once=200):
    """A draw from a Gaussian process with a squared exponential kernel of length scale 1."""
    frequency, phase = rng.standard_normal(count), rng.uniform(0.0, 2.0 * np.pi, count)
    weight, f = np.sqrt(2.0 / count) * rng.standard_normal(count), np.zeros(len(x))
    for lo in range(0, count, at_once):
        own = slice(lo, lo + at_once)
        f += np.cos(np.outer(x, frequency[own]) + phase[own]) @ weight[own]
    return f


def outputs_single(data, split, toy):
    """60 % of the targets are missing, each by itself.

    An output then has 80 rows for each length scale. With n rows for d degrees of freedom what it
    does not know of its function is d / n of the noise variance, so that nobody can gain more than
    log(1 + d / n) / 2 nats by the other outputs: 0.01 here, 0.5 only with fewer rows than d.
    """
    return _with_missing("outputs_single", split, toy, lambda rng, x: rng.random((len(x), 4)) < 0.6)


def outputs_stretches(data, split, toy):
    """Each output is missing in 12 of 20 stretches of the column, other ones for each.

    As a station that is silent for days: five length scales, of which the output itself says
    nothing.
    """

    def missing(rng, x):
        stretch = np.minimum((_STRETCHES * x / x.max()).astype(int), _STRETCHES - 1)
        return np.column_stack(
            [np.isin(stretch, rng.choice(_STRETCHES, 12, replace=False)) for _ in range(4)]
        )

    return _with_missing("outputs_stretches", split, toy, missing)


def _with_missing(name, split, toy, missing):
    X, g, mixing, rng = drawn(split, toy)
    f = g @ mixing.T
    y = f + NOISE_STD * rng.standard_normal(f.shape)
    gone = missing(rng, X[:, 0])
    known = ~gone.all(axis=1)  # nothing can be said of the other rows, together or alone
    X, y, gone = X[known], y[known], gone[known]
    wanted = np.where(gone, y, np.nan)
    rows = gone.any(axis=1)
    return _problem(name, X, np.where(gone, np.nan, y), X[rows], wanted[rows])


def _problem(name, X, y, X_test, y_test):
    return Problem(name, X, y, X_test, y_test, 1.0, X[:0])


SEVERAL = {
    made.__name__: made for made in (jura_hidden, jura_random, outputs_single, outputs_stretches)
}
