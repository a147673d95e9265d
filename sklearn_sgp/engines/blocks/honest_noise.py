"""What a term of a default kernel cannot tell from noise becomes noise.

A Matern-1/2 part whose length scale is far below the distances of rows is noise but for its name:
rows with equal inputs, which hardly exist, would alone tell. All of it may be learned as a function
and none as noise. Then a test row that equals a training row gets next to no deviation. So variance
goes from such a term to the noise, in such a way that rows and those nearest to them keep their
covariance, as far as the density of rows given those around them hardly falls (docs/theory.md,
section 12).
"""

from bisect import bisect_left
from copy import deepcopy
from dataclasses import replace

import numpy as np

from ...data.column_spread import column_mean_std
from ...data.rows import ConditionedRows, random_index
from ...kernels._length_scales import nearness_scales
from ...kernels._rough_part import Term
from ...objectives.composite_likelihood import CompositeLikelihood
from ...optimize import time_shares
from ...optimize.budget import count_within
from ...optimize.parameters import shaped_like
from ...partitions.search import nearest_in_table
from .group_draws import GroupDraws
from .pace import LEAST_GROUPS, seconds_of_group

# Rows whose nearest rows are looked at, as many where time is over, and how many of these.
_PROBED, _FEW_PROBED, _NEAREST = 200, 50, 10
# Shares of what near rows cannot tell of a term that may become noise, and nats a row that these
# may cost. 1,000 rows of nine columns, three of which come twice: -435 nats for new rows, some
# equal to known ones, with none of it, -1.45 with 2e-3 nats, -1.44 with 4e-3. Eight public tables
# of 250 to 1,000 rows: new rows lose at most 0.004 nats with either (kin40k 0.002 and 0.004), pol
# gains 0.03. The smallest shares are for bands at rows that repeat others; they may cost more.
_SHARES, _NATS_OF_SHARES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 0.99), 2e-3
_LEAST_SHARES, _NATS_OF_LEAST = (1e-4, 1e-3, 1e-2), 8e-3
# Rows repeat others if their terms differ by so little of what is unknown; fewer than such a share
# of all rows are not asked: three repeated rows of 1,000 hold the noise below 6e-5, and predictions
# of equal rows are off by 225 deviations. 17 % of wine_red's rows are repeated, with their targets.
_REPEATED, _FEW_REPEATS = 1e-2, 1e-2
# A smooth term may be noise, too, where it correlates rows with those nearest to them by less: of
# those 1,000 rows it had 0.5 of the variance (-1.44 nats; -1.40 once it may).
_UNCORRELATED = 0.5
# All of a rough part that correlates rows with those nearest to them by less than this may cost the
# BIC penalty of a variance and a length scale. 290 fresh made data sets of 60 to 250 rows: 16
# change, all smooth functions; RMSE at their rows is .53 of what it was (.28 to .96), at new rows
# .98, log density -.014 to .012 nats a row, .001 in the mean. With correlations of .1 to .3 six of
# 190 data sets changed, and five, none smooth, lost .02 to .2 nats. 80 draws of 150 to 1,000
# rows of eight tables stay as they are.
_NO_CORRELATION = 0.05
# Groups of near rows that judge: 1,000 rows of 4 to 8 columns in one group took 7 to 11 % of a fit.
_JUDGING_GROUPS = 32


def with_honest_noise(problem, parameters, budget):
    """Move variance from the rough part to the noise as far as the rows do not object.

    The kernel was chosen, and the parameters are as learned.
    """
    is_default = {"theta", "log_noise"} <= set(problem.start.with_default_bounds)
    if not (is_default and problem.space.learns("log_noise")):
        return parameters
    terms = Term.all_of(parameters.expression)
    n_probed = _PROBED if budget.left() > 0.0 else _FEW_PROBED
    near = _near_rows(problem, parameters, n_probed) if terms else None
    for term in terms:
        share = _Share.of(term, problem, parameters, near)
        if share is not None:
            density = _density(share, problem, parameters, budget)
            parameters = share.largest(density, len(problem.rows))
    return parameters


def _density(share, problem, parameters, budget):
    """Return a function of parameters: the mean log density of a row given those around it."""
    rows, rng = _observed_once(problem.rows), deepcopy(problem.rng)  # no draw is taken away
    near = GroupDraws.of_density(replace(problem, rows=rows, rng=rng))
    groups = replace(near, count=min(near.count, _JUDGING_GROUPS)).draw(parameters, rng)
    n_jobs = problem.settings.n_jobs
    if budget.is_limited:
        each = seconds_of_group(groups, parameters, n_jobs)
        count = count_within(len(groups), time_shares.JUDGING_NOISE * budget.left(), each)
        groups = groups[-max(LEAST_GROUPS, count) :]
    groups = _without_few_repeats(share, groups)
    if not share.is_own:
        density = CompositeLikelihood(groups, n_jobs)
        return lambda amount: density.value(share.moved(amount)) / density.weight

    def with_own_noise(amount):
        density = CompositeLikelihood([share.given(piece, amount) for piece in groups])
        return density.value(share.moved(amount)) / density.weight

    return with_own_noise


def _observed_once(rows):
    """Count a row as one observation if few rows are more, or weights are no numbers of these."""
    if rows.observations is None:
        return rows
    weight, counts = rows.weights
    if (counts != np.round(counts)).any():
        return replace(rows, counts=np.ones(len(rows)))
    if np.mean(counts > 1.0) >= _FEW_REPEATS:
        return rows
    return replace(rows, weight=(weight.T / counts).T, counts=np.ones(len(rows)))


def _without_few_repeats(share, groups):
    """Leave out rows that repeat others of their group, if these are few."""
    kept = [share.are_new(piece.rows.X) for piece in groups]
    if np.mean(np.concatenate(kept)) < 1.0 - _FEW_REPEATS:
        return groups
    return [_selected(*pair) for pair in zip(groups, kept, strict=True)]


def _selected(piece, kept):
    """Return some of the rows of one group, `ConditionedRows`."""
    place = np.cumsum(kept) - 1
    parts = tuple(place[part[kept[part]]] for part in piece.groups[0])
    return ConditionedRows(piece.rows.select(np.flatnonzero(kept)), (parts,))


class _Share:
    """Moves a share of what near rows cannot tell of the rough part.

    Parameters
    ----------
    unknown : float
        Variance of the rough part at a row, given the row nearest to it: a median.
    correlation : float
        Of the rough part at these.
    is_own : bool
        Whether rows may get noise of their own, as the rough part differs between categories.
    """

    def __init__(self, part, problem, parameters, unknown, correlation, is_own):
        self.part, self.space, self.parameters = part, problem.space, parameters
        self.unknown, self.correlation, self.is_own = unknown, correlation, is_own

    @classmethod
    def of(cls, part, problem, parameters, near):
        """Measure what near rows cannot tell; None where it is less than the noise."""
        X, weight = near
        correlations = part.correlations(parameters, X)
        nearest = np.max(correlations, axis=1, initial=0.0)
        variance = part.variances(parameters, X[:, 0])
        unknown = float(np.median(weight * variance * (1.0 - nearest)))
        correlation = float(np.median(nearest))
        is_known = not part.is_rough and correlation > _UNCORRELATED
        if is_known or unknown <= np.min(parameters.noise_variance):
            return None
        is_own = problem.has_row_noise and np.ptp(variance) > _REPEATED * np.mean(variance)
        return cls(part, problem, parameters, unknown, correlation, is_own)

    def are_new(self, X):
        """Return a mask of the rows of which no earlier row tells almost all."""
        K = self.part.gram(self.parameters, X)
        repeats = np.diagonal(K) - K <= _REPEATED * self.unknown
        return ~np.tril(repeats, -1).any(axis=1)

    def moved(self, share):
        """Raise the noise by a share of what is unknown, and lower the rough part as much."""
        kept = 1.0 - share * (1.0 - self.correlation)
        theta = self.part.with_less(self.parameters.theta, kept, self.correlation)
        noise = self.parameters.noise_variance
        log_noise = shaped_like(np.log(noise + share * self.unknown), noise)
        return self.space.clipped(self.parameters.with_values(theta=theta, log_noise=log_noise))

    def given(self, piece, share):
        """Give rows of one group the noise that the rough part has at each of them."""
        rows, noise = piece.rows, np.mean(self.parameters.noise_variance)
        weight, counts = rows.weights
        own = self.part.variances(self.parameters, np.asarray(rows.X, dtype=np.float64))
        own *= share * (1.0 - self.correlation)
        precision = (noise + share * self.unknown) / (noise * (counts / weight.T) + own)
        return replace(piece, rows=rows.with_precision(precision.T))

    def largest(self, value, n_rows):
        """Return the result of the largest share that rows do not object to."""
        before, most_of_all = value(0.0), _NATS_OF_SHARES
        if self.part.is_rough and self.correlation < _NO_CORRELATION:
            most_of_all = max(np.log(n_rows) / n_rows, most_of_all)

        def objects(share, most):
            return not value(share) >= before - most

        if not objects(_SHARES[-1], most_of_all):  # all may cost least, as noise of each row
            return self.moved(_SHARES[-1])
        for some, most in ((_SHARES, _NATS_OF_SHARES), (_LEAST_SHARES, _NATS_OF_LEAST)):
            found = bisect_left(some, True, key=lambda share: objects(share, most))
            if found:
                return self.moved(some[found - 1])
        return self.parameters


def _near_rows(problem, parameters, n_probed):
    """Return some rows, each followed by those nearest to it, (g, n, d), and weights (g,)."""
    rng, rows = np.random.RandomState(0), problem.rows
    X, count = rows.X, min(_NEAREST + 1, len(rows))
    std = column_mean_std(X, rows.observations)[1]
    some = random_index(len(X), min(n_probed, len(X)), rng)
    near = nearest_in_table(X, nearness_scales(parameters.kernel, std), some, count, rng)
    others = np.stack([row[row != i][:_NEAREST] for i, row in zip(some, near, strict=True)])
    weight = rows.weights[0][some]
    index = np.column_stack([some, others])
    near = np.asarray(X[index.ravel()], dtype=np.float64).reshape(*index.shape, -1)
    return near, weight if weight.ndim == 1 else weight.mean(axis=1)
