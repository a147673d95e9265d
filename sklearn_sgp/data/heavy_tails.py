"""Targets with heavy tails, on a scale on which they have none."""

from dataclasses import replace

import numpy as np
from scipy.stats import kurtosis
from sklearn.preprocessing import PowerTransformer

# Excess kurtosis from which tails are heavy: the mean of so many squares is as uncertain as that of
# a quarter of normal ones. 700,000 flights' delays have 73, eleven tables of benchmarks at most 2.
_HEAVY = 6.0
# Targets further from the median, in `usual` deviations, are brought in: before a power is chosen,
# which one of them could decide, and after it.
_FURTHEST_BEFORE, _FURTHEST = 20.0, 4.0
_LARGEST_SAMPLE = 20_000


def with_light_tails(rows):
    """Rows whose targets a monotone function brings near a normal distribution.

    A few far targets decide which kernel explains squared errors best. Length scales change little
    under a monotone function of the targets, so that they can be learned after it.

    Parameters
    ----------
    rows : Rows

    Returns
    -------
    rows : Rows
        With scaled targets after a Yeo-Johnson power of each output; the same object where no
        output has heavy tails.
    """
    targets, step = rows.targets, -(-len(rows) // _LARGEST_SAMPLE)
    sample = targets[::step]
    constant = np.ptp(sample, axis=0) == 0.0
    heavy = ~constant & (kurtosis(np.where(constant, 0.0, sample), axis=0) > _HEAVY)
    if not heavy.any():
        return rows
    targets[:, heavy] = brought_in(targets[:, heavy], _FURTHEST_BEFORE)
    power = PowerTransformer(method="yeo-johnson").fit(targets[::step, heavy])
    targets[:, heavy] = brought_in(power.transform(targets[:, heavy]), _FURTHEST)
    t = targets.shape[1]
    return replace(rows, y=targets, y_mean=np.zeros(t), y_scale=np.ones(t))


def brought_in(targets, furthest):
    """Targets (n, t), no further from their median than so many `usual` deviations.

    Where these are 0, as most targets are equal, nothing is changed.
    """
    middle, deviation = usual(targets)
    reach = furthest * np.where(deviation > 0.0, deviation, np.inf)
    return np.clip(targets, middle - reach, middle + reach)


def usual(targets):
    """Median, and a deviation from it that is the standard one of normal targets, each (t,).

    Parameters
    ----------
    targets : ndarray of shape (n, t)
    """
    middle = np.median(targets, axis=0)
    return middle, 1.4826 * np.median(np.abs(targets - middle), axis=0)
