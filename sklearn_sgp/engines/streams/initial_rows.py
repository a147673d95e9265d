"""The rows that a stream keeps while they are few, to begin anew with more of them."""

from dataclasses import dataclass, replace

import numpy as np

from ...data.rows import Rows, drop_zero_weight
from ..fitted import Fitted
from .begin_anew import NOT_BEGUN, Doubling, Turns
from .wandering import UNKNOWN_LEVEL, Level

# A stream begins anew with every batch until it has so many rows. Scaling, starting values and
# bounds that come from a few rows may be wrong by any factor, and later batches do not always undo
# that: of 800 random streams 5 that began with 2 to 24 rows ended with a mean squared standardised
# residual of 5 to 16,000; now all of them with less than 4, and so with twice as many rows.
MIN_INITIAL_ROWS = 25
# Up to so many are kept, and a stream begins anew with each batch that doubles them: what few rows
# have chosen, and a function that they did not show, would be for ever. sin(6 x) in the first of
# six columns in batches of 200 was missed in one of 12 draws with 512, in half of them in batches
# of 60 without; in 10 parts of four tables in their order densities rose by 0.08 nats a row in the
# mean, and fell by 0.09 at most. It is as many as `fit` begins with. Half of them where there is a
# signal: of 40 days by the hour 100 inducing inputs hold no daily cycle, of 20 days they do.
# So it is with labels, in batches of 60 to 100 rows: 19 of R's tables, 84 to 298 rows, have .0105
# nats a row more in the mean (-.004 to .057) than with the kernel of the first batch, in 1.5 times
# the CPU time.
_MOST_INITIAL_ROWS = 1024
# Spreads of a column by which a row lies outside of all others.
_OUTSIDE = 10.0


@dataclass(frozen=True)
class InitialRows:
    """The rows with which a stream began, and the fit that it began from.

    Parameters
    ----------
    rows : Rows
        Targets as the user gave them, not scaled.
    are_joined : bool
        Whether they came in several batches.
    least : int
        Number of rows from which it goes on.
    theta : ndarray or None
        What the default kernel has learned from them.
    level : Level
        Whether it wanders.
    before : Fitted or None
        The stream before a batch spoke for a level that wanders, or for none.
    rule : Doubling or Turns
        When the stream begins anew.
    """

    rows: Rows
    previous: Fitted | None
    are_joined: bool = False
    least: int = MIN_INITIAL_ROWS
    theta: np.ndarray | None = None
    level: Level = UNKNOWN_LEVEL
    before: Fitted | None = None
    rule: Doubling | Turns = NOT_BEGUN

    @classmethod
    def of(cls, inputs, y, weight, previous, rule=NOT_BEGUN):
        """Return the rows of a first batch."""
        return cls(_rows_of(inputs, y, weight), previous, rule=rule)

    def joined(self, inputs, y, weight):
        """Return these rows and those of a batch after them."""
        rows = _rows_of(inputs, y, weight)
        level = self.level.beyond(self.rows.X, rows.X)
        rule = self.rule.after(self.rows.y, rows.y)
        both = self.rows.joined(rows)
        return replace(self, rows=both, are_joined=True, level=level, rule=rule)

    def judged(self, earlier, fitted, batch, n_jobs):
        """Return these as a batch speaks for a level that wanders, or for none.

        Parameters
        ----------
        earlier : InitialRows
            Without the batch.
        fitted : Fitted
            The stream, which has not learned from the batch.
        batch : Rows
        """
        level = self.level.judged(fitted, earlier.rows, batch, n_jobs)
        if level.wanders == self.level.wanders:
            return replace(self, level=level, theta=fitted.parameters.theta)
        return replace(self, level=level, theta=None, rule=NOT_BEGUN, before=fitted)

    def begun(self, fitted, least):
        """Return these after a stream has begun with them; it may have kept its kernel.

        Their arrays are copies: the user may fill those of a first batch with the next one.
        """
        level, before = self.level, self.before
        if before is not None and fitted.start.kernel is before.start.kernel:
            level = level.refused()
        rule = self.rule.begun(self.rows)
        kept = replace(self, level=level, before=None, least=least, rule=rule).kept()
        return replace(kept, rows=_copied(kept.rows))

    @property
    def is_short(self):
        """True if they are too few to go on from."""
        return len(self.rows) < self.least

    @property
    def begins_otherwise(self):
        """True if a stream is to begin anew with another kernel."""
        return not self.rule.n_begun

    @property
    def is_due(self):
        """True if a stream is to begin anew with them."""
        return self.rule.is_due(self.rows)

    def kept(self):
        """Return these with no more rows than are kept of classes that come one after another."""
        rule, rows = self.rule.thinned(self.rows)
        return replace(self, rows=rows, rule=rule)

    def to_learn_from(self, rows):
        """Return these, as a fit has them, where none stands for others as well."""
        return self.rule.as_kept(self.rows, rows)

    def worth_keeping(self, earlier, has_signal, categorical=(), of_classes=False):
        """Return these; None where they will not begin a stream any more.

        That is where they are too many, where one lies far outside, or the batch of them that came
        after earlier ones: a fit to all rows would make that the unit of everything. No label is a
        reading that may be broken, whatever its row is, nor is a code of a category, in columns
        that are ``categorical``.
        """
        X, before = (np.delete(one, categorical, axis=1) for one in (self.rows.X, earlier.rows.X))
        is_far = np.ptp(X, axis=0) > _OUTSIDE * np.ptp(before, axis=0)
        is_far &= np.ptp(before, axis=0) > 0.0
        is_kept = len(X) <= most_kept(has_signal) and not is_far.any()
        is_usual = of_classes or _are_of_one_size(X, self.rows.y)
        return self if is_kept and is_usual else None


def most_kept(has_signal):
    """Return how many rows may be kept: half of all where there is a function already."""
    return _MOST_INITIAL_ROWS // 2 if has_signal else _MOST_INITIAL_ROWS


def _rows_of(inputs, y, weight):
    *parts, offset = drop_zero_weight(inputs.X, y, weight, inputs.offset)
    return Rows(*parts, 0.0, 1.0, offset=offset)


def _copied(rows):
    parts = ((name, getattr(rows, name)) for name in ("X", "y", "weight", "offset"))
    return replace(rows, **{name: np.array(part) for name, part in parts if part is not None})


def _are_of_one_size(X, y):
    """Return whether no row is an outlier of targets or inputs that nobody would begin with."""
    values = np.column_stack([np.asarray(X, dtype=np.float64), y])
    low, middle, high = np.nanquantile(values, [0.1, 0.5, 0.9], axis=0)
    off, spread = np.nanmax(np.abs(values - middle), axis=0), high - low
    return not ((off > _OUTSIDE * spread) & (spread > 0.0)).any()
