"""How long an evaluation of the density of groups of near rows takes."""

import time
from contextlib import suppress

from ..._linalg import NotPositiveDefiniteError
from ...objectives.composite_likelihood import CompositeLikelihood

# Fewer groups teach little, and their time is no measure of others.
LEAST_GROUPS = 8


def seconds_of_group(groups, parameters, n_jobs):
    """Measure the seconds of an evaluation with its gradient, for a group on average.

    Returns
    -------
    seconds : float
        0 where it fails.
    """
    some = groups[-LEAST_GROUPS:]
    with suppress(NotPositiveDefiniteError):
        evidence, seconds = CompositeLikelihood(some, n_jobs), float("inf")
        for _ in range(2):  # the first has costs that come once
            begin = time.perf_counter()
            evidence(parameters)
            seconds = min(seconds, time.perf_counter() - begin)
        work, of_some = (sum(len(piece) ** 3 for piece in part) for part in (groups, some))
        return seconds * work / (of_some * len(groups))
    return 0.0
