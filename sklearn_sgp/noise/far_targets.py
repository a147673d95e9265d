"""Targets far from all others, which are not believed before a noise allows for them."""

from dataclasses import replace

import numpy as np

from ..data.winsorize import median_mad

# Standard deviations from the median beyond which that is so.
_FAR_TARGET = 6.0


def without_far_targets(problem):
    """Give targets that are far from all others small precisions.

    Learning with Gaussian noise may otherwise end at a function that goes through them, from which
    no update of the noise leads away.
    """
    targets = problem.rows.targets
    middle, deviation = median_mad(targets)
    deviation[deviation == 0.0] = np.inf
    times = np.abs(targets - middle) / deviation
    if not np.ndim(problem.start.parameters.noise_variance):
        times = times.max(axis=1)  # a row has one precision
    if times.max() <= _FAR_TARGET:
        return problem
    precision = (_FAR_TARGET / np.maximum(times, _FAR_TARGET)) ** 2
    return replace(problem, rows=problem.rows.with_precision(precision))
