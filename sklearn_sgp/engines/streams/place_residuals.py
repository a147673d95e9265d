"""Residuals of a stream's sample, predicted from one another: how, and what share of that counts.

What inducing inputs cannot hold has a shape where rows of the sample are dense enough to show it.
Each row, and each with the one nearest to it, is left out in turn, of the stream and of the others.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..._core import _linalg as la
from ..._linalg import NotPositiveDefiniteError
from ...predict.stream_residuals import (
    NearResiduals,
    left_of,
    near_weights,
    ratio_near,
    root_inverse,
    with_share,
)
from .place_gains import is_gain, log_density, squares_of

# How often the kernel's correlation is squared at most, and the share of a residual's variance that
# it has for itself.
_MOST_SQUARED, _OWN = 7, (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.3)
# Where the search for these begins: twice squared, and a hundredth.
_START = 2, 3
# How many shares are tried, up to that of all rows but one.
_N_SHARES = 12


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
    """

    kernel: object
    X: np.ndarray
    residuals: np.ndarray
    left: np.ndarray
    variance: np.ndarray
    near: np.ndarray
    reach: float

    def process(self, squared, own):
        """Return the `NearResiduals` with some power and share."""
        return NearResiduals(self.kernel, self.X, self.residuals, squared, own, self.reach)

    @cached_property
    def nearest(self):
        """The row nearest to each, (n,)."""
        return self.near.argmax(axis=1)

    @cached_property
    def among(self):
        """Shares of each that is among the others, and those without the nearest, (2, n, 1)."""
        return self.process(0, 0.0).among(self.near, self.X, self.nearest)

    @cached_property
    def weights(self):
        """The shares of the others in how far off residuals are, (n, n)."""
        return near_weights(self.near)

    def expected(self, own, pair, gains):
        """Yield what is expected of each, and explained, without itself, and its nearest as well.

        Parameters
        ----------
        own, pair : ndarray of shape (n,)
            Of the precision of residuals, the diagonal and the entries of each with its nearest.
        gains : ndarray of shape (n, t)
            The precision times the residuals.
        """
        other = self.nearest
        pair = np.where(other == np.arange(len(own)), 0.0, pair)  # nothing is near the first row
        less = own - pair**2 / own[other]
        alone = gains / own[:, None]
        fewer = (gains - (pair / own[other])[:, None] * gains[other]) / less[:, None]
        # what the others expect is the residual less what is left of it
        for left, precision in ((alone, own), (fewer, less)):
            yield self.residuals - left, 1.0 - 1.0 / precision[:, None]

    def judged(self, found, weight):
        """Yield squares and variances of each in both cases, where a share of `expected` counts."""
        for among, (expected, known) in zip(self.among, found, strict=True):
            share = weight * among
            off = squares_of(self.left - share * expected)
            yield off, self.variance * left_of(share, known)


def best_process(rows, known=None):
    """Return the `NearResiduals` whose left-out residuals are likeliest, bands to a factor.

    Power and share are moved in turn, as long as these rise.

    Parameters
    ----------
    rows : LeftOutRows
    known : tuple of int and float, or None
        Power and share from which on they are moved.
    """
    place = _START if known is None else (known[0], _OWN.index(known[1]))
    tried, before = {}, None

    def value(place):
        if place not in tried:
            found = _left_out_residuals(rows, place[0], _OWN[place[1]])
            tried[place] = -np.inf if found is None else _value(rows.judged(found[1], 1.0))
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


def _value(told):
    """Return the log density of left-out residuals, nats a row, where bands have any factor.

    ``told`` is as of `LeftOutRows.judged`.
    """
    value = 0.0
    for off, variance in told:
        ratio = off / variance
        value -= 0.25 * (np.log(variance) + np.log(ratio.mean(axis=0))).mean()
    return value


def _left_out_residuals(rows, squared, own):
    """Return the root of a process, and what it says of each; see `LeftOutRows.expected`.

    None where a correlation that is cut off at 0 is that of no process, or is not to rounding.
    """
    try:
        root = root_inverse(rows.near, squared, own)
    except NotPositiveDefiniteError:
        return None
    own, pair = np.zeros((2, len(root)))
    la.column_dots(root, root, own)
    la.column_dots(root, np.ascontiguousarray(root[:, rows.nearest]), pair)
    return root, list(rows.expected(own, pair, root.T @ (root @ rows.residuals)))


def weighed(process, rows):
    """Return a `NearResiduals` with its share of predictions; None where rows gain next to nothing.

    With that share rows are likeliest that were left out, alone and with the one nearest to each:
    what single rows say holds between rows that are as near as these. One row more of either kind
    is counted, one that is as the process expects and one that is not. No share counts by which
    only a few rows gain, or that brings none nearer: beside a broken reading, narrow bands gain.
    """
    known = _left_out_residuals(rows, process.squared, process.own)
    if known is None:
        return None
    (root, found), n = known, len(rows.X)
    best = _value(rows.judged(found, 0.0)), None
    squares = squares_of(rows.left)
    before = log_density(squares, rows.variance)
    for rest in np.geomspace(1.0 / (n + 2.0), 1.0, _N_SHARES, endpoint=False):
        weight, told = float(1.0 - rest), list(rows.judged(found, 1.0 - rest))
        value = _value(told) + np.log(rest * weight) / n
        if not value > best[0]:
            continue
        ratios = told[0][0] / told[0][1]  # of single rows
        off_near = ratio_near(rows.weights, ratios)
        gains = [
            log_density(off, variance * with_share(off_near, weight * among)) - before
            for among, (off, variance) in zip(rows.among, told, strict=True)
        ]
        gains += [0.5 * np.log(squares / off).ravel() for off, _ in told]
        if all(map(is_gain, gains)):
            best = value, replace(process, weight=weight, ratios=ratios)
    if best[1] is not None:
        best[1].__dict__["root_inverse"] = root
    return best[1]
