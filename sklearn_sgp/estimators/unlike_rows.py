"""Noise with a share for rows that are unlike all others."""

import numpy as np

from ..likelihoods import Gaussian
from ..likelihoods.noise._contaminated import Contaminated
from ..likelihoods.noise._mixtures import NormalMixture


def with_unlike_rows(likelihood, fitted):
    """Return a likelihood whose noise is contaminated, where the noise that was learned is tiny.

    That n rows were like the function says that the next one is not with a probability of 1 / (n +
    2), by Laplace's rule of succession (docs/theory.md, eq. 93). Such a row is about as far off as
    two of the targets are from one another. The share is taken where normal noise would lose more
    than a nat a row by what it cannot exclude. Of 59 tables of 135 to 900 rows it was taken in 27:
    five gained 1 to 260 nats a row, two 0.07 and 0.17, others lost up to 0.006.

    Parameters
    ----------
    likelihood : Likelihood
    fitted : Fitted

    Returns
    -------
    likelihood : Likelihood
        The same where noise is not tiny, or where the user said what it or the kernel is.
    """
    start, n = fitted.start, fitted.n_samples
    is_normal = isinstance(likelihood, (Gaussian, NormalMixture))
    if not (n and is_normal and _is_learned(start)):
        return likelihood
    variance = start.units.variance
    if np.min(fitted.noise_variance / variance) * (n + 2.0) >= 1.0:
        return likelihood
    return Contaminated(likelihood, 1.0 / (n + 2.0), 2.0 * variance)


def _is_learned(start):
    by_default = {"theta", "log_noise"} <= set(start.with_default_bounds)
    return by_default and start.space.learns("theta") and not start.parameters.mixes_outputs
