"""Problems by name: the files of data sets, which rows of them are used, which are for testing."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from problems.several_outputs import SEVERAL
from problems.standardise import TARGETS, in_classes, standardised
from problems.synthetic import mixture, noise_floor, random_tenth, random_test, synthetic
from problems.tables import is_table, load_table
from problems.two_classes import load_two_classes


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


def _cut(rows):
    """So many random rows, others for each split, 5 % of them for testing."""

    def rule(table, split):
        n = len(table["y"])
        used = np.random.default_rng(split).permutation(n)[:rows]
        test = np.zeros(n, dtype=bool)
        test[used[: rows // 20]] = True
        return used, test

    return rule


def _first_30000(table, split):
    """A stream: what comes later is for testing."""
    return slice(None), np.arange(len(table["y"])) >= 30_000


def _none(table, split):
    """A stream: every row is tested before it is learned from."""
    return slice(None), np.zeros(len(table["y"]), dtype=bool)


def _random_tenths(table, split):
    """Another random tenth for each split, of files that have no split of their own."""
    return slice(None), random_test(len(table["y"]), 0.1, split)


def _tenth_fold(table, split):
    """One of ten folds, the same for everyone."""
    n = len(table["y"])
    return slice(None), np.random.default_rng(0).permutation(n) % 10 == split


def _three_tenths(table, split):
    """A random 30 % of all rows for testing, another choice for each split."""
    return slice(None), random_test(len(table["y"]), 0.3, split)


def _three_tenths_of_30000(table, split):
    """The same of the first 30,000 rows."""
    _, test = _three_tenths({"y": table["y"][:30_000]}, split)
    return slice(30_000), np.append(test, np.zeros(len(table["y"]) - 30_000, dtype=bool))


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
    "airline_100k": ("airline_2008", _cut(100_000)),
    "airline_30k": ("airline_2008", _cut(30_000)),
    "pressure_30k": ("slp_natl_2001_2010", _cut(30_000)),
    "sea_level_pressure": ("slp_natl_2001_2010", _random_twentieth),
    "kin40k": ("kin40k", _fold),
    "pol": ("pol", _fold),
    "pumadyn32nm": ("pumadyn32nm", _test_mask),
    "california_housing": ("california_housing", _test_mask),
    "uk_house_price": ("uk_house_price_2014", _test_mask),
    "pendigits": ("pendigits", _test_mask),
    "pendigits_in_one_unit": ("pendigits", _test_mask),
    "elec2": ("elec2_stream", _first_30000),
    "elec2_prequential": ("elec2_stream", _none),
    "banana": ("banana", _test_mask),
    **{
        name: (name, _test_mask)
        for name in ("pseudo_periodic", "speech_subband", "terrain50_ny20", "ionosphere", "sonar")
    },
    "oil_flow": ("oil_flow", _three_tenths),
    **{f"{name}_random": (name, _three_tenths) for name in ("banana", "ionosphere", "sonar")},
    "elec2_random": ("elec2_stream", _three_tenths_of_30000),
    **{name: (name, _random_tenths) for name in ("coal_mining", "mcycle")},
    "mcycle_folds": ("mcycle", _tenth_fold),
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
        "noise_floor", "digits", "mixture_C" of C classes, a table of `tables` or of `two_classes`,
        a key of ``SEVERAL``, of ``_SYNTHETIC`` or of ``_FILES``.
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
    if is_table(name):
        return load_table(name, data, split, toy)
    if name == "noise_floor":
        return noise_floor(300 if toy else 2000)
    if name in SEVERAL:
        return SEVERAL[name](data, split, toy)
    if toy:
        return _toy(name, split)
    if name in _SYNTHETIC:
        n_classes = _SYNTHETIC[name]
        return synthetic() if n_classes is None else in_classes(synthetic(name=name), n_classes)
    if two := load_two_classes(name, lambda name, split: load(name, data, split), split):
        return two
    if name == "digits":
        return _digits(split)
    if name.startswith("mixture_"):
        return mixture(int(name.removeprefix("mixture_")), seed=split)[0]
    file, rule = _FILES[name]
    with np.load(Path(data) / f"{file}.npz") as stored:
        table = {key: stored[key] for key in stored.files}
    used, test = rule(table, split)
    return standardised(name, table["X"][used], table["y"][used], test[used])


def _digits(split):
    """Those of scikit-learn, a random 30 % for testing."""
    from sklearn.datasets import load_digits  # where this page is only read it is not needed

    X, y = load_digits(return_X_y=True)
    _, test = _three_tenths({"y": y}, split)
    return standardised("digits", X, y, test)


def _toy(name, split):
    if name.startswith("mixture_"):
        return mixture(int(name.removeprefix("mixture_")), 200, split, 3, 60)[0]
    problem = replace(synthetic(180, seed=split), name=name)
    targets = TARGETS.get(name)
    if targets is None and _SYNTHETIC.get(name) is None:
        return problem
    return in_classes(problem, _SYNTHETIC.get(name) or (10 if "digits" in name else 2))
