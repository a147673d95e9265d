"""Bands of a stream by place: how far off a small sample of its rows says that it is there.

A stream that lacks inducing inputs is near its rows at some places and far from them at others,
and what it has dropped it no longer knows. So it keeps a few of the rows, drawn evenly from all
that came. Their squared residuals, without what each says of itself, say how wide bands are to be
near it.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...data.distinct import same_places
from ...data.inducing import is_new
from ...data.inputs import Inputs
from ...data.rows import Rows, noise_of_each
from ...kernels._length_scales import scale_mask
from ...predict.stream_residuals import NearResiduals
from ...predict.vouched_bands import NearSample, correlations, narrowed, powers
from .bands import vouched_share
from .place_gains import is_gain, log_density, squares_of
from .place_residuals import LeftOutRows, best_process, weighed

# Rows that are kept for each inducing input, and at most: what they take is no more than what the
# posterior does.
_ROWS_OF_AN_INPUT, _MOST_SAMPLED = 4, 1024
# Fewer say nothing.
_LEAST_SAMPLE = 50
# Share of the rows that may repeat others. Of four streams whose noise is uneven, where 2 to 50 %
# of the rows were put where others are, all ended 0.6 to 0.8 nats a row higher with bands by place
# than without; 60 random streams, half of them with repeated rows, have the same ones with any
# limit. Beyond half of them what is left is hardly a sample of all.
_MOST_REPEATED = 0.5
# Share of these of which is known what the others say. What rows that are lost said of themselves
# cannot be taken out where less noise was learned since: of 100 rows of a fast series that ends
# quiet 42 were known, all of them quiet, and bands at the lost places became narrower still.
_LEAST_LEFT_OUT = 0.5
# The same of what residuals are predicted from, and how many times as many rows a sample is to be
# of when the way is chosen anew: that takes several batches' time.
_LEAST_TOLD, _GROWN = 0.8, 1.3
# It is chosen anew, too, where a length scale has moved by half of a power's step, in logarithms.
# Without that, residuals of a pseudo-periodic series, whose kernel moved on from a length scale of
# 0.016 to 0.025, were followed 1.2 to 1.8 nats a row worse for four batches.
_MOVED = 0.25 * np.log(2.0)
# Rows count alike whose weights are apart by no more than this, in logarithms: as those do of which
# hardly anything is left open by a value that is missing.
_ALIKE = 0.11
# The part of the sample that is furthest off, and how much of all squares it may hold. Where one
# row in fifty is far off at random, two of them side by side look like a place, and the next one
# elsewhere cost 500 nats. Such rows held 0.92 and more in 90 % of the batches of 16 streams; the
# furthest of uneven and pseudo-periodic series and of speech 0.14 to 0.76, and once 0.90.
_FURTHEST_PART, _MOST_OF_FURTHEST = 0.05, 0.8
# Correlation from which on a row of the sample is near a batch whose noise is another.
_BESIDE = 0.5
# Rows of a batch at a time, of which that is asked.
_OF_BATCH_AT_A_TIME = 1024
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
    n_gone : float
        Of how many of these rows those were that were left out since.
    """

    rows: Rows | None = None
    order: np.ndarray | None = None
    n_seen: int = 0
    n_gone: float = 0.0

    @property
    def n_told(self):
        """Number of rows that these were drawn from."""
        return self.n_seen - self.n_gone

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
        return RowSample(rows, order[kept], n_seen, self.n_gone)

    def without(self, is_gone):
        """Leave out some rows, (n,) of bool; later ones may take their places."""
        kept, n_gone = np.flatnonzero(~is_gone), self.n_gone + self.n_told * np.mean(is_gone)
        return RowSample(self.rows.select(kept), self.order[kept], self.n_seen, n_gone)

    def alone(self):
        """Return the rows that do not repeat; None where too many of all rows do.

        Of one that does, the sample has another with the probability that a row has to be in it.
        """
        place, counts = same_places(self.rows.X), self.rows.weights[1]
        is_merged, repeats = counts > 1.0, np.bincount(place)[place] > 1
        n_repeated = is_merged.sum() + (repeats & ~is_merged).sum() * self.n_told / len(self)
        if n_repeated > _MOST_REPEATED * len(self):
            return None
        return self.rows.select(np.flatnonzero(~(is_merged | repeats)))

    def lacks(self, rows):
        """Return which rows, with their targets, are none of these, (n,)."""
        if self.rows is None:
            return np.ones(len(rows), dtype=bool)
        return is_new(*(np.column_stack([each.X, each.y]) for each in (rows, self.rows)))

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
    residuals : NearResiduals or None
        None where those of the sample tell nothing of one another.
    sought : float
        Of how many rows the sample was when these were last chosen.
    process : tuple of int and float, or None
        Power and share of `NearResiduals` then, also while these say nothing; None where they had
        told nothing.
    log_scales : ndarray or None
        Logarithms of the kernel's length scales then.
    """

    sample: RowSample = RowSample()
    near: NearSample | None = None
    residuals: NearResiduals | None = None
    sought: float = 0.0
    process: tuple | None = None
    log_scales: np.ndarray | None = None

    def joined(self, rows, n_inducing):
        """Add the rows of a batch that was learned from."""
        size = min(_ROWS_OF_AN_INPUT * n_inducing, _MOST_SAMPLED)
        return replace(self, sample=self.sample.joined(rows, size))

    def away_from(self, rows, kernel):
        """Leave out the rows of the sample near a batch, which are no longer as they were."""
        if not (len(self.sample) and len(rows)):
            return BandPlaces(self.sample)
        own, X = (np.asarray(each.X, dtype=np.float64) for each in (self.sample.rows, rows))
        parts = (X[lo : lo + _OF_BATCH_AT_A_TIME] for lo in range(0, len(X), _OF_BATCH_AT_A_TIME))
        nearest = [correlations(kernel, own, part).max(axis=1) for part in parts]
        is_gone = np.max(nearest, axis=0) > _BESIDE
        return BandPlaces(self.sample.without(is_gone))

    def unjudged(self):
        """Return the same while the rows say nothing of bands."""
        return replace(self, near=None, residuals=None)

    def judged(self, fitted, share, alpha, n_jobs):
        """Return the same with bands by place, and the share of bands that the sample bears out.

        There are such bands where they predict the sample better; else the share may be another.

        Rows that repeat are known where they are, and say little of other places.

        Parameters
        ----------
        share : tuple of ndarray of shape (t,)
            Of bands that are the same everywhere; see `predict.vouched_bands`.

        Returns
        -------
        places : BandPlaces
        share : tuple of ndarray of shape (t,)
        """
        is_narrow = bool((share[0] > 1.0).any())  # what came last was further off
        rows = None if is_narrow else self._told_apart()
        left_out = None if rows is None else _left_out(rows, fitted, share, alpha, n_jobs)
        if left_out is None:
            return self.unjudged(), self._vouched(fitted, share, n_jobs)
        is_due = self._is_due(fitted.posterior.prior.kernel)
        known = None if is_due or self.residuals is None else self.near
        near, variance = _near(*left_out, known)
        if near is None:  # what residuals tell is measured in the bands that there are
            share = self._vouched(fitted, share, n_jobs)
            variance = narrowed(left_out[0].variance, *share[:2])
        told = _of_residuals(rows, fitted, left_out, variance, n_jobs)
        if told is None:
            return replace(self.unjudged(), near=near), share
        return replace(self, near=near)._with_residuals(told, is_due), share

    def _vouched(self, fitted, share, n_jobs):
        """Return the shares of bands that are the same everywhere; see `vouched_share`."""
        if not len(self.sample):
            return share
        return vouched_share(fitted, self.sample.rows, share, n_jobs)

    def _is_due(self, kernel):
        """Return whether bands and residuals are to be chosen anew."""
        if self.sample.n_told >= _GROWN * self.sought or self.log_scales is None:
            return True
        moved = np.abs(_log_scales(kernel) - self.log_scales)
        return bool(moved.max(initial=0.0) >= _MOVED)

    def _with_residuals(self, rows, is_due):
        """Return the same with what residuals tell of one another; it may be due to be chosen."""
        if is_due:
            found = weighed(best_process(rows, self.process), rows)
            told = {"sought": self.sample.n_told, "log_scales": _log_scales(rows.kernel)}
        elif self.process is not None:
            found, told = weighed(rows.process(*self.process), rows), {}
        else:
            return self
        process = None if found is None else (found.squared, found.own)
        return replace(self, residuals=found, process=process, **told)

    def _told_apart(self):
        """Return the rows of the sample that do not repeat, or None where these are too few."""
        rows = self.sample.alone() if len(self.sample) >= _LEAST_SAMPLE else None
        return None if rows is None or len(rows) < _LEAST_SAMPLE else rows


NO_PLACES = BandPlaces()


def _log_scales(kernel):
    return kernel.theta[scale_mask(kernel.expression)]


def _mixed(start, n):
    """Return numbers of rows that say nothing of when they came, (n,), the same in every run."""
    number = np.arange(start + 1, start + n + 1, dtype=np.uint64) * np.uint64(_SPLITMIX_STEP)
    for shift, factor in _MIXERS:
        number = (number ^ (number >> np.uint64(shift))) * np.uint64(factor)
    return number ^ (number >> np.uint64(31))


def _left_out(rows, fitted, share, alpha, n_jobs):
    """Return a `NearSample` of some rows, and what it is judged by; None where too few are known.

    That are residuals of the rows left out, (n, t), their variances in bands that are the same
    everywhere, the correlations of each with the others, and whether single ones are not far off.
    """
    mean, variance = replace(fitted.predictor, alpha=alpha).left_out(rows, None, n_jobs)
    is_known = np.isfinite(variance).all(axis=1)
    if is_known.sum() < max(_LEAST_SAMPLE, _LEAST_LEFT_OUT * len(rows)):
        return None
    variance = variance + noise_of_each(rows, fitted.noise_variance)
    variance = np.broadcast_to(variance, mean.shape)
    off, usual = rows.targets - mean, share[1]
    squares = squares_of(off)
    tells = _of_furthest(squares / variance) <= _MOST_OF_FURTHEST
    variance = narrowed(variance, 1.0, usual, share[2])
    X = np.ascontiguousarray(rows.X, dtype=np.float64)
    near = NearSample(fitted.posterior.prior.kernel, X, variance, squares)
    weights = near.correlations(X)
    np.fill_diagonal(weights, 0.0)
    reach = max(np.quantile(weights.max(axis=1), _FURTHEST_PART), np.finfo(float).tiny)
    same = narrowed(variance, share[0], usual)
    return replace(near, reach=reach), off, same, weights, tells


def _near(near, off, same, weights, tells, known):
    """Return the `NearSample` that predicts each row best from the others, and their variances.

    None where bands that are the same everywhere are as good, or rows do not tell.

    Parameters
    ----------
    known : NearSample or None
        Whose power and prior are to stay.
    """
    if not tells:
        return None, same
    variance, squares, best, most = near.variance, near.squares, None, -np.inf
    nearness = near.nearness(weights)
    for power in _TIMES_SQUARED_TWICE if known is None else [known.power]:
        sums = near.sums(powers(weights, 2 * power))
        for prior in _PRIORS if known is None else [known.prior]:
            one = replace(near, power=power, prior=prior)
            band = one.narrowed_by(sums, nearness, variance, same)
            value = log_density(squares, band)
            mean = np.nanmean(value)
            if best is None or mean > most:
                best, most = (value, one, band), mean
    has_gain = is_gain(best[0] - log_density(squares, same))
    return best[1:] if has_gain else (None, same)


def _of_residuals(rows, fitted, left_out, variance, n_jobs):
    """Return `LeftOutRows`, or None where no correlation says how residuals go together.

    That is so where outputs were not observed, many rows count differently, or columns are
    categories. Few that count less, as their inputs lack something, are left out.
    """
    near, off, _, weights, _ = left_out
    known = np.flatnonzero(np.isfinite(variance).all(axis=1) & _count_alike(rows))
    if (
        len(near.kernel.expression.held_columns)
        or not np.isfinite(off[known]).all()
        or len(known) < _LEAST_TOLD * len(rows)
    ):
        return None
    X = near.X[known]
    weights = weights if len(known) == len(rows) else weights[np.ix_(known, known)]
    residuals = rows.targets[known] - fitted.predictor.mean(Inputs(X), n_jobs)
    return LeftOutRows(near.kernel, X, residuals, off[known], variance[known], weights, near.reach)


def _count_alike(rows):
    """Return which rows count about as much as most of them, (n,) of bool."""
    weight = rows.weights[0]
    ratio = weight / np.median(weight, axis=0)
    return (np.abs(np.log(ratio)) <= _ALIKE).T.reshape(-1, len(rows)).all(axis=0)


def _of_furthest(ratio):
    """Return the share of all squared standardised residuals that a few of the rows hold."""
    ratio = np.sort(ratio[np.isfinite(ratio)])
    return ratio[len(ratio) - int(np.ceil(_FURTHEST_PART * len(ratio))) :].sum() / ratio.sum()
