"""A level that wanders from batch to batch, beside a function of the inputs.

Each batch tells of a level besides the function, before it is learned from, and parts of it one
after another do. These levels are a series of their own, a few numbers, of which a Kalman filter
knows all: a level that takes steps, a slope whose steps it takes along, and a scatter of what is
told. How large these are is averaged over, by what came next. Everything that is known moves with
the level that is filtered, and predictions have the variance of the next one.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc

# Batches that are remembered, and those that must have come.
_BATCHES_KEPT, _FEWEST_CHANGES = 10, 2
# Rows of a part of a batch that tells of a level of its own, and parts of a batch at most. In 24
# streams (a slope, five kinds of walks) one part has 0.2 nats a row less.
_ROWS_OF_A_PART, _PARTS_OF_A_BATCH = 15, 4
# Variances of a level's step from batch to batch, of its slope's and of the scatter of what is
# told, in the mean square of changes between batches.
_SHARES_OF_STEPS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_SHARES_OF_SLOPES = (0.0, 0.001, 0.01, 0.1)
_SHARES_OF_SCATTER = (0.0, 0.1, 0.5)
# Nats by which what came next must speak for a level that wanders, and against one that stays.
_NATS_TO_WANDER = 5.0
# Inputs of batches differ where so much would be a chance of less than this.
_CHANCE_OF_PLACES = 1e-3

_LEAST_SPREAD = np.finfo(np.float64).tiny
# Of each model, and whether its level moves with rows, not with batches.
_MODELS = _SHARES_OF_STEPS, _SHARES_OF_SLOPES, _SHARES_OF_SCATTER, (False, True)
_STEP, _SLOPE, _SCATTER, _BY_ROWS = map(np.ravel, np.meshgrid(*_MODELS, indexing="ij"))


@dataclass(frozen=True)
class Series:
    """Hold what parts of batches tell of a level, one after another, in units of y.

    Parameters
    ----------
    batch : ndarray of shape (k,)
        Number of the batch of each part; -1 for what was known before all.
    row, end : ndarray of shape (k,)
        The middle of each part and the end of its batch, counted in rows.
    level, variance : ndarray of shape (k, t)
        An infinite variance of what tells nothing.
    means, spreads : ndarray of shape (b, d)
        Of each batch the means of its inputs, and the variances of these.
    """

    batch: np.ndarray
    row: np.ndarray
    end: np.ndarray
    level: np.ndarray
    variance: np.ndarray
    means: np.ndarray
    spreads: np.ndarray

    @classmethod
    def before(cls, X, level, variance, n):
        """Return what is known before the first batch that tells, of n rows with inputs X."""
        d = (0, X.shape[1])
        numbers = np.array([-1.0]), np.array([-0.5 * n]), np.zeros(1)
        return cls(*numbers, level[None], variance[None], np.empty(d), np.empty(d))

    def joined(self, X, level, variance, n):
        """Add parts of a batch of n rows, of levels and variances (parts, t).

        X are inputs of these, or of some.
        """
        count = len(level)
        row = self.end[-1] + n * (np.arange(count) + 0.5) / count
        number = np.full(count, self.batch[-1] + 1.0)
        end = np.full(count, self.end[-1] + n)
        parts = zip(self._parts, (number, row, end, level, variance), strict=True)
        every = [np.concatenate(pair) for pair in parts]
        last = every[0] >= number[0] - _BATCHES_KEPT
        means = np.vstack([self.means, X.mean(axis=0)])[-_BATCHES_KEPT:]
        spreads = np.vstack([self.spreads, X.var(axis=0) / len(X)])[-_BATCHES_KEPT:]
        return Series(*(each[last] for each in every), means, spreads)

    @property
    def _parts(self):
        return self.batch, self.row, self.end, self.level, self.variance

    def of_output(self, c):
        """Return numbers, middles, ends, levels and variances, (k,), from the first known on."""
        known = np.logical_or.accumulate(np.isfinite(self.variance[:, c]))
        own = *self._parts[:3], self.level[:, c], self.variance[:, c]
        return tuple(each[known] for each in own)


@dataclass(frozen=True)
class BatchLevels:
    """Levels of the last batches, in units of y; replaced, never changed.

    Parameters
    ----------
    moved : ndarray of shape (t,) or 0.0
        By which everything known has been moved.
    ahead : ndarray of shape (t,) or 0.0
        By which it is to be moved once the last batch was learned from.
    variance : ndarray of shape (t,) or 0.0
        Of the next level; 0 where it stays.
    """

    told: Series | None = None
    moved: np.ndarray | float = 0.0
    ahead: np.ndarray | float = 0.0
    variance: np.ndarray | float = 0.0

    def after(self, X, level, variance, n_rows=None):
        """Return these after a batch, and by how much all that is known is to be moved, (t,).

        X are the inputs of the batch, or of some of its ``n_rows``; levels and variances, (parts,
        t), are of parts of it, besides what is known.
        """
        n_rows = len(X) if n_rows is None else n_rows
        t = level.shape[1]
        moved, move = np.broadcast_to(self.moved, (t,)), np.zeros(t)
        told = self.told or Series.before(X, moved, variance[0], n_rows)
        told = told.joined(X, level + moved, variance, n_rows)
        ahead, wanders = np.zeros(t), np.zeros(t)
        for c in range(t) if _are_alike(told.means, told.spreads) else ():
            found = filtered(*told.of_output(c))
            if found is not None:
                now, ahead[c], wanders[c] = found
                move[c] = now - moved[c]
        return BatchLevels(told, moved + move, ahead, wanders), move

    def gone_ahead(self):
        """Return these where everything known was moved to where the next batch is expected."""
        return replace(self, moved=self.moved + self.ahead, ahead=0.0)


NO_LEVELS = BatchLevels()


def filtered(batch, row, end, levels, variances):
    """Return the level of the last batch, by how much the next is higher, and its variance.

    None where the level stays, as far as is known. The numbers are those of `Series`; the first
    variance is finite.
    """
    tells = np.isfinite(variances)
    each_batch = (levels[tells & (batch == one)] for one in np.unique(batch[tells]))
    middles = np.array([each.mean() for each in each_batch])
    if len(middles) <= _FEWEST_CHANGES or not np.ptp(middles):
        return None
    unit, last = float(np.mean(np.diff(middles) ** 2)), batch == batch[-1]
    wanders, stays = _Wandering(unit, levels[0], variances[0]), _Staying(levels[0], variances[0])
    by_rows = np.diff(row) / (2.0 * (end[-1] - row[last].mean()))  # in batches, too
    now = 0.0
    for k, by_batch in enumerate(np.diff(batch), start=1):
        wanders.go(by_batch, by_rows[k - 1])
        for each in (wanders, stays) if tells[k] else ():  # levels go on unseen
            each.observe(levels[k], variances[k])
        now = now + last[k] * wanders.level / last.sum()
    if wanders.evidence - stays.log_p < _NATS_TO_WANDER:
        return None
    p = wanders.probabilities
    # from its last part on the middle of the next batch is so far, and the mean square of a walk
    # over that batch is that after a third of it, besides what its rows scatter
    rest = 0.5 / last.sum()
    wanders.go(1.0, rest + 0.5, rest + 1.0 / 3.0)
    now, following = float(p @ now), float(p @ wanders.level)
    variance = wanders.P + wanders.scatter + (wanders.level - following) ** 2
    return now, following - now, float(p @ variance)


class _Wandering:
    """Kalman filters of all models of a level, a slope and a scatter; they change in place."""

    def __init__(self, unit, level, variance):
        n, self.unit, self.scatter = len(_STEP), unit, unit * _SCATTER
        self.level, self.slope, self.log_p = np.full(n, level), np.zeros(n), np.zeros(n)
        # variances of level and slope, and their covariance
        self.P, self.C = np.full(n, variance), np.zeros(n)
        self.S = np.where(_SLOPE > 0.0, unit, 0.0)

    def go(self, by_batch, by_rows, steps_by_rows=None):
        """Go on by a time, in batches, counted in both ways."""
        gap = np.where(_BY_ROWS, by_rows, by_batch)
        steps = gap if steps_by_rows is None else np.where(_BY_ROWS, steps_by_rows, by_batch)
        slope_steps = self.unit * _SLOPE * gap
        self.level = self.level + gap * self.slope
        self.P = self.P + gap * (2.0 * self.C + gap * (self.S + slope_steps / 3.0))
        self.P = self.P + self.unit * _STEP * steps
        self.C, self.S = self.C + gap * (self.S + 0.5 * slope_steps), self.S + slope_steps

    def observe(self, level, variance):
        """Learn from what a part of a batch tells."""
        V, off = self.P + variance + self.scatter, level - self.level
        self.log_p = self.log_p - 0.5 * (np.log(V) + off**2 / V)
        self.level, self.slope = self.level + self.P / V * off, self.slope + self.C / V * off
        P, C = self.P, self.C
        self.P, self.C, self.S = P - P**2 / V, C - C * P / V, self.S - C**2 / V

    @property
    def evidence(self):
        """Log evidence of all models together, each as probable as any other."""
        best = self.log_p.max()
        return float(best + np.log(np.mean(np.exp(self.log_p - best))))

    @property
    def probabilities(self):
        """Those of the models."""
        p = np.exp(self.log_p - self.log_p.max())
        return p / p.sum()


class _Staying:
    """The same of a level that stays."""

    def __init__(self, level, variance):
        self.level, self.P, self.log_p = level, variance, 0.0

    def observe(self, level, variance):
        """Learn from what a part of a batch tells."""
        V, off = self.P + variance, level - self.level
        self.log_p -= 0.5 * (np.log(V) + off**2 / V)
        self.level, self.P = self.level + self.P / V * off, self.P - self.P**2 / V


def parts_of(X):
    """Return the number of the part of each row of a batch; None if rows lie in an order.

    Then what moves may be the function, as with time or earlier values among the inputs.
    """
    n = len(X)
    count = min(max(n // _ROWS_OF_A_PART, 1), _PARTS_OF_A_BATCH)
    part = np.arange(n) * max(count, 2) // n
    means = np.array([X[part == k].mean(axis=0) for k in range(part[-1] + 1)])
    if not _are_alike(means, X.var(axis=0)[None] * len(means) / n):
        return None
    return part if count > 1 else np.zeros_like(part)


def _are_alike(means, variances):
    """Return whether means of inputs, (k, d), differ by no more than by chance.

    ``variances`` are what they are expected to have, in the mean.
    """
    usual = np.maximum(variances.mean(axis=0), _LEAST_SPREAD)
    away = np.sum((means - means.mean(axis=0)) ** 2, axis=0)
    by_chance = chdtrc(max(len(means) - 1, 1), away / usual)
    return bool((by_chance > _CHANCE_OF_PLACES / len(usual)).all())
