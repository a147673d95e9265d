"""What a stream remembers of how its batches were predicted, and when that says: a shift.

A batch is scored before it is learned from. What is right has whitened residuals that are standard
normal: a common level, z, and the logarithm of the median square about it, v. Models are hardly
ever right, so that both are compared with those of the batches before, by Student's t.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...data.targets import read_only_copy
from ...data.winsorize import MAD
from .bands import NO_MISSES, NOTHING_TOLD, Fading, Misses
from .surprises import NO_SURPRISES, Surprises
from .usual import ALARM, LEAST_ROWS, Usual

# Median of the square of a standard normal number, and n times the variance of the logarithm of
# the median of n of them.
_MEDIAN, _SCATTER = 0.4549, 5.44
# Variance of v between batches that are all right, besides its own: kernels are never quite so.
_USUAL_SCATTER = 0.1
# Deviation, in units of its own, that v is thought to have before batches tell. With 1 streams with
# 2 % of readings 60 deviations off, whose noise is that of the spikes, had 3 alarms in 75 batches.
_FIRST_SCATTER = 1.5
# The same of z. With 1 one of 300 random streams took what it did not know yet of its function, 11
# deviations in its second batch, for a level that moved: its squared standardised residuals were
# 5.6 where they are 2.8 without that. Levels that moved by 5 deviations have a z of 20 and more.
_FIRST_LEVEL_SCATTER = 3.0
# A residual further from the median one than so many predicted deviations, or median absolute
# deviations, counts as so far: outliers are no shift.
_ROWS_ARE_WITHIN = 3.0
# A row alone may be an outlier, too.
_ROW_IS_WITHIN = 4.0
# An alarm needs 30 % of the rows this many predicted deviations off; 5 % of right models' are. For
# noise that fell, all but 30 % must be within so many.
_OFF, _CLOSE = 2.0, 0.4
_MOST_ROWS = 0.7
# Bands of 90 % are too narrow where each of so many batches in a row had less than this share of
# its rows in them. 5 of 6 random walks in batches of 60 were told; none of 39 streams of 15 batches
# of sines in time and in random order, fast ones, one of six columns, noise with heavy tails and
# three tables.
_NARROW_BATCHES, _HELD_BY_NARROW_BANDS, _BAND = 3, 0.75, 1.645
# Mean log densities of batches that are kept.
_TRACE = 100


class Alone(NamedTuple):
    """Hold a row of a short batch, which alone says nothing.

    Attributes
    ----------
    place : ndarray of shape (d,)
    weight : float
    ratio, deviation : ndarray of shape (t,)
        Level that the row speaks for, and its deviation in scaled targets: what rows before it that
        came alone have told of a level is no longer in its residual.
    share : ndarray of shape (t,)
        What it counts in the level; 0 where the output was not observed.
    """

    place: np.ndarray
    weight: float
    ratio: np.ndarray
    deviation: np.ndarray
    share: np.ndarray

    def in_units(self, factor):
        """Return the same for targets times a factor, (t,)."""
        return self._replace(deviation=factor * self.deviation, share=self.share / factor**2)

    def is_nearer(self, level):
        """Return which outputs, (t,), are nearer to a level that moved than to that before."""
        own = self.ratio * self.deviation
        return (np.abs(own - level) < np.abs(own)) & (self.share != 0.0)


@dataclass(frozen=True)
class Gathered:
    """Sums over the rows since the last decision, of each output.

    Parameters
    ----------
    level, information : ndarray of shape (t,)
        Sums of level times information, and of the information about it, in scaled targets.
    distances, whitened : ndarray of shape (n, t)
        Residuals in predicted deviations, and whitened ones about the level, without their signs;
        NaN where there are none.
    y : ndarray of shape (n, t)
        Targets as they came.
    alone : tuple of Alone
        Rows of short batches.
    """

    rows: int
    level: np.ndarray
    information: np.ndarray
    distances: np.ndarray
    whitened: np.ndarray
    y: np.ndarray
    alone: tuple = ()

    def joined(self, other):
        """Add the rows of both."""
        return Gathered(
            self.rows + other.rows,
            self.level + other.level,
            self.information + other.information,
            np.concatenate([self.distances, other.distances]),
            np.concatenate([self.whitened, other.whitened]),
            np.concatenate([self.y, other.y]),
            (*self.alone, *other.alone),
        )

    def in_units(self, factor):
        """Return the same for targets times a factor, (t,)."""
        return replace(
            self,
            level=self.level / factor,
            information=self.information / factor**2,
            alone=tuple(one.in_units(factor) for one in self.alone),
        )

    def as_one_batch(self):
        """Return the same with the level of rows that came one by one, as if they had come at once.

        One row far off may be an outlier, eight of them are a level.
        """
        if len(self.alone) < self.rows:
            return self
        ratio, deviation, share = (
            np.array(each) for each in list(zip(*self.alone, strict=True))[2:]
        )
        level = np.zeros_like(self.level)
        for c, seen in enumerate((share != 0.0).T):
            near = deviation[seen, c] * near_others(ratio[seen, c])
            level[c] = share[seen, c] @ near
        return replace(self, level=level, information=share.sum(axis=0))

    @property
    def z(self):
        """Standardised level, (t,)."""
        return self.level / np.sqrt(np.where(self.information > 0.0, self.information, 1.0))

    @property
    def mean_level(self):
        """The level, (t,), in scaled targets."""
        return self.level / np.where(self.information > 0.0, self.information, 1.0)

    @property
    def v(self):
        """Logarithm of the median square about the level, standardised, (t,)."""
        n = np.maximum(np.isfinite(self.whitened).sum(axis=0), 1)
        middle = np.maximum(quantiles(self.whitened, 0.5), np.finfo(np.float64).tiny)
        v = 2.0 * np.log(middle) - np.log(_MEDIAN)
        return np.where(self.information > 0.0, v / np.sqrt(_USUAL_SCATTER + _SCATTER / n), 0.0)

    @property
    def held(self):
        """Share of the targets in their 90 % bands; NaN where there are none."""
        seen = np.isfinite(self.distances)
        return float(np.mean(self.distances[seen] < _BAND)) if seen.any() else np.nan

    @property
    def is_off(self):
        """Return which outputs have many rows far from their predictions, (t,)."""
        return quantiles(self.distances, _MOST_ROWS) > _OFF

    def is_close(self, usual):
        """Return which outputs have nearly all rows much nearer than usual, (t,)."""
        return quantiles(self.distances, _MOST_ROWS) < _CLOSE * usual

    @property
    def repeats(self):
        """Return which outputs have one value in more than half of the rows, (t,).

        Their middle tells no noise: days without rain say nothing of how much falls on others, and
        a sensor that hangs has no noise, and says nothing of what comes.
        """
        return _commonest_share(self.y) > 0.5


def near_others(ratio):
    """Bring residuals, in predicted deviations, that are alone in being far away in."""
    middle, reach = 0.0, _ROW_IS_WITHIN
    if len(ratio) >= LEAST_ROWS:
        middle = np.median(ratio)
        reach = _ROWS_ARE_WITHIN * max(1.0, MAD * float(np.median(np.abs(ratio - middle))))
    return np.clip(ratio, middle - reach, middle + reach)


def quantiles(values, share):
    """Return a quantile of each column, those that are NaN left out; 1 where none is left."""
    seen = np.isfinite(values)
    each = zip(values.T, seen.T, strict=True)
    return np.array([np.quantile(one[own], share) if own.any() else 1.0 for one, own in each])


def _commonest_share(values):
    """Return the share of each column that its commonest value has, those that are NaN left out."""
    shares = np.zeros(values.shape[1])
    for c, seen in enumerate(np.isfinite(values.T)):
        if seen.any():
            counts = np.unique(values[seen, c], return_counts=True)[1]
            shares[c] = counts.max() / counts.sum()
    return shares


@dataclass(frozen=True)
class Watch:
    """Keep what was seen so far of the batches of a stream; replaced, never changed.

    Parameters
    ----------
    densities : tuple of float
        Mean log densities of the last batches before they were learned from, in units of y.
    gathered : Gathered or None
        Of rows too few to decide.
    close : ndarray of shape (t,), or 0.0
        Of outputs whose noise was much smaller in the last batch: what was usual before it, else 0.
    noise_fell : bool
        Whether the last batch was much nearer than batches before it: then its rows may say at once
        how much noise there is. Where few rows are far off all others are as near as ever.
    fading : tuple of float
        What each share of the past has explained of batches so far; see `shifts.fading_share`.
    held : tuple of float
        Shares of the last batches that were in their bands.
    is_narrow : bool
        Whether bands were told to be too narrow, and have not held what they say since.
    told : Fading
        Squared standardised residuals of rows before they were learned from; see `bands.Bands`.
    misses : Misses
        The same for bands that are too narrow.
    surprises : Surprises
        Of streams that nothing else tells of shifts.
    """

    densities: tuple = ()
    n_missing: int = 0
    n_shifts: int = 0
    gathered: Gathered | None = None
    levels: Usual | None = None
    scales: Usual | None = None
    close: np.ndarray | float = 0.0
    noise_fell: bool = False
    fading: tuple = ()
    held: tuple = ()
    is_narrow: bool = False
    told: Fading = NOTHING_TOLD
    misses: Misses = NO_MISSES
    surprises: Surprises = NO_SURPRISES

    @property
    def attributes(self):
        """Public fitted attributes."""
        return {
            "batch_log_density_": self.densities[-1] if self.densities else None,
            "batch_log_densities_": read_only_copy(np.array(self.densities)),
            "n_missing_": self.n_missing,
            "n_shifts_": self.n_shifts,
        }

    def scored(self, density):
        """Add the mean log density of a batch."""
        return replace(self, densities=(*self.densities, float(density))[-_TRACE:])

    def surprised(self, log_p, expected, variance, counts):
        """Compare the log densities of the rows of a batch with what was expected, (n,) each."""
        surprises = self.surprises.after(log_p, expected, variance, counts)
        n_shifts = self.n_shifts + (surprises.fall > 0.0)
        return replace(self, surprises=surprises, n_shifts=n_shifts)

    def after(self, seen, can_move, usual):
        """Decide about a batch.

        Parameters
        ----------
        seen : Gathered
        can_move : ndarray of bool, shape (t,)
            Outputs of which enough is known: they have varied.
        usual : ndarray of shape (t,)
            Distances from predictions that rows of each output have had, in predicted deviations; 0
            where noise cannot have fallen. Two batches in a row must tell that it has: one may lack
            what made the noise.

        Returns
        -------
        watch : Watch
        seen : Gathered
            With the rows that were gathered before.
        alarm : ndarray of bool, shape (t,)
            Outputs that are no longer what they were.
        """
        t, seen = len(seen.level), seen if self.gathered is None else self.gathered.joined(seen)
        none = np.zeros(t, dtype=bool)
        if seen.rows < LEAST_ROWS:
            return replace(self, gathered=seen, noise_fell=False), seen, none
        seen = seen.as_one_batch()
        levels = self.levels or Usual.unknown(t, has_mean=False, scatter=_FIRST_LEVEL_SCATTER)
        scales = self.scales or Usual.unknown(t, has_mean=True, scatter=_FIRST_SCATTER)
        least = np.log(ALARM / t)
        moved = levels.log_probability(seen.z) < least
        other = scales.log_probability(seen.v) < least
        usual = np.maximum(usual, self.close)
        falls = other & (seen.v < scales.mean) & (usual > 0.0)
        usual = np.where(seen.repeats, 0.0, usual)
        close = other & seen.is_close(usual)
        alarm = ((moved | other) & seen.is_off & can_move) | (close & (self.close > 0.0))
        fell = falls & ~seen.repeats
        if not (alarm | close | falls).any():  # nor is a sensor that hangs what is usual
            levels, scales = levels.joined(seen.z), scales.joined(seen.v)
        close = np.where(close, usual, 0.0)
        told = replace(self, gathered=None, levels=levels, scales=scales, close=close)
        told = replace(told, noise_fell=bool(fell.all()))
        told = told._with_bands(seen.held)
        return told, seen, alarm

    def _with_bands(self, held):
        """Add the share of a batch that was in its bands; once they hold enough, they may tell."""
        if np.isnan(held):
            return self
        every = (*self.held, held)[-_NARROW_BATCHES:]
        is_few = len(every) == _NARROW_BATCHES and max(every) < _HELD_BY_NARROW_BANDS
        return replace(self, held=every, is_narrow=is_few)

    @property
    def alone(self):
        """Rows that came in short batches since the last decision."""
        return () if self.gathered is None else self.gathered.alone

    def in_units(self, factor):
        """Return the same for targets times a factor, (t,)."""
        gathered = self.gathered
        return self if gathered is None else replace(self, gathered=gathered.in_units(factor))

    def tempered(self, share):
        """Let the rows so far count a share."""
        if share == 1.0 or not self.alone:
            return self
        alone = tuple(one._replace(weight=share * one.weight) for one in self.alone)
        return replace(self, gathered=replace(self.gathered, alone=alone))

    def forgetting(self):
        """Begin anew to learn what is usual."""
        usual = {"levels": None, "scales": None, "close": 0.0, "held": ()}
        told = {"told": NOTHING_TOLD, "misses": NO_MISSES}
        return replace(self, n_shifts=self.n_shifts + 1, **usual, **told)


UNWATCHED = Watch()
