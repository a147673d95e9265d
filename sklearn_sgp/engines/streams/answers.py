"""Answers to shifts: what explains a batch that a stream did not expect, and how it goes on."""

from dataclasses import dataclass, replace

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ..._warnings import warn_caller
from ...gp.jitter import factorise_with_jitter
from ...kernels._length_scales import variance_mask
from ...objectives.scores import bic_nats
from .band_places import NO_PLACES
from .bands import NO_BANDS
from .batch_levels import NO_LEVELS
from .joint_prediction import Prediction, whitened, without_outliers
from .shifts import NOISE_FACTORS, information_of, learns_one_noise
from .usual import LEAST_ROWS
from .waiting import NONE_WAITING
from .watch import near_others

# Shares of what the old rows say that may explain a batch.
_PAST_SHARES = (1.0, 0.3, 0.1, 0.01, 0.0)
# Share of the function's variance at a batch that rows so far must explain to be forgotten.
_EXPLAINED_BEFORE = 0.5
# Noise of a stream that begins with the batch, in variances of its targets.
_ANEW_NOISES = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3)
# What rows count that kernel and noise were learned from, where these are no more than a start.
_HARDLY = 1e-9


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
            moved, before = targets.in_units(np.stack([self.level, np.zeros(len(self.level))]))
            level = targets.each_output(moved - before)
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
        return _answer_to_few(fitted, seen, alarm)
    if not (alarm & seen.is_off).any():  # nearer than predicted: the function is what it was
        return _explained_by_share(fitted, rows, outputs, 1.0, n_jobs)[1]
    anew, told = zip(*(_explained_anew(fitted, rows, c, 1.0) for c in outputs), strict=True)
    forgets = max(told) > _EXPLAINED_BEFORE
    known = bic_nats(_n_known(fitted.posterior), len(rows))
    found = []  # of equals the first: nothing begins anew that rows say nothing of
    for share in _PAST_SHARES if forgets else (1.0,):
        value, answer = _explained_by_share(fitted, rows, outputs, share, n_jobs)
        found.append((value - (1.0 - share) * known, answer))
    found.append((sum(anew), Answer(np.zeros(t), np.ones(t), 1.0, begins_anew=True)))
    if forgets:
        value = sum(_explained_anew(fitted, rows, c, 0.0)[0] for c in outputs) - known
        found.append((value, Answer(np.zeros(t), np.ones(t), 0.0, begins_anew=True)))
    return max(found, key=lambda pair: pair[0])[1]


def _answer_to_few(fitted, seen, alarm):
    """Find what explains rows that came in short batches: a level, or variances of another size.

    Each was predicted knowing those before it, so that their standardised residuals are independent
    under a model that is right: z**2 of their squares is what a level explains. Rows that are
    nearer than predicted are at the level that was. Noise that is given stays where it explains
    them, and so does the level.
    """
    level, noise = np.where(alarm & seen.is_off, seen.mean_level, 0.0), np.ones(len(alarm))
    may_vary = len(seen.alone) == seen.rows
    for c in np.flatnonzero(alarm) if may_vary else ():
        ratio = np.array([one.ratio[c] for one in seen.alone if one.share[c]])
        squares, n = float(near_others(ratio) @ near_others(ratio)), max(len(ratio), 1)
        factor = max(squares / n, NOISE_FACTORS[0])
        by_noise = 0.5 * (squares - squares / factor - n * np.log(factor))
        if by_noise > 0.5 * seen.z[c] ** 2:
            level[c], noise[c] = 0.0, factor if learns_one_noise(fitted) else 1.0
    return Answer(level, noise, 1.0, is_of_few=True)


def _explained_by_share(fitted, rows, outputs, share, n_jobs):
    """Return log density and `Answer` where the past counts a share, with levels and noises."""
    prediction, total = Prediction.of(fitted, rows, n_jobs, share), 0.0
    factors = NOISE_FACTORS if learns_one_noise(fitted) else (1.0,)
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
    if not len(seen):  # those that told of the shift came before
        return 0.0, 0.0
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
            u, one, half_log_det = whitened(y - mean, covariance)
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
    best, price = (-np.inf, 0.0, 1.0), bic_nats(1, len(residual))
    for factor in factors:
        covariance = function + np.diag(factor * noise)
        near = without_outliers(residual, np.sqrt(np.diagonal(covariance)))[0]
        try:
            u, one, half_log_det = whitened(near, covariance)
        except NotPositiveDefiniteError:
            continue
        level = float(one @ u) / float(one @ one)
        value = -0.5 * float(u @ u) - half_log_det - price * (factor != 1.0)
        moved = value + 0.5 * level**2 * float(one @ one) - price
        best = max(best, (value, 0.0, factor), (moved, level, factor))
    return best


def are_elsewhere(fitted, rows, n_jobs):
    """Return whether rows so far say little of the function at rows of a batch."""
    return bool(fitted.predictor.novelty(rows, n_jobs).mean() > 1.0 - _EXPLAINED_BEFORE)


def after_answer(fitted, answer, rows, alone=(), elsewhere=False):
    """Return a stream after an `Answer`, and the share of what is known that is left.

    The share is not applied yet: the batch of the rows does. ``alone`` are rows that were learned
    from already, as far as they are known to be of after the shift. Where rows so far say little of
    the function at the batch, it is ``elsewhere``: its noise is not theirs, then.
    """
    fitted = _without_levels_of(fitted, answer.level, alone)
    targets, state, parameters = fitted.targets, fitted.state, fitted.parameters
    level = answer.level * targets.scale
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
        moments=state.moments.moved(level),
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
    h = posterior.h - information_of(fitted, alone, moves)
    predictor = replace(fitted.predictor, posterior=replace(posterior, h=h))
    return replace(fitted, predictor=predictor)


def warn_of_shift(answer, targets, n_rows):
    """Say what changed."""
    warn_caller(
        f"Batches should go on as those before. Got one of {n_rows} rows that does not: "
        f"{answer.words(targets)}. The stream follows; `batch_log_densities_` tell when it is "
        "as good as before.",
        UserWarning,
    )
