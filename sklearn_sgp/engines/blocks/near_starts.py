"""Where learning from near rows begins: noise above what repeats show, units of light tails."""

from dataclasses import replace

import numpy as np

from ...data.repeats import least_noise_variance
from ...kernels._length_scales import variance_mask
from ...kernels.categories._node import category_slots


def numbers_of_categories(start):
    """Count what a kernel learns of categories."""
    slots = category_slots(start.parameters.expression)
    return sum(b.size + factor.size for b, factor, _ in slots)


def above_repeats(start, rows):
    """Raise the bound of the noise to what rows with equal inputs show, which no group may have."""
    if "log_noise" not in start.with_default_bounds:
        return start
    return replace(start, space=start.space.raised("log_noise", least_noise_variance(rows)))


def with_variances_of(start, rows, all_rows):
    """Begin default kernel and noise in proportion to the targets, which have lost their tails."""
    share = np.log(np.mean(rows.targets**2) / np.mean(all_rows.targets**2))
    parameters, is_default = start.parameters, start.with_default_bounds
    if "theta" in is_default and start.space.learns("theta"):
        shift = share * variance_mask(parameters.expression)
        parameters = parameters.with_values(theta=parameters.theta + shift)
    if "log_noise" in is_default and start.space.learns("log_noise"):
        parameters = parameters.with_values(log_noise=parameters.log_noise + share)
    return replace(start, parameters=start.space.clipped(parameters))
