"""Learning a factor of predictive deviations from rows that are left out.

Each row is predicted from all others, in closed form. What is learned from some of these errors
must hold for others, or it is not taken (docs/theory.md, section 13).
"""

from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._linalg import NotPositiveDefiniteError
from ..data.rows import Rows, random_index
from ..data.varying_noise import VaryingNoise, each_output, varying
from ..engines.left_out import left_out_moments
from ..likelihoods import NoiseChoice
from ..objectives.scores import mean_and_error
from ..optimize import time_shares
from ..optimize.budget import count_within, measured_seconds
from ..optimize.progress import Clock, Trace
from ..predict.rounded import log_mean_density
from .ceiling import largest_log_noise
from .log_noise import learn_log_noise, with_squares
from .row_noise import AS_NEW, LogNoiseMoments, row_noise_of, squared_errors
from .variance_scale import VarianceScale

# Rows that are left out, the share of them that c is learned from, and the fewest of the others
# that can tell whether it is better. 8,192 of 10,000 houses: 0.006 nats less.
_LEFT_OUT_ROWS, _LEARNED_SHARE, _LEAST_TEST_ROWS = 16_384, 0.75, 50
# Rows that judge bands and means: some thousand tell a ratio of squared errors of 1.01 from 1.
JUDGING_ROWS = 8192
# Rows whose prediction is timed where time is limited, and the fewest that are left out then.
_TIMED_ROWS = 256
# The fewest that tell of noise, however little time is left. From 256 of 4,000 rows neither its
# form nor its kernel is known: of ten fits of made tables five had 0.07 to 0.37 nats less than from
# 1,024, which take 0.03 s more, and 0.2 s with near rows.
NOISE_ROWS = 1024
# Times that the components of each row's mixture are weighed anew for a constant. For a function
# they are not: of 8,600 rows two more took 0.8 s, and the next alone had 0.000 to 0.002 nats more
# (five draws of two tables).
_WEIGHINGS = 3
# Gain in nats a row, on rows that c was not learned from, without which a simpler one is kept.
_LEAST_TEST_GAIN = 5e-3
# Logarithms of noise variances so near their lower bound are at it.
_NEAR_BOUND = 1e-3
# Variances of mixtures that are held at a time.
_VARIANCES_AT_A_TIME = 1 << 20


class LeftOutRows(NamedTuple):
    """Rows, and what is predicted of each from all others.

    Attributes
    ----------
    rows : Rows
        Without precisions.
    mean, variance : ndarray of shape (n, t)
        Of the function.
    noise : VaryingNoise
    width : ndarray of shape (n, t)
        Of the intervals that targets were rounded from.
    is_least : bool or ndarray of shape (t,)
        Whether the noise of an output is the least that may be, so that its errors say nothing.
    """

    rows: Rows
    mean: np.ndarray
    variance: np.ndarray
    noise: VaryingNoise
    width: np.ndarray
    is_least: object = False

    def select(self, index):
        """Select some of them."""
        mean, variance, width = (one[index] for one in (self.mean, self.variance, self.width))
        noise = VaryingNoise(*(part[index] for part in self.noise))
        return LeftOutRows(self.rows.select(index), mean, variance, noise, width, self.is_least)

    def log_density(self, likelihood, log_square):
        """Return the log density of each row, (n,), with variances times a factor."""
        log_square = np.broadcast_to(log_square, self.mean.shape)
        factor = np.exp(-0.5 * log_square)
        y = self.mean + factor * (self.rows.targets - self.mean)
        moments = self.mean, self.variance, self.noise
        log_p = log_mean_density(likelihood, y, factor * self.width, *moments)
        return log_p - 0.5 * log_square.sum(axis=1)

    def squares(self, likelihood, log_square):
        """Return squared errors in units of the predicted variance, (n, t).

        A prediction is a mixture of normal distributions: its components are weighed by what they
        say of the error, so that an error far out in a tail is no large one. Those of outputs with
        the least noise are as they are expected.
        """
        log_square = np.broadcast_to(log_square, self.mean.shape)
        squared = (self.rows.targets - self.mean) ** 2 + self.width**2 / 12.0
        weighed = np.empty(self.mean.shape)
        for own, one, noise in each_output(likelihood, self.noise, self.mean.shape[1]):
            scaled = squared[:, own].ravel() / np.exp(log_square[:, own]).ravel()
            precision = _precisions(scaled, *one.components(self.variance[:, own], noise))
            weighed[:, own] = squared[:, own] * precision[:, None]
        return np.where(self.is_least, np.exp(log_square), weighed)


def _precisions(scaled, variances, log_weights):
    """Weigh the components of one output; return E 1 / variance given each squared error, (n,)."""
    precision, size = np.empty(len(scaled)), max(1, _VARIANCES_AT_A_TIME // len(log_weights))
    for lo in range(0, len(scaled), size):
        entries = np.arange(lo, min(lo + size, len(scaled)))
        each = variances(entries)
        with np.errstate(over="ignore"):  # of a far error the widest component is left
            log_p = log_weights - 0.5 * (np.log(each) + scaled[entries, None] / each)
        log_p -= log_p.max(axis=1, keepdims=True)
        share = np.exp(log_p)
        precision[entries] = (share / each).sum(axis=1) / share.sum(axis=1)
    return precision


def with_variance_scale(problem, likelihood, fitted):
    """Scale the predictive variances of a fit, where that predicts left-out rows better.

    The rows have the precisions that q(u) rests on; the likelihood is the noise, or the choice
    among noises, that the user asked for. It asks for fits; see `estimators.asking`.
    """
    clock, likelihood = problem.trace.clock, varying_noise(problem, likelihood, fitted)
    if likelihood is None or clock.left() <= 0.0:
        return fitted
    noise = row_noise_of(fitted)
    size = rows_within(problem, fitted, _LEFT_OUT_ROWS, time_shares.VARIANCE_SCALE)
    left_out = left_out_rows(problem, fitted, noise, size)
    if left_out is None:
        return fitted
    if np.isfinite(clock.max_time):
        problem = replace(problem, trace=Trace(Clock(clock.left())))
    scale = yield from _best(problem, likelihood, left_out, noise.log_noise)
    if scale is None:
        return fitted
    return fitted.with_noise(replace(noise, likelihood=likelihood, variance_scale=scale), 0.0)


def with_later_rows(noise, rows, mean, variance, noise_variance, n_jobs, counting):
    """Return a `RowNoise` whose variance scale is learned further from a later batch.

    Its rows have no precisions; mean and variance (n, t) are those predicted before the batch, and
    `row_noise.Counting` tells which rows are new.
    """
    scale = noise.variance_scale
    if scale is None or scale.function is None:
        return noise
    unscaled = replace(noise, variance_scale=None)
    at_rows = unscaled.noise_at(rows.X, noise_variance, mean.shape[1], n_jobs)
    variance, width = np.broadcast_to(variance, mean.shape), np.zeros(mean.shape)
    is_least = np.isinf(scale.error)
    left_out = LeftOutRows(rows, mean, variance, varying(at_rows, mean.shape), width, is_least)
    squares = left_out.squares(noise.likelihood, scale.learned(rows.X, n_jobs))
    scaled = squares / np.exp(scale.log_constant)
    function = with_squares(scale.function, rows, scaled, n_jobs, counting)
    ceiling = np.maximum(scale.ceiling, _ceiling(function, left_out, scaled, n_jobs))
    return replace(noise, variance_scale=replace(scale, function=function, ceiling=ceiling))


def _ceiling(function, left_out, squares, n_jobs):
    """Find the largest value that the rows a function was learned from bear out.

    It is 0 for outputs with the least noise.
    """
    mean, _ = function.moments_at(left_out.rows.X, n_jobs)
    moments = LogNoiseMoments(mean, np.zeros(mean.shape))
    largest = largest_log_noise(moments, squares, left_out.rows.weights[1])
    return np.where(left_out.is_least, 0.0, largest)


def varying_noise(problem, likelihood, fitted):
    """Return the noise that was learned with a variance that may depend on the input.

    None where it may not, where nothing was learned, or left-out rows are no guide.
    """
    choice, learned = NoiseChoice.of(likelihood), fitted.likelihood
    if not problem.learns or _is_least(fitted).all():
        return None
    precision = learned.row_precision
    if precision.varies:
        return learned
    return precision.varying() if choice.may_vary and precision.varying else None


def _is_least(fitted):
    """Return True for noise variances at their lower bounds, where errors are no guide, (k,)."""
    space, log_noise = fitted.start.space, np.ravel(fitted.parameters.log_noise)
    if not space.learns("log_noise"):
        return np.zeros(len(log_noise), dtype=bool)
    least = np.reshape(space.group("log_noise").bounds, (-1, 2))[:, 0]
    return log_noise <= least + _NEAR_BOUND


def left_out_places(fitted, n_rows, size):
    """Draw about so many of the rows, the same in every step of a fit; None for all of them."""
    if size >= n_rows:
        return None
    return fitted.predictor.drawn(n_rows, size, np.random.RandomState(0))


def left_out_rows(problem, fitted, noise, size):
    """Make `LeftOutRows` of about so many of the rows; None where there are too few."""
    rows, n_jobs = problem.rows, problem.settings.n_jobs
    places = left_out_places(fitted, len(rows), size)
    rows = rows if places is None else rows.select(places)
    mean, variance = left_out_moments(fitted, rows, places, n_jobs)
    is_least = _is_least(fitted)
    if is_least.any():  # what is said of them rests on rounding
        mean = np.where(is_least, rows.targets, mean)
        variance = np.where(is_least, 0.0, variance)
    known = np.flatnonzero(np.isfinite(mean + variance).all(axis=1))
    if len(known) * (1.0 - _LEARNED_SHARE) < _LEAST_TEST_ROWS:
        return None
    rows = replace(rows, weight=rows.observations, counts=None)
    at_rows = noise.noise_at(rows.X, fitted.noise_variance, mean.shape[1], n_jobs)
    variance = np.broadcast_to(variance, mean.shape)
    width = np.broadcast_to(problem.widths_of(places), mean.shape)
    noise = varying(at_rows, mean.shape)
    return LeftOutRows(rows, mean, variance, noise, width, is_least).select(known)


def rows_within(problem, fitted, size, share, least=_TIMED_ROWS):
    """Return how many rows can be left out in a share of the time left, at most ``size``.

    At least ``least``, where there are so many.
    """
    clock, n_rows = problem.trace.clock, len(problem.rows)
    size = min(size, n_rows)
    if not np.isfinite(clock.max_time) or size <= least:
        return size
    if clock.left() <= 0.0:  # whatever a row costs
        return least
    predictor, n_jobs = fitted.predictor, problem.settings.n_jobs
    places = predictor.drawn(n_rows, _TIMED_ROWS, np.random.RandomState(0))
    rows = problem.rows.select(places)
    each = measured_seconds(lambda: predictor.left_out(rows, places, n_jobs)) / len(places)
    return max(least, count_within(size, share * clock.left(), each))


def _best(problem, likelihood, left_out, log_noise):
    """Return the `VarianceScale` that predicts rows best that it does not know, or None."""
    n, n_jobs = len(left_out.mean), problem.settings.n_jobs
    order = random_index(n, n, problem.rng)
    n_learned = round(_LEARNED_SHARE * n)
    learned, tests = left_out.select(order[:n_learned]), left_out.select(order[n_learned:])
    best, value, scale = None, tests.log_density(likelihood, 0.0), None
    with suppress(NotPositiveDefiniteError):  # then the simpler one does
        for is_first in (True, False):
            if is_first:
                scale = _constant(problem, likelihood, learned)
            else:
                scale = yield from _with_function(problem, likelihood, learned, log_noise, scale)
            log_square = scale.log_square(tests.rows.X, n_jobs)
            new = tests.log_density(likelihood, log_square)
            gain = _gain(new - value, tests.rows.weights[1])
            if gain >= _LEAST_TEST_GAIN:
                total = gain + (0.0 if best is None else best.gain)
                factor = np.exp(0.5 * log_square)
                ends = float(factor.min()), float(factor.max())
                best, value = replace(scale, gain=total, range=ends), new
    return best


def _gain(difference, weight):
    """Return the mean gain, or 0 where it is no larger than its standard error."""
    mean, error = mean_and_error(difference, weight)
    return mean if mean > error else 0.0


def _constant(problem, likelihood, learned):
    """Find a constant `VarianceScale`, by turns weighing components and learning."""
    rows = learned.rows
    shared = problem.start.shares_noise
    scale = VarianceScale(np.zeros(1))
    for _ in range(_WEIGHINGS):
        squares = learned.squares(likelihood, scale.log_constant)
        mean = np.average(squares, axis=0, weights=rows.weights[1])
        mean = np.maximum(mean, np.finfo(np.float64).tiny)
        scale = VarianceScale(np.log(mean.mean(keepdims=True) if shared else mean))
    each = squares.mean(axis=1, keepdims=True) if shared else squares
    error = _error_of_log(each, rows.weights[1])
    return replace(scale, error=np.where(learned.is_least, np.inf, error))


def _with_function(problem, likelihood, learned, log_noise, scale):
    """Learn a function beside a constant scale."""
    rows = learned.rows
    of_rows = replace(problem, rows=rows, is_interim=True)
    prior = likelihood.row_precision.log_noise
    scaled = learned.squares(likelihood, scale.log_constant) / np.exp(scale.log_constant)
    function = yield from learn_log_noise(of_rows, prior, scaled, log_noise)
    ceiling = _ceiling(function, learned, scaled, problem.settings.n_jobs)
    return replace(scale, function=function, ceiling=ceiling)


def _error_of_log(squares, weight):
    """Return the standard error of the logarithm of the mean of columns (n, k), (k,)."""
    columns = (mean_and_error(column, weight) for column in squares.T)
    return np.array([error / max(mean, np.finfo(np.float64).tiny) for mean, error in columns])


def with_precisions(fitted, rows, n_jobs, counting=AS_NEW, add=with_squares, known=None):
    """Return a later batch with the precisions of its rows, and the noise of all rows.

    The precisions are those that the predictions before the batch ask for.

    Parameters
    ----------
    add : callable
        See `RowNoise.joined`.
    known : Predictor or None
        Of the function with what the batch says of it, where that is known: far from all rows
        before, errors of what was predicted are those of the function and not of the noise.

    Returns
    -------
    rows : Rows
    noise : RowNoise or EqualNoise
        Where all rows have the same noise, the rows are as they came.
    """
    if not fitted.noise.differs:
        return rows, fitted.row_noise
    mean, variance = fitted.predictor.moments(rows, n_jobs)
    noise_variance = fitted.noise_variance
    noise = with_later_rows(fitted.noise, rows, mean, variance, noise_variance, n_jobs, counting)
    if known is not None:
        mean, variance = known.moments(rows, n_jobs)
    squares = squared_errors(rows, mean, variance, noise_variance)
    noise, precision = noise.joined(rows, squares, n_jobs, counting, add)
    return rows.with_precision(precision), noise
