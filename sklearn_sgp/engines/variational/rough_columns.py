"""A rough part of a default kernel in few columns, chosen by predictions of rows held out.

What differs from one day to the next, or from one station to another, is a rough function of few
columns. On the rows of a warm start a bound pays more for the inducing inputs that such a part
wants than it explains, so that the part vanishes there, and no slope leads back to it. Predictions
of other rows say earlier what it is worth.
"""

import time
from dataclasses import replace

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ...data.winsorize import with_light_tails
from ...kernels._length_scales import matern12_component
from ...optimize.probes import far_steps
from ..fingerprints import structure

# More columns have no far steps: each takes a pass over the rows for each sweep.
_MOST_COLUMNS = 32
# The rough part begins so wide, in units of its usual length scales, that it is a constant; its
# variance is such a share of the noise. A column's far step leads to such a share of its standard
# deviation, about.
_OFF, _ROUGH_PER_NOISE, _SHORT_SHARES = 100.0, 0.03, (0.5, 0.05)
# Nats that a row held out gains by a column that is taken, and standard errors of what all gain.
_LEAST_COLUMN_GAIN, _CERTAIN, _SWEEPS = 1e-3, 3.0, 3
# Share of a time budget for this.
_COLUMN_PROBE_SECONDS = 0.05


def with_rough_columns(problem, alternatives, parameters, rows, held_out, seconds):
    """Add a Matern-1/2 component of few columns where that predicts better.

    Parameters
    ----------
    problem : Problem
        With the default kernel that was chosen.
    alternatives : tuple of Start
        With other default kernels.
    parameters : Parameters
        As learned so far.
    rows, held_out : Rows
        From which predictions are made, and what they are of; nothing was learned from the latter.
    seconds : float
        What is left of a time budget.

    Returns
    -------
    problem : Problem
    parameters : Parameters
    """
    result = _sum_of(problem.start, alternatives, parameters)
    has_densities = problem.start.likelihood.conjugate and not parameters.mixes_outputs
    if result is None or not has_densities or rows.of_classes or rows.outputs_differ:
        return problem, parameters
    start, begin, (variance, scales) = result
    noise = float(np.mean(parameters.noise_variance))
    usual = start.parameters.theta[scales]
    begin = begin.copy()
    begin[variance], begin[scales] = np.log(_ROUGH_PER_NOISE * noise), usual + np.log(_OFF)
    begins = start.parameters.with_values(**{**parameters.values, "theta": begin})
    limit = time.perf_counter() + _COLUMN_PROBE_SECONDS * seconds
    both, n_known = with_light_tails(rows.joined(held_out)), len(rows)
    rows, held_out = both.select(slice(n_known)), both.select(slice(n_known, None))

    def value(theta):
        return np.average(densities(begins.with_values(theta=theta)), weights=weight)

    def densities(candidate):
        return _densities(problem, candidate, rows, held_out)

    weight = held_out.weights[0]
    weight = weight if weight.ndim == 1 else weight.mean(axis=1)
    steps = np.log(np.array(_SHORT_SHARES) / (_OFF * np.sqrt(len(scales))))
    theta, _ = far_steps(
        value,
        begin,
        scales,
        steps,
        _LEAST_COLUMN_GAIN,
        _SWEEPS,
        lambda: time.perf_counter() < limit,
    )
    moved = start.space.clipped(begins.with_values(theta=theta))
    if not (theta < begin).any() or not _is_gain(densities(moved), densities(parameters), weight):
        return problem, parameters
    return replace(problem, start=start), moved


def _sum_of(chosen, alternatives, parameters):
    """Return a start with such a component, its learned theta, and where the component is."""
    for start in (chosen, *alternatives):
        part = matern12_component(start.parameters.expression)
        if part is None or not 1 < len(part[1]) <= _MOST_COLUMNS:
            continue
        theta = start.parameters.theta.copy()
        if start is chosen:
            return start, parameters.theta, part
        others = np.delete(np.arange(len(theta)), [part[0], *part[1]])
        smooth = start.kernel.k1
        if structure(smooth) == structure(chosen.kernel) and len(others) == len(parameters.theta):
            theta[others] = parameters.theta
            return start, theta, part
    return None


def _densities(problem, parameters, rows, held_out):
    """Compute log densities of held-out rows by the q(u) of others; -inf where there is none."""
    try:
        prior, n_jobs = problem.prior(parameters), problem.settings.n_jobs
        q, *_ = problem.inference.posterior(prior, parameters, rows, n_jobs, np.inf)
    except NotPositiveDefiniteError:
        return np.full(len(held_out), -np.inf)
    mean, variance = q.mean_variance(np.asarray(held_out.X, dtype=np.float64))
    noise = parameters.noise_variance
    return problem.start.likelihood.log_predictive_density(
        held_out.targets, mean, np.reshape(variance, (len(mean), -1)), noise
    )


def _is_gain(after, before, weight):
    """Return whether densities rose by more than chance."""
    if not (np.isfinite(after).all() and np.isfinite(before).all()):
        return False
    gain = after - before
    mean = np.average(gain, weights=weight)
    error = np.sqrt(np.average((gain - mean) ** 2, weights=weight) / len(gain))
    return bool(mean > max(_LEAST_COLUMN_GAIN, _CERTAIN * error))
