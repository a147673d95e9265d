"""How long learning from groups of near rows takes: as measured, and as it is foretold."""

from contextlib import suppress

from ..._linalg import NotPositiveDefiniteError
from ...objectives.composite_likelihood import CompositeLikelihood
from ...optimize.budget import measured_seconds
from ...optimize.forecast import Forecast
from ...optimize.progress import Steps

# Fewer groups teach little, and their time is no measure of others.
LEAST_GROUPS = 8
# What is told of a fit before it is measured, in seconds on one machine, by 12 default fits of
# eight tables, 800 to 30,000 rows, 2 to 32 columns: a group of 300 rows, and for each column; the
# powers of its rows with which that grows, of small groups and of large ones; short length scales,
# for each column; what is left after learning, and for each row.
_GROUP, _GROUP_COLUMN, _POWERS = 1.0e-3, 3.0e-5, (1.3, 2.5)
_SHORT_SCALES_COLUMN, _END, _END_ROW = 0.04, 0.15, 2.2e-5
# Trials besides those of the starts, the share of fits that need more than these to choose, and
# rounds that follow a round after these, and otherwise.
_MORE_TRIALS, _UNCLEAR, _FURTHER_ROUNDS = 0.5, 0.6, (0.1, 0.4)
_FINALISTS = 2
# Parts of a fit.
TRIALS, ROUNDS, _SHORT_SCALES, _REST = "trials", "rounds", "short scales", "rest"


def seconds_of_group(groups, parameters, n_jobs):
    """Measure the seconds of a group, on average, with its gradient; 0 where that fails."""
    some = groups[-LEAST_GROUPS:]
    with suppress(NotPositiveDefiniteError):
        evidence = CompositeLikelihood(some, n_jobs)
        seconds = measured_seconds(lambda: evidence(parameters), repeats=2)
        work, of_some = (sum(len(piece.rows) ** 3 for piece in part) for part in (groups, some))
        return seconds * work / (of_some * len(groups))
    return 0.0


class Ahead:
    """Tells the `Forecast` of a fit what learning from near rows has ahead of it.

    Parameters
    ----------
    has_passes : bool
        Whether rounds have so many passes, and no iterations that end as gains fall: of these
        nothing is foretold. With usual iterations 11 of 15 estimates of labels and of all rows,
        in the mid of five fits of four tables, were wrong by more than 1.5 times, 8 by twice.
    """

    def __init__(self, trace, rows, has_passes):
        self.forecast = trace.forecast if has_passes else Forecast(trace.clock)
        self.rows, self.part = rows, ROUNDS
        self._finalists, self._final, self._round = _FINALISTS, 0.0, 0.0

    def seconds_of(self, count, size):
        """Return what an evaluation of some groups of so many rows takes."""
        times = size / 300.0
        each = _GROUP + _GROUP_COLUMN * self.rows.X.shape[1]
        return count * each * max(times ** _POWERS[0], times ** _POWERS[1])

    def steps(self, word, most, seconds):
        """Return the `Steps` of an ascent, each of which takes so long."""
        return Steps(word, most, self.part, seconds)

    def learning(self, n_starts, expected, is_probed):
        """Tell of trials of starts, and what follows them.

        ``expected`` are seconds of a trial, of what the best two may have after it, and of a round.
        """
        self.forecast.did(_REST)
        self.part, (trial, self._final, self._round) = TRIALS, expected
        has_trials = n_starts > 1
        self.forecast.expect(TRIALS, has_trials * (n_starts + _MORE_TRIALS) * trial)
        columns = self.rows.X.shape[1] * has_trials * is_probed
        self.forecast.expect(_SHORT_SCALES, _SHORT_SCALES_COLUMN * columns)
        self._rounds(has_trials * _UNCLEAR * self._finalists)
        self.forecast.expect(_REST, _END + _END_ROW * len(self.rows))

    def probed(self):
        """Tell that short length scales are tried."""
        self.forecast.did(_SHORT_SCALES)
        self.forecast.expect(_SHORT_SCALES, 0.0)

    def finalist(self):
        """Tell of rounds of the best two, once for each of them."""
        self._end_trials()
        self._rounds(self._finalists)
        self._finalists -= 1

    def round(self):
        """Tell of a round of the best one."""
        self._end_trials()
        self._rounds(0.0)

    def learned(self):
        """Tell that there are no more rounds."""
        self.forecast.expect(ROUNDS, 0.0)

    def _rounds(self, finalists):
        further = _FURTHER_ROUNDS[self._finalists == _FINALISTS and self._final > 0.0]
        work = finalists * self._final + (1.0 + further) * self._round
        self.forecast.expect(ROUNDS, work)

    def _end_trials(self):
        if self.part == TRIALS:
            self.part = ROUNDS
            self.forecast.expect(TRIALS, 0.0)
            self.forecast.expect(_SHORT_SCALES, 0.0)
