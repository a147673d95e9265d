"""Bands that rows which are left out vouch for: where these show far too few inside, they widen."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..objectives.scores import effective_number
from ..optimize import time_shares
from .left_out_errors import JUDGING_ROWS, left_out_rows, rows_within, varying_noise
from .row_noise import row_noise_of
from .variance_scale import MOST_TIMES, VarianceScale

# Bands of this level are looked at, and are widened where they hold less than this share, and less
# than the level by so many standard errors of what rows tell.
_LEVEL, _LEAST_HELD, _CLEAR_ERRORS = 0.9, 0.87, 2.0
# So are those where one of so many parts of the rows, by the width of their bands, holds less.
_THIRDS, _LEAST_HELD_BY_PART = 3, 0.85
# Less than this share, of all or of a part, is told.
_TOLD = 0.8


def with_honest_bands(problem, likelihood, fitted, targets):
    """Widen predicted deviations by a factor until bands hold their share of left-out rows.

    It needs little time, and fits that ended by `max_time` need it most. What is told of bands, in
    the end, is what left-out rows say, or, where these cannot judge, what learning has said. The
    targets have the units in which bands are wide or narrow; all else is as of
    `left_out.with_variance_scale`.
    """
    likelihood = varying_noise(problem, likelihood, fitted)
    noise = row_noise_of(fitted)
    left_out = None
    if likelihood is not None:
        unscaled = replace(noise, variance_scale=None)
        size = rows_within(problem, fitted, JUDGING_ROWS, time_shares.BANDS)
        left_out = left_out_rows(problem, fitted, unscaled, size)
    if left_out is None:
        return fitted
    before = noise.variance_scale or VarianceScale(np.zeros(1))
    every = _Bands.of(left_out, likelihood, before, targets, problem.settings.n_jobs)
    factors = [bands.widening() for bands in every]
    worst = int(np.argmax(factors))
    problem.trace.doubt(every[worst].told(factors[worst]))
    if not factors[worst] > 1.0:
        return fitted
    scale = before.widened(factors[0] if len(factors) == 1 else np.array(factors))
    return fitted.with_noise(replace(noise, likelihood=likelihood, variance_scale=scale), 0.0)


class _Bands(NamedTuple):
    """Bands of rows that are left out, of one output.

    Attributes
    ----------
    ratios, weight : ndarray of shape (k,)
        Errors over half the width of the band, and the weights of these.
    part : ndarray of shape (k,)
        0 for the third of the rows with the narrowest bands in units of y, 1, or 2.
    """

    ratios: np.ndarray
    weight: np.ndarray
    part: np.ndarray

    @classmethod
    def of(cls, left_out, likelihood, scale, targets, n_jobs):
        """Compare errors of rows with what is predicted of them; return bands of each output."""
        root = np.exp(0.5 * scale.log_square(left_out.rows.X, n_jobs))
        mean, variance, noise = left_out.mean, left_out.variance, left_out.noise
        upper = likelihood.quantiles(mean, variance, noise, np.array([0.5 * (1.0 + _LEVEL)]))
        half = root * (upper[:, :, 0] - mean)
        width = targets.in_units(mean + half) - targets.in_units(mean - half)
        ratios = np.abs(left_out.rows.targets - mean) / half
        weight = np.broadcast_to(left_out.rows.weights[1][:, None], ratios.shape)
        part = np.argsort(np.argsort(width, axis=0), axis=0) * _THIRDS // len(width)
        return [cls(*columns) for columns in zip(ratios.T, weight.T, part.T, strict=True)]

    @property
    def parts(self):
        """Those of each part."""
        return [_Bands(*(one[self.part == k] for one in self)) for k in range(_THIRDS)]

    def share_within(self):
        """Return the share that bands hold."""
        return float(self.weight[self.ratios <= 1.0].sum() / self.weight.sum())

    def factor(self, level):
        """Return the least factor with which bands hold a share."""
        order = np.argsort(self.ratios)
        share = np.cumsum(self.weight[order]) / self.weight.sum()
        return float(self.ratios[order][np.searchsorted(share, level)])

    def widening(self):
        """Return the least factor with which all bands, and those of each part, hold enough.

        Those that ask for more than a scale may be have another cause, and get no more than that.
        """
        factors = [self.factor(_LEVEL)] if self._hold_less(_LEAST_HELD) else []
        factors += [
            part.factor(_LEAST_HELD_BY_PART)
            for part in self.parts
            if part._hold_less(_LEAST_HELD_BY_PART)
        ]
        return min(max(factors, default=1.0), MOST_TIMES)

    def _hold_less(self, least):
        """Return True where they hold less than that, and clearly less than their level."""
        if not len(self.ratios):
            return False
        error = np.sqrt(_LEVEL * (1.0 - _LEVEL) / effective_number(self.weight))
        held = self.share_within()
        return held < min(least, _LEVEL - _CLEAR_ERRORS * error)

    def told(self, factor):
        """Return in words that a share was far too small; "" where none was."""
        held, of_parts = self.share_within(), [part.share_within() for part in self.parts]
        if not factor > 1.0 or min(held, *of_parts) >= _TOLD:
            return ""
        narrowest, *between, widest = (f"{one:.0%}" for one in of_parts)
        return (
            f"Intervals of {_LEVEL:.0%} should hold so many of the rows that are left out. Got "
            f"{held:.0%}, from the third with the narrowest to that with the widest intervals "
            f"{', '.join([narrowest, *between])} and {widest}: predicted deviations are now "
            f"{factor:.2g} times as large, and hold what they should. Learn for longer (max_time) "
            "or from more rows (init_size) for narrower ones."
        )
