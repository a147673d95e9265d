"""Choices of a fit: which candidate goes on, and what is told of it as ``choices_``.

Kernels, starts, kinds of noise, warps and settings of classes are chosen by one rule. A candidate
is run, and a score says how good it is: log densities of rows that nothing was learned from, or an
objective less what its parameters cost. The best mean goes on; a candidate that complicates another
one has to gain more than the standard error of that gain (`objectives.scores.is_better`).
"""

import time
from collections import Counter
from dataclasses import dataclass

from .._linalg import NotPositiveDefiniteError


@dataclass(frozen=True)
class Tried:
    """A candidate that has run.

    Parameters
    ----------
    name : str
        As users see it.
    result : object
        What its run returned.
    score : objectives.scores.Score
        In nats a row of the scaled targets, greater is better.
    """

    name: str
    result: object
    score: object
    seconds: float


class Comparison:
    """Candidates that are run one after the other; what they scored is told to the trace.

    ``about`` is what is chosen, as users see it.

    ::

        comparison = Comparison("start", trace)
        for start in comparison.over(named_starts):
            with comparison:  # without a candidate that cannot be evaluated
                comparison.add(result, score)
        best = comparison.best_first()[0]
    """

    def __init__(self, about, trace):
        self.about, self.trace, self.tried, self.failed = about, trace, [], None

    def over(self, candidates):
        """Yield what is run, given pairs of names and that, until a callback ends learning."""
        for self.name, candidate in candidates:
            self.begin = time.perf_counter()
            yield candidate
            if self.trace.stopped:
                return

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if isinstance(error, NotPositiveDefiniteError):  # at its first evaluation
            self.failed = error
            return True
        return False

    def add(self, result, score):
        """Take what a candidate came to."""
        self.tried.append(Tried(self.name, result, score, time.perf_counter() - self.begin))

    def best_first(self):
        """Return a list of `Tried`, not empty: the best first, of equal ones the earlier.

        Raises
        ------
        NotPositiveDefiniteError
            If no candidate can be evaluated.
        """
        if not self.tried:
            raise self.failed
        best_first = sorted(self.tried, key=lambda one: -one.score.mean)
        tell(self.about, self.tried, best_first[0], self.trace)
        return best_first


def climb(first, at, *how):
    """Return the best of `climbing`, where ``at(k)`` asks for nothing."""

    def told(k):
        yield from ()
        return at(k)

    try:
        next(climbing(first, told, *how))
    except StopIteration as end:
        return end.value


def climbing(first, at, directions, most, gains, about, trace):
    """Go on by steps in one direction while each gains, or else in the other one.

    A generator, which asks for what ``at`` asks for.

    Parameters
    ----------
    first : Tried
        Where to begin.
    at : callable
        ``at(k)`` is a generator, which returns the `Tried` of k steps from there, up or down; None
        where there is none.
    directions : tuple of {-1, 1}
    most : int
        Steps in a direction.
    gains : callable
        ``gains(score, best)``: whether a score is better than the best so far.
    about, trace
        As of `Comparison`; the trace is told what was tried.
    """
    best, tried = first, [first]
    for direction in directions:
        for count in range(1, most + 1):
            one = yield from at(direction * count)
            if one is None:
                break
            tried.append(one)
            if not gains(one.score, best.score):
                break
            best = one
        if best is not first:
            break
    tell(about, tried, best, trace)
    return best


def tell(about, tried, taken, trace):
    """Tell the trace what was tried and which of it goes on; nothing where there was no choice.

    ``taken`` is one of those tried.
    """
    if len(tried) > 1:
        trace.choices += [_entry(about, one, taken) for one in tried]


def numbered(names):
    """Return names of which no two are equal: the second of one name is told to be that."""
    seen, result = Counter(), []
    for name in names:
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result


def _entry(about, one, taken):
    return {
        "choice": about,
        "candidate": one.name,
        "score": one.score.mean,
        "standard_error": one.score.gain(taken.score)[1],
        "seconds": one.seconds,
        "taken": one is taken,
    }
