"""What needs no Gaussian process, on the same batches of real series.

With `one_ahead` each value is predicted when the one before it is known; without it, when what came
before its batch is. Spreads are of the last values before a batch, and predictions are normal.
"""

import time

import numpy as np
from problems.real_series import BATCH, HEAD, all_series, lagged
from protocol import allow, emit, main
from scoring import scores
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

_WINDOW = 48  # last errors that a spread is made of
_PENALTIES, _FOLDS = np.logspace(-3, 4, 20), 5
_LEAST_DEVIATION = 1e-6


def last_value(_, *, one_ahead, is_made):
    """The last value that is known, with the spread of changes over as many steps."""
    allow(window=_WINDOW)
    for series in all_series(is_made):
        _emit_scores(series, one_ahead, _earlier(series.values, 1))


def seasonal_last_value(_, *, one_ahead, is_made):
    """The last known value of the same season, where a series has one."""
    allow(window=_WINDOW)
    for series in all_series(is_made):
        if series.period is not None:
            _emit_scores(series, one_ahead, _earlier(series.values, series.period))


def linear(_, *, one_ahead, is_made):
    """Ridge regression on the lags of ours for each number of steps, refitted before each batch.

    The spread is that of five-fold residuals, whose folds are runs of neighbours.
    """
    allow(penalties=len(_PENALTIES), folds=_FOLDS, window=_WINDOW)
    for series in all_series(is_made):
        _emit_scores(series, one_ahead, _regressed(series))


def _emit_scores(series, one_ahead, predict):
    begin = time.perf_counter()
    parts = [predict(start, stop, one_ahead) for start, stop in series.batches() if start >= HEAD]
    mean, std = (np.concatenate(part) / series.scale for part in zip(*parts, strict=True))
    found = scores(series.values[HEAD:] / series.scale, mean, std)
    emit(series=series.name, **found, seconds=time.perf_counter() - begin)


def _steps(start, stop, one_ahead):
    """How many steps ahead each value of a batch is predicted."""
    return np.ones(stop - start, dtype=int) if one_ahead else np.arange(1, stop - start + 1)


def _spread(errors):
    return max(float(np.sqrt(np.mean(np.square(errors[-_WINDOW:])))), _LEAST_DEVIATION)


def _earlier(values, period):
    """Predict by the last known value that is whole periods before."""

    def predict(start, stop, one_ahead):
        lags = -(-_steps(start, stop, one_ahead) // period) * period
        std = [_spread(values[lag:start] - values[: start - lag]) for lag in lags]
        return values[np.arange(start, stop) - lags], np.array(std)

    return predict


def _regressed(series):
    """Predict by a linear model of the change over each number of steps."""
    by_steps = {ahead: lagged(series, ahead) for ahead in range(1, BATCH + 1)}

    def predict(start, stop, one_ahead):
        steps, mean, std = _steps(start, stop, one_ahead), [], []
        for ahead in np.unique(steps):
            rows, times = by_steps[ahead], start + np.flatnonzero(steps == ahead)
            past, now = rows.between(0, start), rows.between(times[0], times[-1] + 1)
            change, spread = _ridge(rows.X[past], rows.change[past], rows.X[now])
            mean.append(rows.known[now] + change)
            std.append(np.full(len(times), spread))
        return np.concatenate(mean), np.concatenate(std)

    return predict


def _ridge(X, y, X_new):
    model = make_pipeline(StandardScaler(), RidgeCV(_PENALTIES))
    residuals = y - cross_val_predict(model, X, y, cv=_FOLDS)
    return model.fit(X, y).predict(X_new), _spread(residuals)


if __name__ == "__main__":
    main([last_value, seasonal_last_value, linear])
