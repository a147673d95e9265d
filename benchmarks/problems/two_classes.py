"""Tables of two classes: pairs of digits that look alike, and two that are made."""

from dataclasses import replace

import numpy as np
from scipy.special import expit

from problems.standardise import standardised
from problems.synthetic import random_test

_TESTED = 0.3  # of the rows of tables that are made

# Of the digits of a pen: those that look alike
ALIKE = ((1, 2), (1, 7), (5, 9))
ODD, GAMMAS, SMALL_CLUSTERS = "digits_odd_or_even", "gammas", "small_clusters"


def pair_name(first, second):
    return f"pendigits_{first}_or_{second}"


def load_two_classes(name, load, split):
    """A table of two classes by name, or None.

    Parameters
    ----------
    name : str
    load : callable
        ``load(name, split)``: the problem of many classes that its rows are from.
    split : int
        Seed of those that are made.
    """
    made = {GAMMAS: gammas, SMALL_CLUSTERS: small_clusters}
    if name in made:
        return made[name](seed=split)
    if name == ODD:
        return odd(load("digits", split))
    pairs = {pair_name(*pair): pair for pair in ALIKE}
    if name in pairs:
        return pair(load("pendigits_in_one_unit", split), *pairs[name])
    return None


def pair(problem, first, second):
    """The rows of two classes of a problem of many; the second class is 1."""

    def rows(X, y):
        own = (y == first) | (y == second)
        return X[own], (y[own] == second).astype(int)

    (X, y), (X_test, y_test) = rows(problem.X, problem.y), rows(problem.X_test, problem.y_test)
    return replace(problem, name=pair_name(first, second), X=X, y=y, X_test=X_test, y_test=y_test)


def odd(problem):
    """Whether a digit is odd."""
    return replace(problem, name=ODD, y=problem.y % 2, y_test=problem.y_test % 2)


def gammas(n=17_000, d=10, seed=0):
    """Two classes of gamma distributed columns that overlap, with a border that is rough in places.

    Columns of a class share a factor, the second class has larger shapes, and where two columns
    are large the label also depends on a fast function of both.
    """
    rng = np.random.default_rng(seed)
    shape = rng.uniform(1.0, 4.0, d)
    y = rng.random(n) < 0.35
    shared = rng.gamma(4.0, 0.25, n)[:, None]
    X = shared * rng.gamma(shape * np.where(y[:, None], 1.3, 1.0))
    logs = np.log(X + 0.05)
    fast = np.sin(3.0 * logs[:, 0]) * np.sin(3.0 * logs[:, 1])
    flipped = rng.random(n) < 0.5 * expit(8.0 * (fast - 0.6))
    return standardised(GAMMAS, logs, (y ^ flipped).astype(float), random_test(n, _TESTED, seed))


def small_clusters(n=5_000, d=5, clusters=80, seed=0):
    """Many small clusters, each with its own share of the second class."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(clusters, d))
    spread = rng.gamma(4.0, 0.08, (clusters, d))
    share = rng.beta(0.3, 0.5, clusters)
    own = rng.integers(0, clusters, n)
    X = centres[own] + spread[own] * rng.normal(size=(n, d))
    y = (rng.random(n) < share[own]).astype(float)
    return standardised(SMALL_CLUSTERS, X, y, random_test(n, _TESTED, seed))
