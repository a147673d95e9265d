"""How wide the bands of a stream are, as far as its rows vouch for narrower or wider ones.

What inducing inputs leave unexplained, k - q, the bound counts as noise, and predictions have it
once more; a function without noise meets a floor of it; and a smooth function is one draw of the
few directions that are left, which may be a hundredth of what is expected. Where what came next was
further off than predicted, batch after batch, bands are as much wider.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import chdtri

from ...data.distinct import group_sums, same_places
from ...data.rows import noise_of_each
from ...predict.vouched_bands import narrowed
from .place_gains import squares_of

# After so many rows those before count half. With 70, 100, 150 and 300 rows 97.4, 97.0, 96.6 and
# 96.1 % of 800 random streams (noise of 1e-6 to 10 of the function's deviation) had .75 to .99 of
# new rows in their 90 % bands; 87.6 % had without narrower bands. Twelve streams with one row in
# fifty far off had 0.009, 0.002 and 0.001 nats a row less with 70, 100 and 150 rows; six with one
# in two hundred, at random places, 0.041, 0.013 and 0.006 less with 100, 200 and 300.
_ROWS_REMEMBERED = 150.0
# Bands are as narrow as squares say with this probability to be wide enough: what is right keeps
# its bands, and few rows vouch for little. Log densities of these streams were 0.12 nats higher.
_TRUST = 0.95
# The same of bands that are too narrow: squares say with this probability that they are. Of series
# in batches of 60 rows whose bands held .65 in the mean (noise that fell beside lags, a fast cycle
# without noise, a walk that began late) they hold .83, .79 and .72 with 0.5, 0.8 and 0.95, and have
# 1.10, 1.02 and 0.90 nats a row more; a slow function that is right loses 0.011, 0.001 and 0.000.
_WIDER_TRUST = 0.8
# The same of rows that came several times, which make bands too narrow. Of eight draws of 50 rows
# of a sine, four times each, with noise of .1, .3 and 1, 90 % bands held .787, .780 and .739 in one
# batch. Now they hold .873, .879 and .873, and about .84 with 0.8.
_REPEATED_TRUST = 0.5
# Standardised residual that a row counts at most: what is told is how far off most rows are.
MOST_OF_A_MISS = 4.0
# Share of the rows of a sample that say nothing, those furthest off, and nats a row of the others
# that wider bands must gain, where the function was lost. A fast series that ends quiet, in other
# units or with other weights, ends with -0.65, -1.05 and -1.06 nats a row in the place of -159, -36
# and -42; walks, shifts, bursts and chirps are what they were.
_SILENT, _LEAD_OF_LOST = 0.05, 1.0
# Rows with so many times the usual variance tell of bands beyond other rows.
_BEYOND = 1.5


@dataclass(frozen=True)
class Fading:
    """Sum of numbers of rows, of each output; those long ago count less.

    Parameters
    ----------
    count, total : ndarray of shape (t,), or 0.0
    """

    count: np.ndarray | float = 0.0
    total: np.ndarray | float = 0.0

    def joined(self, values, counts=1.0, independent=1.0):
        """Add those of a batch, (n, t), whose order says nothing; NaN where there is none.

        A row that stands for two counts as two; ``independent`` is what share of all are.
        """
        seen = np.isfinite(values)
        counts = np.where(seen, np.reshape(counts, (-1, 1)), 0.0)
        n, total = counts.sum(axis=0), (counts * np.where(seen, values, 0.0)).sum(axis=0)
        kept = 0.5 ** (n / _ROWS_REMEMBERED)
        weight = (1.0 - kept) / (1.0 - 0.5 ** (1.0 / _ROWS_REMEMBERED)) / np.where(n > 0.0, n, 1.0)
        weight = weight * independent
        return Fading(kept * self.count + weight * n, kept * self.total + weight * total)


NOTHING_TOLD = Fading()


@dataclass(frozen=True)
class Misses:
    """Keep how far rows were from their predictions, to have bands that are not too narrow.

    A batch that goes on in time is one surprise, however many rows it has: they count as many as
    are independent under their joint prediction. A few far off are brought in, as for a shift.

    Parameters
    ----------
    inside, beyond : Fading
        Squared standardised residuals before the rows were learned from, of those with usual
        variances, and of those with more.
    """

    inside: Fading = NOTHING_TOLD
    beyond: Fading = NOTHING_TOLD

    def joined(self, squares, variance, usual, independent):
        """Add rows of a batch, (n, t), with their variances and what share is independent, (t,)."""
        is_beyond = variance > _BEYOND * usual
        return Misses(
            self.inside.joined(np.where(is_beyond, np.nan, squares), independent=independent),
            self.beyond.joined(np.where(is_beyond, squares, np.nan), independent=independent),
        )

    @property
    def factors(self):
        """Return factors, at least 1, of the usual variance and of what is beyond it, each (t,)."""
        return _at_least(self.inside), _at_least(self.beyond)


def _at_least(squares, trust=_WIDER_TRUST):
    """Return the factor of variances that squares ask for, 1 where they do not, (t,)."""
    count = np.maximum(squares.count, 1.0)
    least = squares.total / chdtri(count, 1.0 - trust)
    return np.where(np.asarray(squares.count) >= 1.0, np.maximum(least, 1.0), 1.0)


NO_MISSES = Misses()


@dataclass(frozen=True)
class Bands:
    """Keep what the rows that were learned from say of the bands.

    Parameters
    ----------
    left_out : Fading
        Squared standardised residuals of rows without what they, and others at their places, say
        of themselves.
    logs : Fading
        Of the variances of these rows, noise included, scaled.
    usual : ndarray of shape (t,), or 0.0
        Geometric mean of these variances in the last batch.
    repeated : Fading
        Of ``left_out``, of rows that came several times.
    """

    left_out: Fading = NOTHING_TOLD
    logs: Fading = NOTHING_TOLD
    usual: np.ndarray | float = 0.0
    repeated: Fading = NOTHING_TOLD

    def joined(self, fitted, rows, alpha, n_jobs):
        """Add rows that were learned from, with factors to the power alpha."""
        predictor, counts = replace(fitted.predictor, alpha=alpha), rows.weights[1]
        told = partial(_of_places, rows)
        (mean, before), (left, variance) = predictor.without(rows, told, n_jobs)
        noise = noise_of_each(rows, fitted.noise_variance)
        logs = np.log(np.broadcast_to(before + noise, mean.shape))
        squares = _squares(rows.targets - left, variance + noise)
        usual = np.exp(np.average(logs, axis=0, weights=counts))
        left_out, logs = self.left_out.joined(squares, counts), self.logs.joined(logs, counts)
        again = np.where((counts > 1.0)[:, None], squares, np.nan)
        return Bands(left_out, logs, usual, self.repeated.joined(again))

    @property
    def widening(self):
        """Return the factor of variances that rows which came several times ask for, (t,).

        What they say of themselves counts as often, and is taken for the function. Each tells once.
        """
        return _at_least(self.repeated, _REPEATED_TRUST)

    def in_units(self, factor):
        """Return these for targets that are multiplied by a factor, (t,)."""
        logs = replace(self.logs, total=self.logs.total + 2.0 * np.log(factor) * self.logs.count)
        return replace(self, logs=logs, usual=self.usual * factor**2)

    def told(self, fitted, rows, told, n_jobs, is_new=True):
        """Add rows before they are learned from, where bands could be narrower, to some squares.

        Beyond other rows the stream says itself that it knows less. Rows that are not new, (n,) of
        bool, are known, and say nothing of others.
        """
        if not (len(rows) and np.any(self.usual)):
            return told
        mean, function = fitted.predictor.moments(rows, n_jobs)
        function = function + fitted.targets.scaled_variance(fitted.state.levels.variance)
        variance = function + noise_of_each(rows, fitted.noise_variance)
        squares = _squares(rows.targets - mean, variance)
        is_told = (variance <= self.usual) & np.reshape(is_new, (-1, 1))
        squares = np.where(is_told, squares, np.nan)
        return told.joined(squares, rows.weights[1])

    def share(self, told):
        """Return what of the usual variance there is to be, (t,), in (0, 1].

        What is less than it was when these rows came has been made narrower already.
        """
        count = self.left_out.count + told.count
        total = self.left_out.total + told.total
        before = np.exp(self.logs.total / np.maximum(self.logs.count, 1.0))
        less = np.maximum(before / np.maximum(self.usual, np.finfo(np.float64).tiny), 1.0)
        at_most = less * total / chdtri(np.maximum(count, 1.0), _TRUST)
        return np.where(count >= 1.0, np.minimum(at_most, 1.0), 1.0)


NO_BANDS = Bands()


def vouched_share(fitted, rows, band_share, n_jobs):
    """Return the shares of bands, (share, usual, beyond), as some rows of all places bear them out.

    Bands that the last rows have narrowed, and of which these say less, are what they were, and
    wider where these are lost. The rows that are furthest off say nothing: they may be broken,
    as may all be where a shift has left a few.
    """
    share, usual, beyond = band_share
    mean, variance = fitted.predictor.moments(rows, n_jobs)
    variance = variance + noise_of_each(rows, fitted.noise_variance)
    squares = squares_of(rows.targets - mean)
    variance = narrowed(np.broadcast_to(variance, squares.shape), 1.0, usual, beyond)
    ratio = squares / variance
    are_enough = _SILENT * np.isfinite(ratio).sum(axis=0) >= 1.0
    if not (are_enough & (np.asarray(usual) > 0.0)).all():
        return band_share
    squares = np.where(ratio <= np.nanquantile(ratio, 1.0 - _SILENT, axis=0), squares, np.nan)

    def nats(share):
        own = narrowed(variance, share, usual)
        return np.nanmean(-0.5 * (np.log(own) + squares / own), axis=0)

    share = np.where(nats(share) < nats(1.0), np.maximum(share, 1.0), share)
    lost = 1.0 + np.nanmean((squares - variance) / np.minimum(variance, usual), axis=0)
    lost = np.maximum(lost, share)
    return np.where(nats(lost) > nats(share) + _LEAD_OF_LOST, lost, share), usual, beyond


def _squares(residuals, variance):
    """Return squared standardised residuals of targets that are rounded to a grid."""
    return squares_of(residuals) / variance


def _of_places(rows, noise):
    """Return means of targets at the place of each row, and the noise of such a mean, (n, t)."""
    place, targets = same_places(rows.X), rows.targets
    seen = ~np.isnan(targets)
    precision = np.where(seen, 1.0 / noise, 0.0)
    total = group_sums(place, precision)
    mean = group_sums(place, precision * np.where(seen, targets, 0.0))
    total = np.where(total > 0.0, total, np.nan)
    return (mean / total)[place], (1.0 / total)[place]
