"""A row of a table: which value of which experiment, and what it must be."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """A row of the table.

    Parameters
    ----------
    experiment : str
        Which experiment has the value.
    key : str
        Of the value, and of the peers' in the same run.
    title : str
    unit : str
    low, high : float or None
        The value is to lie between them; None is open.
    reference : str
        What was known before, in the unit of the measure.
    factor : float
        From the experiment's unit to the one shown.
    ratio : bool
        Whether a ratio to the peers makes sense.
    rival : str
        Peer without which there is no value.
    """

    experiment: str
    key: str
    title: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    reference: str = ""
    factor: float = 1.0
    ratio: bool = False
    rival: str = ""

    def met(self, value):
        """Whether the value is what is to be reached; None where there is nothing to reach."""
        if self.low is None and self.high is None:
            return None
        if value is None:
            return False
        above = self.low is None or value >= self.low
        return above and (self.high is None or value <= self.high)

    @property
    def target(self):
        if self.low is not None and self.high is not None:
            return f"{self.low:g} to {self.high:g}"
        if self.low is not None:
            return f"at least {self.low:g}"
        return "" if self.high is None else f"at most {self.high:g}"


def timed(experiment, key, title, high, reference, unit="s", factor=1.0):
    return Measure(
        experiment, key, title, unit, high=high, reference=reference, factor=factor, ratio=True
    )
