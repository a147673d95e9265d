"""Sites of all rows, from the exact process of the rows around them (docs/theory.md, section 13).

Rows in groups of near ones get their sites by expectation propagation in their group and the rows
around it. Sites make of a likelihood a regression with noise of each row: every model in blocks
then stands as it is.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..._parallel import map_groups
from ...data.column_spread import column_mean_std
from ...factors.block_factors import LOG_2PI
from ...kernels import Groups
from ...kernels._length_scales import nearness_scales
from ...objectives.expectation_propagation import (
    LEAST_PRECISION,
    MOST_SWEEPS,
    Observed,
    Sites,
    moved,
    propagate,
    sweeps_in_time,
)
from ...objectives.near_sites import NearGroup, gram
from ...optimize.budget import measured_seconds
from ...partitions.blocks import Blocks
from ...partitions.near_cells import NearGroups
from ...partitions.partition import KMeansTree
from ...partitions.sampling import LARGEST_WHOLE
from .group_draws import GROUP_SIZE

# Rows around a group of which the sites are found, those of the group among them; fewer where
# time is over. 4,000 counts, max_time=0.1: 1.7 to 1.9 of 3.2 to 3.5 CPU s with 300, 0.45 with 100;
# -1.3468 and -1.9436 nats of new rows become -1.3469 and -1.9465; with 60 0.35 s and -1.9489.
_AROUND, AROUND_IN_HASTE = 300, 100
# Change of marginals, in deviations, with which sweeps end.
_FINAL_CHANGE = 1e-3
# Share of the way that sites go to what marginals of the whole model ask for; they stay where less
# than such a share of a marginal's precision is left without them.
_GLOBAL_STEP, _LEAST_CAVITY = 0.8, 1e-3
# Groups of a task, whose rows are gathered together.
_TASK_SITES = 8


class Regression(NamedTuple):
    """Rows as a regression with noise of their own, in the place of a likelihood.

    The rows have targets shift / precision, of noise 1 / precision; the constant is that of the
    evidence, besides that of the regression.
    """

    rows: object
    constant: float


def regression_of(
    rows, parameters, likelihood, rng, n_jobs, known=None, n_around=_AROUND, clock=None
):
    """Find the sites of all rows, each group's among so many.

    The rows have the targets that the likelihood takes. ``known`` are rows of earlier batches,
    whose sites are held: a `Regression`'s. Groups whose turn comes after the time of a `Clock` get
    few sweeps.
    """
    near = _Near.of(rows, parameters, rng, n_jobs, known, n_around)
    likelihood = likelihood.with_theta(parameters.likelihood_theta)
    numbers = np.arange(len(near.groups))
    tasks = [
        (near.gathered(some), parameters.kernel, likelihood, clock)
        for some in np.array_split(numbers, max(1, -(-len(numbers) // _TASK_SITES)))
    ]
    parts = []
    for result in map_groups(_sites_of_groups, tasks, n_jobs):
        parts += result
    n, t = len(rows), rows.y.shape[1]
    precision, shift, scale = np.empty((3, n, t))
    for own, (of_group, log_scale) in zip(near.groups, parts, strict=True):
        precision[own], shift[own] = of_group
        scale[own] = log_scale
    return _as_regression(rows, precision, shift, scale)


def swept(rows, found, moments, likelihood, known=True):
    """Move sites to what the marginals of the regression's own model ask for.

    Parameters
    ----------
    rows : Rows
        With the targets that the likelihood takes.
    found : Regression
    moments : (ndarray, ndarray) of shape (n, t)
        Means and variances of the functions at all rows.
    likelihood : Likelihood
        With numbers for its parameters.
    known : ndarray of bool, shape (n,)
        Rows whose own sites are in these moments: out of others nothing is taken.

    Returns
    -------
    regression : Regression
        Its constant is an estimate.
    constant : float
        That of ``found``, by these marginals.
    """
    _, counts = rows.weights
    repeats, mean = np.maximum(counts, 1.0), moments[0]
    variance = np.broadcast_to(moments[1], mean.shape)
    precision = found.rows.weight.reshape(mean.shape) / repeats[:, None]
    before, after, scale = (precision, precision * found.rows.y), [], np.empty(mean.shape)
    for c in range(mean.shape[1]):
        sites, m, v = Sites(*(part[:, c] for part in before)), mean[:, c], variance[:, c]
        left = 1.0 / v - known * sites.precision
        held = left <= _LEAST_CAVITY / v
        v_c = 1.0 / np.where(held, 1.0 / v, left)
        m_c = np.where(held, m, v_c * (m / v - known * sites.shift))
        of_output, y = likelihood.for_output(c), rows.targets[:, c : c + 1]
        tilted = Observed(y, counts, None, rows.offset).tilted(of_output, (m_c, v_c))
        scale[:, c] = repeats * (tilted.log_integral - _log_integral(sites, m_c, v_c))
        after.append(moved(sites, _GLOBAL_STEP, (m_c, v_c), tilted, held))
    new = (np.column_stack(parts) for parts in zip(*after, strict=True))
    return _as_regression(rows, *new, scale), _as_regression(rows, *before, scale).constant


def _log_integral(sites, mean, variance):
    """Return the logarithms of the integrals of sites and normal densities."""
    precision = 1.0 / variance + sites.precision
    squares = (mean / variance + sites.shift) ** 2 / precision - mean**2 / variance
    return 0.5 * (squares - np.log1p(sites.precision * variance))


def seconds_of_sites(rows, parameters, likelihood, n_jobs, clock):
    """Measure the seconds that `regression_of` takes, about, by one group."""
    few, rng = rows.fixed_subset(_AROUND + GROUP_SIZE), np.random.RandomState(0)
    given = few, parameters, likelihood, rng, n_jobs
    seconds = measured_seconds(lambda: regression_of(*given, clock=clock))
    return seconds * max(1.0, len(rows) / GROUP_SIZE / n_jobs)


def _as_regression(rows, precision, shift, log_scale):
    """Return the regression that sites of single observations make."""
    _, counts = rows.weights
    precision = np.maximum(precision, LEAST_PRECISION)
    y, weight = shift / precision, np.maximum(counts, 1.0)[:, None] * precision
    # log N(y; f, 1 / weight) is -weight (f - y)^2 / 2 and constants, of which the evidence of rows
    # with precisions has those of as many observations as they are
    constant = log_scale + 0.5 * weight * y**2 + 0.5 * counts[:, None] * LOG_2PI
    weight = weight if weight.shape[1] > 1 else weight[:, 0]
    zero = np.zeros(y.shape[1])
    made = replace(
        rows, y=y, weight=weight, counts=counts, y_mean=zero, y_scale=zero + 1.0, grid=0.0
    )
    return Regression(made, float(constant.sum()))


class _Near:
    """Rows in groups, and what is around each group.

    Parameters
    ----------
    groups : list of ndarray of int
        Rows of each group.
    around : list of ndarray of int
        Rows around it that are not in it; known rows have numbers from the number of rows on.
    """

    def __init__(self, rows, known, groups, around):
        self.rows, self.known, self.groups, self.around = rows, known, groups, around

    @classmethod
    def of(cls, rows, parameters, rng, n_jobs, known, n_around):
        n = len(rows)
        if known is None and n <= LARGEST_WHOLE:
            return cls(rows, known, [np.arange(n)], [np.empty(0, dtype=np.intp)])
        std = column_mean_std(rows.X if known is None else known.X, None)[1]
        scale = nearness_scales(parameters.kernel, std)
        blocks = Blocks(rows, KMeansTree(GROUP_SIZE, scale).fit(rows.X, rng))
        groups = [blocks.members(g) for g in range(len(blocks))]
        points = np.asarray(rows.X, dtype=np.float64) / scale
        if known is None:
            centres = np.stack([points[own].mean(axis=0) for own in groups])
            near = NearGroups(points, groups, rng, n_jobs).around(centres, n_around)
        else:  # groups of a small batch are wide: each row has near ones of its own
            other = Blocks(known, KMeansTree(GROUP_SIZE, scale).fit(known.X, rng))
            searched = [n + other.members(g) for g in range(len(other))] + groups
            points = np.vstack([points, np.asarray(known.X, dtype=np.float64) / scale])
            search = NearGroups(points, searched, rng, n_jobs)
            near = search.around_rows(min(n_around, len(points)), len(other))
        around = [np.setdiff1d(rows, own) for rows, own in zip(near, groups, strict=True)]
        return cls(rows, known, groups, around)

    def gathered(self, numbers):
        """Return groups, their own rows last, with sites to begin with and a mask of held ones."""
        return [self._gathered(self.around[g], self.groups[g]) for g in numbers]

    def _gathered(self, around, own):
        n = len(self.rows)
        free, held = self.rows.select(np.append(around[around < n], own)), around[around >= n] - n
        X, (_, counts) = np.asarray(free.X, dtype=np.float64), free.weights
        k, y = len(held), free.targets
        sites = [Sites.none(k + len(X)) for _ in range(y.shape[1])]
        if k:
            known = self.known.select(held)
            weight, of_known = known.weights
            X = np.vstack([np.asarray(known.X, dtype=np.float64), X])
            weight = weight.reshape(k, -1)
            for c, one in enumerate(sites):
                one.precision[:k] = weight[:, c] / np.maximum(of_known, 1.0)
                one.shift[:k] = one.precision[:k] * known.y[:, c]
            # targets of held rows are not looked at, but have to be some
            y, counts = np.vstack([np.repeat(y[:1], k, axis=0), y]), np.append(of_known, counts)
        offset = None if free.offset is None else np.append(np.zeros(k), free.offset)
        group = NearGroup(X, y, counts, len(X) - len(own), offset)
        return group, sites, np.arange(len(X)) < k


def _sites_of_groups(gathered, kernel, likelihood, clock):
    """Return the sites and their log scales of the own rows of some groups, each (n, t)."""
    return [_sites_of(*parts, kernel, likelihood, clock) for parts in gathered]


def _sites_of(group, sites, held, kernel, likelihood, clock):
    own, result = slice(group.n_before, None), []
    K = gram(kernel, group.X, Groups.triangles([np.arange(len(group.X))]))
    for c, begin in enumerate(sites):
        observed = group.of_output(c, held if held.any() else None)
        limits = _FINAL_CHANGE, sweeps_in_time(MOST_SWEEPS, clock)
        found = propagate(K, observed, likelihood.for_output(c), begin, *limits)
        result.append((*found.sites.select(own), found.log_scale[own]))
    precision, shift, scale = (np.column_stack(parts) for parts in zip(*result, strict=True))
    return (precision, shift), scale
