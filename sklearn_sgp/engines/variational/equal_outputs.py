"""Outputs that are nearly equal, where functions are mixed: noise that they share counts once.

Noise of the outputs is independent in the model. Of two outputs that differ by less than their
noise, which share it, each row would be two observations that confirm one another: the noise is
learned as a function, and bands are too narrow. Each of k such outputs then counts a k-th part,
where rows that are left out are predicted better so (docs/theory.md, section 16).
"""

from dataclasses import replace

import numpy as np

from ...objectives.multi_output import noise_of_outputs
from ..explained import EXPLAINED_ROWS

# Outputs are nearly equal where one leaves so little of the variance of the other unexplained.
_LEAST_UNEXPLAINED = 0.05
_SHARED_ROWS = 10  # that two outputs must have at least
# Nats that left-out rows must gain on average. Where noise that is shared was taken for a function,
# eight of eight fits of 80 rows gained .26 to 1.03; 16 others, with noise that is not shared, with
# none, and those that had not been misled, -.24 to .02.
_LEAST_GAIN = 0.05


def or_as_one_output(problem, best, run):
    """Learn again with shares of outputs that are nearly equal, and keep what predicts better.

    ``run(problem)`` returns a problem and a `Fitted`.
    """
    begin = with_shares(problem.start, problem.rows) if problem.learns else None
    if begin is None:
        return best

    def is_better(fitted, again, _):
        return predicts_better(fitted, again, problem.rows)

    return best.or_from(lambda: replace(problem, start=begin), run, is_better)


def with_shares(start, rows):
    """Return a start where targets of nearly equal outputs count a share; None if there are none.

    They have Gaussian noise, and mix functions.
    """
    if not (start.parameters.mixes_outputs and start.likelihood.conjugate):
        return None
    shares = _shares(rows.fixed_subset(EXPLAINED_ROWS))
    return None if (shares == 1.0).all() else _begun(start, shares)


def _begun(start, shares):
    others = tuple(_begun(one, shares) for one in start.alternatives)
    parameters = start.parameters.with_values(shares=shares)
    return replace(start, parameters=parameters, alternatives=others)


def _shares(rows):
    """Return one over the number of outputs nearly equal to each, itself included, (t,)."""
    y = rows.targets
    seen = (~np.isnan(y)).astype(np.float64)
    y = np.where(seen, y - np.nanmean(y, axis=0), 0.0)
    square = (y**2).T @ seen  # of each output over the rows that it shares with another
    size = square * square.T
    both = (y.T @ y) ** 2
    equal = (both > (1.0 - _LEAST_UNEXPLAINED) * size) & (seen.T @ seen >= _SHARED_ROWS)
    np.fill_diagonal(equal, True)
    return 1.0 / equal.sum(axis=1)


def predicts_better(fitted, again, rows):
    """Return whether rows that are left out, each with all its targets, gain enough density."""
    rows = rows.fixed_subset(EXPLAINED_ROWS)
    gain = left_out_density(again, rows) - left_out_density(fitted, rows)
    gain = gain[np.isfinite(gain)]
    return len(gain) > 0 and gain.mean() > _LEAST_GAIN


def left_out_density(fitted, rows):
    """Return log densities of training rows given the others, (n,), summed over outputs.

    The parameters are as learned from all of them.
    """
    q, parameters = fitted.posterior, fitted.parameters
    W, s2 = q.mixing, noise_of_outputs(parameters)
    y = rows.targets - parameters.means
    seen = ~np.isnan(y)
    weight = rows.weights[0][:, None] * seen / s2
    unexplained = q.prior.unexplained(rows.X, q.prior.whitened(rows.X))
    own = unexplained[:, None, None] * np.eye(q.n_latent)
    covariance = q.latent_covariances(rows.X) - own
    information = np.einsum("np,pq,pr->nqr", weight, W, W)
    asked = np.einsum("np,pq->nq", weight * np.where(seen, y, 0.0), W)
    left = np.eye(q.n_latent) - covariance @ information
    mean = q.latent_mean(rows.X) - np.einsum("nqr,nr->nq", covariance, asked)
    mean = np.linalg.solve(left, mean[:, :, None])
    covariance = np.linalg.solve(left, covariance) + own
    noise = np.broadcast_to(parameters.noise_variance, len(W))
    variance = np.einsum("pq,nqr,pr->np", W, covariance, W) + noise
    with np.errstate(invalid="ignore", divide="ignore"):  # of rows that are all that is known
        log_p = -0.5 * (np.log(2.0 * np.pi * variance) + (y - mean[:, :, 0] @ W.T) ** 2 / variance)
    return np.where(seen, log_p, 0.0).sum(axis=1)
