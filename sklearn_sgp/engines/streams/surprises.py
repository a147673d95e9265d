"""Whether batches are as probable as a stream expects, where nothing else tells of a shift.

Log densities of rows are compared with what the stream expects them to be: of classes with the mean
log probability that it predicts, of numbers with that of a normal variable as wide. Models are
hardly ever right, so that batches are compared with those before, as in `watch`.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..._warnings import warn_caller
from .usual import ALARM, LEAST_ROWS, Usual

# Nats a row by which the batch is less probable than batches usually are, at least, and in
# deviations of its own rows.
_LEAST_FALL, _OWN_DEVIATIONS = 0.5, 3.0
# A row says no more than so many nats: outliers are no shift, and one of ten is less than a fall.
_LEAST_OF_A_ROW = 4.0
# A model that was given may be wrong from the beginning on: so many batches tell what is usual.
_BATCHES_BEFORE = 3
# Variance between batches that are all right, of the mean surprise of a row.
_USUAL_VARIANCE = 0.1


@dataclass(frozen=True)
class Surprises:
    """Keep what is known of how far log densities are below what is expected.

    Parameters
    ----------
    usual : Usual or None
        Of standardised surprises of batches.
    rows, total, variance : float
        Sums over rows too few to decide.
    fall : float
        By how many nats a row the last rows were less probable than usual; 0 if they were not.
    n_fallen : float
        How many these were.
    """

    usual: Usual | None = None
    rows: float = 0.0
    total: float = 0.0
    variance: float = 0.0
    fall: float = 0.0
    n_fallen: float = 0.0

    def passed(self):
        """Return the same after a batch of which nothing was asked."""
        return replace(self, fall=0.0, n_fallen=0.0) if self.fall else self

    def after(self, log_p, expected, variance, counts):
        """Decide about a batch, of rows with log densities, their expected values and variances.

        Rows without these, such as targets beyond a limit, say nothing. ``counts`` is how many rows
        each stands for, (n,).
        """
        each = np.maximum(log_p - expected, -_LEAST_OF_A_ROW)
        tells = np.isfinite(each) & np.isfinite(variance)
        each, variance, counts = each[tells], variance[tells], counts[tells]
        n, total = self.rows + float(counts.sum()), self.total + float(counts @ each)
        variance = self.variance + float(counts @ variance)
        if n < LEAST_ROWS:
            return replace(self.passed(), rows=n, total=total, variance=variance)
        unknown = Usual.unknown(1, has_mean=True)
        usual = self.usual or unknown
        unit = np.sqrt(_USUAL_VARIANCE + variance / n**2)
        value = np.array([total / n / unit])
        fall = float(unit * (usual.mean - value)[0])
        is_known = usual.count[0] >= _BATCHES_BEFORE
        least = max(_LEAST_FALL, _OWN_DEVIATIONS * np.sqrt(variance) / n)
        if is_known and fall > least and usual.log_probability(value)[0] < np.log(ALARM):
            return Surprises(unknown.joined(value), fall=fall, n_fallen=n)  # told once
        return Surprises(usual.joined(value))


NO_SURPRISES = Surprises()


def warn_of_surprise(surprises):
    """Say that a stream did not expect rows, if so, and that it cannot tell why."""
    if surprises.fall:
        warn_caller(
            f"Batches should go on as those before. Got {surprises.n_fallen:.0f} rows that do not: "
            f"beside what was expected their log density is {surprises.fall:.1f} nats a row lower "
            "than before. The stream learns from them as from any other rows: let the past fade "
            "by forget_factor below 1, or begin another stream.",
            UserWarning,
        )
