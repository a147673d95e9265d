"""Seconds of fits with all defaults on made tables of some size."""

import time
import warnings

import numpy as np
from problems.synthetic import graded
from protocol import emit, main
from sklearn.base import is_classifier

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

_KINDS = {
    kind.__name__: kind
    for kind in (AnytimeSGPRegressor, AnytimeSGPClassifier, SVGPRegressor, SVGPClassifier)
}
_FIRST_SIZE = 60, 2  # of a fit that is not timed


def fits(_, *, kind, sizes, seeds, **options):
    """A fit of a table of each size and seed, after a small one that counts for nothing."""
    _seconds(kind, *_FIRST_SIZE, 0, options)
    for n, d in sizes:
        for seed in range(seeds):
            emit(n=n, d=d, seed=seed, seconds=_seconds(kind, n, d, seed, options))


def _seconds(kind, n, d, seed, options):
    model = _KINDS[kind](random_state=0, **options)
    X, y = graded(n, d, seed)
    if is_classifier(model):
        y = y > np.median(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.perf_counter()
        model.fit(X, y)
        return time.perf_counter() - begin


if __name__ == "__main__":
    main([fits])
