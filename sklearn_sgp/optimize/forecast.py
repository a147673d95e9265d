"""What a fit has left: work that is ahead of it, at the speed measured so far."""

from collections import defaultdict

import numpy as np

# The part of the steps that follow learning.
LATER = "later steps"


class Forecast:
    """Work of each part of a fit: what is done, and what is ahead, in equal units.

    A part takes as long for its work as it took so far, one that has not begun as long as all
    others did. Nothing is foretold where nothing is known to be ahead, where some part has no end
    that can be foretold, or where nothing is measured.
    """

    def __init__(self, clock):
        self.clock, self._told = clock, clock.elapsed()
        self._left, self._limits = {}, set()
        self._done, self._seconds = defaultdict(float), defaultdict(float)

    def expect(self, part, work, is_limit=False):
        """Expect so much work of a part from now on (inf: nobody knows), or at most so much."""
        self._left[part] = work
        (self._limits.add if is_limit else self._limits.discard)(part)

    def did(self, part, work=0.0):
        """Count the time since this was called last for a part, and for some of its work."""
        before, self._told = self._told, self.clock.elapsed()
        self._done[part] += work
        self._seconds[part] += self._told - before
        if part in self._left:
            self._left[part] = max(self._left[part] - work, 0.0)

    @property
    def is_limit(self):
        """True if the fit may end long before the seconds that are left."""
        return any(self._left[part] > 0.0 for part in self._limits)

    def seconds_left(self):
        """Return the seconds that are ahead, or a limit of them; inf where nothing is known."""
        measured = [part for part, work in self._done.items() if work > 0.0]
        seconds = sum(self._seconds[part] for part in measured)
        if not (self._left and seconds) or np.inf in self._left.values():
            return np.inf
        usual = seconds / sum(self._done[part] for part in measured)
        each = {part: self._seconds[part] / self._done[part] for part in measured}
        return sum(work * each.get(part, usual) for part, work in self._left.items())
