"""Far steps, a coordinate at a time: into valleys that slopes at a distance say nothing about."""

# So many moves are tried in every sweep.
_LEAST_MOVES = 8


def far_steps(value, point, places, steps, least_gain, most_sweeps, may_go_on):
    """Move the coordinate that gains most by a far step, again; return the point and its value.

    Each sweep tries the better half of the moves of the sweep before, so that all sweeps together
    take at most twice as many values as the first.

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
        A sweep that gains less is the last.
    most_sweeps : int
    may_go_on : callable
        Asked before each value but the first, for instance whether there is time.
    """
    best, moves = value(point), [(place, step) for place in places for step in steps]
    for _ in range(most_sweeps):
        before, begin, values = best, point, []
        for place, step in moves:
            if not may_go_on():
                return point, best
            moved = begin.copy()
            moved[place] += step
            values.append(value(moved))
            if values[-1] > best:
                best, point = values[-1], moved
        if not best - before >= least_gain:
            break
        order = sorted(range(len(moves)), key=lambda k: -values[k])
        moves = [moves[k] for k in order[: max(_LEAST_MOVES, len(moves) // 2)]]
    return point, best
