"""q(x) of single rows given q(u), by BFGS of each row's own (docs/theory.md, eq. 70).

Rows do not see one another: a row alone gets what it gets among others, to rounding.
"""

import time

import numpy as np
from joblib import effective_n_jobs

from .._parallel import N_GROUPS, group_bounds, map_groups
from .expectations import chunk_of
from .passes import InputPosteriors, joined_inputs

# Iterations of the q(x) of a row, at most, and the gain below which it rests, in nats.
ROW_ITERATIONS, ROW_TOL = 100, 1e-6
# Largest move of one iteration in a mean, and in the logarithm of a variance.
_LONGEST = 2.0
# Bounds of the logarithms of variances.
LOG_VARIANCE_BOUNDS = (-20.0, 5.0)
_LINE_TRIALS = 6
_ARMIJO = 1e-4
# Near the top rounding hides the gains, relative to the bound so far from zero: a step is taken
# then if the slope along it has become smaller.
_BOUND_ROUNDING, _SMALLER = 1e-7, 0.9
# A shorter move says nothing of the curvature: its square has no digits, or is zero.
_SHORTEST = 1e-100
# Starts that are followed for a few iterations before the best is finished.
_FOLLOWED_STARTS, _FOLLOWED_ITERATIONS = 3, 5


def ascend_rows(objective, q, max_iter, tol, deadline=np.inf):
    """Maximise the bounds of rows by BFGS; return q(x) and the bounds, (n,).

    Parameters
    ----------
    q : InputPosteriors
        Where the rows start.
    tol : float
        A row rests once its expected gain is below this, in nats.
    deadline : float
        By `time.perf_counter`: no iteration begins later.
    """
    n, Q = q.mean.shape
    x = np.hstack([q.mean, np.clip(np.log(q.variance), *LOG_VARIANCE_BOUNDS)])
    value, g = objective(x[:, :Q], x[:, Q:])
    # where a variance is optimal it is the inverse curvature of its mean, and its logarithm has 1/2
    diagonal = np.hstack([q.variance, np.full((n, Q), 2.0)])
    inverse = diagonal[:, :, None] * np.eye(2 * Q)  # (n, 2 Q, 2 Q): of the negative Hessian
    active = np.arange(n)
    for _ in range(max_iter):
        if time.perf_counter() > deadline:
            break
        step = np.einsum("nij,nj->ni", inverse[active], g[active])
        gain = (step * g[active]).sum(axis=1)
        keep = gain > tol
        active, step, gain = active[keep], step[keep], gain[keep]
        if not len(active):
            break
        step /= np.maximum(1.0, np.abs(step).max(axis=1) / _LONGEST)[:, None]
        old_x, old_g = x[active], g[active]
        moved = _line_search(objective, x, value, g, active, step)
        s, y = x[active] - old_x, old_g - g[active]
        _update(inverse, active, s, y)
        active = active[moved]
    return InputPosteriors(x[:, :Q].copy(), np.exp(x[:, Q:])), value


def _line_search(objective, x, value, g, active, step):
    """Move rows up along their steps, shorter where that is too far; return which have moved."""
    Q, slope = x.shape[1] // 2, (step * g[active]).sum(axis=1)
    length, moved = np.ones(len(active)), np.zeros(len(active), dtype=bool)
    for _ in range(_LINE_TRIALS):
        open_ = np.flatnonzero(~moved)
        rows = active[open_]
        trial = x[rows] + length[open_, None] * step[open_]
        np.clip(trial[:, Q:], *LOG_VARIANCE_BOUNDS, out=trial[:, Q:])
        new, new_g = objective(trial[:, :Q], trial[:, Q:], rows)
        good = new >= value[rows] + _ARMIJO * length[open_] * slope[open_]
        flat = new >= value[rows] - _BOUND_ROUNDING * (1.0 + np.abs(value[rows]))
        good |= flat & (np.abs((step[open_] * new_g).sum(axis=1)) <= _SMALLER * slope[open_])
        done = rows[good]
        x[done], value[done], g[done] = trial[good], new[good], new_g[good]
        moved[open_[good]] = True
        if moved.all():
            break
        bad = open_[~good]
        # the top of the parabola through both values and the slope, within limits
        lack = value[rows[~good]] + length[bad] * slope[bad] - new[~good]
        with np.errstate(divide="ignore", invalid="ignore"):
            best = 0.5 * length[bad] * slope[bad] / (lack / length[bad])
        best = np.where(np.isfinite(best), best, 0.1 * length[bad])
        length[bad] = np.clip(best, 0.1 * length[bad], 0.5 * length[bad])
    return moved


def _update(inverse, active, s, y):
    """Update the inverses of the negative Hessians by BFGS, where the curvature is positive."""
    sy = (s * y).sum(axis=1)
    use = sy > 1e-10 * np.sqrt((s * s).sum(axis=1) * (y * y).sum(axis=1))
    use &= (np.abs(s).max(axis=1) > _SHORTEST) & (sy > _SHORTEST**3)
    rows, s, y, rho = active[use], s[use], y[use], 1.0 / sy[use]
    B = inverse[rows]
    By = np.einsum("nij,nj->ni", B, y)
    scale = rho * (1.0 + rho * (y * By).sum(axis=1))
    B += scale[:, None, None] * (s[:, :, None] * s[:, None, :])
    cross = (rho[:, None] * By)[:, :, None] * s[:, None, :]
    B -= cross + cross.transpose(0, 2, 1)
    inverse[rows] = B


def find_inputs(
    model,
    table,
    *,
    start=None,
    candidates=None,
    max_iter=ROW_ITERATIONS,
    tol=ROW_TOL,
    n_jobs=None,
    seconds=np.inf,
):
    """Find q(x) of all rows of a table, and their bounds, (n,), for outputs as scaled.

    Parameters
    ----------
    start : InputPosteriors or None
        One for each row.
    candidates : InputPosteriors or None
        q(x) that any row may start from; those with the best bounds are tried.
    tol : float
    seconds : float
        Rows rest when their share of this is over.
    """
    model.warm_cache()
    candidates = None if candidates is None else model.with_moments(candidates)
    how = candidates, max_iter, tol, Pace(seconds, len(table), n_jobs)
    tasks = [
        (model, table.select(slice(lo, hi)), start and start[lo:hi], *how)
        for lo, hi in group_bounds(len(table), chunk_of(len(model.expectations.Z)))
    ]
    parts = map_groups(_find_group, tasks, n_jobs)
    return joined_inputs([q for q, _ in parts]), np.concatenate([values for _, values in parts])


def _find_group(model, table, start, candidates, max_iter, tol, pace):
    n, Q = len(table), model.expectations.Z.shape[1]
    q, values = InputPosteriors(np.empty((n, Q)), np.empty((n, Q))), np.empty(n)
    chunk = chunk_of(len(model.expectations.Z))
    for lo in range(0, n, chunk):
        piece = slice(lo, lo + chunk)
        Y, observed = table.piece(piece)
        deadline = pace.deadline(len(Y))
        objective = model.row_objective(Y, observed)
        first = None if start is None else start[piece]
        if candidates is not None:
            first = _best_start(model, objective, Y, observed, first, candidates, deadline)
        best, bounds = ascend_rows(objective, first, max_iter, tol, deadline)
        nothing = ~observed.any(axis=1)  # the prior, without the last digits of an ascent
        best.mean[nothing], best.variance[nothing], bounds[nothing] = 0.0, 1.0, 0.0
        q.mean[piece], q.variance[piece], values[piece] = *best, bounds
    return q, values


def _best_start(model, objective, Y, observed, start, candidates, deadline):
    """Choose where each row gets highest in a few iterations: its own start or a candidate.

    Each gets a share of the time, and what follows from the best of them one too.
    """
    scores = model.bounds_at(candidates, Y, observed)
    count = min(_FOLLOWED_STARTS, scores.shape[1])
    best = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    tries = [candidates.q[best[:, k]] for k in range(count)]
    tries = tries if start is None else [start, *tries[: max(count - 1, 1)]]
    begin, results = time.perf_counter(), []
    for k, q in enumerate(tries):
        until = begin + (k + 1) / (len(tries) + 1) * (deadline - begin)
        results.append(ascend_rows(objective, q, _FOLLOWED_ITERATIONS, 0.0, until))
    choice = np.argmax([values for _, values in results], axis=0)
    rows = np.arange(len(Y))
    return InputPosteriors(*(np.stack([q[k] for q, _ in results])[choice, rows] for k in (0, 1)))


class Pace:
    """Shares the time of a pass among its rows, so that the last ones have time too.

    Workers in other processes have copies, each of which thinks that all rows are its own.
    ``seconds`` are those of the whole pass; infinite for no limit.
    """

    def __init__(self, seconds, n_rows, n_jobs=None):
        self.end, self.rows_left = time.perf_counter() + seconds, n_rows
        self.workers = min(effective_n_jobs(n_jobs), N_GROUPS)

    def deadline(self, n):
        """Return when so many rows, which begin now, must be done, by `time.perf_counter`."""
        if np.isinf(self.end):
            return np.inf
        now = time.perf_counter()
        share = min(1.0, self.workers * n / max(self.rows_left, 1))
        self.rows_left -= n
        return now + share * max(self.end - now, 0.0)
