"""Log evidence of groups of rows given the rows around them, for any likelihood, and its gradient.

    sum over groups of log p(y_B | y_N) = log Z_(N, B) - log Z_N

each by expectation propagation under the exact process (docs/theory.md, section 13). What
`composite_likelihood` is for Gaussian noise.
"""

from itertools import chain

import numpy as np
from scipy.linalg import solve_triangular

from .._linalg import NotPositiveDefiniteError, cholesky
from .._parallel import group_bounds, map_groups
from ..factors.gradients import Gradient
from ..kernels import Groups
from .expectation_propagation import MOST_SWEEPS, Observed, Sites, propagate, sweeps_in_time
from .scores import Score

# Change of marginals, in deviations, with which sweeps end. Of twelve groups of 250 rows (probit,
# logit, Poisson, four kernels) the evidence is then off by 1e-6 nats; by 2e-4 of the flattest.
_SWEEP_TOLERANCE = 1e-2
# Step of differences in the logarithms of a likelihood's own parameters.
_LOG_STEP = 1e-4


class NearSites:
    """A function of `Parameters` that returns this evidence and its gradient.

    Sites begin where they ended at the parameters before.

    Parameters
    ----------
    groups : list of ConditionedRows
        Each has one group.
    likelihood : Likelihood
        Its free parameters come with the `Parameters`.
    tol : float
        Of `propagate`.
    sweeps : (int, int)
        Sweeps over a group that is new, and over one that was evaluated before, at most.
    clock : Clock or None
        Once it has no time left each group gets few sweeps.
    """

    def __init__(
        self,
        groups,
        likelihood,
        n_jobs=None,
        tol=_SWEEP_TOLERANCE,
        sweeps=(MOST_SWEEPS, MOST_SWEEPS),
        clock=None,
    ):
        self.groups, self.likelihood = [NearGroup.of(piece) for piece in groups], likelihood
        self.n_jobs, self.tol, self.sweeps, self.clock = n_jobs, tol, sweeps, clock
        self.weights = np.array([piece.total_weight for piece in groups])
        self.weight = self.weights.sum()
        self.sites = [None] * len(self.groups)

    def __call__(self, parameters):
        return self.of_groups(range(len(self.groups)), parameters)

    def of_groups(self, chosen, parameters):
        """Compute evidence and gradient of some groups, by their numbers."""
        values, gradients = self._map(_with_gradient, chosen, parameters)
        names = gradients[0].keys()
        total = Gradient({name: sum(each[name] for each in gradients) for name in names})
        return float(sum(values)), total

    def score(self, parameters):
        """Return the evidence of each group, for a row of it: `Score`."""
        values, _ = self._map(_value, range(len(self.groups)), parameters)
        return Score(np.array(values) / self.weights, self.weights)

    def predicted(self, parameters):
        """Predict each group's functions, mean and variance (n, t), from the rows before alone.

        A row that is left out by its own site leaves sites of the others that have seen it: with
        variances of 1,000 such a prediction is far too sure.
        """
        _, moments = self._map(_predicted, range(len(self.groups)), parameters)
        return tuple(map(np.vstack, zip(*moments, strict=True)))

    def _map(self, function, chosen, parameters):
        """Call a function of some groups; keep the sites, return values and gradients."""
        likelihood = self.likelihood.with_theta(parameters.likelihood_theta)
        options = parameters.kernel, likelihood, self.tol, self.sweeps, self.clock
        each = [(self.groups[g], self.sites[g]) for g in chosen]
        tasks = [(function, each[lo:hi], *options) for lo, hi in group_bounds(len(each), 1)]
        parts = map_groups(_each_group, tasks, self.n_jobs)
        values, gradients, sites = zip(*chain.from_iterable(parts), strict=True)
        for g, own in zip(chosen, sites, strict=True):
            self.sites[g] = own
        if not np.isfinite(values).all():
            raise NotPositiveDefiniteError("the evidence of near rows is not finite")
        return values, gradients


class NearGroup:
    """A group of rows, those that it is conditioned on first.

    Parameters
    ----------
    counts : ndarray of shape (n,)
    n_before : int
        Rows that it is conditioned on.
    offset : ndarray of shape (n,) or None
        What is added to the function.
    """

    def __init__(self, X, y, counts, n_before, offset=None):
        self.X, self.y, self.counts, self.n_before = X, y, counts, n_before
        self.offset = offset

    @classmethod
    def of(cls, piece):
        """Return the group of `ConditionedRows` that have one."""
        (before, own), rows = piece.groups[0], piece.rows
        rows = rows.select(np.concatenate([before, own]))
        X, (_, counts) = np.asarray(rows.X, dtype=np.float64), rows.weights
        return cls(X, rows.targets, counts, len(before), rows.offset)

    def of_output(self, c, held=None):
        """Return what was observed of one output."""
        return Observed(self.y[:, c : c + 1], self.counts, held, self.offset)


def gram(kernel, X, triangles):
    """Compute K(X, X), each pair of rows once."""
    return _unpacked(kernel.blocks(X, X, triangles), len(X))


def _unpacked(entries, n):
    """Return a symmetric matrix (n, n) with these entries in its upper triangle, row by row."""
    K, upper = np.empty((n, n)), ~np.tri(n, k=-1, dtype=bool)
    K[upper] = entries
    K.T[upper] = entries
    return K


def _each_group(function, groups, kernel, likelihood, tol, sweeps, clock):
    found = []
    for group, sites in groups:
        is_known = sites is not None
        limits = tol, sweeps_in_time(sweeps[is_known], clock, is_known)
        found.append(function(group, sites, kernel, likelihood, *limits))
    return found


def _value(group, sites, kernel, likelihood, *limits):
    """Return log evidence, no gradient and sites of one group."""
    K = gram(kernel, group.X, Groups.triangles([np.arange(len(group.X))]))
    value, ended = 0.0, []
    for c in range(group.y.shape[1]):
        both = _both(K, group, c, likelihood.for_output(c), sites and sites[c], *limits)
        value += _difference(both)
        ended.append([each.following for _, each in both])
    return value, None, ended


def _predicted(group, sites, kernel, likelihood, *limits):
    """Return log evidence of the rows before, moments of the own rows, and sites."""
    K, k = gram(kernel, group.X, Groups.triangles([np.arange(len(group.X))])), group.n_before
    K_before, found, moments = np.ascontiguousarray(K[:k, :k]), [], []
    for c in range(group.y.shape[1]):
        begin = Sites.none(k) if sites is None else sites[c]
        observed = group.of_output(c).select(slice(k))
        found.append(propagate(K_before, observed, likelihood.for_output(c), begin, *limits))
        moments.append(_at_others(K, found[-1].sites, group.counts[:k]))
    moments = tuple(np.column_stack(columns) for columns in zip(*moments, strict=True))
    return sum(one.evidence for one in found), moments, [one.following for one in found]


def _at_others(K, sites, counts):
    """Return means and variances at rows behind those that have sites, by K of all."""
    repeats = np.maximum(counts, 1.0)
    precision, shift = repeats * sites.precision, repeats * sites.shift
    k, root = len(shift), np.sqrt(precision)
    L = cholesky(np.eye(k) + root[:, None] * K[:k, :k] * root)
    cross = solve_triangular(L, root[:, None] * K[:k, k:], lower=True)
    known = solve_triangular(L, root * (K[:k, :k] @ shift), lower=True)
    mean = K[k:, :k] @ shift - cross.T @ known
    return mean, np.maximum(np.diagonal(K)[k:] - np.einsum("ij,ij->j", cross, cross), 0.0)


def _with_gradient(group, sites, kernel, likelihood, *limits):
    """Return log evidence, gradient and sites of one group."""
    triangles = Groups.triangles([np.arange(len(group.X))])
    entries, of_theta = kernel.triangles(group.X, triangles)
    K, theta = _unpacked(entries, len(group.X)), likelihood.theta
    value, ended, K_bar, of_likelihood = 0.0, [], np.zeros_like(entries), np.zeros(len(theta))
    for c in range(group.y.shape[1]):
        both = _both(K, group, c, likelihood.for_output(c), sites and sites[c], *limits)
        value += _difference(both)
        ended.append([each.following for _, each in both])
        for sign, each in both:
            each.add_slopes(sign, K_bar, len(K))
            observed = group.of_output(c).select(slice(len(each.root)))
            of_likelihood += sign * _slopes(each, observed, likelihood, theta, c)
    gradient = Gradient(theta=of_theta(K_bar), log_noise=0.0)
    if len(theta):
        gradient["likelihood"] = of_likelihood
    return value, gradient, ended


def _difference(both):
    return sum(sign * each.evidence for sign, each in both)


def _both(K, group, c, likelihood, sites, *limits):
    """Return approximations of all rows of a group and, with sign -1, of those before if any.

    The rows before begin with the sites that they have among all.
    """
    observed, k = group.of_output(c), group.n_before
    begins = (Sites.none(len(K)), None) if sites is None else sites
    whole = propagate(K, observed, likelihood, begins[0], *limits)
    if not k:
        return [(1.0, whole)]
    begin = whole.following.select(slice(k)) if sites is None else begins[1]
    K_before = np.ascontiguousarray(K[:k, :k])
    before = propagate(K_before, observed.select(slice(k)), likelihood, begin, *limits)
    return [(1.0, whole), (-1.0, before)]


def _slopes(approximation, observed, likelihood, theta, c):
    """Return derivatives in the likelihood's own parameters at fixed sites, by differences."""
    slopes = np.empty(len(theta))
    for i in range(len(theta)):
        ends = []
        for step in (-_LOG_STEP, _LOG_STEP):
            moved = theta.copy()
            moved[i] += step
            one = likelihood.with_theta(moved).for_output(c)
            moments = observed.tilted(one, approximation.cavity)
            ends.append(float(observed.repeats @ moments.log_integral))
        slopes[i] = (ends[1] - ends[0]) / (2.0 * _LOG_STEP)
    return slopes
