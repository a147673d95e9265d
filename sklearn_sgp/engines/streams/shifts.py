"""What a batch tells of a shift, before a stream has learned from it."""

from dataclasses import replace

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ..._warnings import warn_caller
from .bands import MOST_OF_A_MISS
from .joint_prediction import Prediction, noise_at, whitened, without_outliers
from .usual import LEAST_ROWS
from .watch import Alone, Gathered, near_others

# Rows of a batch that are looked at together.
ROWS_TOGETHER = 100
# Factors of the noise variance that may explain a batch.
NOISE_FACTORS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
# Shares of the past for ``forget_factor="auto"``, and what a batch counts after the next.
_FADING, _MEMORY = (1.0, 0.99, 0.97, 0.9, 0.75), 0.9
# Share of a level that a row alone must be able to tell, as division by less says nothing.
_LEAST_OF_A_LEVEL = 0.1


def _statistics(residual, function, noise):
    """Return level times information, information, distances, whitened residuals of an output."""
    if not len(residual):
        return 0.0, 0.0, np.zeros(0), np.zeros(0)
    near, distance = without_outliers(residual, np.sqrt(np.diagonal(function) + noise))
    u, one, _ = whitened(near, function + np.diag(noise))
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
    return replace(posterior, h=information_of(fitted, alone, seen)).mean(X)


def information_of(fitted, alone, targets):
    """Return the h, (m, t), of rows that came alone with some targets, (n, t)."""
    X, weight = (np.array(each) for each in list(zip(*alone, strict=True))[:2])
    nothing = np.zeros(targets.shape)
    noise = noise_at(fitted, X, nothing, nothing, 1)
    return fitted.posterior.prior.whitened(X) @ (weight[:, None] * targets / noise)


def _padded(columns, n):
    padded = np.full((n, len(columns)), np.nan)
    for c, column in enumerate(columns):
        padded[: len(column), c] = column
    return padded


def fading_share(fitted, rows, watch, n_jobs):
    """Return the share of the past that has explained batches best, and a `Watch` that knows it.

    Each is scored by the joint log density of a batch before it is learned from. Batches long ago
    count less and less. A batch whose noise is lost in rounding says nothing.
    """
    before = watch.fading or (0.0,) * len(_FADING)
    found = []
    for share, total in zip(_FADING, before, strict=True):
        prediction = Prediction.of(fitted, rows, n_jobs, share)
        outputs = range(prediction.residual.shape[1])
        try:
            value = sum(_log_density(*prediction.output(c)) for c in outputs)
        except NotPositiveDefiniteError:
            return 1.0, watch
        found.append(_MEMORY * total + value)
    best = int(np.argmax(found))
    return _FADING[best], replace(watch, fading=tuple(found))


def _log_density(residual, function, noise):
    if not len(residual):
        return 0.0
    near, _ = without_outliers(residual, np.sqrt(np.diagonal(function) + noise))
    u, _, half_log_det = whitened(near, function + np.diag(noise))
    return -0.5 * float(u @ u) - half_log_det


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


def learns_one_noise(fitted):
    """Return whether the noise is the same everywhere, and not given."""
    return not fitted.noise.differs and fitted.start.space.learns("log_noise")


def _has_room(fitted):
    """Return whether the noise may be smaller by the least factor that is told."""
    if not learns_one_noise(fitted):
        return False
    space, log_noise = fitted.start.space, np.asarray(fitted.parameters.log_noise)
    lower = np.reshape(space.group("log_noise").bounds, (-1, 2))[:, 0]
    least = np.log(max(factor for factor in NOISE_FACTORS if factor < 1.0))
    return log_noise + least >= lower


def warn_of_narrow_bands(held):
    """Say that bands of several batches were too narrow, and what to do about it."""
    shares = ", ".join(f"{share:.0%}" for share in held)
    warn_caller(
        f"Batches should go on as those before do. Got {shares} of the rows of the last ones in "
        "their bands of 90 %: the stream is too sure of what comes next. Where rows come in time, "
        'take differences of y, earlier values of y as columns of X, or forget_factor="auto".'
    )
