"""Log density of groups of rows given the rows around them, and its gradient.

    sum over groups of log p(y_B | y_N) = log N(y_NB; 0, K_NB + noise) - log N(y_N; 0, K_N + noise)

under the exact process: a composite likelihood (docs/theory.md, eq. 47). It needs no inducing
inputs, so that its gradient has no entry for them.
"""

from itertools import chain
from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .._linalg import NotPositiveDefiniteError, copy_of, product
from .._parallel import group_bounds, map_groups
from ..data.rows import weight_of
from ..factors.block_factors import (
    LOG_2PI,
    SingularBlockError,
    repetition_constant,
    repetition_slope,
    singular_block,
)
from ..factors.gradients import Gradient, noise_gradient
from ..factors.labelled import Labels
from ..gp.posterior import outputs_by_noise
from .classes.labelled import LabelledSolve


class NearRowsEvidence:
    """A function of `Parameters` that returns this density and its gradient.

    Parameters
    ----------
    groups : list of ConditionedRows
        Each has one group.
    n_jobs : int or None
    """

    def __init__(self, groups, n_jobs=None):
        self.groups, self.n_jobs = [_Group.of(piece) for piece in groups], n_jobs
        self.weight = sum(piece.total_weight for piece in groups)

    def __call__(self, parameters):
        return self._evaluate(self.groups, parameters)[:2]

    @property
    def targets(self):
        """Of each group, those that it is conditioned on first, (n, t), and the number of these."""
        return [(group.y, group.n_before) for group in self.groups]

    @property
    def counts(self):
        """Numbers of observations of each group's own rows."""
        return [group.counts[group.n_before :] for group in self.groups]

    @property
    def classes(self):
        """Classes of each group's own rows, where outputs have weights of their own."""
        return [group.labels[0].number[group.n_before :] for group in self.groups]

    def of_targets(self, parameters, targets):
        """The density of other targets, with its gradient in them.

        Parameters
        ----------
        parameters : Parameters
        targets : list of ndarray of shape (n, t)
            One for each group, in the order of `targets`.

        Returns
        -------
        value : float
        gradient : Gradient
            In kernel and noise.
        slopes : list of ndarray of shape (n, t)
            In the targets: -(inv(S) y - (inv(S_NN) y_N, 0)).
        """
        changed = zip(self.groups, targets, strict=True)
        return self._evaluate([group._replace(y=y) for group, y in changed], parameters)

    def _evaluate(self, groups, parameters):
        tasks = [
            (groups[lo:hi], parameters.kernel, parameters.noise_variance)
            for lo, hi in group_bounds(len(groups), 1)
        ]
        parts = map_groups(_sums, tasks, self.n_jobs)
        *sums, of_targets = zip(*parts, strict=True)
        value, theta, noise = (sum(part) for part in sums)
        if not np.isfinite(value):
            raise NotPositiveDefiniteError("the density of near rows is not finite")
        slope = noise_gradient(parameters.noise_variance, noise)
        return value, Gradient(theta=theta, log_noise=slope), list(chain.from_iterable(of_targets))

    def standardised_errors(self, parameters):
        """Of each row given y_N, in standard deviations of its prediction, noise included.

        Returns
        -------
        errors : ndarray of shape (n_own, t)
            Of the rows of all groups, one group after the other.
        """
        outputs = outputs_by_noise(parameters.noise_variance)
        return np.vstack([_errors(group, parameters.kernel, outputs) for group in self.groups])

    def left_out(self, parameters):
        """The functions of classes at each group's own rows, given all other rows of the group.

        With W = inv(S) the mean is y_n - (W y)_n / W_nn, the variance 1 / W_nn less the noise's.

        Returns
        -------
        mean, variance : ndarray of shape (n_own, C)
            Of the rows of all groups, one group after the other.
        """
        bounds = group_bounds(len(self.groups), 1)
        tasks = [(self.groups[lo:hi], parameters.kernel) for lo, hi in bounds]
        parts = map_groups(_left_out, tasks, self.n_jobs)
        return tuple(np.vstack(each) for each in zip(*parts, strict=True))


def _sums(groups, kernel, noise_variance):
    """Value and derivatives in theta, in the log of each noise variance and in each target."""
    outputs, value, theta = outputs_by_noise(noise_variance), 0.0, 0.0
    noise, of_targets = np.zeros(len(outputs)), []
    for group in groups:
        K = kernel.gram(group.X)
        if group.labels is None:
            part, K_bar, of_noise, y_bar = _of_outputs(K, group, outputs)
            noise += of_noise
        else:
            part, K_bar, y_bar = _of_classes(K, group)
        value += part
        theta = theta + kernel.gram_vjp(group.X, K_bar, False)[0]
        of_targets.append(y_bar)
    return value, theta, noise, of_targets


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
    labels : tuple of Labels or None
        Where outputs are the regressions of classes: of all rows, and of the first.
    constant : float
        What the densities of all classes are less by, there, as they have weights.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    counts: np.ndarray
    n_before: int
    labels: tuple | None
    constant: float

    @classmethod
    def of(cls, piece):
        """The group of some `ConditionedRows` that have one."""
        (before, own), rows = piece.groups[0], piece.rows
        rows = rows.select(np.concatenate([before, own]))
        X, (weight, counts) = np.asarray(rows.X, dtype=np.float64), rows.weights
        k, labels, constant = len(before), None, 0.0
        if rows.of_classes:
            labels = Labels.of(weight), Labels.of(weight[:k]) if k else None
            constant = sum(repetition_constant(w[k:], 1.0, counts[k:]) for w in weight.T)
        return cls(X, rows.targets, weight, counts, k, labels, constant)


def _of_outputs(K, group, outputs):
    """Value of a group, and its derivatives in K, in the log noises and in the targets."""
    _, y, weight, counts, k, *_ = group
    value, K_bar, noise, y_bar = 0.0, None, np.zeros(len(outputs)), np.empty_like(y)
    for i, (own, s2) in enumerate(outputs):
        of_own, own_weight = np.ascontiguousarray(y[:, own]), weight_of(weight, own)
        part, S_bar, y_bar[:, own] = _conditional(copy_of(K), of_own, own_weight, k, s2)
        value += part - of_own.shape[1] * repetition_constant(own_weight[k:], s2, counts[k:])
        slope = float((np.diagonal(S_bar) / own_weight).sum())
        noise[i] = s2 * slope - of_own.shape[1] * repetition_slope(counts[k:])
        K_bar = S_bar if K_bar is None else K_bar + S_bar
    return value, K_bar, noise, y_bar


def _of_classes(K, group):
    """The same of classes, whose noise is known: joint density over that of the conditions."""
    y, k, labels = group.y, group.n_before, group.labels
    before = np.ascontiguousarray(K[:k, :k])
    solve = LabelledSolve(K, y, labels[0])
    value, K_bar, y_bar = solve.log_density(), solve.slope(), -solve.solved
    if k:
        solve = LabelledSolve(before, y[:k], labels[1])
        value -= solve.log_density()
        K_bar[:k, :k] -= solve.slope()
        y_bar[:k] += solve.solved
    return value - group.constant, K_bar, y_bar


def _errors(group, kernel, outputs):
    """Errors of one group's rows, each by its own density p(y_n | y_N)."""
    X, y, weight, _, k, *_ = group
    K, errors = kernel.gram(X), np.empty((len(y) - k, y.shape[1]))
    for own, s2 in outputs:
        L = _factorised(copy_of(K), weight_of(weight, own), s2)
        whitened, L_B = np.ascontiguousarray(y[:, own]), L[k:, k:]
        la.trsm(L, whitened)
        std = np.sqrt((L_B**2).sum(axis=1))
        errors[:, own] = (L_B @ whitened[k:]) / std[:, None]
    return errors


def _left_out(groups, kernel):
    """Means and variances of the classes' functions at the own rows of some groups."""
    means, variances = [], []
    for group in groups:
        k = group.n_before
        K = kernel.gram(group.X)
        largest = np.diagonal(K)[k:, None].copy()  # that of a row that others say nothing of
        solve = LabelledSolve(K, group.y, group.labels[0])
        precision, noise = solve.precisions()[k:], 1.0 / group.weight[k:]
        means.append(group.y[k:] - solve.solved[k:] / precision)
        # of a row of tiny weight the difference is rounding alone
        variances.append(np.clip(1.0 / precision - noise, 0.0, largest))
    return np.vstack(means), np.vstack(variances)


def _factorised(K, weight, noise_variance):
    """Cholesky factor of K + noise, in the place of K."""
    K.flat[:: len(K) + 1] += noise_variance / weight
    if la.potrf(K) or not np.isfinite(np.diagonal(K)).all():
        raise SingularBlockError(singular_block(noise_variance, weight))
    return K


def _conditional(K, y, weight, k, noise_variance):
    """log p(y_B | y_N) and its slopes in S = K + noise, in the place of K, and in y.

    N are the first k rows. With C = inv(S_NN) S_NB, P = (-C, 1), R = P^T S P and b = inv(R) P^T y
    the slope in y is -P b, and that in S

        P (b b^T - t inv(R)) P^T / 2 + (P b a^T + a b^T P^T) / 2        a = (inv(S_NN) y_N, 0)

    since C moves with S, too (docs/theory.md, eq. 47).
    """
    (n, t), L = y.shape, _factorised(K, weight, noise_variance)
    whitened, L_B = copy_of(y), np.ascontiguousarray(L[k:, k:])  # L_B: of R
    la.trsm(L, whitened)
    error = np.ascontiguousarray(whitened[k:])
    half_log_det = float(np.log(np.diagonal(L_B)).sum())
    value = -0.5 * float(np.vdot(error, error)) - t * (half_log_det + 0.5 * (n - k) * LOG_2PI)
    b, of_own = _slope_of_own(L_B, error)
    if not k:
        return value, of_own, -b
    L_N = np.ascontiguousarray(L[:k, :k])
    C, a_N = np.ascontiguousarray(L[k:, :k].T), np.ascontiguousarray(whitened[:k])
    la.trsm(L_N, C, True)
    la.trsm(L_N, a_N, True)
    P, a = np.vstack([-C, np.eye(n - k)]), np.vstack([a_N, np.zeros((n - k, t))])
    Pb = product(P, b)
    # L is needed no more
    la.gemm(product(P, of_own), P, K, False, True, 1.0, 0.0)
    la.gemm(Pb, a, K, False, True, 0.5, 1.0)
    la.gemm(a, Pb, K, False, True, 0.5, 1.0)
    return value, K, -Pb


def _slope_of_own(L_B, error):
    """b and (b b^T - t inv(R)) / 2, in the places of inv(chol(R)) P^T y and of chol(R)."""
    la.trsm(L_B, error, True)
    la.potri(L_B)
    la.mirror(L_B)
    la.gemm(error, error, L_B, False, True, 0.5, -0.5 * error.shape[1])
    return error, L_B
