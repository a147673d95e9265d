"""Peak memory of each public method beyond its arguments and its answer, with growing rows."""

import warnings
from itertools import product

import numpy as np
from meters import PeakMemory, Stopwatch
from protocol import emit, main
from sklearn.exceptions import ConvergenceWarning

from sklearn_sgp import (
    AnytimeSGPClassifier,
    AnytimeSGPRegressor,
    BayesianGPLVM,
    StreamingSGPClassifier,
    StreamingSGPRegressor,
    SVGPClassifier,
    SVGPRegressor,
)

_COLUMNS, _BATCH = 8, 10_000
_REGRESSION = ("predict", "predict_std", "predict_quantiles", "log_density", "noise_std")
_CLASSES = ("predict", "predict_proba", "log_density")
_MODELS = {
    "SVGPRegressor()": (SVGPRegressor, {}, _REGRESSION),
    "SVGPRegressor(likelihood='heteroscedastic')": (
        SVGPRegressor, {"likelihood": "heteroscedastic"}, _REGRESSION,
    ),
    "SVGPClassifier()": (SVGPClassifier, {}, _CLASSES),
    "AnytimeSGPRegressor(model='fitc')": (AnytimeSGPRegressor, {"model": "fitc"}, _REGRESSION),
    "AnytimeSGPRegressor(model='pic')": (AnytimeSGPRegressor, {"model": "pic"}, _REGRESSION),
    "AnytimeSGPRegressor(model='lma')": (AnytimeSGPRegressor, {"model": "lma"}, _REGRESSION),
    "AnytimeSGPRegressor()": (AnytimeSGPRegressor, {}, _REGRESSION),
    "AnytimeSGPClassifier()": (AnytimeSGPClassifier, {}, _CLASSES),
    "StreamingSGPRegressor()": (StreamingSGPRegressor, {}, _REGRESSION),
    "StreamingSGPClassifier()": (StreamingSGPClassifier, {}, _CLASSES),
    "BayesianGPLVM()": (BayesianGPLVM, {}, ("transform", "score_samples", "impute")),
}  # fmt: skip
_LIMITED = tuple(name for name in _MODELS if not name.startswith("Streaming"))


def data(n, classes):
    """Rows of eight columns in float32, and a target with noise, or two classes."""
    rng = np.random.default_rng(0)
    X = rng.random((n, _COLUMNS), dtype=np.float32)
    y = np.sin(6.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    y += 0.3 * rng.standard_normal(n, dtype=np.float32)
    return X, (y > 0.5).astype(np.int64) if classes else y


def fitted(model, X, y):
    """In batches where the estimator is one for streams."""
    if not hasattr(model, "max_time"):
        options = {} if y.dtype != np.int64 else {"classes": [0, 1]}
        for lo in range(0, len(X), _BATCH):
            rows = slice(lo, lo + _BATCH)
            model.partial_fit(X[rows], y[rows], **(options if lo == 0 else {}))
        return model
    return model.fit(X) if isinstance(model, BayesianGPLVM) else model.fit(X, y)


def names(_):
    emit(names=list(_MODELS))


def megabytes(_, *, name, n, predicted, max_time, **options):
    """Of a fit to `n` rows, and of each method for so many rows as `predicted` lists."""
    make, given, methods = _MODELS[name]
    if name in _LIMITED:
        options["max_time"] = max_time
    X, y = data(n, methods is _CLASSES)
    model = make(random_state=0, **given, **options)
    watch = Stopwatch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with PeakMemory() as peak:
            fitted(model, X, y)
    emit(method="fit", rows=n, megabytes=peak.megabytes, seconds=watch.seconds())
    for method, count in product(methods, predicted):
        Xt, yt = X[:count], y[:count]
        arguments = (Xt, yt) if method == "log_density" else (Xt,)
        watch = Stopwatch()
        with PeakMemory() as peak:
            answer = getattr(model, method)(*arguments)
        size = sum(np.asarray(part).nbytes for part in np.atleast_1d(answer)) / 2**20
        emit(method=method, rows=len(Xt), megabytes=peak.megabytes, answer=size,
             seconds=watch.seconds())  # fmt: skip


if __name__ == "__main__":
    main([names, megabytes])
