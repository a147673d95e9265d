"""How far filled-in values are off, found by hiding values that are known.

q(x) with a diagonal covariance is narrower than the posterior, and more so the less of a row is
observed: on digits with half of the pixels missing, variances of missing ones are 1.7 times too
small. Two factors, of the noise and of the rest of the variance, mend that.
"""

import time
from functools import partial

import numpy as np
from scipy.stats import chi2

from ..._minimize import minimize_lbfgs
from ...data.rows import random_index
from ...latents.bound import inputs_of, latent_bound
from ...latents.expectations import chunk_of
from ...latents.row_posteriors import find_inputs
from ...latents.table import Table
from ...optimize.budget import measured_seconds
from ...optimize.lbfgs import ascend_lbfgs
from ...optimize.progress import Clock, Trace
from .final_posterior import choose_candidates, optimal_model, with_inputs, without_inputs
from .start import log_variance_bounds, with_learning_units

# Rows that are filled in, at most, and in how many parts their entries are hidden in turn.
_FILLED_ROWS, _PARTS = 1000, 4
# Tables of so many rows forget some of them first: one of so many, by so many iterations of L-BFGS.
_FORGETTING_ROWS, _SHARE_OF_NEW, _FORGETTING = 5000, 5, 30
_FEWEST = 50  # hidden values
# Share of what was observed that an incomplete table is learned without, and so many entries if
# twice the share has them: with 100 of them the share in 90 % intervals is off by 0.03.
_LEFT_OUT, _ENOUGH_HIDDEN = 0.05, 400
_FACTOR_BOUNDS = np.log([[0.25, 4.0], [0.25, 100.0]])
_FILLING_ITERATIONS, _FILLING_TOL = 30, 1e-5
# Forward passes that take as long as the two searches for q(x) of a row.
_FILLING_PASSES = 100
_INTERVAL = 0.9


def calibration_factors(parameters, q, table, model, space, settings, rng, seconds):
    """Find factors of the noise and of the other variance of filled-in values.

    Parameters
    ----------
    parameters : Parameters
        Without q(x).
    model : OutputModel
        Learned from the table.
    seconds : float
        Rows rest when these are over, and then errors are a little too large.

    Returns
    -------
    factors : ndarray of shape (2,)
        Ones where there is too little to find them from.
    """
    n, end = len(table), time.perf_counter() + seconds
    forgets = n <= _FORGETTING_ROWS
    most = (
        max(-(-n // _SHARE_OF_NEW), -(-_ENOUGH_HIDDEN // table.Y.shape[1]))
        if forgets
        else _FILLED_ROWS
    )
    count = _affordable(model, q, min(most, _FILLED_ROWS, n // 2), seconds)
    is_new = np.zeros(n, dtype=bool)
    is_new[random_index(n, count, rng)] = True
    Y = np.array(table.Y[is_new], dtype=np.float64)
    parts = _hidden_in_parts(Y, rng)
    if sum(hidden.sum() for hidden in parts) < _FEWEST:
        return np.ones(2)
    if forgets:
        rest = table.select(~is_new)
        parameters, q = _forgetful(parameters, q[~is_new], rest, space, settings, 0.4 * seconds)
        model = optimal_model(parameters, q, rest, settings)
        candidates = choose_candidates(q, rng)
    else:
        # a row must not start from its own q(x), which knows what is hidden
        candidates = choose_candidates(q[~is_new], rng)
    known, results = table.scaling.scaled(Y), []
    for k, hidden in enumerate(parts):
        part = Table.of(np.where(hidden, np.nan, Y), table.scaling)
        left = (end - time.perf_counter()) / (len(parts) - k)
        q, _ = find_inputs(
            model,
            part,
            candidates=candidates,
            max_iter=_FILLING_ITERATIONS,
            tol=_FILLING_TOL,
            n_jobs=settings.n_jobs,
            seconds=left,
        )
        mean, variance = model.moments_in_chunks(q)
        results.append((known - mean, variance))
    errors, variance = (np.concatenate([one[k] for one in results]) for k in (0, 1))
    return _factors(errors, model.noise_variance, variance, np.concatenate(parts))


def _hidden_in_parts(Y, rng):
    """Choose entries to hide, in turn: each of those observed once. No row is hidden whole."""
    part, seen = rng.randint(_PARTS, size=Y.shape), ~np.isnan(Y)
    parts = [seen & (part == k) for k in range(_PARTS)]
    for hidden in parts:
        # a row of which nothing is left says nothing about the others
        hidden[(seen & ~hidden).sum(axis=1) == 0] = False
    return parts


def _forgetful(parameters, q, rest, space, settings, seconds):
    """Learn on without some rows; return parameters and q(x) of the rows that stay.

    What was learned from a row knows it: 90 % intervals of 300 rows of pendigits, written to the
    model as new ones with a fifth missing, held 84 % with factors from rows that had been learned
    from.
    """
    start = with_inputs(parameters, q)
    space = space.with_group("log_variance", bounds=log_variance_bounds(q))
    delta = settings.prior(parameters).delta
    parameters, *_ = ascend_lbfgs(
        partial(latent_bound, table=rest, delta=delta, n_jobs=settings.n_jobs),
        with_learning_units(space, rest.counts()[0].sum()),
        start,
        max_iter=_FORGETTING,
        plateau=settings.plateau(len(rest)),
        trace=Trace(Clock()),
        seconds=seconds,
    )
    return without_inputs(parameters), inputs_of(parameters)


def _affordable(model, q, count, seconds):
    """Return so many rows, or as many as there is time for."""
    if np.isinf(seconds):
        return count
    few = q[: chunk_of(len(model.expectations.Z))]
    each = measured_seconds(lambda: model.moments(few)) / len(few.mean)
    return min(count, max(int(seconds / (_FILLING_PASSES * each)), 1))


def with_hidden(table, rng):
    """Hide some entries of an incomplete table; return it and which they are, None for too few.

    Errors of entries that nothing was learned from are what those of missing entries will be. On
    digits, entries that are hidden after the fit have two thirds of their squared errors. Complete
    tables are not cut, as that would cost them the sums that their columns share.
    """
    missing = np.isnan(table.Y)
    count = (~missing).sum()
    share = float(np.clip(_ENOUGH_HIDDEN / max(count, 1), _LEFT_OUT, 2.0 * _LEFT_OUT))
    if not missing.any() or count * share < _FEWEST:
        return None
    hidden = (rng.uniform(size=missing.shape) < share) & ~missing
    left = ~missing & ~hidden
    hidden[left.sum(axis=1) == 0] = False
    hidden[:, left.sum(axis=0) < 2] = False
    Y = np.array(table.Y, dtype=np.float64)
    Y[hidden] = np.nan
    return Table.of(Y, table.scaling), hidden


def factors_of_hidden(model, q, table, hidden):
    """Find the factors from entries of a table that nothing was learned from."""
    if hidden.sum() < _FEWEST:
        return np.ones(2)
    mean, variance = model.moments_in_chunks(q)
    return _factors(table.scaling.scaled(table.Y) - mean, model.noise_variance, variance, hidden)


def _factors(errors, noise_variance, variance, hidden):
    """Find factors from errors of what was hidden, both (n, P); ones from too few.

    A column of which every hidden entry is met exactly holds no errors to learn sizes of. With few
    entries the logarithms of the most likely factors shrink towards 0. Their common size does not,
    or intervals of small tables would be too narrow.
    """
    hidden = hidden & (np.where(hidden, errors, 0.0) != 0.0).any(axis=0)
    count = int(hidden.sum())
    if count < _FEWEST:
        return np.ones(2)
    squares = errors[hidden] ** 2
    noise = np.broadcast_to(noise_variance, hidden.shape)[hidden]
    rest = variance[hidden]
    factors = np.exp(np.log(_most_likely(squares, noise, rest)) * count / (count + _FEWEST))
    # large errors weigh much there: now 90 % intervals hold as many values as they should
    share = squares / (factors[0] * noise + factors[1] * rest)
    # by this rule 90 % of further values are expected to be smaller
    common = np.quantile(share, _INTERVAL, method="weibull") / chi2.ppf(_INTERVAL, 1)
    return np.exp(np.clip(np.log(factors * max(common, np.finfo(float).tiny)), *_FACTOR_BOUNDS.T))


def _most_likely(squares, noise, rest):
    """Find the factors of noise and rest with which normal errors have these squares."""

    def loss(log_factors):
        a, b = np.exp(log_factors)
        variance = a * noise + b * rest
        slope = 0.5 * (1.0 / variance - squares / variance**2)
        gradient = [np.mean(slope * a * noise), np.mean(slope * b * rest)]
        return 0.5 * np.mean(np.log(variance) + squares / variance), np.array(gradient)

    return np.exp(minimize_lbfgs(loss, np.zeros(2), jac=True, bounds=_FACTOR_BOUNDS).x)
