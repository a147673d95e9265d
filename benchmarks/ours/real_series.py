"""`StreamingSGPRegressor` with its defaults on real series: test, then train.

The inputs are the two that docs/guide/forecasts.md recommends.
"""

import time
import warnings

import numpy as np
from problems.real_series import HEAD, all_series, lagged, timed
from protocol import emit, main
from scoring import by_density

from sklearn_sgp import StreamingSGPRegressor

_BAND = (0.05, 0.95)


def lags(_, *, is_made, **options):
    """Columns are the last changes, the target is the change to the next value."""
    for series in all_series(is_made):
        _emit_scores(series, lagged(series), options)


def times(_, *, is_made, **options):
    """The column is time, and all of the next batch lies ahead."""
    for series in all_series(is_made):
        _emit_scores(series, timed(series), options)


def _emit_scores(series, rows, options):
    model, seconds = StreamingSGPRegressor(random_state=0, **options), 0.0
    tested = []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for start, stop in series.batches():
            part = rows.between(start, stop)
            if start >= HEAD:
                tested.append(_tested(model, rows.X[part], rows.change[part]))
            begin = time.perf_counter()
            model.partial_fit(rows.X[part], rows.change[part])
            seconds += time.perf_counter() - begin
    mean, log_density, covered = (np.concatenate(of_all) for of_all in zip(*tested, strict=True))
    ahead, scale = rows.between(HEAD, len(series.values)), series.scale
    found = by_density(
        series.values[HEAD:] / scale,
        (rows.known[ahead] + mean) / scale,
        log_density + np.log(scale),
        covered,
    )
    told = [str(one.message)[:80].rsplit(" ", 1)[0] for one in said]
    emit(series=series.name, values=len(series.values), **found, seconds=seconds, warnings=told)


def _tested(model, X, y):
    """Mean, log density, and whether the band holds the target, of each row."""
    low, high = np.asarray(model.predict_quantiles(X, _BAND)).T
    return model.predict(X), model.log_density(X, y), (low <= y) & (y <= high)


if __name__ == "__main__":
    main([lags, times])
