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
from ..optimize.progress import Clock, Trace
from ..predict.noise import VaryingNoise, varying
from .ceiling import largest_log_noise
from .found_noise import FoundNoise, LogNoiseMoments
from .log_noise import learn_log_noise, with_squares
from .variance_scale import Spread

# Rows that are left out, the share of them that c is learned from, and the fewest of the others
# that can tell whether it is better.
_ROWS, _LEARNED_SHARE, _LEAST_ROWS = 16_384, 0.75, 50
# Times that the components of each row's mixture are weighed anew.
_ROUNDS = 3
# Gain in nats a row, on rows that c was not learned from, without which a simpler one is kept.
_LEAST_GAIN = 5e-3
# Logarithms of noise variances so near their lower bound are at it.
_NEAR_BOUND = 1e-3
# Variances of mixtures that are held at a time.
_PIECE = 1 << 20


class LeftOutRows(NamedTuple):
    """Rows, and what all others say of them.

    Attributes
    ----------
    rows : Rows
        Without precisions.
    mean, variance : ndarray of shape (n, t)
        Of the function.
    noise : VaryingNoise
    """

    rows: Rows
    mean: np.ndarray
    variance: np.ndarray
    noise: VaryingNoise

    def select(self, index):
        """Some of them."""
        rows, mean, variance, noise = self
        noise = VaryingNoise(*(part[index] for part in noise))
        return LeftOutRows(rows.select(index), mean[index], variance[index], noise)

    def log_density(self, likelihood, log_square):
        """Of each row, (n,), where variances have a factor."""
        log_square = np.broadcast_to(log_square, self.mean.shape)
        y = self.mean + np.exp(-0.5 * log_square) * (self.rows.targets - self.mean)
        moments = self.mean, self.variance, self.noise
        log_p = likelihood.log_predictive_density(y, *moments)
        return log_p - 0.5 * log_square.sum(axis=1)

    def squares(self, likelihood, log_square):
        """Squared errors in units of what is predicted, (n, t).

        A prediction is a mixture of normal distributions: its components are weighed by what they
        say of the error, so that an error far out in a tail is no large one.
        """
        squared = (self.rows.targets - self.mean).ravel() ** 2
        scaled = squared / np.exp(np.broadcast_to(log_square, self.mean.shape)).ravel()
        variances, log_weights = likelihood.components(self.variance, self.noise)
        found, size = np.empty(len(squared)), max(1, _PIECE // len(log_weights))
        for lo in range(0, len(squared), size):
            entries = np.arange(lo, min(lo + size, len(squared)))
            each = variances(entries)
            with np.errstate(over="ignore"):  # of a far error the widest component is left
                log_p = log_weights - 0.5 * (np.log(each) + scaled[entries, None] / each)
            log_p -= log_p.max(axis=1, keepdims=True)
            share = np.exp(log_p)
            precision = (share / each).sum(axis=1) / share.sum(axis=1)
            found[entries] = squared[entries] * precision
        return found.reshape(self.mean.shape)


def with_spread(problem, asked, found, rows):
    """What was found, with a factor where that predicts left-out rows better.

    Parameters
    ----------
    problem : Problem
        Of the function.
    asked : Likelihood
        That of the user; noise is found for it.
    found : object
        What a learner returns.
    rows : Rows
        All rows, with the precisions that q(u) rests on.

    Returns
    -------
    found : object
    """
    result, clock = found.result, problem.trace.clock
    likelihood = _varying(asked, result.likelihood)
    if likelihood is None or not problem.learns or clock.left() <= 0.0 or _is_least(result):
        return found
    noise = result.row_noise or FoundNoise(result.likelihood)
    left_out = _left_out(problem, found, rows, noise)
    if left_out is None:
        return found
    if np.isfinite(clock.max_time):
        problem = replace(problem, trace=Trace(Clock(clock.left())))
    spread = _best(problem, likelihood, left_out)
    if spread is None:
        return found
    return found.with_noise(replace(noise, likelihood=likelihood, spread=spread), 0.0)


def with_later_rows(noise, rows, mean, variance, noise_variance, n_jobs):
    """The noise, the function of its factor learned further from a later batch.

    Parameters
    ----------
    noise : FoundNoise
    rows : Rows
        Of the batch, without precisions.
    mean, variance : ndarray of shape (n, t)
        Of the function, as they were before the batch.
    noise_variance : float or ndarray of shape (t,)
    n_jobs : int or None

    Returns
    -------
    noise : FoundNoise
    """
    spread = noise.spread
    if spread is None or spread.function is None:
        return noise
    of_noise = replace(noise, spread=None).noise_at(rows.X, noise_variance, mean.shape[1], n_jobs)
    left_out = LeftOutRows(
        rows, mean, np.broadcast_to(variance, mean.shape), varying(of_noise, mean.shape)
    )
    squares = left_out.squares(noise.likelihood, spread.log_square(rows.X, n_jobs))
    scaled = squares / np.exp(spread.log_constant)
    function = with_squares(spread.function, rows, scaled, n_jobs)
    ceiling = np.maximum(spread.ceiling, _ceiling(function, rows, scaled, n_jobs))
    return replace(noise, spread=replace(spread, function=function, ceiling=ceiling))


def _ceiling(function, rows, squares, n_jobs):
    """What squared errors bear out of the function that was learned from them."""
    mean, _ = function.moments_at(rows.X, n_jobs)
    moments = LogNoiseMoments(mean, np.zeros(mean.shape))
    return largest_log_noise(moments, squares, rows.weights[1])


def _varying(asked, found):
    """The likelihood that was found, as one of noise that depends on the input; None if it may not.

    A fit that chooses may have chosen noise that does not.
    """
    if found.varies or not asked.candidates:
        return found if found.varies else None
    chosen = found.get_params()
    twins = [one for one in asked.candidates if one.varies]
    (twin,) = (one for one in twins if ("df" in one.get_params()) == ("df" in chosen))
    return twin.set_params(**chosen)


def _is_least(result):
    """Whether a noise variance is as small as it may become; errors then are no guide."""
    space, log_noise = result.start.space, np.ravel(result.parameters.log_noise)
    if not space.learns("log_noise"):
        return False
    least = np.reshape(space.group("log_noise").bounds, (-1, 2))[:, 0]
    return bool((log_noise <= least + _NEAR_BOUND).any())


def _left_out(problem, found, rows, noise):
    """`LeftOutRows` of a part of the rows, or None where there are too few."""
    places, n_jobs = None, problem.settings.n_jobs
    if len(rows) > _ROWS:
        places = found.drawn(len(rows), _ROWS, problem.rng)
        rows = rows.select(places)
    mean, variance = found.left_out_moments(rows, places, n_jobs)
    known = np.flatnonzero(np.isfinite(mean + variance).all(axis=1))
    if len(known) * (1.0 - _LEARNED_SHARE) < _LEAST_ROWS:
        return None
    rows = replace(rows, weight=rows.observations, counts=None)
    of_noise = noise.noise_at(rows.X, found.result.noise_variance, mean.shape[1], n_jobs)
    of_noise = varying(of_noise, mean.shape)
    variance = np.broadcast_to(variance, mean.shape)
    return LeftOutRows(rows, mean, variance, of_noise).select(known)


def _best(problem, likelihood, left_out):
    """The `Spread` that is worth its parameters on rows that it was not learned from, or None."""
    n, n_jobs = len(left_out.mean), problem.settings.n_jobs
    order = random_index(n, n, problem.rng)
    n_learned = round(_LEARNED_SHARE * n)
    learned, tests = left_out.select(order[:n_learned]), left_out.select(order[n_learned:])
    best, value = None, tests.log_density(likelihood, 0.0)
    with suppress(NotPositiveDefiniteError):  # then the simpler one does
        for spread in _candidates(problem, likelihood, learned):
            log_square = spread.log_square(tests.rows.X, n_jobs)
            new = tests.log_density(likelihood, log_square)
            gain = _gain(new - value, tests.rows.weights[1])
            if gain >= _LEAST_GAIN:
                of_all = gain + (0.0 if best is None else best.gain)
                scale = np.exp(0.5 * log_square)
                ends = float(scale.min()), float(scale.max())
                best, value = replace(spread, gain=of_all, range=ends), new
    return best


def _gain(difference, weight):
    """Mean gain, 0 where it is no larger than its standard error."""
    mean = np.average(difference, weights=weight)
    deviation = np.sqrt(np.average((difference - mean) ** 2, weights=weight))
    return float(mean) if mean * np.sqrt(len(difference)) > deviation else 0.0


def _candidates(problem, likelihood, learned):
    """A constant and a function, by turns weighing components and learning from squares."""
    rows = learned.rows
    shared = not np.ndim(problem.start.parameters.noise_variance)
    spread = Spread(np.zeros(1))
    for _ in range(_ROUNDS):
        squares = learned.squares(likelihood, spread.log_constant)
        mean = np.average(squares, axis=0, weights=rows.weights[1])
        mean = np.maximum(mean, np.finfo(np.float64).tiny)
        spread = Spread(np.log(mean.mean(keepdims=True) if shared else mean))
    yield spread
    of_rows, function = replace(problem, rows=rows, is_interim=True), None
    n_jobs = problem.settings.n_jobs
    for _ in range(_ROUNDS):
        squares = learned.squares(likelihood, spread.log_square(rows.X, n_jobs))
        scaled = squares / np.exp(spread.log_constant)
        function = learn_log_noise(of_rows, likelihood, scaled, function)
        ceiling = _ceiling(function, rows, scaled, n_jobs)
        spread = replace(spread, function=function, ceiling=ceiling)
    yield spread
