"""A row of a table: which value of which experiment, and what it must be."""

import math
from dataclasses import dataclass

YES, NO, OPEN = "yes", "NO", "within 1 se"


@dataclass(frozen=True)
class Measure:
    """A row of the table.

    Parameters
    ----------
    experiment : str
        Which experiment has the value.
    key : str
        Of the value, of its standard error, and of the peers' values in the same run.
    title : str
    unit : str
    low, high : float or None
        The value is to lie between them; None is open.
    published : str
        What a paper says of it.
    factor : float
        From the experiment's unit to the one shown.
    ratio : bool
        Whether a ratio to the peers makes sense.
    rival : str
        Peer without which there is no value.
    density : str
        Key of a gain in density without which a ratio of seconds does not count.
    """

    experiment: str
    key: str
    title: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    published: str = ""
    factor: float = 1.0
    ratio: bool = False
    rival: str = ""
    density: str = ""

    def met(self, value, se=None):
        """YES where the value is beyond its limit by more than a standard error.

        OPEN within one of it, NO beyond on the wrong side, "" where there is nothing to reach.
        """
        if self.low is None and self.high is None:
            return ""
        if value is None or not math.isfinite(value):
            return NO
        rooms = [value - self.low] if self.low is not None else []
        rooms += [self.high - value] if self.high is not None else []
        room = min(rooms)
        if se:
            return YES if room > se else OPEN if room >= -se else NO
        return YES if room >= 0.0 else NO

    @property
    def target(self):
        if self.low is not None and self.high is not None:
            return f"{self.low:g} to {self.high:g}"
        if self.low is not None:
            return f"at least {self.low:g}"
        return "" if self.high is None else f"at most {self.high:g}"


def timed(experiment, key, title, unit="s", factor=1.0):
    """Seconds: no target, beside those of peers and their ratio."""
    return Measure(experiment, key, title, unit, factor=factor, ratio=True)


def times(experiment, key, title, low=None, rival=""):
    """Seconds, or another cost, of a rival over ours in the same run."""
    return Measure(experiment, key, title, "times", low=low, rival=rival)


def share(experiment, key, title, low=None):
    """Arithmetic owed in the time that it took, of the peak of the same run."""
    return Measure(experiment, key, title, "% of peak", low=low, factor=100.0)
