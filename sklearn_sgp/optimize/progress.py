"""What a fit knows of its own course: time, trace of the objective, end of the gains."""

import time

import numpy as np

from .._warnings import warn_caller

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

    def shortened(self, share):
        """Return a clock that began with this one, with a share of its time."""
        clock = Clock(share * self.max_time)
        clock.start = self.start
        return clock


class Trace:
    """The course of a fit as it reports it: objective, seconds, and whether to stop.

    Parameters
    ----------
    on_iteration : callable or None
        Called after every entry with the trace and a function that returns the `Parameters` at
        that time; True asks to stop.
    on_stage : callable or None
        Called with the trace when another stage begins.
    """

    def __init__(self, clock, on_iteration=None, on_stage=None):
        self.clock, self.on_iteration, self.on_stage = clock, on_iteration, on_stage
        self.whole_clock = clock  # where parts of a fit have a share of its time
        self.objectives, self.times = [], []
        self.choices = []  # what was compared: see `choices`
        self.constant = 0.0  # of the bound, besides the objectives that are added
        self.start = None  # the `Start` that was chosen, where it is not that of the problem
        self.stage = ""  # what is going on, in words
        self.stopped = False
        self.cut_by = None  # what ended the last optimisation while it gained, if anything did
        self.reached = None  # the objective with which it ended, if that is one of all rows
        self.keeps_doubts = False  # whether a later step judges bands and tells of them
        self.kept_doubt = ""

    def begin(self, stage):
        """Tell in words what goes on from here, if that is something else than before."""
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
        """Tell in words the seconds so far, and how many are left where the fit has a budget."""
        clock = self.whole_clock
        left = f" ({max(clock.left(), 0.0):.1f} s left)" if np.isfinite(clock.left()) else ""
        return f"{clock.elapsed():.1f} s{left}"

    def add(self, objective, parameters_now):
        """Record an objective; True if a callback asks to stop."""
        self.objectives.append(float(objective) + self.constant)
        self.times.append(self.clock.elapsed())
        if self.on_iteration is not None and self.on_iteration(self, parameters_now):
            self.stopped = True
        return self.stopped

    def corrected(self, objective, right):
        """Replace the last entry where it is this objective, which rounding has spoilt."""
        if self.objectives and self.objectives[-1] == float(objective) + self.constant:
            self.objectives[-1] = float(right) + self.constant


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
