"""The time budget of a fit: what is left, what the finish needs, what can be paid for."""

import time

import numpy as np

from . import time_shares

# Fewer evaluations do not bring a stage anywhere.
LEAST_EVALUATIONS = 25
MIN_SECONDS = 0.05
# By these a fit may be late rather than leave rows out.
_SLACK_SHARE, _SLACK_SECONDS = 1.2, 0.5
# The finish may take longer than was measured.
_FINISH_SAFETY = 1.1
# Share of the last time in what is taken for the present speed of the machine, and how many times
# slower than the fastest it may count: a moment in which a processor was not to be had says little.
_LAST_SHARE, _SLOWEST = 0.3, 4.0


class Budget:
    """Seconds of a fit."""

    def __init__(self, clock):
        self.clock, self.reserve = clock, 0.0
        self._measured, self._slower = 0.0, 1.0
        self.finish_seconds = self._measuring = 0.0
        self._fastest = {}

    @property
    def is_limited(self):
        return bool(np.isfinite(self.clock.max_time))

    def keep_for_finish(self, seconds, largest_share=time_shares.FINISH):
        """Reserve time for the finish, at most a share of the budget; nothing without a budget."""
        if self.is_limited:
            self.reserve = min(_FINISH_SAFETY * seconds, largest_share * self.clock.max_time)
            self._measured = self.reserve

    def measure_finish(self, measure):
        """Measure the seconds of the finish; the last ones where measuring took long."""
        if self._measuring <= time_shares.MEASURING * self.clock.max_time:
            begin = time.perf_counter()
            self.finish_seconds = measure()
            self._measuring = time.perf_counter() - begin
        return self.finish_seconds

    def took(self, seconds, kind=None):
        """Note the seconds of a recurring task: on a slower machine more is reserved.

        Only tasks of one kind are compared.
        """
        if not 0.0 < seconds < np.inf:
            return
        fastest = self._fastest[kind] = min(self._fastest.get(kind, np.inf), seconds)
        self._slower += _LAST_SHARE * (min(seconds / fastest, _SLOWEST) - self._slower)
        self.reserve = self._measured * max(1.0, self._slower)

    def left(self):
        """Return seconds until learning should stop."""
        return self.clock.left() - self.reserve

    def stage_seconds(self, is_last):
        """Return seconds for a stage."""
        return self.left() if is_last else time_shares.STAGE * self.left()

    def affordable(self, n, seconds_each):
        """Return how many of ``n`` tasks the finish can do; all if the fit is little late then."""
        left = max(self.clock.left(), 0.0)
        if n * seconds_each <= _SLACK_SHARE * left + _SLACK_SECONDS:
            return n
        return min(n, int(left / seconds_each))


def count_within(n, seconds, seconds_each):
    """Return how many of ``n`` tasks fit into the seconds, at least one; all if they are free."""
    if seconds_each == 0.0:
        return n
    return min(n, max(1, int(seconds / seconds_each)))


def measured_seconds(task, repeats=1):
    """Measure the shortest time of a task; the first run may pay for cold caches."""
    seconds = np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        task()
        seconds = min(seconds, time.perf_counter() - begin)
    return seconds
