"""Probabilities of the intervals that observations were rounded from (docs/theory.md, eq. 88)."""

import numpy as np

from ..data.varying_noise import each_output

# Differences of two distribution functions keep digits only where they are no smaller than such a
# share of these; below, the logarithm of the density is taken as a line between the ends.
_LEAST_DIFFERENCE, _SMALLEST = 1e-8, 1e-290


def log_rounded_density(targets, likelihood, y, resolution, mean, variance, noise):
    """Compute log probabilities, (n, t), of the intervals of observations over their widths.

    Parameters
    ----------
    resolution : float or ndarray of shape (t,)
        Steps in units of y; the log density of outputs whose step is 0.
    mean, variance : ndarray of shape (n, t)
        Of the latent function.
    noise : object
        As the likelihood takes it.
    """
    steps = np.broadcast_to(check_resolution(resolution, y.shape[1]), y.shape)
    if hasattr(likelihood, "are_numbers"):  # what lies beyond a limit has its probability
        steps = np.where(likelihood.are_numbers(targets.scaled(y)), steps, 0.0)
    low, high = targets.cells(y, steps)
    at = np.where(steps, 0.5 * (low + high), targets.scaled(y))
    log_p = _log_mean_densities(likelihood, at, high - low, mean, variance, noise)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(steps, np.log((high - low) / steps), targets.log_slope(y))
    return log_p + slope


def log_mean_density(likelihood, y, width, mean, variance, noise):
    """Compute logs of mean densities in intervals about y, summed over outputs, (n,).

    y and widths are in scaled units; where a width is 0, it is the density at y.
    """
    if not width.any():
        return likelihood.log_predictive_density(y, mean, variance, noise)
    return _log_mean_densities(likelihood, y, width, mean, variance, noise).sum(axis=1)


def _log_mean_densities(likelihood, y, width, mean, variance, noise):
    log_p = np.zeros(y.shape)
    for own, one, own_noise in each_output(likelihood, noise, y.shape[1]):
        latent = mean[:, own], variance[:, own], own_noise
        is_wide = width[:, own] > 0.0
        if is_wide.any():
            half = 0.5 * np.where(is_wide, width[:, own], 1.0)
            mean_density = log_probability(one, y[:, own] - half, y[:, own] + half, *latent)
            log_p[:, own] = mean_density[:, None] - np.log(2.0 * half)
        if not is_wide.all():
            density = one.log_predictive_density(y[:, own], *latent)[:, None]
            log_p[:, own] = np.where(is_wide, log_p[:, own], density)
    return log_p


def check_resolution(resolution, n_outputs):
    """Return steps as an array, or raise a ValueError."""
    try:
        steps = np.asarray(resolution, dtype=np.float64)
    except (TypeError, ValueError):
        steps = np.array(np.nan)
    if steps.shape not in ((), (n_outputs,)) or not (np.isfinite(steps) & (steps >= 0.0)).all():
        raise ValueError(
            "resolution must be a number of at least 0, in units of y, or one for each output. Got "
            f"{resolution!r}: 0 takes the density, resolution_ of a fit what its targets show."
        )
    return steps


def log_probability(likelihood, low, high, *latent):
    """Compute the log probability of an interval about each observation of one output, (n,).

    ``low`` and ``high``, (n, 1), are ends of the intervals in scaled units; ``latent`` has mean and
    variance of the latent function, (n, 1), and the noise.
    """
    above, below = likelihood.sf(low, *latent), likelihood.cdf(high, *latent)
    is_upper = above < below
    nearer = np.where(is_upper, above, below)
    further = np.where(is_upper, likelihood.sf(high, *latent), likelihood.cdf(low, *latent))
    probability = (nearer - further).ravel()
    is_sound = probability > np.maximum(_LEAST_DIFFERENCE * nearer.ravel(), _SMALLEST)
    log_p = np.log(np.where(is_sound, probability, 1.0))
    if not is_sound.all():
        middle, *ends = (
            likelihood.log_predictive_density(at, *latent) for at in (0.5 * (low + high), low, high)
        )
        along = np.where(np.isinf(ends).any(axis=0), middle, _log_mean(*ends))  # of counts: between
        along = along + np.log((high - low).ravel())
        log_p = np.where(is_sound, log_p, np.minimum(along, 0.0))
    return log_p


def _log_mean(one, other):
    """Return the log of the mean of an exponential function between two of its logarithms."""
    largest = np.maximum(one, other)
    with np.errstate(invalid="ignore", divide="ignore"):
        fall = np.abs(one - other)
        share = np.where(fall > 1e-8, -np.expm1(-fall) / np.maximum(fall, 1e-8), 1.0 - 0.5 * fall)
    return largest + np.log(share)
