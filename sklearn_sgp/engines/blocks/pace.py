"""How long an evaluation of the density of groups of near rows takes."""

from contextlib import suppress

from ..._linalg import NotPositiveDefiniteError
from ...objectives.composite_likelihood import CompositeLikelihood
from ...optimize.budget import measured_seconds

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
        evidence = CompositeLikelihood(some, n_jobs)
        seconds = measured_seconds(lambda: evidence(parameters), repeats=2)
        work, of_some = (sum(len(piece.rows) ** 3 for piece in part) for part in (groups, some))
        return seconds * work / (of_some * len(groups))
    return 0.0
