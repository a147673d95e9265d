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
from .result import choose_candidates, optimal_model

# Rows, and share of what was observed in them, that is hidden.
_ROWS, _SHARE = 1000, 0.2
_FEWEST = 50  # hidden values
_LEFT_OUT = 0.05  # share of what was observed that an incomplete table is learned without
_ROWS_OF_POSTERIOR = 5000
_BOUNDS = np.log([[0.25, 4.0], [0.25, 100.0]])
_ITERATIONS, _TOL = 30, 1e-5
_INTERVAL = 0.9


def calibration_factors(parameters, q, table, model, settings, rng):
    """Factors of the noise and of the other variance of filled-in values.

    Parameters
    ----------
    parameters : Parameters
        Without q(x).
    q : LatentInputs
    table : Table
    model : OutputModel
        Learned from the table.
    settings : Settings
    rng : numpy.random.RandomState

    Returns
    -------
    factors : ndarray of shape (2,)
        Ones where there is too little to find them from.
    """
    n = len(table)
    rows = np.sort(random_index(n, min(_ROWS, -(-n // 2)), rng))
    # a row must not start from its own q(x), which knows what is hidden
    candidates = choose_candidates(q[np.setdiff1d(np.arange(n), rows)], rng)
    Y = np.array(table.Y[rows], dtype=np.float64)
    hidden = (rng.uniform(size=Y.shape) < _SHARE) & ~np.isnan(Y)
    # a row of which nothing is left says nothing about the others
    hidden[(~np.isnan(Y) & ~hidden).sum(axis=1) == 0] = False
    if hidden.sum() < _FEWEST:
        return np.ones(2)
    known = table.scaling.scaled(Y)
    Y[hidden] = np.nan
    part = Table.of(Y, table.scaling)
    if n <= _ROWS_OF_POSTERIOR:
        # where each row matters, q(u) must not have seen what is hidden either
        rest = np.array(table.Y, dtype=np.float64)
        rest[rows] = Y
        q = LatentInputs(q.mean.copy(), q.variance.copy())
        q.mean[rows], q.variance[rows] = _found(model, part, candidates, settings)
        model = optimal_model(parameters, q, Table.of(rest, table.scaling), settings)
    mean, variance = moments_in_chunks(model, _found(model, part, candidates, settings))
    return _factors(known - mean, model.noise_variance, variance, hidden)


def with_hidden(table, rng):
    """A table without some entries of an incomplete one, and which these are; None for too few.

    Errors of entries that nothing was learned from are what those of missing entries will be. On
    digits, entries that are hidden after the fit have two thirds of their squared errors. Complete
    tables are not cut, as that would cost them the sums that their columns share.

    Returns
    -------
    table : Table
    hidden : ndarray of bool, shape (n, P)
    """
    missing = np.isnan(table.Y)
    if not missing.any() or (~missing).sum() * _LEFT_OUT < _FEWEST:
        return None
    hidden = (rng.uniform(size=missing.shape) < _LEFT_OUT) & ~missing
    left = ~missing & ~hidden
    hidden[left.sum(axis=1) == 0] = False
    hidden[:, left.sum(axis=0) < 2] = False
    Y = np.array(table.Y, dtype=np.float64)
    Y[hidden] = np.nan
    return Table.of(Y, table.scaling), hidden


def factors_of_hidden(model, q, table, hidden):
    """As `calibration_factors`, from entries of a table that nothing was learned from."""
    if hidden.sum() < _FEWEST:
        return np.ones(2)
    mean, variance = moments_in_chunks(model, q)
    return _factors(table.scaling.scaled(table.Y) - mean, model.noise_variance, variance, hidden)


def _found(model, table, candidates, settings):
    found = find_inputs(
        model,
        table,
        candidates=candidates,
        max_iter=_ITERATIONS,
        tol=_TOL,
        n_jobs=settings.n_jobs,
    )
    return found[0]


def moments_in_chunks(model, q):
    """Means and variances of the functions at all rows, both (n, P)."""
    chunk, n = chunk_of(len(model.expectations.Z)), len(q.mean)
    pieces = [slice(lo, lo + chunk) for lo in range(0, n, chunk)]
    parts = [model.moments(LatentInputs(q.mean[one], q.variance[one])) for one in pieces]
    return tuple(np.concatenate([part[k] for part in parts]) for k in (0, 1))


def _factors(errors, noise_variance, variance, hidden):
    """Factors from errors of what was hidden, both (n, P); ones from too few.

    A column of which every hidden entry is met exactly holds no errors to learn sizes of. With few
    entries the logarithms shrink towards 0.
    """
    hidden = hidden & (np.where(hidden, errors, 0.0) != 0.0).any(axis=0)
    count = int(hidden.sum())
    if count < _FEWEST:
        return np.ones(2)
    noise = np.broadcast_to(noise_variance, hidden.shape)[hidden]
    factors = _most_likely(errors[hidden] ** 2, noise, variance[hidden])
    return np.exp(np.clip(np.log(factors), *_BOUNDS.T) * count / (count + _FEWEST))


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
    common = np.quantile(share, _INTERVAL) / chi2.ppf(_INTERVAL, 1)
    return factors * max(common, np.finfo(float).tiny)
