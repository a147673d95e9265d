"""Far steps, a coordinate at a time: into valleys that slopes at a distance say nothing about."""


def far_steps(value, point, places, steps, least_gain, most_sweeps, may_go_on):
    """Move the coordinate that gains most by a far step, again and again.

    Parameters
    ----------
    value : callable
        Of a point, to be made large; -inf where there is none.
    point : ndarray of shape (n,)
    places : ndarray of int of shape (k,)
        Coordinates that are moved.
    steps : sequence of float
        How far a coordinate moves at a time.
    least_gain : float
        A sweep over all coordinates that gains less is the last.
    most_sweeps : int
    may_go_on : callable
        Asked before each value but the first, for instance whether there is time.

    Returns
    -------
    point : ndarray of shape (n,)
        The best.
    best : float
        Its value.
    """
    best = value(point)
    for _ in range(most_sweeps):
        before, begin = best, point
        for place in places:
            for step in steps:
                if not may_go_on():
                    return point, best
                moved = begin.copy()
                moved[place] += step
                value_there = value(moved)
                if value_there > best:
                    best, point = value_there, moved
        if not best - before >= least_gain:
            break
    return point, best
