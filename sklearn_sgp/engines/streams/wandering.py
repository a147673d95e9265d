"""Whether a level that wanders along a column that only grows is what a stream lacks.

A default kernel returns to its mean, and knows no more of what lies beyond the last row than that.
A level that wanders goes on from where it is, with bands that widen as it has wandered so far: a
random walk, and an integrated one, which is a trend whose slope wanders. Two processes are compared
by what they have said of each batch before it was learned from: what the stream predicted, and the
other one, exact on the last rows.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ..._linalg import NotPositiveDefiniteError, cholesky
from ..._sampling import fixed_index
from ...data.column_order import are_constant
from ...data.column_spread import column_mean_spread
from ...kernels._defaults import starting_length_scale
from ...kernels._wandering import LEVEL_SPANS, TREND_SPANS, wandering_kernel, wandering_variances
from ...objectives.scores import log_normal_density

# Rows that the other process is exact on, and the fewest that it is asked of.
_WINDOW, _FEWEST_BEFORE = 160, 20
# Variances of a step from row to row, of the level and of its trend, in those of the noise.
_LEVEL_STEPS = (0.0, 1e-3, 1e-2, 0.1, 0.5, 3.0, 100.0)
_TREND_STEPS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2)
# Of a default kernel: length scales as shares of the starting ones, noise in the function's.
_SCALE_SHARES = (0.03, 0.06, 0.12, 0.2, 0.35, 0.6, 1.0, 2.0)
_NOISE_RATIOS = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
# A row counts so many nats at most, which a broken one must not exceed, and batches so much after
# the next. So many nats a row must have been won for a level that wanders to come, and be left for
# it to stay. The log evidence of the rows so far counts an eighth, and this much at most: it tells
# smooth functions, which the first batches predict badly, from walks (-3 to -12 nats after 180 rows
# of sines and of smooth draws, +7 to +31 of walks), but it prefers fast smooth functions to a walk
# beside a cycle. Of 1.0, 1.5 and 2.0, .7 and .8, .2 and .3, an eighth and a twelfth, .4 to .8 these
# lose least on smooth series (.00 to .03 nats a row); walks differ by .1 of the 1.3 that are won.
_MOST_OF_A_ROW, _MEMORY_OF_BATCHES, LEAD_TO_COME, _LEAD_TO_STAY = 1.0, 0.8, 0.3, 0.0
_SHARE_OF_EVIDENCE, _MOST_BY_EVIDENCE = 0.125, 0.6
# Predicted deviations from which a row is far off; where a stream would begin anew with it, as many
# of the batch's own if these are larger. Readings 30 noise deviations off were 24 and more off,
# after 60 rows; of 30 streams of five tables in batches of 60 two had such rows, 8 and 10 off, with
# 5 two more, which lost 0.01 nats a row. Without the batch's own, two of 6 streams of wine, whose
# first batch had made them too sure, could not begin anew and lost 0.35 and 0.6 nats.
STRAY = 6.0


@dataclass(frozen=True)
class Exact:
    """An exact process of few rows: covariances of scaled targets, those to come included."""

    covariance: np.ndarray
    noise: np.ndarray

    def evidence(self, y):
        """Return the log evidence of the first rows with the best amplitude, and that amplitude."""
        n = len(y)
        L = cholesky(self.covariance[:n, :n] + np.diag(self.noise[:n]))
        u = solve_triangular(L, y, lower=True)
        amplitude = max(float(np.mean(u**2)), np.finfo(np.float64).tiny)
        return -0.5 * n * np.log(amplitude) - float(np.log(np.diagonal(L)).sum()), amplitude

    def prediction(self, y, amplitude, to_come):
        """Return residuals and marginal variances of the rows to come, given the first."""
        n = len(y)
        L = cholesky(self.covariance + np.diag(self.noise))
        mean = L[n:, :n] @ solve_triangular(L[:n, :n], y, lower=True)
        return to_come - mean, amplitude * (L[n:, n:] ** 2).sum(axis=1)[:, None]


def wandering(at):
    """Return covariances of a level and of its trend, whose steps have variance 1.

    ``at`` are places in time, in order.
    """
    away = np.abs(at[:, None] - at)
    (level, trend), span = wandering_variances(len(at) - 1), np.ptp(at)
    far, rate = away / (LEVEL_SPANS * span), np.sqrt(3.0) * away / (TREND_SPANS * span)
    return level * np.exp(-far), trend * (1.0 + rate) * np.exp(-rate)


def _with_level(X, column, weight, others):
    """Yield processes with a level that wanders, and what their steps have."""
    level, trend = wandering(X[:, column])
    for a in _LEVEL_STEPS:
        for b in _TREND_STEPS:
            yield Exact(a * level + b * trend + others, 1.0 / weight), (a, b)


def _of_default_kernel(X, weight):
    """Yield processes with default kernels."""
    S = _at_usual_scales(X)
    for share in _SCALE_SHARES:
        smooth = _smooth(S / share)
        for noise in _NOISE_RATIOS:
            yield Exact(smooth, noise / weight), None


def _best(processes, y):
    """Return evidence, process, its amplitude and what comes with it, of the best for some rows."""
    found = []
    for process, more in processes:
        try:
            found.append((*process.evidence(y), process, more))
        except NotPositiveDefiniteError:
            continue
    return max(found, key=lambda one: one[0]) if found else None


def kernel_of(rows, column):
    """Return the kernel of a level that wanders that rows speak for, and its noise variance."""
    X, y, weight = _last(rows, column)
    best = _best(_with_level(X, column, weight, _of_others(X, column)), y)
    steps, noise = ((0.1, 0.0), 1.0) if best is None else (best[3], best[1])
    every = np.asarray(rows.X, dtype=np.float64)
    step = np.ptp(X[:, column]) / (len(X) - 1)
    std, span = every.std(axis=0), np.ptp(every[:, column])
    spread = np.where(are_constant(std, np.abs(every).max(axis=0)), 0.0, std)
    return wandering_kernel(spread, column, span, step, noise * np.array(steps)), noise


def _of_others(X, column):
    """Return covariances of a smooth function of the other columns, 0 where there are none."""
    others = np.delete(X, column, axis=1)
    return _smooth(_at_usual_scales(others)) if np.ptp(others, axis=0).any() else 0.0


def _at_usual_scales(X):
    """Return centred inputs in units of the length scales that learning begins with."""
    center, spread = column_mean_spread(X, None)
    return (X - center) / starting_length_scale(spread)


def _smooth(S):
    """Return covariances of a smooth function at places in units of its length scales."""
    away = (S**2).sum(axis=1)
    return np.exp(-0.5 * np.maximum(away[:, None] + away - 2.0 * S @ S.T, 0.0))


def _last(rows, column):
    """Return inputs, scaled targets and weights of the last rows, in their order in time."""
    X, y, weight = np.asarray(rows.X, dtype=np.float64), rows.targets, rows.weights[1]
    order = np.argsort(X[:, column], kind="stable")
    last = order[-_WINDOW:]
    if not np.ptp(X[last, column]):  # many rows at one time: some of all times
        last = order[fixed_index(len(order), len(last))]
    return X[last], y[last], weight[last]


def _other(X, weight, column, wanders):
    """Yield the processes that a stream has not."""
    if not wanders:
        return _with_level(X, column, weight, _of_others(X, column))
    return _of_default_kernel(X, weight)


class Said(NamedTuple):
    """Hold what a batch, and the rows before it, say for the process that a stream has not.

    Attributes
    ----------
    gain : float
        Nats a row of the batch.
    told : float
        By the evidence of the rows before it.
    is_near : bool
        Whether none of the batch is far from what that process predicts.
    """

    gain: float = 0.0
    told: float = 0.0
    is_near: bool = False


def _said(fitted, before, rows, column, wanders, n_jobs):
    """Return `Said` of a batch."""
    X, y, weight = _last(before, column)
    every = np.vstack([X, np.asarray(rows.X, dtype=np.float64)])
    best = _best(_other(every, np.r_[weight, rows.weights[1]], column, wanders), y)
    noise = float(np.mean(fitted.noise_variance))
    own = [(Exact(fitted.parameters.kernel.gram(X), noise / weight), None)]
    if wanders:  # what is learned of few rows may be far from the best
        own += _with_level(X, column, weight, _of_others(X, column))
    own = _best(own, y)
    if best is None or own is None:
        return Said()
    evidence, amplitude, process, _ = best
    try:
        residual, variance = process.prediction(y, amplitude, rows.targets)
    except NotPositiveDefiniteError:
        return Said()
    alone = log_normal_density(*_own(fitted, rows, n_jobs))
    more = log_normal_density(residual, variance) - alone
    told = np.clip(_SHARE_OF_EVIDENCE * (evidence - own[0]), -_MOST_BY_EVIDENCE, _MOST_BY_EVIDENCE)
    is_near = (residual**2 < STRAY**2 * variance).all()
    return Said(
        float(np.clip(more, -_MOST_OF_A_ROW, _MOST_OF_A_ROW).mean()), float(told), bool(is_near)
    )


def _own(fitted, rows, n_jobs):
    """Return residuals and variances of a batch as the stream predicts it."""
    mean, variance = fitted.predictor.moments(rows, n_jobs)
    noise = np.asarray(fitted.noise_variance) / rows.weights[1][:, None]
    return rows.targets - mean, variance + noise


@dataclass(frozen=True)
class Level:
    """Keep what is known of whether a level wanders; replaced, never changed.

    Parameters
    ----------
    grows : ndarray of bool, shape (d,), or None
        Columns in which each batch lay beyond those before; None before the second.
    lead : float
        What batches have said for a level that wanders.
    wanders : bool
        Whether the stream has one.
    is_near : bool
        Whether the stream has none, but it leads, and no row of the last batch is far from it.
    """

    grows: np.ndarray | None = None
    lead: float = 0.0
    wanders: bool = False
    is_near: bool = False

    @property
    def time(self):
        """The first column that only grows, None where there is none."""
        return int(np.argmax(self.grows)) if self.grows is not None and self.grows.any() else None

    @property
    def may_wander(self):
        """True if there is a column that only grows."""
        return self.time is not None

    def beyond(self, before, X):
        """Look at which columns grow with a batch."""
        if self.wanders or not (len(before) and len(X)):  # late rows are as good as others
            return self
        grows = X.min(axis=0) > before.max(axis=0)
        return replace(self, grows=grows if self.grows is None else grows & self.grows)

    def judged(self, fitted, before, rows, n_jobs):
        """Look at what a batch says that was not learned from.

        ``fitted`` is the stream, and ``before`` are all rows before the batch, in units of y.
        """
        targets = fitted.targets
        is_plain = fitted.state.moments is not None and not fitted.noise.differs
        has_varied = is_plain and (fitted.state.moments.low < fitted.state.moments.high).all()
        if self.time is None or not has_varied or len(before) < _FEWEST_BEFORE:
            return replace(self, is_near=False)
        # targets as the user gave them, of one column or several, before any warp
        y = targets.warped(np.asarray(before.y, dtype=np.float64).reshape(len(before), -1))
        before = replace(before, y=y, y_mean=targets.mean, y_scale=targets.scale)
        if np.isnan(before.y).any() or np.isnan(rows.y).any():
            return replace(self, is_near=False)
        said = _said(fitted, before, rows, self.time, self.wanders, n_jobs)
        side = -1.0 if self.wanders else 1.0
        lead, least = (
            _MEMORY_OF_BATCHES * self.lead + side * said.gain,
            _LEAD_TO_STAY if self.wanders else LEAD_TO_COME,
        )
        won = lead + side * said.told
        is_near = said.is_near and not self.wanders and won > _LEAD_TO_STAY
        return Level(self.grows, lead, won > least, is_near)

    def refused(self):
        """Return what was known before batches spoke for what the rows do not bear out."""
        return Level(self.grows, wanders=not self.wanders)

    @property
    def kernel_of(self):
        """Function of rows that returns kernel and noise variance; None where nothing wanders."""
        return partial(kernel_of, column=self.time) if self.wanders else None


UNKNOWN_LEVEL = Level()
