"""How far filled-in values are off, found by hiding values that are known.

q(x) with a diagonal covariance is narrower than the posterior, and more so the less of a row is
observed: on digits with half of the pixels missing, variances of missing ones are 1.7 times too
small. Two factors, of the noise and of the rest of the variance, mend that.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.stats import chi2

from ...data.rows import random_index
from ..expectations import chunk_of
from ..passes import LatentInputs
from ..row_posteriors import find_inputs
from ..table import Table

# Rows, and share of what was observed in them, that is hidden.
_ROWS, _SHARE = 1000, 0.2
_FEWEST = 50  # hidden values
_BOUNDS = np.log([[0.25, 4.0], [0.25, 100.0]])
_ITERATIONS, _TOL = 30, 1e-5
_INTERVAL = 0.9


def calibration_factors(model, table, candidates, rng, n_jobs=None):
    """Factors of the noise and of the other variance of filled-in values.

    Parameters
    ----------
    model : OutputModel
    table : Table
    candidates : LatentInputs
    rng : numpy.random.RandomState
    n_jobs : int or None

    Returns
    -------
    factors : ndarray of shape (2,)
        Ones where there is too little to find them from.
    """
    n = len(table)
    rows = np.arange(n) if n <= _ROWS else np.sort(random_index(n, _ROWS, rng))
    Y = np.array(table.Y[rows], dtype=np.float64)
    hidden = (rng.uniform(size=Y.shape) < _SHARE) & ~np.isnan(Y)
    # a row of which nothing is left says nothing about the others
    hidden[(~np.isnan(Y) & ~hidden).sum(axis=1) == 0] = False
    if hidden.sum() < _FEWEST:
        return np.ones(2)
    known = table.scaling.scaled(Y)[hidden]
    Y[hidden] = np.nan
    q, _ = find_inputs(
        model,
        Table.of(Y, table.scaling),
        candidates=candidates,
        max_iter=_ITERATIONS,
        tol=_TOL,
        n_jobs=n_jobs,
    )
    mean, variance = moments_in_chunks(model, q)
    noise = np.broadcast_to(model.noise_variance, Y.shape)[hidden]
    return _most_likely((known - mean[hidden]) ** 2, noise, variance[hidden])


def moments_in_chunks(model, q):
    """Means and variances of the functions at all rows, both (n, P)."""
    chunk, n = chunk_of(len(model.expectations.Z)), len(q.mean)
    pieces = [slice(lo, lo + chunk) for lo in range(0, n, chunk)]
    parts = [model.moments(LatentInputs(q.mean[one], q.variance[one])) for one in pieces]
    return tuple(np.concatenate([part[k] for part in parts]) for k in (0, 1))


def _most_likely(squares, noise, rest):
    """Factors of noise and rest with which normal errors have these squares."""

    def loss(log_factors):
        a, b = np.exp(log_factors)
        variance = a * noise + b * rest
        slope = 0.5 * (1.0 / variance - squares / variance**2)
        gradient = [np.mean(slope * a * noise), np.mean(slope * b * rest)]
        return 0.5 * np.mean(np.log(variance) + squares / variance), np.array(gradient)

    factors = np.exp(minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=_BOUNDS).x)
    # large errors weigh much there: now 90 % intervals hold as many values as they should
    share = squares / (factors[0] * noise + factors[1] * rest)
    return factors * np.quantile(share, _INTERVAL) / chi2.ppf(_INTERVAL, 1)
