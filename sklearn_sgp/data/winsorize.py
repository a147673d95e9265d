"""Winsorizing of targets, and a power transform of those with heavy tails."""

from dataclasses import replace

import numpy as np
from scipy.stats import kurtosis
from sklearn.preprocessing import PowerTransformer

from .._sampling import fixed_index

# Excess kurtosis from which tails are heavy: the mean of so many squares is as uncertain as that of
# a quarter of normal ones. 700,000 flights' delays have 73, eleven tables of benchmarks at most 2.
_HEAVY_KURTOSIS = 6.0
# Targets are winsorized at so many deviations from the median (`median_mad`): before a power is
# chosen, which one far target could decide, and after it.
_FURTHEST_BEFORE, _FURTHEST_AFTER = 20.0, 4.0
_MOST_KURTOSIS_ROWS = 20_000
# Standard deviations of normal numbers in their median absolute deviation.
MAD = 1.4826


def with_light_tails(rows):
    """Transform targets with heavy tails to nearly normal ones, by a monotone function.

    A few far targets decide which kernel explains squared errors best. Length scales change little
    under a monotone function of the targets, so that they can be learned after it.

    Returns
    -------
    rows : Rows
        With scaled targets after a Yeo-Johnson power of each output; the same object where no
        output has heavy tails.
    """
    targets, index = rows.targets, fixed_index(len(rows), _MOST_KURTOSIS_ROWS)
    sample = targets[index]
    constant = np.ptp(sample, axis=0) == 0.0
    heavy = ~constant & (kurtosis(np.where(constant, 0.0, sample), axis=0) > _HEAVY_KURTOSIS)
    if not heavy.any():
        return rows
    targets[:, heavy] = winsorized(targets[:, heavy], _FURTHEST_BEFORE)
    power = PowerTransformer(method="yeo-johnson").fit(targets[index][:, heavy])
    targets[:, heavy] = winsorized(power.transform(targets[:, heavy]), _FURTHEST_AFTER)
    t = targets.shape[1]
    return replace(rows, y=targets, y_mean=np.zeros(t), y_scale=np.ones(t))


def winsorized(targets, furthest):
    """Clip targets (n, t) at ``furthest`` deviations from their median; see `median_mad`.

    Nothing is changed where the deviation is 0, as most targets are equal.
    """
    median, deviation = median_mad(targets)
    reach = furthest * np.where(deviation > 0.0, deviation, np.inf)
    return np.clip(targets, median - reach, median + reach)


def winsorized_observed(targets, furthest):
    """Do the same with targets of which some are NaN."""
    near = targets.copy()
    for column in near.T:
        seen = ~np.isnan(column)
        column[seen] = winsorized(column[seen, None], furthest)[:, 0]
    return near


def median_mad(targets):
    """Return median and median absolute deviation of targets (n, t), each (t,).

    The deviation is scaled to be the standard deviation of normal targets.
    """
    median = np.median(targets, axis=0)
    return median, MAD * np.median(np.abs(targets - median), axis=0)
