"""Columns of inputs as places on an axis: numbers, dates, and categories."""

import datetime
import numbers

import numpy as np

_DAY = np.timedelta64(1, "D") / np.timedelta64(1, "ns")
_MOST_TICKS = 20  # that a picture has room for


def is_missing(value):
    """Return True for None, NaN, NaT, and pandas' NA, which is not equal to anything."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


class Numbers:
    """A column of numbers, whose places they are."""

    names = None

    def places(self, values):
        """Return a place for each value, NaN where it is missing."""
        return np.array([np.nan if is_missing(v) else float(v) for v in values], dtype=np.float64)

    def values(self, places):
        """Return the values at places."""
        return places

    def grid(self, low, high, resolution):
        """Return places a little beyond these two."""
        margin = 0.05 * (high - low) if high > low else 1.0
        return np.linspace(low - margin, high + margin, resolution)

    def middle(self, places):
        """Return the place at which the column is held, for places of which one is known."""
        return float(np.nanmedian(places))

    def draw(self, axis):
        """Make an axis of matplotlib one of such values."""


class Dates(Numbers):
    """A column of dates, whose places are days since 1970, as matplotlib has them.

    Dates of a time zone are those of UTC.
    """

    def places(self, values):
        """Return a place for each value, NaN where it is missing."""
        values = np.asarray(values)
        if values.dtype.kind == "O":
            values = [_without_zone(value) for value in values]
        dates = np.asarray(values, dtype="datetime64[ns]")
        days = dates.astype(np.int64) / _DAY
        return np.where(np.isnat(dates), np.nan, days)

    def values(self, places):
        """Return the values at places."""
        nanoseconds = np.round(np.where(np.isnan(places), 0.0, places) * _DAY).astype(np.int64)
        dates = nanoseconds.astype("datetime64[ns]")
        return np.where(np.isnan(places), np.datetime64("NaT"), dates)

    def draw(self, axis):
        """Make an axis of matplotlib one of such values."""
        axis.axis_date()


class Categories:
    """A column of categories, whose places are their numbers.

    Parameters
    ----------
    values : sequence
        The categories in their order; None stands for missing values.
    """

    def __init__(self, values):
        self.names = list(values)
        self.codes = {value: k for k, value in enumerate(self.names)}

    def places(self, values):
        """Return a place for each value."""
        keys = [None if is_missing(value) else value for value in values]
        unknown = [key for key in keys if key not in self.codes]
        if unknown:
            raise ValueError(f"the model knows. Got {unknown[0]!r}.")
        return np.array([self.codes[key] for key in keys], dtype=np.float64)

    def values(self, places):
        """Return the values at places."""
        values = np.empty(len(places), dtype=object)
        values[:] = [self.names[int(place)] for place in places]
        return values

    def grid(self, low, high, resolution):
        """Return all places."""
        return np.arange(float(len(self.names)))

    def middle(self, places):
        """Return the place at which the column is held: the commonest."""
        return float(np.bincount(places.astype(int)).argmax())

    def draw(self, axis):
        """Make an axis of matplotlib one of such values."""
        name_ticks(axis, self.names)


def _without_zone(value):
    """Return a date as numpy has it, that of UTC if it has a zone."""
    if is_missing(value):
        return np.datetime64("NaT")
    if getattr(value, "tzinfo", None) is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.datetime64(value)


def column_of(values):
    """Return what a column is by its values: `Numbers`, `Dates`, or `Categories` in their order."""
    values = np.asarray(values)
    if values.dtype.kind in "iuf":
        return Numbers()
    if values.dtype.kind == "M":
        return Dates()
    ordered = in_order(values.tolist())
    distinct = [value for value in ordered if value is not None]
    if all(isinstance(value, numbers.Real) and not isinstance(value, bool) for value in distinct):
        return Numbers()
    if all(isinstance(value, datetime.date) for value in distinct):
        return Dates()
    return Categories(ordered)


def in_order(values):
    """Return the distinct values of a column, sorted; None stands last for missing ones."""
    known = [value for value in values if not is_missing(value)]
    try:
        ordered = sorted(set(known))
    except TypeError:  # of several types
        ordered = sorted(set(known), key=str)
    return ordered + [None] * (len(known) < len(values))


def columns_in(X):
    """Return the columns of a data frame or an array, as a list of arrays."""
    if hasattr(X, "columns"):
        return [np.asarray(X[name]) for name in X.columns]
    return list(np.asarray(X, dtype=getattr(X, "dtype", object)).T)


def name_ticks(axis, names):
    """Name the places 0, 1, ... on an axis of matplotlib, some of them where they are many."""
    step = -(-len(names) // _MOST_TICKS)
    shown = [("missing" if name is None else str(name)) for name in names[::step]]
    axis.set_ticks(np.arange(0, len(names), step), shown)
