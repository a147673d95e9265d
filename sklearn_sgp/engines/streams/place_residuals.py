"""Residuals of a stream's sample, predicted from one another: how, and whether at all.

What inducing inputs cannot hold has a shape where rows of the sample are dense enough to show it.
Each row, and each with the one nearest to it, is left out in turn, of the stream and of the others.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ...predict.stream_residuals import NearResiduals, left_of, root_inverse
from .place_gains import is_gain, log_density, squares_of

# How often the kernel's correlation is squared at most, and the share of a residual's variance that
# it has for itself.
_MOST_SQUARED, _OWN = 7, (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.3)
# Where the search for these begins: twice squared, and a hundredth.
_START = 2, 3


@dataclass(frozen=True)
class FarRows:
    """Rows that were further off than all others, and are not in the sample.

    Parameters
    ----------
    X : ndarray of shape (k, d)
    residuals, variance : ndarray of shape (k, t)
        Of the stream, in the bands that there are.
    n_seen : int
        Number of all rows.
    """

    X: np.ndarray
    residuals: np.ndarray
    variance: np.ndarray
    n_seen: int

    def cost(self, process):
        """Return what a `NearResiduals` costs them, in nats a row of all."""
        expected, factor = process.at(self.X)
        before = log_density(squares_of(self.residuals), self.variance)
        after = log_density(squares_of(self.residuals - expected), self.variance * factor)
        return np.nansum(np.maximum(before - after, 0.0)) / self.n_seen


@dataclass(frozen=True)
class LeftOutRows:
    """Rows of the sample, as the stream predicts them with and without what they say.

    Parameters
    ----------
    kernel : BoundKernel
    X : ndarray of shape (n, d)
    residuals, left : ndarray of shape (n, t)
        Of the stream, and of the stream without what each row says of itself.
    variance : ndarray of shape (n, t)
        Of the latter, noise included, in the bands that there are.
    near : ndarray of shape (n, n)
        Correlations, 0 with itself.
    reach : float
    far : FarRows or None
    """

    kernel: object
    X: np.ndarray
    residuals: np.ndarray
    left: np.ndarray
    variance: np.ndarray
    near: np.ndarray
    reach: float
    far: FarRows | None = None

    def process(self, squared, own):
        """Return the `NearResiduals` with some power and share."""
        return NearResiduals(self.kernel, self.X, self.residuals, squared, own, self.reach)

    @cached_property
    def nearest(self):
        """The row nearest to each, (n,)."""
        return self.near.argmax(axis=1)

    @cached_property
    def among(self):
        """Shares of each that is among the others, and those without the nearest, (n, 1) each."""
        process, rows = self.process(0, 0.0), np.arange(len(self.X))
        one = process.share_among(self.near, self.X)
        fewer = self.near.copy()
        fewer[rows, self.nearest] = 0.0
        return one, process.share_among(fewer, self.X)

    @cached_property
    def before(self):
        """Log densities of the rows as the stream predicts them, (n * t,)."""
        return log_density(squares_of(self.left), self.variance)

    def judged(self, own, pair, gains):
        """Return squares and variances of each without itself, and without its nearest as well.

        Parameters
        ----------
        own, pair : ndarray of shape (n,)
            Of the precision of residuals, the diagonal and the entries of each with its nearest.
        gains : ndarray of shape (n, t)
            The precision times the residuals.
        """
        other = self.nearest
        left = own - pair**2 / own[other]
        alone = gains / own[:, None]
        fewer = (gains - (pair / own[other])[:, None] * gains[other]) / left[:, None]
        told = zip(self.among, (alone, fewer), (own, left), strict=True)
        for among, expected, precision in told:
            # what the others expect is the residual less what is left of it
            off = self.left - among * (self.residuals - expected)
            share = left_of(among, 1.0 - 1.0 / precision[:, None], len(self.X))
            yield squares_of(off), self.variance * share


def best_process(rows, known=None):
    """Return the `NearResiduals` whose left-out residuals are likeliest, bands to a factor.

    Power and share are moved in turn, as long as these rise.

    Parameters
    ----------
    rows : LeftOutRows
    known : NearResiduals or None
        From which on they are moved.
    """
    place = _START if known is None else (known.squared, _OWN.index(known.own))
    tried, before = {}, None

    def value(place):
        if place not in tried:
            tried[place] = _value(rows, place[0], _OWN[place[1]])
        return tried[place]

    while place != before:
        before = place
        for step in ((1, 0), (0, 1)):
            place = _climbed(value, place, step)
    return rows.process(place[0], _OWN[place[1]])


def _climbed(value, place, step):
    """Return where a value is largest among neighbours along one of two numbers."""
    while True:
        around = [(place[0] + sign * step[0], place[1] + sign * step[1]) for sign in (-1, 1)]
        around = [(k, j) for k, j in around if 0 <= k <= _MOST_SQUARED and 0 <= j < len(_OWN)]
        best = max([place, *around], key=value)
        if best == place:
            return place
        place = best


def _value(rows, squared, own):
    """Return the log density of left-out residuals, -inf where there is no such process."""
    found = _left_out_residuals(rows, squared, own)
    if found is None:
        return -np.inf
    value = 0.0
    for off, variance in found[1]:
        ratio = off / variance
        value -= (np.log(variance) + np.log(ratio.mean(axis=0))).mean()
    return value


def _left_out_residuals(rows, squared, own):
    """Return the root of a process, and what it leaves of residuals; see `LeftOutRows.judged`.

    None where a correlation that is cut off at 0 is that of no process, or is not to rounding.
    """
    try:
        root = root_inverse(rows.near, squared, own)
    except NotPositiveDefiniteError:
        return None
    precision = (root**2).sum(axis=0), (root * root[:, rows.nearest]).sum(axis=0)
    return root, list(rows.judged(*precision, root.T @ (root @ rows.residuals)))


def with_ratios(process, rows):
    """Return a `NearResiduals` that knows how far off rows are; None where they gain nothing.

    They are to gain without their nearest row, too: what single rows left out say holds between
    rows that are as near as these. There the gain is to be above its standard error. Both are to
    outweigh what rows lose that were furthest off of all: a sample may have none of them.
    """
    known = _left_out_residuals(rows, process.squared, process.own)
    if known is None:
        return None
    root, found = known
    process = replace(process, ratios=found[0][0] / found[0][1])
    process.__dict__["root_inverse"] = root
    alone, fewer = (
        log_density(off, variance * process.off(rows.near, among)) - rows.before
        for among, (off, variance) in zip(rows.among, found, strict=True)
    )
    has_gain = is_gain(alone) and is_gain(fewer, 0.0, 1.0)
    cost = 0.0 if rows.far is None else rows.far.cost(process)
    return process if has_gain and min(np.nanmean(alone), np.nanmean(fewer)) > cost else None
