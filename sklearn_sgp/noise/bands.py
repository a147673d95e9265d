"""Bands that rows which are left out vouch for: where these show far too few inside, they widen."""

from dataclasses import replace

import numpy as np

from .._warnings import warn_caller
from ..optimize import shares
from .left_out import left_out_rows, rows_within, varying_noise
from .row_noise import RowNoise
from .variance_scale import VarianceScale

# Rows that are left out; bands of this level are looked at, and are widened where they hold less
# than this share, and less than the level by so many standard errors of what rows tell.
_BAND_ROWS, _LEVEL, _LEAST_HELD, _CLEAR_ERRORS = 4096, 0.9, 0.87, 2.0
# Less than this share is told.
_TOLD = 0.8


def with_honest_bands(problem, likelihood, fitted):
    """Widen predicted deviations by a factor until bands hold their share of left-out rows.

    It needs little time, and fits that ended by `max_time` need it most.

    Parameters
    ----------
    problem, likelihood, fitted
        As those of `left_out.with_variance_scale`.
    """
    likelihood = varying_noise(problem, likelihood, fitted)
    if likelihood is None:
        return fitted
    noise = fitted.row_noise or RowNoise(fitted.likelihood)
    rng = np.random.RandomState(0)  # no draw is taken from the fit's generator
    unscaled = replace(noise, variance_scale=None)
    n_rows = len(problem.rows)  # of up to twice as many all are looked at, as those of means are
    size = rows_within(
        problem, fitted, _BAND_ROWS if n_rows > 2 * _BAND_ROWS else n_rows, shares.BANDS
    )
    left_out = left_out_rows(problem, fitted, unscaled, size, rng)
    if left_out is None:
        return fitted
    before = noise.variance_scale or VarianceScale(np.zeros(1))
    ratios, weight = _band_ratios(left_out, likelihood, before, problem.settings.n_jobs)
    held = _share_within(ratios, weight, 1.0)
    error = np.sqrt(_LEVEL * (1.0 - _LEVEL) / len(ratios))
    if held >= min(_LEAST_HELD, _LEVEL - _CLEAR_ERRORS * error):
        return fitted
    factor = _factor(ratios, weight)
    scale = replace(
        before,
        log_constant=before.log_constant + 2.0 * np.log(factor),
        range=tuple(factor * end for end in before.range),
    )
    if held < _TOLD:
        warn_caller(
            f"Intervals of {_LEVEL:.0%} should hold so many of the rows that are left out. Got "
            f"{held:.0%}: predicted deviations are now {factor:.2g} times as large, and hold what "
            "they should. Learn for longer (max_time) or from more rows (init_size) for narrower "
            "ones.",
            UserWarning,
        )
    return fitted.with_noise(replace(noise, likelihood=likelihood, variance_scale=scale), 0.0)


def _band_ratios(left_out, likelihood, scale, n_jobs):
    """Return errors over half the width of the band, of all outputs, and the weights of these."""
    root = np.exp(0.5 * scale.log_square(left_out.rows.X, n_jobs))
    mean, variance, noise = left_out.mean, left_out.variance, left_out.noise
    upper = likelihood.quantiles(mean, variance, noise, np.array([0.5 * (1.0 + _LEVEL)]))
    half = root * (upper[:, :, 0] - mean)
    ratios = np.abs(left_out.rows.targets - mean) / half
    weight = np.broadcast_to(left_out.rows.weights[1][:, None], ratios.shape)
    return ratios.ravel(), weight.ravel()


def _share_within(ratios, weight, factor):
    return float(weight[ratios <= factor].sum() / weight.sum())


def _factor(ratios, weight):
    """Return the least factor with which a band holds its share."""
    order = np.argsort(ratios)
    share = np.cumsum(weight[order]) / weight.sum()
    return float(ratios[order][np.searchsorted(share, _LEVEL)])
