"""What a fit knows of its own course: time, trace of the objective, end of the gains."""

import time
from typing import NamedTuple

import numpy as np

from .._warnings import warn_caller
from .forecast import Forecast

# More iterations would gain something that can be seen if so many, at the pace of the last half,
# would gain so much, in nats a row. Eight public tables of at most 1,500 rows, 64 inducing inputs,
# 200 iterations: more gained 0.04 nats a row (energy) or 0.03 of test density (yacht) where that
# was so, and at most 0.002 and 0.001 elsewhere. A pace slackens, so that after few iterations much
# is promised: after 50 on five of them, of which two gained 0.02 of test density or more.
FURTHER, VISIBLE_GAIN = 100, 0.01


class Clock:
    """Seconds since a fit began, against its budget."""

    def __init__(self, max_time=None):
        self.start = time.perf_counter()
        self.max_time = np.inf if max_time is None else max_time

    def elapsed(self):
        return time.perf_counter() - self.start

    def left(self):
        return self.max_time - self.elapsed()

    def has_time_for(self, times):
        """Return whether so many times as long as it took so far are left."""
        return self.left() > times * self.elapsed()

    def shortened(self, share):
        """Return a clock that began with this one, with a share of its time."""
        clock = Clock(share * self.max_time)
        clock.start = self.start
        return clock


PASSES, ITERATIONS = "pass {} of {}", "iteration {} of at most {}"


class Steps(NamedTuple):
    """Kind of the entries that follow in a trace, and how many there may be.

    Parameters
    ----------
    word : str
        With places for the number of an entry and for the largest one; "" where none is told.
    part : str
        Of the fit, as its `Forecast` has it.
    work : float
        Of an entry.
    """

    word: str = ""
    most: int = 0
    part: str = "more"
    work: float = 0.0


_UNCOUNTED = Steps()


class Trace:
    """The course of a fit as it reports it: objective, seconds, and whether to stop.

    Parameters
    ----------
    on_iteration : callable or None
        Called after every entry with the trace and a function that returns the `Parameters` at
        that time; True asks to stop.
    """

    def __init__(self, clock, on_iteration=None):
        self.clock, self.on_iteration = clock, on_iteration
        self.on_stage = None  # called with the trace when another stage begins
        self.whole_clock = clock  # where parts of a fit have a share of its time
        self.objectives, self.times = [], []
        self.choices = []  # what was compared: see `choices`
        self.constant = 0.0  # of the bound, besides the objectives that are added
        self.start = None  # the `Start` that was chosen, where it is not that of the problem
        # what is going on, and how far it is
        self.stage, self.steps, self.n_steps = "", _UNCOUNTED, 0
        self.forecast = Forecast(clock)
        self.stopped = False
        # returns the q(u) at which a model amid the fit begins: see `variational.base`
        self.known_now = None
        self.keeps_doubts = False  # whether a later step judges bands and tells of them
        self.kept_doubt = ""

    def begin(self, stage, steps=_UNCOUNTED):
        """Tell in words what goes on from here, if that is something else than before."""
        self.steps, self.n_steps = steps, 0
        if stage != self.stage:
            self.stage = stage
            if self.on_stage is not None:
                self.on_stage(self)

    def doubt(self, message):
        """Warn of bands, or keep that for a later step, which may mend them ("": there is none)."""
        self.kept_doubt = message
        if not self.keeps_doubts:
            self.tell_doubt()

    def tell_doubt(self):
        """Warn of what was kept, once."""
        message, self.kept_doubt = self.kept_doubt, ""
        if message:
            warn_caller(message, UserWarning)

    def seconds(self):
        """Tell in words the seconds so far, and how many are left, where that is known."""
        clock, budget = self.whole_clock, max(self.whole_clock.left(), 0.0)
        left, told = self.forecast.seconds_left(), ""
        if left < budget:
            word = "at most" if self.forecast.is_limit else "about"
            told = f" ({word} {_rounded(left)} s left)"
        elif np.isfinite(budget):
            told = f" ({budget:.1f} s left)"
        return f"{clock.elapsed():.1f} s{told}"

    def seconds_left(self):
        """Return the seconds left, by what is ahead and by the budget; inf where none is known.

        A limit of what is ahead tells nothing here: most fits end long before it.
        """
        left = np.inf if self.forecast.is_limit else self.forecast.seconds_left()
        return min(left, max(self.whole_clock.left(), 0.0))

    def words(self):
        """Tell in words what goes on, and how far it is."""
        word, most = self.steps[:2]
        which = f", {word.format(min(self.n_steps + 1, most), most)}" if word else ""
        return self.stage + which

    def add(self, objective, parameters_now):
        """Record an objective; True if a callback asks to stop."""
        self.objectives.append(float(objective) + self.constant)
        self.times.append(self.clock.elapsed())
        self.n_steps += 1
        self.forecast.did(self.steps.part, self.steps.work)
        return self.shown(parameters_now)

    def shown(self, parameters_now):
        """Tell callbacks where the fit is; True if one asks to stop."""
        if self.on_iteration is not None and self.on_iteration(self, parameters_now):
            self.stopped = True
        return self.stopped

    def beside(self, parameters):
        """Return the trace of a fit beside this one, which callbacks see standing at parameters.

        It has the time that is left.
        """
        clock = Clock(self.clock.left())
        return Trace(clock, on_iteration=lambda *_: self.shown(lambda: parameters))

    def corrected(self, objective, right):
        """Replace the last entry where it is this objective, which rounding has spoilt."""
        if self.objectives and self.objectives[-1] == float(objective) + self.constant:
            self.objectives[-1] = float(right) + self.constant


def _rounded(seconds):
    return f"{seconds:.0f}" if seconds >= 10.0 else f"{seconds:.1f}"


class Plateau:
    """Counts entries whose best value gained less than ``tol``; `reached` after ``patience``.

    Parameters
    ----------
    tol : float
    patience : int
    finest : float
        Entries count only if they gained less than this, too: where they cost next to nothing.
    visible : float
        What `FURTHER` entries at the pace of the last half must gain to be worth it.
    """

    def __init__(self, tol, patience, finest=np.inf, visible=0.0):
        self.tol, self.patience, self.finest, self.visible = tol, patience, finest, visible
        self.best, self.count, self._gained = -np.inf, 0, True
        self._course = [-np.inf]  # the best so far

    @property
    def is_gaining(self):
        """True if the last entry gained at least ``tol``, and more would gain something visible."""
        half = (len(self._course) - 1) // 2
        pace = (self.best - self._course[half]) / max(len(self._course) - 1 - half, 1)
        return self._gained and not FURTHER * pace < self.visible

    def reached(self, value):
        """Note an entry; return whether enough of them in a row gained too little."""
        gain = value - self.best
        self._gained = gain > self.tol
        self.count = 0 if gain > min(self.tol, self.finest) else self.count + 1
        self.best = max(self.best, value)
        self._course.append(self.best)
        return self.count >= self.patience
