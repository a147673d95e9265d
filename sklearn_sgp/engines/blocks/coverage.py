"""Whether intervals hold what they should of rows that nothing was learned from."""

import numpy as np

from ...objectives.composite_likelihood import CompositeLikelihood

# Where 90 % intervals, so many deviations to each side, hold less, that is told.
_LEAST_COVERAGE, _WITHIN = 0.85, 1.645


def check_coverage(groups, parameters, trace):
    """Doubt intervals that hold far too few rows of some groups, given what is near them."""
    errors = CompositeLikelihood(groups).standardised_errors(parameters)
    coverage = np.mean(np.abs(errors) <= _WITHIN)
    if coverage < _LEAST_COVERAGE:
        trace.doubt(
            "Intervals of 90 % should hold so many of the rows that nothing was learned from. Got "
            f"{coverage:.0%}: standard deviations are too small. Learn from more rows (init_size), "
            "choose another kernel, or raise the lower one of noise_variance_bounds."
        )
