"""Bands of a stream by place: how far off a small sample of its rows says that it is there.

A stream that lacks inducing inputs is near its rows at some places and far from them at others,
and what it has dropped it no longer knows. So it keeps a few of the rows, drawn evenly from all
that came. Their squared residuals, without what each says of itself, say how wide bands are to be
near it.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...data.distinct import same_places
from ...data.rows import Rows, noise_of_each
from ...data.scaling import GRID
from ...predict.vouched_bands import NearSample, narrowed

# Rows that are kept for each inducing input, and at most: what they take is no more than what the
# posterior does.
_ROWS_OF_AN_INPUT, _MOST_SAMPLED = 4, 1024
# Fewer say nothing.
_LEAST_SAMPLE = 50
# Nats a row of the sample that bands by place must gain over those that are equal everywhere. With
# 0.03 eight made series (pseudo-periodic, noisy, a chirp, bursts, planes) with half the inducing
# inputs that they need end with .08 to 1.01 nats a row more than without; of 60 random streams six
# have such bands, and .05 to 1.24 nats more. With 0.1 the pseudo-periodic series of the papers ends
# as without, which is .20 less.
_LEAST_PLACE_GAIN = 0.03
# Standard errors that the gain must be above 0, with so many nats of a row at most: where one row
# in fifty is far off, at random, the others near a place do not tell.
_ERRORS_OF_A_GAIN, _MOST_GAIN_OF_A_ROW = 2.0, 1.0
# Share of the rows that may repeat others. Of four streams whose noise is uneven, where 2 to 50 %
# of the rows were put where others are, all ended 0.6 to 0.8 nats a row higher with bands by place
# than without; 60 random streams, half of them with repeated rows, have the same ones with any
# limit. Beyond half of them what is left is hardly a sample of all.
_MOST_REPEATED = 0.5
# Share of these of which is known what the others say. What rows that are lost said of themselves
# cannot be taken out where less noise was learned since: of 100 rows of a fast series that ends
# quiet 42 were known, all of them quiet, and bands at the lost places became narrower still.
_LEAST_LEFT_OUT = 0.5
# The part of the sample that is furthest off, and how much of all squares it may hold. Where one
# row in fifty is far off at random, two of them side by side look like a place, and the next one
# elsewhere cost 500 nats. Such rows held 0.92 and more in 90 % of the batches of 16 streams; the
# furthest of uneven and pseudo-periodic series and of speech 0.14 to 0.76, and once 0.90.
_FURTHEST_PART, _MOST_OF_FURTHEST = 0.05, 0.8
# How often the kernel's correlation, by which rows near a place count, is raised to the fourth
# power, and rows that the mean of all counts as.
_TIMES_SQUARED_TWICE, _PRIORS = (0, 1, 2), (0.1, 0.3, 1.0, 3.0)
# Of Steele's and Vigna's SplitMix64, which makes numbers that look random of 0, 1, 2, ...
_SPLITMIX_STEP, _MIXERS = 0x9E3779B97F4A7C15, ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


@dataclass(frozen=True)
class RowSample:
    """Keep a few rows, drawn evenly from all of a stream.

    Parameters
    ----------
    rows : Rows or None
    order : ndarray of shape (n,) or None
        The rows with the least of these numbers stay.
    n_seen : int
    """

    rows: Rows | None = None
    order: np.ndarray | None = None
    n_seen: int = 0

    def joined(self, rows, size):
        """Draw so many from these and those of a batch, in whose units all are."""
        order = _mixed(self.n_seen, len(rows))
        n_seen = self.n_seen + len(rows)
        if self.rows is not None:
            own = replace(self.rows, y_mean=rows.y_mean, y_scale=rows.y_scale, grid=rows.grid)
            least = self.order.max() if len(self.order) >= size else np.inf
            picked = np.flatnonzero(order < least)
            rows, order = own.joined(rows.select(picked)), np.append(self.order, order[picked])
        kept = np.sort(np.argsort(order)[:size])
        rows = replace(rows.select(kept), labels=None)
        return RowSample(rows, order[kept], n_seen)

    def alone(self):
        """Return the rows that do not repeat; None where too many of all rows do.

        Of one that does, the sample has another with the probability that a row has to be in it.
        """
        place, counts = same_places(self.rows.X), self.rows.weights[1]
        is_merged, repeats = counts > 1.0, np.bincount(place)[place] > 1
        n_repeated = is_merged.sum() + (repeats & ~is_merged).sum() * self.n_seen / len(self)
        if n_repeated > _MOST_REPEATED * len(self):
            return None
        return self.rows.select(np.flatnonzero(~(is_merged | repeats)))

    def __len__(self):
        return 0 if self.rows is None else len(self.rows)


@dataclass(frozen=True)
class BandPlaces:
    """Keep a sample of rows, and the bands near them where these differ.

    Parameters
    ----------
    sample : RowSample
    near : NearSample or None
        None where bands are as wide everywhere.
    """

    sample: RowSample = RowSample()
    near: NearSample | None = None

    def joined(self, rows, n_inducing):
        """Add the rows of a batch."""
        size = min(_ROWS_OF_AN_INPUT * n_inducing, _MOST_SAMPLED)
        return BandPlaces(self.sample.joined(rows, size))

    def judged(self, fitted, share, alpha, n_jobs):
        """Return the same with bands by place, where these predict the sample better.

        Rows that repeat are known where they are, and say little of other places.

        Parameters
        ----------
        share : tuple of ndarray of shape (t,)
            Of bands that are the same everywhere; see `predict.vouched_bands`.
        """
        is_narrow = bool((share[0] > 1.0).any())  # what came last was further off
        rows = None if is_narrow else self._told_apart()
        near = None if rows is None else _near(rows, fitted, share, alpha, n_jobs)
        return replace(self, near=near)

    def _told_apart(self):
        """Return the rows of the sample that do not repeat, or None where these are too few."""
        rows = self.sample.alone() if len(self.sample) >= _LEAST_SAMPLE else None
        return None if rows is None or len(rows) < _LEAST_SAMPLE else rows


NO_PLACES = BandPlaces()


def _mixed(start, n):
    """Return numbers of rows that say nothing of when they came, (n,), the same in every run."""
    number = np.arange(start + 1, start + n + 1, dtype=np.uint64) * np.uint64(_SPLITMIX_STEP)
    for shift, factor in _MIXERS:
        number = (number ^ (number >> np.uint64(shift))) * np.uint64(factor)
    return number ^ (number >> np.uint64(31))


def _near(rows, fitted, share, alpha, n_jobs):
    """Return the `NearSample` that predicts each of some rows best from the others.

    None where bands that are the same everywhere are as good, or rows do not tell.
    """
    mean, variance = replace(fitted.predictor, alpha=alpha).left_out(rows, None, n_jobs)
    is_known = np.isfinite(variance).all(axis=1)
    if is_known.sum() < max(_LEAST_SAMPLE, _LEAST_LEFT_OUT * len(rows)):
        return None
    variance = variance + noise_of_each(rows, fitted.noise_variance)
    variance = np.broadcast_to(variance, mean.shape)
    squares = np.maximum((rows.targets - mean) ** 2, GRID**2)
    if _of_furthest(squares / variance) > _MOST_OF_FURTHEST:
        return None
    variance, usual = narrowed(variance, 1.0, *share[1:]), share[1]
    same = narrowed(variance, share[0], usual)
    X = np.ascontiguousarray(rows.X, dtype=np.float64)
    near = NearSample(fitted.posterior.prior.kernel, X, variance, squares)
    weights, best = near.correlations(X), None
    np.fill_diagonal(weights, 0.0)
    nearness = weights.max(axis=1, keepdims=True)
    reach = max(np.quantile(nearness, _FURTHEST_PART), np.finfo(float).tiny)
    near, nearness = replace(near, reach=reach), np.minimum(nearness / reach, 1.0)
    for power in _TIMES_SQUARED_TWICE:
        for prior in _PRIORS:
            one = replace(near, power=power, prior=prior)
            band = one.narrowed_by(weights, nearness, variance, same)
            value = _log_density(squares, band)
            if best is None or value.mean() > best[0].mean():
                best = value, one
        weights = np.square(np.square(weights))
    is_gain = _is_gain(best[0] - _log_density(squares, same))
    return best[1] if is_gain else None


def _of_furthest(ratio):
    """Return the share of all squared standardised residuals that a few of the rows hold."""
    ratio = np.sort(ratio[np.isfinite(ratio)])
    return ratio[len(ratio) - int(np.ceil(_FURTHEST_PART * len(ratio))) :].sum() / ratio.sum()


def _log_density(squares, variance):
    """Return log densities of residuals that were observed, (k,), a constant apart."""
    values = -0.5 * (np.log(variance) + squares / variance)
    return values[np.isfinite(values)]


def _is_gain(gains):
    """Return whether gains are enough, and not those of a few rows alone."""
    gains = np.clip(gains, -_MOST_GAIN_OF_A_ROW, _MOST_GAIN_OF_A_ROW)
    error = gains.std() / np.sqrt(max(len(gains), 1))
    return gains.mean() > max(_LEAST_PLACE_GAIN, _ERRORS_OF_A_GAIN * error)
