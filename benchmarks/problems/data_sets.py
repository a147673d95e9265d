"""The data sets and their splits, and the file in which a problem reaches every library.

All libraries read the same file: inputs and targets standardised by the training rows, float64, and
the inducing inputs from which they all start. Reading one needs numpy only.
"""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

# Of the synthetic problem, for inputs uniform in [-1, 1]; their standard deviation is 1 / sqrt(3).
LENGTH_SCALES = np.array([0.3, 0.5, 0.8, 1.0, 2.0, 4.0, 10.0, 10.0])
STANDARDISED_LENGTH_SCALES = LENGTH_SCALES * np.sqrt(3.0)
NOISE_STD = 0.3
N_SPLITS = 20


@dataclass(frozen=True)
class Problem:
    """Training and test rows, standardised by the training rows.

    Parameters
    ----------
    name : str
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        Standardised too; labels are numbers from 0, and counts stay what they are.
    X_test : ndarray of shape (n_test, d)
    y_test : ndarray of shape (n_test,)
    y_scale : float
        What one unit of y is in the units of the data set.
    Z : ndarray of shape (m, d)
        Inducing inputs to start from; no rows where nobody asked for them.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    y_scale: float
    Z: np.ndarray

    def save(self, path):
        np.savez(path, **asdict(self))

    @classmethod
    def read(cls, path):
        with np.load(path) as file:
            arrays = {key: file[key] for key in file.files}
        return cls(**{**arrays, "name": str(arrays["name"]), "y_scale": float(arrays["y_scale"])})


def _numbers(y, train):
    scale = float(y[train].std())
    return (y - y[train].mean()) / scale, scale


def _classes(y, train):
    return np.unique(y, return_inverse=True)[1], 1.0


def _counts(y, train):
    return y, 1.0


# What is done to targets that are not standardised
_TARGETS = {
    **dict.fromkeys(
        (
            "pendigits",
            "pendigits_as_drawn",
            "elec2",
            "elec2_prequential",
            "ionosphere",
            "sonar",
            "banana",
        ),
        _classes,
    ),
    "coal_mining": _counts,
}
# Streams that nobody can standardise by rows still to come: by so many of the first ones
_HEADS = {"elec2_prequential": 1000}
# Columns of one unit, which stays one: coordinates of a pen
_ONE_SCALE = ("pendigits_as_drawn",)


def standardised(name, X, y, test):
    """Problem from all rows and the mask of the test rows."""
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    known = X[~test][: _HEADS.get(name)]
    axis = None if name in _ONE_SCALE else 0
    mean, scale = known.mean(axis=axis), known.std(axis=axis)
    # a column of one value may have a deviation of rounding errors
    X = (X - mean) / np.where(np.ptp(known, axis=0) > 0, scale, 1.0)
    y, y_scale = _TARGETS.get(name, _numbers)(y, ~test)
    nothing = np.empty((0, X.shape[1]))
    return Problem(name, X[~test], y[~test], X[test], y[test], y_scale, nothing)


def with_inducing(problem, n_inducing):
    """The problem with the inducing inputs that our default, ``random_state=0``, starts from."""
    from sklearn_sgp._start import input_summary
    from sklearn_sgp.inducing import choose_inducing

    spread = input_summary(problem.X, None)[1]
    rng = np.random.RandomState(0)
    Z = choose_inducing("kmeans", problem.X, None, n_inducing, None, spread, rng)
    return replace(problem, Z=Z)


def synthetic(n=100_000, seed=0, name="synthetic"):
    """A draw from an 8-dimensional ARD squared exponential GP plus noise, a tenth for testing.

    2,000 random Fourier features, inputs uniform in [-1, 1], unit variance, noise sd 0.3.
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, len(LENGTH_SCALES)))
    frequencies = rng.standard_normal((len(LENGTH_SCALES), 2000)) / LENGTH_SCALES[:, None]
    phases = rng.uniform(0.0, 2.0 * np.pi, 2000)
    weights = np.sqrt(2.0 / 2000) * rng.standard_normal(2000)
    f = np.concatenate(
        [np.cos(X[lo : lo + 2000] @ frequencies + phases) @ weights for lo in range(0, n, 2000)]
    )
    y = f + NOISE_STD * rng.standard_normal(n)
    return standardised(name, X, y, random_tenth(n))


def in_classes(problem, n_classes):
    """The problem with targets cut into equally frequent classes."""
    edges = np.quantile(problem.y, np.arange(1, n_classes) / n_classes)
    y, y_test = (np.searchsorted(edges, part) for part in (problem.y, problem.y_test))
    return replace(problem, y=y, y_test=y_test, y_scale=1.0)


def noise_floor(n=2000, seed=0):
    """A smooth function of two inputs with almost no noise: sd 1e-6."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    y = np.sin(3.0 * X[:, 0]) + X[:, 0] * X[:, 1] + 1e-6 * rng.standard_normal(n)
    return standardised("noise floor", X, y, random_tenth(n))


def random_tenth(n):
    """Mask of a random tenth of the rows; always the same."""
    test = np.zeros(n, dtype=bool)
    test[np.random.default_rng(0).permutation(n)[: n // 10]] = True
    return test


def _airline(table, split):
    """700,000 / 100,000 as in Hensman et al. (2013)."""
    return table["split"] > 0, table["split"] == 2


def _airline_720k(table, split):
    """The same 800,000 flights, a random tenth for testing."""
    used = table["split"] > 0
    test = np.zeros(len(used), dtype=bool)
    test[np.flatnonzero(used)[random_tenth(used.sum())]] = True
    return used, test


def _random_twentieth(table, split):
    """5 % of all rows for testing, another random choice for each split."""
    n = len(table["y"])
    test = np.zeros(n, dtype=bool)
    test[np.random.default_rng(split).permutation(n)[: n // 20]] = True
    return slice(None), test


def _first_30000(table, split):
    """A stream: what comes later is for testing."""
    return slice(None), np.arange(len(table["y"])) >= 30_000


def _none(table, split):
    """A stream: every row is tested before it is learned from."""
    return slice(None), np.zeros(len(table["y"]), dtype=bool)


def _random_tenths(table, split):
    """Another random tenth for each split; the first is the `test_mask` of files that have one."""
    n = len(table["y"])
    test = np.zeros(n, dtype=bool)
    test[np.random.default_rng(split).permutation(n)[: round(0.1 * n)]] = True
    return slice(None), test


def _fold(table, split):
    return slice(None), table["fold"] == split


def _standard_splits(table, split):
    return slice(None), table["test_masks"][:, split]


def _test_mask(table, split):
    return slice(None), table["test_mask"]


# name: file, and the rule that gives the rows used and the mask of the test rows among all rows
_FILES = {
    "airline": ("airline_2008", _airline),
    "airline_720k": ("airline_2008", _airline_720k),
    "airline_all": ("airline_2008", _random_twentieth),
    "sea_level_pressure": ("slp_natl_2001_2010", _random_twentieth),
    "kin40k": ("kin40k", _fold),
    "california_housing": ("california_housing", _test_mask),
    "uk_house_price": ("uk_house_price_2014", _test_mask),
    **{name: ("pendigits", _test_mask) for name in ("pendigits", "pendigits_as_drawn")},
    "elec2": ("elec2_stream", _first_30000),
    "elec2_prequential": ("elec2_stream", _none),
    "banana": ("banana", _test_mask),
    **{
        name: (name, _test_mask) for name in ("pseudo_periodic", "speech_subband", "terrain50_ny20")
    },
    **{name: (name, _random_tenths) for name in ("ionosphere", "sonar", "coal_mining", "mcycle")},
    **{
        name: (name, _standard_splits)
        for name in ("concrete", "energy", "wine_red", "yacht", "power_plant", "kin8nm")
    },
}


# Synthetic problems whose targets are cut into so many classes
_SYNTHETIC = {"synthetic": None, "synthetic_2": 2, "synthetic_10": 10}


def load(name, data, split=0, toy=False):
    """A problem by name.

    Parameters
    ----------
    name : str
        "noise_floor", a key of ``_SYNTHETIC`` or one of ``_FILES``.
    data : Path or None
        Folder of the data files, for a key of ``_FILES``.
    split : int
        Which of the splits, where there are several.
    toy : bool
        Whether a small synthetic problem with targets of the same kind will do.

    Returns
    -------
    problem : Problem
    """
    if name == "noise_floor":
        return noise_floor(300 if toy else 2000)
    if toy:
        return _toy(name, split)
    if name in _SYNTHETIC:
        n_classes = _SYNTHETIC[name]
        return synthetic() if n_classes is None else in_classes(synthetic(name=name), n_classes)
    file, rule = _FILES[name]
    with np.load(Path(data) / f"{file}.npz") as stored:
        table = {key: stored[key] for key in stored.files}
    used, test = rule(table, split)
    return standardised(name, table["X"][used], table["y"][used], test[used])


def _toy(name, split):
    problem = replace(synthetic(180, seed=split), name=name)
    targets = _TARGETS.get(name)
    if targets is None and _SYNTHETIC.get(name) is None:
        return problem
    return in_classes(problem, _SYNTHETIC.get(name) or (10 if name.startswith("pendigits") else 2))
