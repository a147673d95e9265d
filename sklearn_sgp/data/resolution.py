"""The step that targets were rounded to: delays in whole minutes, grades, counts of thousands.

A density may put a spike on each of few values. What was rounded has the probability of its
interval instead (docs/theory.md, eq. 88), and for that the step must be known.
"""

import numpy as np

from .._sampling import fixed_index

# Rows that are looked at, and the least share of them that repeat another's target.
TOLD_ROWS, _LEAST_TIES = 1 << 17, 0.05
# Shares of the targets, and of their distinct values, that must be multiples of a step about one of
# the most frequent values: 5 % of 20,640 house prices are at a cap of 500,001, others in hundreds.
# Of values that were not rounded a few in a hundred are.
_OF_TARGETS, _OF_VALUES, _FREQUENT = 0.9, 0.5, 3
# A step is one of the most frequent differences of neighbouring values, or a small part of it:
# values 0, 2, 5, 7 have no neighbours 1 apart.
_DIFFERENCES, _PARTS_OF_STEP = 20, 12
# Multiples are met to so many steps, and to the rounding of single precision.
_ON_STEP, _SINGLE = 1e-3, 4.0 * float(np.finfo(np.float32).eps)
_COARSEST = 0.05


def resolutions(y):
    """Find the step of each output, 0 where it was not rounded.

    Targets, (n, t), are NaN where one was not observed.
    """
    return np.array([_resolution(column[np.isfinite(column)]) for column in y.T])


def _resolution(y):
    """Return the largest step that almost all targets are multiples of, about a frequent one."""
    values, counts = np.unique(y[fixed_index(len(y), TOLD_ROWS)], return_counts=True)
    n_rows = counts.sum()
    if len(values) < 2 or len(values) > (1.0 - _LEAST_TIES) * n_rows:
        return 0.0
    rounding = _SINGLE * np.abs(values).max()
    frequent = values[np.argsort(-counts, kind="stable")[:_FREQUENT]]
    for step in _candidates(np.diff(values), rounding):
        near = _ON_STEP + rounding / step
        for centre in frequent if near <= _COARSEST else ():
            away = values - centre
            places = np.round(away / step)
            are = np.abs(away / step - places) <= near
            if are.mean() >= _OF_VALUES and counts[are].sum() >= _OF_TARGETS * n_rows:
                return _refined(away[are], places[are])
    return 0.0


def _candidates(differences, rounding):
    """Return steps that may be, the largest first."""
    order = np.sort(differences)
    is_new = np.append(True, np.diff(order) > 2.0 * rounding + _ON_STEP * order[1:])
    counts = np.diff(np.append(np.flatnonzero(is_new), len(order)))
    frequent = order[is_new][np.argsort(-counts, kind="stable")[:_DIFFERENCES]]
    steps = (frequent[:, None] / np.arange(1, _PARTS_OF_STEP + 1)).ravel()
    return np.sort(steps)[::-1]


def _refined(away, places):
    """Return the step that fits multiples best, of which differences tell rounded; 0 of none."""
    squares = float(places @ places)
    return float(away @ places) / squares if squares else 0.0
