"""The logarithm of the noise variance as a Gaussian process of its own.

Its targets are squared errors of the function, its likelihood is `squared_errors.LogNoise`,
and it is learned as any model is whose likelihood has no closed form.
"""

from dataclasses import replace

import numpy as np

from ..data.rows import Rows, random_index
from ..engines.base import Problem
from ..engines.start import Choices, start
from ..engines.variational import schedule as stages
from ..engines.variational.inference import SiteInference
from ..objectives.sites import UnboundedSitesError
from ..optimize.progress import Clock, Trace
from .squared_errors import LogNoise

# Inducing inputs where the user leaves their number open.
_INDUCING = 100
# Rows of its warm start, and iterations at first and in later rounds.
_INIT_SIZE, _FIRST_ITERATIONS, _ITERATIONS = 4096, 40, 10
# Share of the time that is left in a budget, and at least of all of it.
_SHARE, _LEAST_SHARE = 0.2, 0.02
# Rows from which it is learned at most.
LARGEST_SAMPLE = 200_000


def learn_log_noise(given, likelihood, squares, before):
    """q(g) from squared errors.

    Parameters
    ----------
    given : Problem
        Of the function.
    likelihood : Likelihood
        Says which kernel and how many inducing inputs.
    squares : ndarray of shape (n, t)
        Expected squared errors in units of the noise variance. Outputs that have noise variances of
        their own have a log noise each, with one kernel and the same inducing inputs.
    before : FitResult or None
        Of the round before.

    Returns
    -------
    found : FitResult
    """
    rows = given.rows
    if len(rows) > 2 * LARGEST_SAMPLE:
        places = random_index(len(rows), LARGEST_SAMPLE, given.rng)
        rows, squares = rows.select(places), squares[places]
    n_outputs = 1 if np.ndim(given.start.parameters.noise_variance) else rows.y.shape[1]
    log_noise = LogNoise(n_outputs)
    of_squares = _rows_of(rows, squares, log_noise)
    try:
        return stages.learn(_problem(given, likelihood, log_noise, of_squares, before))
    except UnboundedSitesError:
        if before is None:
            raise
        # a wide kernel of g may have no finite bound at squares that have changed
        return stages.learn(_problem(given, likelihood, log_noise, of_squares, None))


def _problem(given, likelihood, log_noise, of_squares, before):
    """The `Problem` of g, on from the round before."""
    settings, clock = given.settings, given.trace.clock
    n_inducing = likelihood.n_inducing
    if n_inducing is None:
        n_inducing = min(_INDUCING, max(len(given.start.parameters.Z), 1))
    choices = Choices(
        kernel=likelihood.kernel,
        n_inducing=n_inducing,
        inducing="kmeans",
        optimize_inducing=False,
        ties_length_scales=True,
        kernel_set="wide",
        learns=given.learns,
        columns=given.start.columns,
    )
    started = start(of_squares, choices, log_noise, given.rng, before)
    return Problem(
        of_squares,
        started,
        _inference(log_noise, of_squares, started, before),
        replace(
            settings,
            optimizer="auto" if given.learns else None,
            init_size=min(settings.init_size, _INIT_SIZE),
            max_iter=_FIRST_ITERATIONS if before is None else _ITERATIONS,
            n_restarts_optimizer=0,
        ),
        Trace(Clock(_seconds(clock))),
        given.rng,
        is_interim=True,
    )


def _inference(log_noise, of_squares, started, before):
    """Whose iterations begin at q(g) of the round before: the prior's e^(-g) may be any number."""
    inference = SiteInference(log_noise, of_squares.y.shape[1])
    if before is not None and np.array_equal(before.parameters.Z, started.parameters.Z):
        inference.kept = before.posterior, before.weight
    return inference


def _seconds(clock):
    if not np.isfinite(clock.max_time):
        return None
    return max(_SHARE * clock.left(), _LEAST_SHARE * clock.max_time)


def with_squares(found, rows, squares, n_jobs):
    """q(g) with the squared errors of a later batch; kernel and inducing inputs stay.

    Parameters
    ----------
    found : FitResult
    rows : Rows
    squares : ndarray of shape (n, t)
    n_jobs : int or None

    Returns
    -------
    found : FitResult
    """
    log_noise = found.start.likelihood
    of_squares = _rows_of(rows, squares, log_noise)
    added = SiteInference(log_noise, of_squares.y.shape[1]).add(
        found.posterior,
        found.parameters,
        of_squares,
        scale=1.0,
        is_new=True,
        natural_step=1.0,
        gradient=None,
        n_jobs=n_jobs,
    )
    added.q.warm_cache()
    return replace(found, posterior=added.q)


def _rows_of(rows, squares, log_noise):
    """Squared errors as the targets of rows: of each log noise, summed where outputs share it."""
    if log_noise.n_outputs > 1:
        squares = squares.sum(axis=1, keepdims=True)
    t = squares.shape[1]
    return Rows(rows.X, squares, rows.observations, np.zeros(t), np.ones(t))
