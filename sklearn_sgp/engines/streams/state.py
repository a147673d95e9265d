"""What a stream knows besides the fitted model; replaced by every batch, never changed."""

from dataclasses import dataclass, replace

import numpy as np

from ...data.running_moments import RunningMoments
from ..fitted import State
from .band_places import NO_PLACES, BandPlaces
from .bands import NO_BANDS, Bands
from .batch_levels import NO_LEVELS, BatchLevels
from .initial_rows import InitialRows
from .waiting import NONE_WAITING, Waiting
from .watch import UNWATCHED, Watch

# Fewer rows of a batch say little about whether there is a signal.
MIN_ROWS_FOR_SIGNAL = 50
# A row that counts less, beside what rows so far count in the mean, tells nothing of a change: its
# weight says that it is next to absent, wherever it lies.
_SHARE_THAT_TELLS = 0.1


@dataclass(frozen=True)
class StreamState(State):
    """State of a stream besides the fitted model.

    Parameters
    ----------
    weight_seen : float
        Weight of all rows so far.
    weight_learned : float
        Weight of the rows that kernel and noise were learned from.
    has_signal : bool
        Whether something other than noise was seen, or too few rows to tell.
    n_rows : int
        Number of rows so far.
    initial_rows : InitialRows or None
        The rows themselves, as long as they are few.
    moments : RunningMoments or None
        Of the targets so far; None where their units stay what they are.
    ones : ndarray of shape (m, t) or None
        With ``moments``: the h of targets that are all 1.
    watch : Watch
        How batches were predicted.
    begins_anew : bool
        Whether the next batch is to begin at the starting values, as nothing is what it was.
    waiting : Waiting
        Rows that kernel and noise are to be learned from with later ones.
    bands : Bands
        How far left-out rows were from their predictions; of none where bands are what they are.
    band_share : tuple of ndarray of shape (t,)
        Share of the usual variance that predictions have, that variance, scaled, and the share of
        what is beyond it.
    levels : BatchLevels
        Of a level that wanders from batch to batch.
    places : BandPlaces
        A sample of the rows, and bands that depend on the place.
    """

    weight_seen: float
    weight_learned: float
    has_signal: bool
    n_rows: int
    initial_rows: InitialRows | None = None
    moments: RunningMoments | None = None
    ones: np.ndarray | None = None
    watch: Watch = UNWATCHED
    begins_anew: bool = False
    waiting: Waiting = NONE_WAITING
    bands: Bands = NO_BANDS
    band_share: tuple = (1.0, 0.0, 1.0)
    levels: BatchLevels = NO_LEVELS
    places: BandPlaces = NO_PLACES

    @property
    def attributes(self):
        """Fitted attributes of an estimator."""
        return self.watch.attributes

    def with_band_share(self):
        """Return the same with bands as what is known of them says."""
        narrow, (inside, beyond) = self.bands.share(self.watch.told), self.watch.misses.factors
        wide, established = self.bands.widening, self.is_established
        share, beyond = np.where(narrow < 1.0, narrow, inside), np.maximum(beyond, wide)
        share = np.where(wide > 1.0, np.maximum(share, wide), share)
        share, beyond = (np.where(established, each, 1.0) for each in (share, beyond))
        return replace(self, band_share=(share, self.bands.usual, beyond))

    @property
    def goes_on(self):
        """True if a stream does not begin anew with rows that are kept."""
        return self.initial_rows is None

    @property
    def mean_weight(self):
        """Mean weight of the rows so far; inf where none counts any more."""
        return self.weight_seen / self.n_rows if self.weight_seen > 0.0 else np.inf

    def telling(self, rows):
        """Return those of later rows that tell what has changed.

        That are rows that count enough, and of which no missing input leaves much open.
        """
        if rows.observations is None:
            return rows
        tells = rows.observations >= _SHARE_THAT_TELLS * min(self.mean_weight, 1.0)
        tells &= rows.are_certain
        return rows if tells.all() else rows.select(np.flatnonzero(tells))

    @property
    def is_established(self):
        """True if kernel and noise were learned from enough rows that have a signal."""
        is_long = self.n_rows >= MIN_ROWS_FOR_SIGNAL
        return self.has_signal and self.weight_learned > 0.0 and is_long
