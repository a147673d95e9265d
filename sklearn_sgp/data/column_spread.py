"""Means and deviations of the columns of X, which no few far numbers decide."""

from collections import deque
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from .._sampling import fixed_index
from .._warnings import warn_caller
from .column_order import are_constant
from .rows import each_weight
from .scaling import unit_of
from .winsorize import MAD

_SUMMARY_ROWS = 10_000
# Numbers of a column that lie beyond so many median absolute deviations (ten deviations of normal
# ones) are far; at most such a share of them, or any of one value, as -9999 for what is missing.
# Many different ones are another group: 10 % in units 1,000 times larger lost .2 nats a row without
# this bound. They count as near ones where that makes the deviation so many times smaller: scales
# that were moved by a factor of 3 lost 1,000 rows of pol .02 to .03 nats, in three draws of three.
_NEAR_REACH, _FEW, _DOMINATED = 10.0 * MAD, 0.05, 4.0
# Squares of distances so many times larger leave nothing of the others' digits.
_TOO_FAR = 1e6
# Numbers that are read at a time for means and deviations of columns.
_SUMMARY_NUMBERS = 1 << 17


# Summaries of so many tables are remembered: in units of the user, in others, and with weights.
_REMEMBERED = 4
_known = ContextVar("known summaries", default=None)


@contextmanager
def columns_remembered():
    """Have the columns of the same array, with the same weights, summarised once in a context.

    Nobody changes these arrays in it. A fit asks for them a dozen times.
    """
    token = _known.set(deque(maxlen=_REMEMBERED))
    try:
        yield
    finally:
        _known.reset(token)


def column_mean_std(X, weight):
    """Compute weighted mean and standard deviation of the columns; 1 for a constant column."""
    mean, spread = column_mean_spread(X, weight)
    return mean, np.where(spread > 0.0, spread, 1.0)


def column_mean_spread(X, weight):
    """Compute weighted mean and standard deviation of the columns; 0 for a constant column."""
    return column_summary(X, weight)[:2]


def column_summary(X, weight):
    """Compute the same, and which columns have numbers beside which all others are alike.

    Where far numbers alone make the deviation, they count as the last near ones (`near_ends`): one
    of 1e5 among a hundred of about 1 is no unit, as in it the others are one and the same.

    Of all rows: 0.08 s for a million rows of 8 columns. Of some where rows live elsewhere. The mean
    of a constant column is its value, to the last digit: what is left of 1e90 otherwise, 1e74,
    would be far away.
    """
    known = _known.get()
    for of_X, of_weight, summary in known or ():
        if of_X is X and of_weight is weight:
            return tuple(part.copy() for part in summary)
    summary = _summary(X, weight)
    if known is not None and len(X) > _SUMMARY_ROWS:
        known.append((X, weight, tuple(part.copy() for part in summary)))
    return summary


def _summary(X, weight):
    if getattr(X, "live_elsewhere", False):
        index = fixed_index(len(X), _SUMMARY_ROWS)
        X, weight = X[index], None if weight is None else weight[index]
    if weight is not None and not weight.any():
        weight = None
    ends, is_blinded = _ends_and_blinded(X, weight)
    mean, std = _mean_std(X, weight, ends)
    first = np.asarray(X[:1], dtype=np.float64)[0]
    constant = are_constant(std, np.abs(mean))
    return np.where(constant, first, mean), np.where(constant, 0.0, std), is_blinded


def near_ends(X, weight):
    """Return ends to which numbers far from all others of their column come, each (d,), or None.

    Infinities are those of columns in which no far numbers make the deviation.
    """
    return _ends_and_blinded(X, weight)[0]


def _ends_and_blinded(X, weight):
    """Return `near_ends`, and a mask of columns whose far numbers are too far even for these."""
    ends = _ends_within_reach(X, weight)
    if ends is None:
        return None, np.zeros(X.shape[1], dtype=bool)
    std, near_std = _mean_std(X, weight)[1], _mean_std(X, weight, ends)[1]
    is_far = (std > _DOMINATED * near_std) & (std < _TOO_FAR * near_std)
    is_blinded = (std > 0.0) & (std >= _TOO_FAR * near_std)
    infinite = -np.inf, np.inf
    return [np.where(is_far, *pair) for pair in zip(ends, infinite, strict=True)], is_blinded


def warn_of_far_inputs(is_blinded):
    """Warn of numbers beside which all others of their column are alike: see `column_summary`."""
    columns = np.flatnonzero(is_blinded)
    if len(columns):
        warn_caller(
            "Numbers of a column of X should be of one size. Got some that are more than a million "
            f"times as far from the median as the others, in column {int(columns[0])}: beside them "
            "the others are alike, and nothing is learned from their differences. Leave such rows "
            "out, or mark the numbers as missing (NaN).",
            UserWarning,
        )


def _mean_std(X, weight, ends=None):
    first = np.asarray(X[:1], dtype=np.float64)[0]
    mean = first + _column_average(X, weight, first, 1, ends)
    unit = unit_of(np.maximum(X.max(axis=0) - first, first - X.min(axis=0)))
    return mean, unit * np.sqrt(_column_average(X, weight, mean, 2, ends, unit))


def _ends_within_reach(X, weight):
    """Return the least and largest numbers of the columns that are in reach; None where all are.

    That is so many median absolute deviations from the median, of some rows where there are many.
    Where many numbers are beyond it, and not all the same, they are another group, and in reach.
    """
    index, weight = fixed_index(len(X), _SUMMARY_ROWS), each_weight(weight, len(X))
    some = np.asarray(X if len(index) == len(X) else X[index], dtype=np.float64)
    median = _column_medians(some, weight[index])
    deviation = _column_medians(np.abs(some - median), weight[index])
    reach = _NEAR_REACH * np.where(deviation > 0.0, deviation, np.inf)
    if (median - reach <= X.min(axis=0)).all() and (X.max(axis=0) <= median + reach).all():
        return None
    low, high, count, lo = median, median, 0.0, 0
    least, largest = np.full(len(median), np.inf), np.full(len(median), -np.inf)
    for part in _pieces(X):
        is_far = np.abs(part - median) > reach
        near = np.where(is_far, median, part)
        low, high = np.minimum(low, near.min(axis=0)), np.maximum(high, near.max(axis=0))
        least = np.minimum(least, np.where(is_far, part, np.inf).min(axis=0))
        largest = np.maximum(largest, np.where(is_far, part, -np.inf).max(axis=0))
        count, lo = count + weight[lo : lo + len(part)] @ is_far, lo + len(part)
    is_group = (count > _FEW * weight.sum()) & (least < largest)
    return np.where(is_group, -np.inf, low), np.where(is_group, np.inf, high)


def _column_medians(X, weight):
    """Return weighted medians of columns (n, d), the lower one of two."""
    order = np.argsort(X, axis=0)
    below = np.cumsum(weight[order], axis=0)
    place = np.argmax(2.0 * below >= below[-1], axis=0)
    columns = np.arange(X.shape[1])
    return X[order[place, columns], columns]


def _pieces(X):
    """Yield columns (n, d) in float64, some rows at a time."""
    size = max(1, _SUMMARY_NUMBERS // X.shape[1])
    for lo in range(0, len(X), size):
        yield np.asarray(X[lo : lo + size], dtype=np.float64)


def _column_average(X, weight, origin, power, ends, unit=1.0):
    """Average a power of what is beyond an origin, piece by piece, of numbers within some ends."""
    total, lo = 0.0, 0
    for part in _pieces(X):
        part = (((part if ends is None else np.clip(part, *ends)) - origin) / unit) ** power
        if weight is not None:
            part *= weight[lo : lo + len(part), None]
        total, lo = total + part.sum(axis=0), lo + len(part)
    return total / (len(X) if weight is None else weight.sum(dtype=np.float64))
