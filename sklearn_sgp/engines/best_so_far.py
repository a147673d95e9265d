"""Learning again from another start, where what was learned before stays unless that is better."""

from dataclasses import replace
from typing import NamedTuple

from .._linalg import NotPositiveDefiniteError
from .base import Problem
from .fitted import Fitted


def has_more_merit(fitted, again, _):
    """Return whether a second fit has the higher objective."""
    return again.merit > fitted.merit


class BestSoFar(NamedTuple):
    """Hold a problem, with the kernel that was chosen, and the fit that is the best so far."""

    problem: Problem
    fitted: Fitted

    def or_from(self, pose, fit, is_better=has_more_merit):
        """Learn from another start, too, and return the better one, which counts all iterations.

        What was learned before stays where Ctrl-C, or noise that is lost in rounding, ends the
        other fit or the search for its start. After Ctrl-C, or where a callback has ended learning,
        no other start is tried.

        Parameters
        ----------
        pose : callable
            ``pose()``: a problem, or None where no other start is worth a fit.
        fit : callable
            ``fit(problem)``: a problem and a `Fitted`.
        is_better : callable
            ``is_better(fitted, again, seconds)``: whether the second fit is, which took so long.
        """
        fitted, trace = self.fitted, self.problem.trace
        if fitted.interrupted or trace.stopped:
            return self
        try:
            posed = pose()
            if posed is None:
                return self
            begin, trace.start = trace.clock.elapsed(), posed.start
            again = BestSoFar(*fit(posed))
        except NotPositiveDefiniteError:
            trace.start = fitted.start
            return self
        except KeyboardInterrupt:
            trace.start = fitted.start
            return self._replace(fitted=replace(fitted, interrupted=True))
        other = again.fitted
        best = again if is_better(fitted, other, trace.clock.elapsed() - begin) else self
        trace.start = best.fitted.start
        told = {"n_iter": fitted.n_iter + other.n_iter - 1, "interrupted": other.interrupted}
        return best._replace(fitted=replace(best.fitted, **told))
