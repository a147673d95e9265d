"""What a fit has left: work that is expected of it yet, at the speed measured so far."""

from collections import defaultdict

import numpy as np

# Gains of so many entries are compared, and before so many nothing is foretold from them.
# Of four runs of 24 to 96 iterations (kin40k, california_housing, uk_house_price) the iterations
# left were 0.9 to 1.4 times those foretold from 50 on, and 0.2 to 1.6 times from 20 on.
_LOOK, LEAST_ENTRIES, _ENTRIES_THAT_TELL = 10, 20, 50
_LEAST_FALL, _LARGEST_RISE = 1.01, 1.6
# The part of the steps that follow learning.
LATER = "later steps"


class Forecast:
    """Work of each part of a fit: what is done, and what is expected yet, in equal units.

    A part takes as long for its work as it took so far, one that has not begun as long as all
    others did. Nothing is foretold where nothing is expected, or nothing measured.

    Parameters
    ----------
    clock : Clock
    """

    def __init__(self, clock):
        self.clock, self._told = clock, clock.elapsed()
        self._left, self._most = {}, {}
        self._done, self._seconds = defaultdict(float), defaultdict(float)

    def expect(self, part, work, most=0.0):
        """Expect so much work of a part from now on, and at most so much."""
        self._left[part], self._most[part] = work, max(work, most)

    def did(self, part, work=0.0):
        """Count the time since this was called last for a part, and for some of its work."""
        before, self._told = self._told, self.clock.elapsed()
        self._done[part] += work
        self._seconds[part] += self._told - before
        for known in (self._left, self._most):
            if part in known:
                known[part] = max(known[part] - work, 0.0)

    def seconds_left(self):
        """Return the seconds that are expected; inf where nothing is known."""
        return self._seconds_of(self._left)

    def most_seconds_left(self):
        """Return the seconds that no part will exceed at this speed; inf where nothing is known."""
        return self._seconds_of(self._most)

    def _seconds_of(self, known):
        measured = [part for part, work in self._done.items() if work > 0.0]
        seconds = sum(self._seconds[part] for part in measured)
        if not (known and seconds):
            return np.inf
        usual = seconds / sum(self._done[part] for part in measured)
        each = {part: self._seconds[part] / self._done[part] for part in measured}
        return sum(work * each.get(part, usual) for part, work in known.items())


def entries_left(values, least):
    """Foretell after how many more entries a course gains too little.

    Gains of ten entries fall as a power of the number of entries: so they did between its half and
    now. Before many entries that counts in part, and in part that as many follow as there were.

    Parameters
    ----------
    values : sequence of float
        At least `LEAST_ENTRIES`.
    least : float
        Gain of ten entries with which it ends.
    """
    n = len(values)
    gain, before = (values[k] - values[k - _LOOK] for k in (n - 1, n // 2))
    if gain <= least:
        return 0.0
    power = np.log2(max(before / gain, _LEAST_FALL))
    by_gains = n * np.expm1(min(np.log(gain / least) / power, _LARGEST_RISE))
    share = min(n / _ENTRIES_THAT_TELL, 1.0)
    return float(by_gains**share * n ** (1.0 - share))
