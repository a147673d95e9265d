"""Whether batches are as probable as a stream expects, where nothing else tells of a shift.

Log densities of rows are compared with what the stream expects them to be: of classes with the mean
log probability that it predicts, of numbers with that of a normal variable as wide. Models are
hardly ever right, so that batches are compared with those before, as in `watch`.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..._warnings import warn_caller
from .usual import ALARM, LEAST_ROWS, Usual

# Nats a row by which the batch is less probable than batches usually are, at least.
_LEAST_FALL = 0.5
# A row says no more than so many nats: outliers are no shift, and one of ten is less than a fall.
_FURTHEST_ROW = 4.0
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
        By how many nats a row the last batch was less probable than usual; 0 if it was not.
    """

    usual: Usual | None = None
    rows: float = 0.0
    total: float = 0.0
    variance: float = 0.0
    fall: float = 0.0

    def after(self, log_p, expected, variance):
        """Decide about a batch, of rows with log densities, their expected values and variances."""
        each = np.maximum(log_p - expected, -_FURTHEST_ROW)
        n, total = self.rows + len(each), self.total + float(each.sum())
        variance = self.variance + float(variance.sum())
        if n < LEAST_ROWS:
            return replace(self, rows=n, total=total, variance=variance, fall=0.0)
        unknown = Usual.unknown(1, has_mean=True)
        usual = self.usual or unknown
        unit = np.sqrt(_USUAL_VARIANCE + variance / n**2)
        value = np.array([total / n / unit])
        fall = float(unit * (usual.mean - value)[0])
        is_known = usual.count[0] >= _BATCHES_BEFORE
        if is_known and fall > _LEAST_FALL and usual.log_probability(value)[0] < np.log(ALARM):
            return Surprises(unknown.joined(value), fall=fall)  # told once
        return Surprises(usual.joined(value))


NO_SURPRISES = Surprises()


def warn_of_surprise(fall, n_rows):
    """Say that a stream did not expect a batch, and that it cannot tell why."""
    warn_caller(
        f"Batches should go on as those before. Got one of {n_rows} rows that does not: their log "
        f"density is {fall:.1f} nats a row lower than before. The stream learns from them as from "
        "any other rows: let the past fade by forget_factor below 1, or begin another stream.",
        UserWarning,
    )
