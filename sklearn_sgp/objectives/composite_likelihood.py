"""Log density of groups of rows given the rows around them, and its gradient.

    sum over groups of log p(y_B | y_N) = log N(y_NB; 0, K_NB + noise) - log N(y_N; 0, K_N + noise)

under the exact process: a composite likelihood (docs/theory.md, eq. 47). It needs no inducing
inputs, so that its gradient has no entry for them.
"""

from itertools import chain
from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .._core._densities import add_class_densities, add_densities, densities
from .._core._memory import empty
from .._linalg import NotPositiveDefiniteError, cholesky, copy_of, inverse_from_cholesky, product
from .._parallel import group_bounds, map_groups
from ..data.rows import outputs_by_noise, weight_of
from ..factors.block_factors import (
    SingularBlockError,
    repetition_constant,
    repetition_slope,
    singular_block,
)
from ..factors.class_noise import ClassFactors, ClassNoise
from ..factors.gradients import Gradient, noise_gradient
from ..kernels import Groups
from .scores import Score, left_out_errors

# Different entries of the K of groups that are worked on together: 2 MB, and twice as much for each
# leaf of the kernel. Groups of 150 rows take 0.223 ms each, 0.226 with twice as many entries, 0.241
# with a quarter; groups of 300 rows 0.90, 0.89 and 0.97 ms.
_MOST_ENTRIES = 2**18
# Groups of a task.
_TASK_GROUPS = 4


class CompositeLikelihood:
    """A function of `Parameters` that returns this density and its gradient.

    Each of the `ConditionedRows` has one group.
    """

    def __init__(self, groups, n_jobs=None):
        self.groups, self.n_jobs = [_Group.of(piece) for piece in groups], n_jobs
        self.weights = np.array([piece.total_weight for piece in groups])
        self.weight = self.weights.sum()

    def __call__(self, parameters):
        parts = map_groups(_density_group, _tasks(self.groups, parameters), self.n_jobs)
        return _summed(parts, parameters)[:2]

    def of_noise(self, parameters):
        """Return the same function where the kernel stays, whose derivatives are told as 0.

        K of each group is computed once, and so is what was asked before: L-BFGS in one dimension
        comes back to places where rounding is all that is left to gain.
        """
        tasks, known = _tasks(self.groups, parameters), {}
        held = map_groups(_held, [task[:2] for task in tasks], self.n_jobs)

        def density(parameters):
            place = np.asarray(parameters.log_noise).tobytes()
            if place not in known:
                tasks = zip(_tasks(self.groups, parameters), held, strict=True)
                tasks = [(*task, Ks) for task, Ks in tasks]
                parts = map_groups(_density_group, tasks, self.n_jobs)
                known[place] = _summed(parts, parameters)[:2]
            return known[place]

        return density

    @property
    def targets(self):
        """Targets (n, t) of each group, conditioned-on rows first, and the number of these."""
        return [(group.y, group.n_before) for group in self.groups]

    @property
    def counts(self):
        """Numbers of observations of each group's own rows."""
        return [group.counts[group.n_before :] for group in self.groups]

    @property
    def classes(self):
        """Classes of each group's own rows, where outputs have weights of their own."""
        return [group.class_noise.number[group.n_before :] for group in self.groups]

    def of_targets(self, parameters, targets):
        """Compute the density of other targets, with its gradient in them.

        The targets, (n, t), are in the order of `targets`, one array for each group.

        Returns
        -------
        value : float
        gradient : Gradient
            In kernel and noise.
        slopes : list of ndarray of shape (n, t)
            In the targets: -(inv(S) y - (inv(S_NN) y_N, 0)).
        """
        groups = _with_targets(self.groups, targets)
        parts = map_groups(_density_group, _tasks(groups, parameters), self.n_jobs)
        return _summed(parts, parameters)

    def value(self, parameters, targets=None):
        """Return the density alone, of other targets if given: what no gradient is needed for.

        ``targets`` are those of `of_targets`.
        """
        groups = self.groups if targets is None else _with_targets(self.groups, targets)
        if groups[0].class_noise is not None:  # slopes cost little beside the classes' factors
            parts = map_groups(_density_group, _tasks(groups, parameters), self.n_jobs)
            return _summed(parts, parameters)[0]
        return float(self._each(groups, parameters).sum())

    def score(self, parameters):
        """Return the density of each group, for a row of it: `Score`."""
        return Score(self._each(self.groups, parameters) / self.weights, self.weights)

    def _each(self, groups, parameters):
        """Return the density of each group."""
        tasks = [(groups[lo:hi], parameters) for lo, hi in group_bounds(len(groups), _TASK_GROUPS)]
        values = np.concatenate(map_groups(_values, tasks, self.n_jobs))
        if not np.isfinite(values).all():
            raise NotPositiveDefiniteError("the density of near rows is not finite")
        return values

    def standardised_errors(self, parameters):
        """Return errors of rows given y_N, in predictive standard deviations, noise included.

        They are (n_B, t), of one group after the other.
        """
        outputs = outputs_by_noise(parameters.noise_variance)
        return np.vstack([_errors(group, parameters.kernel, outputs) for group in self.groups])

    def in_turn(self, parameters, targets):
        """Predict each group's own rows given y_N and the rows of the group before it, in turn.

        The targets stand in the place of those of the groups, as in `of_targets`.

        Returns
        -------
        mean, variance : ndarray of shape (n_B, t)
            Of the targets, noise included, one group after the other. Their log densities add up to
            the density of the groups.
        """
        outputs, parts = outputs_by_noise(parameters.noise_variance), []
        for group, y in zip(self.groups, targets, strict=True):
            parts.append(_in_turn(group._replace(y=y), parameters.kernel, outputs))
        return tuple(np.vstack(each) for each in zip(*parts, strict=True))

    def left_out(self, parameters):
        """Predict the functions of classes at each group's own rows, given the group's other rows.

        Of a row that stands for equal ones, one of these is left out (`share_known`). Mean and
        variance are (n_B, C), of one group after the other.
        """
        bounds = group_bounds(len(self.groups), 1)
        tasks = [(self.groups[lo:hi], parameters.kernel) for lo, hi in bounds]
        parts = map_groups(_left_out, tasks, self.n_jobs)
        return tuple(np.vstack(each) for each in zip(*parts, strict=True))


def _with_targets(groups, targets):
    return [group._replace(y=y) for group, y in zip(groups, targets, strict=True)]


def _tasks(groups, parameters):
    """Return the arguments of `_density_group` for a few groups at a time."""
    bounds = group_bounds(len(groups), _TASK_GROUPS)
    return [(groups[lo:hi], parameters.kernel, parameters.noise_variance) for lo, hi in bounds]


def _summed(parts, parameters):
    """Return density, gradient and slopes in the targets, as `CompositeLikelihood.of_targets`."""
    *sums, of_targets = zip(*parts, strict=True)
    value, theta, noise = (sum(part) for part in sums)
    if not np.isfinite(value):
        raise NotPositiveDefiniteError("the density of near rows is not finite")
    slope = noise_gradient(parameters.noise_variance, noise)
    return value, Gradient(theta=theta, log_noise=slope), list(chain.from_iterable(of_targets))


def _density_group(groups, kernel, noise_variance, held=None):
    """Return value and derivatives in theta, in each log noise variance and in each target.

    ``held`` are the K of each run of groups where the kernel stays.
    """
    outputs, parts = outputs_by_noise(noise_variance), []
    for i, run in enumerate(_runs(groups)):
        rows = _Run.of(run)
        if held is None:
            K, gradient = kernel.triangles(rows.X, rows.triangles)
        else:
            K, gradient = held[i], _no_slope
        if rows.class_noise is None:
            value, noise, K_bar, y_bar = _of_outputs(K, rows, outputs)
        else:
            value, noise, K_bar, y_bar = _of_classes(K, rows)
        parts.append((value, gradient(K_bar), noise, np.split(y_bar, rows.begins[1:])))
    *sums, of_targets = zip(*parts, strict=True)
    return *(sum(part) for part in sums), list(chain.from_iterable(of_targets))


def _held(groups, kernel):
    """Return K of each run of some groups."""
    runs = map(_Run.of, _runs(groups))
    return [kernel.triangles(rows.X, rows.triangles)[0] for rows in runs]


def _no_slope(K_bar):
    return 0.0


def _values(groups, parameters):
    """Return the density of each group."""
    outputs = outputs_by_noise(parameters.noise_variance)
    return np.concatenate([_of_run(_Run.of(run), parameters, outputs) for run in _runs(groups)])


def _of_run(rows, parameters, outputs):
    K, total = parameters.kernel.blocks(rows.X, rows.X, rows.triangles), 0.0
    for columns, s2 in outputs:
        weight, y = weight_of(rows.weight, columns), np.ascontiguousarray(rows.y[:, columns])
        values = np.empty(len(rows.sizes))
        failed = densities(K, rows.sizes, rows.n_before, y, s2 / weight, values)
        if failed >= 0:
            raise SingularBlockError(singular_block(s2, rows.of_group(weight, failed)))
        constants = [
            repetition_constant(rows.of_group(weight, g)[k:], s2, rows.of_group(rows.counts, g)[k:])
            for g, k in enumerate(rows.n_before)
        ]
        total = total + values - y.shape[1] * np.array(constants)
    return total


def _runs(groups):
    """Yield runs of groups whose K have at most `_MOST_ENTRIES` different entries together."""
    run, n_entries = [], 0
    for group in groups:
        more = len(group.y) * (len(group.y) + 1) // 2
        if run and n_entries + more > _MOST_ENTRIES:
            yield run
            run, n_entries = [], 0
        run.append(group)
        n_entries += more
    yield run


class _Group(NamedTuple):
    """A group of rows, those that it is conditioned on first.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n, t)
    weight : ndarray of shape (n,) or (n, t)
    counts : ndarray of shape (n,)
    n_before : int
        Rows that it is conditioned on.
    class_noise : ClassNoise or None
        Where outputs are the regressions of classes.
    constant : float
        What the densities of all classes are less by, there, as they have weights.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    counts: np.ndarray
    n_before: int
    class_noise: ClassNoise | None
    constant: float

    @classmethod
    def of(cls, piece):
        """Return the group of `ConditionedRows` that have one."""
        (before, rows_B), rows = piece.groups[0], piece.rows
        rows = rows.select(np.concatenate([before, rows_B]))
        X, (weight, counts) = np.asarray(rows.X, dtype=np.float64), rows.weights
        k, class_noise, constant = len(before), None, 0.0
        if rows.of_classes:
            class_noise = ClassNoise.of(weight)
            constant = sum(repetition_constant(w[k:], 1.0, counts[k:]) for w in weight.T)
        return cls(X, rows.targets, weight, counts, k, class_noise, constant)


class _Run(NamedTuple):
    """Some groups, their rows one after the other.

    Attributes
    ----------
    X, y, weight, counts : ndarray
        As those of `_Group`.
    sizes, n_before, begins : ndarray of int, shape (g,)
        Of each group the number of its rows, of those that it is conditioned on, and its first.
    triangles : Groups
        All pairs of rows of one group.
    class_noise : list of ClassNoise or None
    constant : float
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    counts: np.ndarray
    sizes: np.ndarray
    n_before: np.ndarray
    begins: np.ndarray
    triangles: Groups
    class_noise: list | None
    constant: float

    @classmethod
    def of(cls, groups):
        arrays = [np.concatenate([group[i] for group in groups]) for i in range(4)]
        sizes = np.array([len(group.y) for group in groups])
        begins = np.cumsum(sizes) - sizes
        rows = np.split(np.arange(sizes.sum()), begins[1:])
        n_before = np.array([group.n_before for group in groups])
        has_classes = groups[0].class_noise is not None
        class_noise = [group.class_noise for group in groups] if has_classes else None
        constant = sum(group.constant for group in groups)
        return cls(*arrays, sizes, n_before, begins, Groups.triangles(rows), class_noise, constant)

    @property
    def in_B(self):
        """Mask (n,) of the rows that their group is not conditioned on."""
        return np.arange(len(self.y)) >= np.repeat(self.begins + self.n_before, self.sizes)

    def of_group(self, values, g):
        """Return the entries of the rows of one group."""
        return values[self.begins[g] : self.begins[g] + self.sizes[g]]


def _of_outputs(K, rows, outputs):
    """Return value, derivatives in the log noises, in K and in the targets."""
    in_B, counts = rows.in_B, rows.counts[rows.in_B]
    value, K_bar, y_bar = 0.0, empty(K.shape), np.empty_like(rows.y)
    K_bar.fill(0.0)
    noise = np.zeros(len(outputs))
    for i, (columns, s2) in enumerate(outputs):
        weight, y = weight_of(rows.weight, columns), np.ascontiguousarray(rows.y[:, columns])
        slopes, t = np.empty_like(y), y.shape[1]
        part, noise[i], failed = add_densities(
            K, rows.sizes, rows.n_before, y, s2 / weight, K_bar, slopes
        )
        if failed >= 0:
            raise SingularBlockError(singular_block(s2, rows.of_group(weight, failed)))
        value += part - t * repetition_constant(weight[in_B], s2, counts)
        noise[i] -= t * repetition_slope(counts)
        y_bar[:, columns] = slopes
    return value, noise, K_bar, y_bar


def _of_classes(K, rows):
    """Return the same for classes, whose noise is known."""
    number, other, less = (
        np.concatenate([getattr(class_noise, name) for class_noise in rows.class_noise])
        for name in ("number", "other", "less")
    )
    K_bar, y_bar, y = np.zeros_like(K), np.empty_like(rows.y), np.ascontiguousarray(rows.y)
    value, failed = add_class_densities(
        K, rows.sizes, rows.n_before, y, number, other, np.sqrt(less), K_bar, y_bar
    )
    if failed >= 0 or not np.isfinite(value):
        raise NotPositiveDefiniteError("the noise of a class leaves nothing of a covariance")
    return value - rows.constant, 0.0, K_bar, y_bar


def _errors(group, kernel, outputs):
    """Return errors of one group's rows, each by its own density p(y_n | y_N)."""
    X, y, weight, _, k, *_ = group
    K, errors = kernel.gram(X), np.empty((len(y) - k, y.shape[1]))
    for columns, s2 in outputs:
        L = _factorised(copy_of(K), weight_of(weight, columns), s2)
        whitened, L_B = np.ascontiguousarray(y[:, columns]), L[k:, k:]
        la.trsm(L, whitened)
        std = np.sqrt((L_B**2).sum(axis=1))
        errors[:, columns] = (L_B @ whitened[k:]) / std[:, None]
    return errors


def _in_turn(group, kernel, outputs):
    """Return means and variances of one group's rows, each by p(y_n | y_N, rows before it)."""
    X, y, weight, _, k, *_ = group
    K, mean, variance = kernel.gram(X), y[k:].copy(), np.empty((len(y) - k, y.shape[1]))
    for columns, s2 in outputs:
        L = _factorised(copy_of(K), weight_of(weight, columns), s2)
        whitened, std = np.ascontiguousarray(y[:, columns]), np.diagonal(L)[k:, None]
        la.trsm(L, whitened)
        mean[:, columns] -= std * whitened[k:]
        variance[:, columns] = std**2
    return mean, variance


def _left_out(groups, kernel):
    """Return means and variances of the classes' functions at the groups' own rows."""
    means, variances = [], []
    for group in groups:
        k = group.n_before
        K = kernel.gram(group.X)
        largest = np.diagonal(K)[k:, None].copy()  # that of a row that others say nothing of
        solved, precisions = _solve_classes(K, group.y, group.class_noise)
        precision, noise = precisions[k:], 1.0 / group.weight[k:]
        error, of_error = left_out_errors(solved[k:], precision)
        mean = group.y[k:] - error
        # of a row of tiny weight the difference is rounding alone
        variance = np.clip(of_error - noise, 0.0, largest)
        known = share_known(group.counts, group.class_noise.number)[k:, None] / noise
        shrunk = 1.0 + variance * known
        means.append((mean + variance * known * group.y[k:]) / shrunk)
        variances.append(variance / shrunk)
    return np.vstack(means), np.vstack(variances)


def share_known(counts, number):
    """Return the share of each row that stays where one of the rows it stands for is left out.

    Equal rows are one. If all of them were left out, of those of its inputs only rows of other
    classes would be known. What a class weighs, beside others, is no number of rows. ``number`` has
    their classes, (n,).
    """
    least = np.full(number.max() + 1, np.inf)
    np.minimum.at(least, number, counts)
    return 1.0 - np.minimum(np.maximum(least[number], 1.0) / counts, 1.0)


def _solve_classes(K, y, class_noise):
    """Return inv(S_c) y_c and diag(inv(S_c)) of all classes, both (n, C); overwrite K."""
    K.flat[:: len(K) + 1] += class_noise.other
    W = inverse_from_cholesky(cholesky(K, overwrite=True))
    factors = ClassFactors(W, class_noise)
    F = factors.F_times(W)  # all F_c
    solved = product(W, np.ascontiguousarray(y))
    la.gemm(W, factors.corrections(solved), solved, False, False, 1.0, 1.0)
    of_class = np.zeros(solved.shape)
    of_class[np.arange(len(class_noise)), class_noise.number[class_noise.order]] = 1.0
    precisions = np.diagonal(W)[:, None] + product(F * F, of_class, trans_a=True)
    return solved, precisions


def _factorised(K, weight, noise_variance):
    """Factorise K + noise, in the place of K."""
    K.flat[:: len(K) + 1] += noise_variance / weight
    if la.potrf(K) or not np.isfinite(np.diagonal(K)).all():
        raise SingularBlockError(singular_block(noise_variance, weight))
    return K
