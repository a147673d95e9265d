"""Shifts of a stream: what of a batch is other than predicted, and how the stream goes on."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ..._linalg import NotPositiveDefiniteError, cholesky
from ..._warnings import warn_caller
from ...data.inputs import Inputs
from ...gp.jitter import factorise_with_jitter
from ...kernels._length_scales import variance_mask
from .band_places import NO_PLACES
from .bands import MOST_OF_A_MISS, NO_BANDS
from .batch_levels import NO_LEVELS
from .waiting import NONE_WAITING
from .watch import LEAST_ROWS, Alone, Gathered, near_others

# Rows of a batch that are looked at together.
ROWS_TOGETHER = 100
# Factors of the noise variance, and shares of what the old rows say, that may explain a batch.
_NOISE_FACTORS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
_PAST_SHARES = (1.0, 0.3, 0.1, 0.01, 0.0)
# Share of the function's variance at a batch that rows so far must explain to be forgotten.
_EXPLAINED_BEFORE = 0.5
# Noise of a stream that begins with the batch, in variances of its targets.
_ANEW_NOISES = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3)
# Shares of the past for ``forget_factor="auto"``, and what a batch counts after the next.
_FADING, _MEMORY = (1.0, 0.99, 0.97, 0.9, 0.75), 0.9
# Share of a level that a row alone must be able to tell, as division by less says nothing.
_LEAST_OF_A_LEVEL = 0.1
# What rows count that kernel and noise were learned from, where these are no more than a start.
_HARDLY = 1e-9


class Prediction(NamedTuple):
    """Hold what is predicted of some rows of a batch, in scaled targets.

    Attributes
    ----------
    residual : ndarray of shape (n, t)
        NaN where an output was not observed.
    function : ndarray of shape (n, n, t)
        Covariances of the functions.
    noise : ndarray of shape (n, t)
    """

    residual: np.ndarray
    function: np.ndarray
    noise: np.ndarray

    @classmethod
    def of(cls, fitted, rows, n_jobs, share=1.0):
        """Predict rows, of which those before count a share."""
        predictor = fitted.predictor
        if share != 1.0:
            posterior = predictor.posterior.scaled(share)
            predictor = replace(predictor, posterior=posterior)
        mean, covariance = predictor.joint(Inputs(np.asarray(rows.X, dtype=np.float64)), n_jobs)
        t = mean.shape[1]
        level = fitted.targets.scaled_variance(fitted.state.levels.variance)
        function = np.broadcast_to(covariance + level, (*covariance.shape[:2], t))
        variance = np.ascontiguousarray(np.diagonal(function).T)
        noise = _noise_at(fitted, rows.X, mean, variance, n_jobs)
        counts = np.maximum(rows.weights[1], 1.0)  # what counts less is one draw all the same
        return cls(rows.targets - mean, function, noise / counts[:, None])

    def output(self, c):
        """Return residuals, covariance and noise of the rows that have an output."""
        seen = np.flatnonzero(~np.isnan(self.residual[:, c]))
        function = self.function[np.ix_(seen, seen, [c])][:, :, 0]
        return self.residual[seen, c], function, self.noise[seen, c]


def _noise_at(fitted, X, mean, variance, n_jobs):
    """Return how much rows vary beside a function of these moments, (n, t)."""
    noise = fitted.noise.noise_at(X, fitted.noise_variance, mean.shape[1], n_jobs)
    total = fitted.likelihood.moments(mean, variance, noise)[1]
    return np.maximum(total - variance, np.finfo(np.float64).tiny)


def without_outliers(residual, deviation):
    """Bring residuals that are alone in being far away in."""
    ratio = residual / deviation
    return deviation * near_others(ratio), np.abs(ratio)


def _whitened(residual, covariance):
    """Return whitened residuals and the whitened direction of a level."""
    L = cholesky(covariance)
    both = np.column_stack([residual, np.ones(len(residual))])
    return (*solve_triangular(L, both, lower=True).T, float(np.log(np.diagonal(L)).sum()))


def _statistics(residual, function, noise):
    """Return level times information, information, distances, whitened residuals of an output."""
    if not len(residual):
        return 0.0, 0.0, np.zeros(0), np.zeros(0)
    near, distance = without_outliers(residual, np.sqrt(np.diagonal(function) + noise))
    u, one, _ = _whitened(near, function + np.diag(noise))
    information, level = float(one @ one), float(one @ u)
    return level, information, distance, np.abs(u - level / information * one)


def gathered(fitted, rows, n_jobs):
    """Return `Gathered` of some rows of a batch, None where there can be none.

    Besides these rows and how they are predicted.
    """
    rows = rows.fixed_subset(ROWS_TOGETHER)
    prediction = Prediction.of(fitted, rows, n_jobs)
    t = prediction.residual.shape[1]
    try:
        parts = [_statistics(*prediction.output(c)) for c in range(t)]
    except NotPositiveDefiniteError:
        return None, rows, prediction
    level, information, *columns = zip(*parts, strict=True)
    padded = (_padded(each, len(rows)) for each in columns)
    sums = np.array(level), np.array(information)
    y = np.asarray(rows.y, dtype=np.float64)
    seen = Gathered(len(rows), *sums, *padded, y, _alone(fitted, prediction, rows))
    return seen, rows, prediction


def missed(misses, prediction, usual, is_new=True):
    """Add rows of a batch to `Misses` where variances are ``usual``, (t,); as they are if 0.

    But rows that are not new, (n,) of bool.
    """
    if not np.any(usual):
        return misses
    n, t = prediction.residual.shape
    squares, variance, independent = np.full((n, t), np.nan), np.ones((n, t)), np.ones(t)
    for c in range(t):
        residual, function, noise = prediction.output(c)
        if not len(residual):
            continue
        covariance, seen = function + np.diag(noise), ~np.isnan(prediction.residual[:, c])
        own = np.diagonal(covariance)
        std = np.sqrt(own)
        near, correlation = near_others(residual / std), covariance / std / std[:, None]
        squares[seen, c] = np.clip(near, -MOST_OF_A_MISS, MOST_OF_A_MISS) ** 2
        variance[seen, c] = own
        independent[c] = len(own) / np.sum(correlation**2)
    squares = np.where(np.reshape(is_new, (-1, 1)), squares, np.nan)
    return misses.joined(squares, variance, usual, independent)


def _alone(fitted, prediction, rows):
    """Return the rows of a short batch; none of a long one."""
    n, t = prediction.residual.shape
    if n >= LEAST_ROWS:
        return ()
    X, values = np.array(rows.X, dtype=np.float64), np.zeros((3, n, t))
    left = np.maximum(1.0 - _told(fitted, X, t), _LEAST_OF_A_LEVEL)
    for c in range(t):
        residual, function, noise = prediction.output(c)
        covariance, seen = function + np.diag(noise), ~np.isnan(prediction.residual[:, c])
        own, deviation = left[seen, c], np.sqrt(np.diagonal(covariance))
        share = own * np.linalg.solve(covariance, own)
        values[:, seen, c] = residual / deviation, deviation / own, share
    return tuple(map(Alone, X, rows.weights[1], *values))


def _told(fitted, X, t):
    """Return what rows that came alone tell of a level of 1 at some places, (n, t).

    Where outputs mix functions it is not told, and there may be fewer of these than outputs.
    """
    alone, posterior = fitted.state.watch.alone, fitted.posterior
    if not alone or fitted.parameters.mixes_outputs:
        return np.zeros((len(X), t))
    seen = np.array([one.share != 0.0 for one in alone])
    return replace(posterior, h=_information(fitted, alone, seen)).mean(X)


def _information(fitted, alone, targets):
    """Return the h, (m, t), of rows that came alone with some targets, (n, t)."""
    X, weight = (np.array(each) for each in list(zip(*alone, strict=True))[:2])
    nothing = np.zeros(targets.shape)
    noise = _noise_at(fitted, X, nothing, nothing, 1)
    return fitted.posterior.prior.whitened(X) @ (weight[:, None] * targets / noise)


def _padded(columns, n):
    padded = np.full((n, len(columns)), np.nan)
    for c, column in enumerate(columns):
        padded[: len(column), c] = column
    return padded


def fading_share(fitted, rows, watch, n_jobs):
    """Return the share of the past that has explained batches best, and a `Watch` that knows it.

    Each is scored by the joint log density of a batch before it is learned from. Batches long ago
    count less and less.
    """
    before = watch.fading or (0.0,) * len(_FADING)
    found = []
    for share, total in zip(_FADING, before, strict=True):
        prediction = Prediction.of(fitted, rows, n_jobs, share)
        outputs = range(prediction.residual.shape[1])
        value = sum(_log_density(*prediction.output(c)) for c in outputs)
        found.append(_MEMORY * total + value)
    best = int(np.argmax(found))
    return _FADING[best], replace(watch, fading=tuple(found))


def _log_density(residual, function, noise):
    if not len(residual):
        return 0.0
    near, _ = without_outliers(residual, np.sqrt(np.diagonal(function) + noise))
    u, _, half_log_det = _whitened(near, function + np.diag(noise))
    return -0.5 * float(u @ u) - half_log_det


@dataclass(frozen=True)
class Answer:
    """Tell how a stream goes on after a shift.

    Parameters
    ----------
    level : ndarray of shape (t,)
        By which targets so far are moved, as scaled.
    noise : ndarray of shape (t,)
        Factors of the noise variances.
    share : float
        What the rows so far count.
    begins_anew : bool
        Whether kernel and noise begin at their starting values again.
    is_of_few : bool
        Whether rows of short batches tell, too few to learn kernel and noise from.
    """

    level: np.ndarray
    noise: np.ndarray
    share: float
    begins_anew: bool = False
    is_of_few: bool = False

    def words(self, targets):
        """Say what changed, in units of y."""
        told = []
        if self.level.any():
            level = targets.each_output(self.level * targets.scale)
            told.append(f"its level moved by {np.array2string(np.asarray(level), precision=4)}")
        if (self.noise != 1.0).any():
            times = np.asarray(targets.each_output(np.sqrt(self.noise)))
            told.append(f"deviations of its noise are {np.array2string(times, precision=2)} times")
        if self.share < 1.0:
            told.append(f"the function is another, and rows so far count {self.share:g}")
        elif self.begins_anew:
            told.append("the function varies in another way")
        return ", ".join(told) or "nothing that is known explains it"


def answer_to(fitted, rows, seen, alarm, n_jobs):
    """Find what explains a batch best: a level, noise, or a function that is another.

    Each number costs half the logarithm of the number of rows, and so does each direction of the
    function that is known and would be forgotten. Nothing is forgotten that says little of the
    function at the rows of the batch: rows elsewhere do not contradict it.

    Parameters
    ----------
    rows : Rows
        As `gathered` returns them.
    seen : Gathered
    alarm : ndarray of bool, shape (t,)
    """
    t, outputs = len(alarm), np.flatnonzero(alarm)
    if len(rows) < LEAST_ROWS:
        return _answer_to_few(seen, alarm)
    if not (alarm & seen.is_off).any():  # nearer than predicted: the function is what it was
        return _explained_by_share(fitted, rows, outputs, 1.0, n_jobs)[1]
    anew, told = zip(*(_explained_anew(fitted, rows, c, 1.0) for c in outputs), strict=True)
    forgets = max(told) > _EXPLAINED_BEFORE
    known = 0.5 * np.log(len(rows)) * _n_known(fitted.posterior)
    found = [(sum(anew), Answer(np.zeros(t), np.ones(t), 1.0, begins_anew=True))]
    for share in _PAST_SHARES if forgets else (1.0,):
        value, answer = _explained_by_share(fitted, rows, outputs, share, n_jobs)
        found.append((value - (1.0 - share) * known, answer))
    if forgets:
        value = sum(_explained_anew(fitted, rows, c, 0.0)[0] for c in outputs) - known
        found.append((value, Answer(np.zeros(t), np.ones(t), 0.0, begins_anew=True)))
    return max(found, key=lambda pair: pair[0])[1]


def _answer_to_few(seen, alarm):
    """Find what explains rows that came in short batches: a level, or variances of another size.

    Each was predicted knowing those before it, so that their standardised residuals are independent
    under a model that is right: z**2 of their squares is what a level explains. Rows that are
    nearer than predicted are at the level that was.
    """
    level, noise = np.where(alarm & seen.is_off, seen.mean_level, 0.0), np.ones(len(alarm))
    for c in np.flatnonzero(alarm) if len(seen.alone) == seen.rows else ():
        ratio = np.array([one.ratio[c] for one in seen.alone if one.share[c]])
        squares, n = float(near_others(ratio) @ near_others(ratio)), max(len(ratio), 1)
        factor = max(squares / n, _NOISE_FACTORS[0])
        by_noise = 0.5 * (squares - squares / factor - n * np.log(factor))
        if by_noise > 0.5 * seen.z[c] ** 2:
            level[c], noise[c] = 0.0, factor
    return Answer(level, noise, 1.0, is_of_few=True)


def _explained_by_share(fitted, rows, outputs, share, n_jobs):
    """Return log density and `Answer` where the past counts a share, with levels and noises."""
    prediction, total = Prediction.of(fitted, rows, n_jobs, share), 0.0
    factors = (1.0,) if fitted.noise.differs else _NOISE_FACTORS  # it has a function of its own
    t = prediction.residual.shape[1]
    found = Answer(np.zeros(t), np.ones(t), share)
    for c in outputs:
        value, found.level[c], found.noise[c] = _explained(*prediction.output(c), factors)
        total += value
    return total, found


def _n_known(posterior):
    """Return the number of directions of u that the data determine, of one output."""
    outputs = posterior.of_each_output
    each = [len(p.H) - float(np.trace(p.covariance)) for p in outputs.precisions]
    return float(np.mean(each))


def _explained_anew(fitted, rows, c, share):
    """Return the log density of one output by a stream whose kernel is to be learned anew.

    That is the starting one, in units of the batch; its noise is found. The rows so far count in
    full, or not at all: then there is a level, too. Returned besides is which share of the
    function's variance at the batch they explain.
    """
    y, start = rows.targets[:, c], fitted.start.parameters
    seen = np.flatnonzero(~np.isnan(y))
    X, y = np.ascontiguousarray(rows.X[seen], dtype=np.float64), y[seen]
    square = float(np.mean((y - np.median(y)) ** 2)) or 1.0
    move = np.log(square) * variance_mask(start.expression)
    kernel, old = start.with_values(theta=start.theta + move).kernel, fitted.posterior
    mean, function, told = 0.0, kernel.gram(X), 0.0
    if share:
        if fitted.parameters.has_features:  # no other kernel knows their weights
            return -np.inf, _told_by_features(old, X)
        if not hasattr(old, "projected"):  # outputs that mix functions
            return -np.inf, 1.0
        variance = np.trace(function)
        again = old.projected(factorise_with_jitter(kernel, old.prior.Z, fitted.jitter))
        mean, function = again.mean_covariance(X)
        mean, function = mean[:, c], function[:, :, min(c, function.shape[2] - 1)]
        told = 1.0 - float(np.trace(function) / variance)
    values = [-np.inf]
    for ratio in _ANEW_NOISES:
        covariance = function + ratio * square * np.eye(len(y))
        try:
            u, one, half_log_det = _whitened(y - mean, covariance)
        except NotPositiveDefiniteError:
            continue
        level = 0.0 if share else float(one @ u) ** 2 / float(one @ one)
        values.append(0.5 * (level - float(u @ u)) - half_log_det)
    return max(values) - (1.5 - 0.5 * share) * np.log(len(y)), told


def _told_by_features(posterior, X):
    """Return which share of the function's variance at some inputs is known."""
    left = posterior.mean_variance(X)[1].mean()
    return 1.0 - float(left / posterior.prior.kernel.diag(X).mean())


def _explained(residual, function, noise, factors):
    """Return the best log density of one output, with the level and factor of noise that has it."""
    if not len(residual):
        return 0.0, 0.0, 1.0
    best, price = (-np.inf, 0.0, 1.0), 0.5 * np.log(len(residual))
    for factor in factors:
        covariance = function + np.diag(factor * noise)
        near = without_outliers(residual, np.sqrt(np.diagonal(covariance)))[0]
        try:
            u, one, half_log_det = _whitened(near, covariance)
        except NotPositiveDefiniteError:
            continue
        level = float(one @ u) / float(one @ one)
        value = -0.5 * float(u @ u) - half_log_det - price * (factor != 1.0)
        moved = value + 0.5 * level**2 * float(one @ one) - price
        best = max(best, (value, 0.0, factor), (moved, level, factor))
    return best


def are_elsewhere(fitted, rows, n_jobs):
    """Return whether rows so far say little of the function at rows of a batch."""
    inputs = Inputs(np.asarray(rows.X, dtype=np.float64))
    return bool(fitted.predictor.novelty(inputs, n_jobs).mean() > 1.0 - _EXPLAINED_BEFORE)


def answered(fitted, answer, rows, alone=(), elsewhere=False):
    """Return a stream after an `Answer`, and the share of what is known that is left.

    The share is not applied yet: the batch of the rows does. ``alone`` are rows that were learned
    from already, as far as they are known to be of after the shift. Where rows so far say little of
    the function at the batch, it is ``elsewhere``: its noise is not theirs, then.
    """
    fitted = _without_levels_of(fitted, answer.level, alone)
    targets, state, parameters = fitted.targets, fitted.state, fitted.parameters
    level = answer.level * targets.scale
    moments = state.moments
    if moments is not None:
        moments = moments.moved(level)
    log_noise = parameters.log_noise + np.log(answer.noise)
    if not np.ndim(parameters.log_noise):
        log_noise = float(log_noise[0]) if len(log_noise) == 1 else float(log_noise.max())
    is_level = answer.share == 1.0 and not answer.begins_anew
    is_level = is_level and (answer.is_of_few or bool((answer.noise == 1.0).all()))
    are_right = answer.share == 1.0 and not level.any()  # the rows so far
    places = state.places if are_right and (elsewhere or not answer.is_of_few) else NO_PLACES
    if not elsewhere:
        places = places.away_from(rows, fitted.posterior.prior.kernel)
    state = replace(
        state,
        moments=moments,
        watch=state.watch.forgetting(),
        weight_seen=answer.share * state.weight_seen,
        weight_learned=(1.0 if is_level else _HARDLY) * state.weight_learned,
        begins_anew=answer.begins_anew,
        initial_rows=None,
        waiting=state.waiting if answer.is_of_few and not level.any() else NONE_WAITING,
        bands=NO_BANDS,
        levels=NO_LEVELS,
        places=places,
    )
    return replace(
        fitted,
        targets=replace(targets, mean=targets.mean + level),
        parameters=parameters.with_values(log_noise=log_noise),
        state=state,
    )


def _without_levels_of(fitted, level, alone):
    """Return a stream in which rows already at the level that moved do not move with all others.

    The information h of the rows is linear in their targets; see `units`.
    """
    posterior = fitted.posterior
    if not (alone and level.any()) or fitted.parameters.mixes_outputs:
        return fitted
    moves = level * np.array([one.is_nearer(level) for one in alone])
    h = posterior.h - _information(fitted, alone, moves)
    predictor = replace(fitted.predictor, posterior=replace(posterior, h=h))
    return replace(fitted, predictor=predictor)


def can_move(fitted):
    """Return which outputs have varied so far, (t,): of others there is nothing to move."""
    return fitted.state.moments.low < fitted.state.moments.high


def usual_distances(fitted):
    """Return how far rows have been from their predictions, in predicted deviations, (t,).

    It is below 1 where rows vouch for narrower bands: then all rows are near, and nothing has
    changed. Where noise cannot fall it is 0: it has a function of its own, there is nothing yet
    that it could have fallen from, or it is at its least already.
    """
    usual = np.sqrt(fitted.state.band_share[0])
    return np.where(can_move(fitted) & _has_room(fitted), usual, 0.0)


def _has_room(fitted):
    """Return whether the noise may be smaller by the least factor that is told."""
    if fitted.noise.differs:
        return False
    space, log_noise = fitted.start.space, np.asarray(fitted.parameters.log_noise)
    if not space.learns("log_noise"):
        return True
    lower = np.reshape(space.group("log_noise").bounds, (-1, 2))[:, 0]
    least = np.log(max(factor for factor in _NOISE_FACTORS if factor < 1.0))
    return log_noise + least >= lower


def warn_of_narrow_bands(held):
    """Say that bands of several batches were too narrow, and what to do about it."""
    shares = ", ".join(f"{share:.0%}" for share in held)
    warn_caller(
        f"Batches should go on as those before do. Got {shares} of the rows of the last ones in "
        "their bands of 90 %: the stream is too sure of what comes next. Where rows come in time, "
        'take differences of y, earlier values of y as columns of X, or forget_factor="auto".'
    )


def warn_of_shift(answer, targets, n_rows):
    """Say what changed."""
    warn_caller(
        f"Batches should go on as those before. Got one of {n_rows} rows that does not: "
        f"{answer.words(targets)}. The stream follows; `batch_log_densities_` tell when it is "
        "as good as before.",
        UserWarning,
    )
