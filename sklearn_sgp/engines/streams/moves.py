"""What a batch tells of a level that wanders, and how a stream moves with it."""

from dataclasses import replace

import numpy as np
from scipy.linalg import solve_triangular

from ..._linalg import NotPositiveDefiniteError, cholesky
from .band_places import NO_PLACES
from .batch_levels import NO_LEVELS, parts_of
from .joint_prediction import Prediction, without_outliers
from .shifts import ROWS_TOGETHER, can_move
from .usual import LEAST_ROWS


def told_of_level(fitted, rows, n_jobs):
    """Return a stream that knows what a batch tells of its level, moved to it where that wanders.

    A batch whose rows come in an order of their inputs says nothing, nor do targets whose squares
    are zero. The rows count enough to tell what has changed, and are in the order in which they
    came.
    """
    if len(rows) < LEAST_ROWS or fitted.parameters.mixes_outputs or not can_move(fitted).all():
        return fitted
    if not np.all(fitted.targets.scale**2 > 0.0):
        return fitted
    n = len(rows)
    rows = rows.fixed_subset(ROWS_TOGETHER)
    targets, state = fitted.targets, fitted.state
    X = np.asarray(rows.X, dtype=np.float64)
    part = parts_of(X)
    if part is None:
        return replace(fitted, state=replace(state, levels=NO_LEVELS))
    prediction = Prediction.of(fitted, rows, n_jobs)
    try:
        level, own = _levels(prediction, part, targets.scaled_variance(state.levels.variance))
    except NotPositiveDefiniteError:
        return fitted
    levels, move = state.levels.after(X, targets.scale * level, targets.scale**2 * own, n)
    return _moved(replace(fitted, state=replace(state, levels=levels)), move)


def _levels(prediction, part, variance):
    """Return levels of parts of a batch, besides what is known, and their variances, (parts, t).

    ``variance``, (t,) or 0.0, is that of the level, which the prediction has.
    """
    count, t = part[-1] + 1, prediction.residual.shape[1]
    level, own = np.zeros((count, t)), np.full((count, t), np.inf)
    for c in range(t):
        residual, function, noise = prediction.output(c)
        of_part = part[~np.isnan(prediction.residual[:, c])]
        kinds = np.unique(of_part)
        if not len(kinds):
            continue
        covariance = function - np.broadcast_to(variance, (t,))[c] + np.diag(noise)
        near = without_outliers(residual, np.sqrt(np.diagonal(function) + noise))[0]
        L = cholesky(covariance)
        B = solve_triangular(L, (of_part[:, None] == kinds).astype(float), lower=True)
        inverse = np.linalg.inv(B.T @ B)
        level[kinds, c] = inverse @ (B.T @ solve_triangular(L, near, lower=True))
        own[kinds, c] = np.diagonal(inverse)
    return level, own


def gone_ahead(fitted):
    """Return a stream after a batch, moved to the level that is expected of the next."""
    levels = fitted.state.levels
    if not np.any(levels.ahead):
        return fitted
    moved = _moved(fitted, levels.ahead)
    return replace(moved, state=replace(moved.state, levels=levels.gone_ahead()))


def _moved(fitted, level):
    """Return a stream with everything known moved by a level, in units of y."""
    if not level.any():
        return fitted
    targets, state = fitted.targets, fitted.state
    moments = state.moments.moved(level)
    state = replace(state, moments=moments, initial_rows=None, places=NO_PLACES)
    return replace(fitted, targets=replace(targets, mean=targets.mean + level), state=state)
