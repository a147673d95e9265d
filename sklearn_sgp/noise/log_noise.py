"""The logarithm of the noise variance as a Gaussian process of its own.

Its targets are squared errors of the function, its likelihood is `squared_errors.LogNoise`,
and it is learned as any model is whose likelihood has no closed form.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from ..data.rows import Rows, random_index
from ..engines.base import Problem
from ..engines.start import Choices, start
from ..engines.variational.inference import SiteInference
from ..engines.variational.schedule import LARGEST_WEIGHT, run
from ..kernels._defaults import WIDE
from ..objectives.sites import UnboundedSitesError
from ..optimize import time_shares
from ..optimize.progress import Clock, Trace
from .squared_errors import LogNoise

# Inducing inputs where the user leaves their number open.
MOST_INDUCING = 100
# Rows of its warm start and rows that its kernel is learned from, q(g) being that of all, and
# iterations of the first and of later fits. Of 8,000 made rows, whose noise has a step, steps at
# each of 24 hours, or a step in one of five columns, a kernel of all rows is 0.001 nats a row
# better at most and takes 0.6 to 1.4 s more (0.5 to 1.1 s); one of 1,024 rows loses 0.005 in five.
_INIT_SIZE, _KERNEL_ROWS, _FIRST_NOISE_ITERATIONS, LATER_ITERATIONS = 4096, 2048, 40, 10
# Rows from which it is learned at most.
LARGEST_SAMPLE = 200_000


def learn_log_noise(given, prior, squares, previous):
    """Learn q(g) from squared errors: the kernel from some of many rows, the rest from all.

    What is not learned stays. It asks for fits; see `estimators.asking`.

    Parameters
    ----------
    given : Problem
        Of the function.
    squares : ndarray of shape (n, t)
        Expected squared errors in units of the noise variance. Outputs that have noise variances of
        their own have a log noise each, with one kernel and the same inducing inputs.
    previous : Fitted or None
        Of earlier squared errors.
    """
    rows = given.rows
    if len(rows) > 2 * LARGEST_SAMPLE:
        places = random_index(len(rows), LARGEST_SAMPLE, given.rng)
        rows, squares = rows.select(places), squares[places]
    n_outputs = rows.y.shape[1] if given.start.shares_noise else 1
    log_noise = LogNoise(n_outputs)
    of_squares, learned = rows_of_squares(rows, squares, log_noise), previous
    try:
        if given.learns or previous is None:
            some = of_squares.fixed_subset(_KERNEL_ROWS) if given.learns else of_squares
            if len(some) < len(rows):
                some = some.weighted(min(len(rows) / len(some), LARGEST_WEIGHT))
            started = yield partial(_started, given, prior, log_noise, some, previous)
            most = _FIRST_NOISE_ITERATIONS if previous is None else LATER_ITERATIONS
            most = most if given.learns else 0
            _, learned = yield partial(run, _problem(given, started, some, previous, most))
            if len(some) == len(rows):
                return learned
        started = replace(learned.start, parameters=learned.parameters)
        return (yield partial(run, _problem(given, started, of_squares, learned, 0)))[1]
    except UnboundedSitesError:
        if previous is None:
            raise
    # a wide kernel of g may have no finite bound at squares that have changed
    return (yield from learn_log_noise(replace(given, rows=rows), prior, squares, None))


def _started(given, prior, log_noise, of_squares, previous):
    """Start with a kernel of g and its inducing inputs, those of an earlier fit if there is one."""
    n_inducing = prior.n_inducing
    if n_inducing is None:
        n_inducing = min(MOST_INDUCING, max(len(given.start.parameters.Z), 1))
    choices = Choices(
        kernel=prior.kernel,
        n_inducing=n_inducing,
        inducing="kmeans",
        optimize_inducing=False,
        ties_length_scales=True,
        kernel_set=WIDE,
        learns=given.learns,
        columns=given.start.columns,
    )
    return start(of_squares, choices, log_noise, given.rng, previous)


def _problem(given, started, of_squares, previous, n_iter):
    """Make the `Problem` of g from a start, with so many iterations of its kernel."""
    return Problem(
        of_squares,
        started,
        _inference(started.likelihood, of_squares, started, previous),
        replace(
            given.settings,
            optimizer="auto" if n_iter else None,
            init_size=min(given.settings.init_size, _INIT_SIZE),
            max_iter=max(n_iter, 1),
            n_restarts_optimizer=0,
        ),
        Trace(Clock(_seconds(given.trace.clock))),
        given.rng,
        is_interim=True,
    )


def _inference(log_noise, of_squares, started, previous):
    """Begin iterations at the earlier q(g): the prior's e^(-g) may be any number."""
    known = None
    if previous is not None and np.array_equal(previous.parameters.Z, started.parameters.Z):
        known = previous.posterior, previous.weight
    return SiteInference(log_noise, of_squares.y.shape[1], known=known)


def _seconds(clock):
    if not np.isfinite(clock.max_time):
        return None
    return max(time_shares.LOG_NOISE * clock.left(), time_shares.LEAST_LOG_NOISE * clock.max_time)


def with_squares(previous, rows, squares, n_jobs, counting):
    """Add the squared errors of a later batch to q(g); kernel and inducing inputs stay."""
    log_noise = previous.start.likelihood
    of_squares = rows_of_squares(rows, squares, log_noise)
    added = SiteInference(log_noise, of_squares.y.shape[1]).add(
        previous.posterior,
        previous.parameters,
        of_squares,
        scale=counting.scale,
        is_new=counting.is_new,
        natural_step=counting.natural_step,
        gradient=None,
        n_jobs=n_jobs,
    )
    added.q.warm_cache()
    return replace(previous, predictor=previous.predictor.with_posterior(added.q))


def rows_of_squares(rows, squares, log_noise):
    """Make rows whose targets are squared errors, summed where outputs share a log noise."""
    if log_noise.n_outputs > 1:
        squares = squares.sum(axis=1, keepdims=True)
    t = squares.shape[1]
    return Rows(rows.X, squares, rows.observations, np.zeros(t), np.ones(t))
