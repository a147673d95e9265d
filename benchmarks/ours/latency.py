"""Time from a call to its answer: one row, and a thousand, of each estimator with defaults."""

import time
import warnings

import numpy as np
from memory_of_methods import data, fitted
from protocol import emit, main
from sklearn.exceptions import ConvergenceWarning

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

_MODELS = {
    "SVGPRegressor()": (SVGPRegressor, {}),
    "SVGPRegressor(n_inducing=50)": (SVGPRegressor, {"n_inducing": 50}),
    "StreamingSGPRegressor()": (StreamingSGPRegressor, {}),
    "AnytimeSGPRegressor(model='fitc')": (AnytimeSGPRegressor, {"model": "fitc"}),
    "AnytimeSGPRegressor()": (AnytimeSGPRegressor, {}),
    "SVGPClassifier()": (SVGPClassifier, {}),
    "AnytimeSGPClassifier()": (AnytimeSGPClassifier, {}),
}


def names(_):
    emit(names=list(_MODELS))


def milliseconds(_, *, name, n, max_time, counts, seconds, **options):
    """Of calls that follow one another, on other rows each, after `n` rows were learned.

    The shortest is what the machine can do that has other work too; in models of near rows, one
    whose near rows were factorised before.
    """
    make, given = _MODELS[name]
    if make is not StreamingSGPRegressor:
        options["max_time"] = max_time
    classes = name.endswith("Classifier()")
    X, y = data(n + 20_000, classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fitted(make(random_state=0, **given, **options), X[:n], y[:n])
    uncertain = (
        model.predict_proba if classes else lambda rows: model.predict(rows, return_std=True)
    )
    for method, call in {"predict": model.predict, "uncertain": uncertain}.items():
        for count in counts:
            times = _times(call, X[n:], count, seconds)
            emit(method=method, rows=count, shortest=min(times), median=float(np.median(times)))


def _times(call, X, count, seconds):
    """Milliseconds of each call."""
    times, begin, start = [], time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        rows = X[start : start + count]
        start = (start + count) % (len(X) - count)
        called = time.perf_counter()
        call(rows)
        times.append(1e3 * (time.perf_counter() - called))
    return times


if __name__ == "__main__":
    main([names, milliseconds])
