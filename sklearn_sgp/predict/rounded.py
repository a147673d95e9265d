"""Probabilities of the intervals that observations were rounded from (docs/theory.md, eq. 38)."""

import numpy as np

from .noise import noise_of_output

# Differences of two distribution functions keep digits only where they are no smaller than such a
# share of these; below, the logarithm of the density is taken as a line between the ends.
_LEAST_DIFFERENCE, _SMALLEST = 1e-8, 1e-290


def log_rounded_density(targets, likelihood, y, resolution, mean, variance, noise):
    """Compute log probabilities of the intervals of observations, less the logs of their widths.

    Parameters
    ----------
    targets : Targets
    likelihood : Likelihood
    y : ndarray of shape (n, t)
    resolution : float or ndarray of shape (t,)
        Steps in units of y; the log density of outputs whose step is 0.
    mean, variance : ndarray of shape (n, t)
        Of the latent function.
    noise : object
        As the likelihood takes it.

    Returns
    -------
    log_p : ndarray of shape (n,)
        Summed over the outputs.
    """
    steps, (n, t) = np.broadcast_to(check_resolution(resolution, y.shape[1]), y.shape[1]), y.shape
    (low, high), scaled = targets.cells(y, steps), targets.scaled(y)
    slope = np.broadcast_to(targets.log_slope(y), y.shape)
    log_p = np.zeros(n)
    for c, step in enumerate(steps):
        own = slice(c, c + 1)
        one = likelihood if t == 1 else likelihood.for_output(c)
        latent = mean[:, own], variance[:, own], noise_of_output(noise, c)
        if step > 0.0:
            log_p += log_probability(one, low[:, own], high[:, own], *latent) - np.log(step)
        else:
            log_p += one.log_predictive_density(scaled[:, own], *latent) + slope[:, c]
    return log_p


def check_resolution(resolution, n_outputs):
    """Return steps as an array, or raise a ValueError."""
    steps = np.asarray(resolution, dtype=np.float64)
    if steps.shape not in ((), (n_outputs,)) or not (np.isfinite(steps) & (steps >= 0.0)).all():
        raise ValueError(
            "resolution must be a number of at least 0, in units of y, or one for each output. Got "
            f"{resolution!r}: 0 takes the density, resolution_ of a fit what its targets show."
        )
    return steps


def log_probability(likelihood, low, high, *latent):
    """Compute the log probability of an interval about each observation of one output, (n,).

    Parameters
    ----------
    low, high : ndarray of shape (n, 1)
        Ends of the intervals, in scaled units.
    latent : tuple
        Mean and variance of the latent function, (n, 1), and the noise.
    """
    side = np.where(0.5 * (low + high) > latent[0], 1, 0)
    nearer = np.where(side, likelihood.sf(low, *latent), likelihood.cdf(high, *latent))
    further = np.where(side, likelihood.sf(high, *latent), likelihood.cdf(low, *latent))
    probability = (nearer - further).ravel()
    is_sound = probability > np.maximum(_LEAST_DIFFERENCE * nearer.ravel(), _SMALLEST)
    log_p = np.log(np.where(is_sound, probability, 1.0))
    if not is_sound.all():
        ends = [likelihood.log_predictive_density(end, *latent) for end in (low, high)]
        along = _log_mean(*ends) + np.log((high - low).ravel())
        log_p = np.where(is_sound, log_p, np.minimum(along, 0.0))
    return log_p


def _log_mean(one, other):
    """Return the log of the mean of an exponential function between two of its logarithms."""
    largest, fall = np.maximum(one, other), np.abs(one - other)
    with np.errstate(invalid="ignore"):
        share = np.where(fall > 1e-8, -np.expm1(-fall) / np.maximum(fall, 1e-8), 1.0 - 0.5 * fall)
    return largest + np.log(share)
