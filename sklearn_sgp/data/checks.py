"""Checks of numbers that several packages need."""

import numpy as np

# Squares of larger numbers, over noise variances and times weights, can overflow.
LARGEST = 1e100


def check_size(name, values):
    """Refuse numbers whose squares could overflow, and what is not a number."""
    largest = float(max(values.max(), -values.min()))
    if np.isnan(largest):
        raise ValueError(
            f"{name} must hold finite numbers. Got None or NaN: leave these rows out, or fill them."
        )
    if largest > LARGEST:
        raise ValueError(
            f"{name} must hold numbers of at most {LARGEST:g} in size, so that their squares are "
            f"finite. Got {largest:g}: use another unit."
        )
