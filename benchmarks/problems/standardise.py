"""What is done to inputs and targets: standardised by the training rows, or left as they are."""

from dataclasses import replace

import numpy as np

from problems.problem import Problem


def _numbers(y, train):
    scale = float(y[train].std())
    return (y - y[train].mean()) / scale, scale


def _classes(y, train):
    return np.unique(y, return_inverse=True)[1], 1.0


def _counts(y, train):
    return y, 1.0


# What is done to targets that are not standardised, by name of the problem
TARGETS = {
    **dict.fromkeys(
        (
            "pendigits",
            "elec2",
            "elec2_prequential",
            "ionosphere",
            "sonar",
            "banana",
            "digits",
            "pendigits_in_one_unit",
            "oil_flow",
            "banana_random",
            "ionosphere_random",
            "sonar_random",
            "elec2_random",
            "gammas",
            "small_clusters",
        ),
        _classes,
    ),
    "coal_mining": _counts,
}
# Pixels, coordinates of a pen, echoes: columns of one unit, which are divided by one number
_IN_ONE_UNIT = {"digits", "pendigits_in_one_unit", "ionosphere_random", "sonar_random"}
# Streams that nobody can standardise by rows still to come: by so many of the first ones
_HEADS = {"elec2_prequential": 1000}


def standardised(name, X, y, test):
    """Problem from all rows and the mask of the test rows."""
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    known = X[~test][: _HEADS.get(name)]
    mean, scale = known.mean(axis=0), known.std(axis=0)
    if name in _IN_ONE_UNIT:
        scale = np.full(len(mean), np.sqrt((scale**2).mean()))
    # a column of one value may have a deviation of rounding errors
    X = (X - mean) / np.where(np.ptp(known, axis=0) > 0, scale, 1.0)
    encode = _classes if name.startswith("mixture_") else TARGETS.get(name, _numbers)
    y, y_scale = encode(y, ~test)
    nothing = np.empty((0, X.shape[1]))
    return Problem(name, X[~test], y[~test], X[test], y[test], y_scale, nothing)


def in_classes(problem, n_classes):
    """The problem with targets cut into equally frequent classes."""
    edges = np.quantile(problem.y, np.arange(1, n_classes) / n_classes)
    y, y_test = (np.searchsorted(edges, part) for part in (problem.y, problem.y_test))
    return replace(problem, y=y, y_test=y_test, y_scale=1.0)
