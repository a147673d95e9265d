"""The bound of a Bayesian GPLVM, its q(u) and its gradient (docs/theory.md, eqs. 68 and 69).

One formula serves both forms: given q(u) it is the bound of stochastic variational inference, and
with q(u) at its optimum the collapsed one, whose gradient it then has too. In nats, for outputs as
scaled.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .._linalg import NotPositiveDefiniteError, product, sandwich
from .._parallel import map_groups
from ..factors.gradients import Gradient
from ..gp.posterior import Posterior, Precision
from ..gp.prior import Prior
from .expectations import expectations_of
from .packed import pack, unpack
from .passes import InputPosteriors, LatentSums, latent_sums, latent_sums_gradient


def inputs_of(parameters):
    """Return q(x) of `Parameters`: their groups "mean" and "log_variance", (n, Q) each."""
    values = parameters.values
    return InputPosteriors(values["mean"], np.exp(values["log_variance"]))


@dataclass(frozen=True)
class Group:
    """Outputs that share a matrix H: one pattern of missing entries, one noise variance."""

    pattern: int
    noise_variance: float
    columns: np.ndarray  # of int


def groups_of(pattern, noise_variance):
    """Group all outputs."""
    if np.ndim(noise_variance):
        return [
            Group(k, float(s2), np.array([p]))
            for p, (k, s2) in enumerate(zip(pattern, noise_variance, strict=True))
        ]
    ks = np.unique(pattern)
    return [Group(k, float(noise_variance), np.flatnonzero(pattern == k)) for k in ks]


class Moments(NamedTuple):
    """q(v) of the outputs of a group: means (m, t), and a `Precision` that they share."""

    mean: np.ndarray
    precision: Precision


class GroupTerms(NamedTuple):
    """Terms of the bound of a group of outputs, and cotangents in whitened coordinates."""

    value: float
    log_noise: np.ndarray  # (t,)
    H: np.ndarray  # (m, m): cotangent of H
    mean: np.ndarray  # (m, t): of h
    gram: np.ndarray  # (m, m): of A, times A^T


def group_terms(group, sums, counts, squares, L_inv, given):
    """Compute the terms of a group, with q(v) given or at its optimum.

    Parameters
    ----------
    counts, squares : ndarray of shape (P,)
        Observed entries of each output, and sums of their squares.
    L_inv : ndarray of shape (m, m)
    given : Moments or None
    """
    s2, columns = group.noise_variance, group.columns
    H, h, unexplained = information(group, sums, L_inv)
    if given is None:
        precision = Precision(H)
        given = Moments(precision.solve(h), precision)
    mean, precision = given
    B = product(mean, mean, trans_b=True)
    la.axpy(float(len(columns)), precision.covariance_change, B)
    B *= -0.5
    informed, fitted = la.dot(B, H), np.einsum("mt,mt->t", mean, h)
    # of psi0: what H leaves is part of B, and is put back for the clipping
    lost = max(unexplained, 0.0) + np.trace(H)
    value = fitted.sum() + informed - precision.kl(mean)
    value -= 0.5 * (counts[columns] * np.log(2.0 * np.pi * s2) + squares[columns] / s2 + lost).sum()
    log_noise = 0.5 * (squares[columns] / s2 + lost - counts[columns]) - fitted
    log_noise -= informed / len(columns)
    gram = product(B, H)
    gram *= 2.0
    la.gemm(mean, h, gram, False, True, 1.0, 1.0)
    return GroupTerms(float(value), log_noise, B, mean, gram)


def information(group, sums, L_inv):
    """Return H (m, m), h (m, t), and what psi0 leaves unexplained of one output over its noise."""
    s2, m = group.noise_variance, len(L_inv)
    H = sandwich(L_inv, unpack(sums.psi2[group.pattern], m))
    H /= s2
    h = np.ascontiguousarray(sums.cross[group.columns].T) / s2
    la.trmm(L_inv, h)
    return H, h, float(sums.psi0[group.pattern] / s2 - np.trace(H))


def _part(groups, sums, counts, squares, L_inv, given):
    """Return value and cotangents of some groups, summed where they can be."""
    m, n_columns = len(L_inv), sum(len(group.columns) for group in groups)
    value, gram, cross = 0.0, np.zeros((m, m)), np.empty((n_columns, m))
    log_noise, psi2, psi0, lo = np.empty(n_columns), [], [], 0
    for group, moments in zip(groups, given, strict=True):
        terms = group_terms(group, sums, counts, squares, L_inv, moments)
        hi, s2 = lo + len(group.columns), group.noise_variance
        value += terms.value
        gram += terms.gram
        log_noise[lo:hi] = terms.log_noise
        cross[lo:hi] = product(L_inv, terms.mean, trans_a=True).T / s2
        psi2.append(pack(sandwich(L_inv, terms.H, trans=True)) / s2)
        psi0.append(-0.5 * len(group.columns) / s2)
        lo = hi
    return value, gram, log_noise, cross, psi2, psi0


class BoundTerms(NamedTuple):
    """The bound without the divergences of q(x), and the cotangents of what it was made from."""

    value: float
    log_noise: np.ndarray  # (P,)
    gram: np.ndarray  # (m, m): of A, times A^T, summed
    sums: LatentSums


# Tasks into which the groups are divided.
_GROUP_TASKS = 8


def bound_terms(groups, sums, counts, squares, L_inv, given=None, n_jobs=None):
    """Compute the terms of all groups of outputs; ``given`` has their `Moments`, or is None."""
    given = [None] * len(groups) if given is None else given
    each = -(-len(groups) // _GROUP_TASKS)
    cuts = [slice(lo, lo + each) for lo in range(0, len(groups), each)]
    tasks = [(groups[cut], sums, counts, squares, L_inv, given[cut]) for cut in cuts]
    parts = map_groups(_part, tasks, n_jobs)
    columns = np.concatenate([group.columns for group in groups])
    log_noise, cross = np.empty(len(columns)), np.empty(sums.cross.shape)
    log_noise[columns] = np.concatenate([part[2] for part in parts])
    cross[columns] = np.concatenate([part[3] for part in parts])
    psi0, psi2 = np.zeros(len(sums.psi0)), np.zeros(sums.psi2.shape)
    psi0_, psi2_ = ([one for part in parts for one in part[k]] for k in (5, 4))
    for group, of_psi0, of_psi2 in zip(groups, psi0_, psi2_, strict=True):
        psi0[group.pattern] += of_psi0
        psi2[group.pattern] += of_psi2
    value, gram = sum(part[0] for part in parts), sum(part[1] for part in parts)
    return BoundTerms(value, log_noise, gram, LatentSums(psi0, cross, psi2))


def latent_bound(parameters, table, delta, *, given=None, n_jobs=None):
    """Compute bound and gradient of a table, by two passes over its rows.

    Parameters
    ----------
    parameters : Parameters
        With q(x) of all rows, see `inputs_of`.
    delta : float
        Jitter in units of the kernel.
    given : Posterior or None
        q(u), held in whitened coordinates; None takes the optimum.
    """
    kernel, Z, s2 = parameters.kernel, parameters.Z, parameters.noise_variance
    prior, q = Prior.build(kernel, Z, delta), inputs_of(parameters)
    expectations = expectations_of(kernel, Z)
    sums = latent_sums(expectations, q, table, n_jobs)
    groups = groups_of(table.pattern, s2)
    moments = None
    if given is not None:
        groups = parted_by_H(groups, given)
        moments = moments_of(given, groups)
    terms = bound_terms(groups, sums, *table.counts(), prior.L_inv, moments, n_jobs)
    value = terms.value - float(q.kl().sum())
    if not np.isfinite(value):
        raise NotPositiveDefiniteError("the bound is not finite")
    of_sums = latent_sums_gradient(expectations, q, table, terms.sums, n_jobs)
    theta_K, Z_K = kernel.gram_vjp(Z, prior.gram_cotangent(terms.gram))
    return value, Gradient(
        theta=of_sums.theta + theta_K,
        log_noise=terms.log_noise if np.ndim(s2) else float(terms.log_noise.sum()),
        Z=of_sums.Z + Z_K,
        mean=of_sums.mean - q.mean,
        log_variance=q.variance * of_sums.variance - 0.5 * (q.variance - 1.0),
    )


def parted_by_H(groups, posterior):
    """Part groups whose outputs have an H each under a posterior; those with equal ones stay.

    Rows before may have missed other entries than these rows.
    """
    if len(posterior.H) == 1:
        return groups
    parted = []
    for group in groups:
        alike = {}
        for p in group.columns:
            alike.setdefault(posterior.H[p].tobytes(), []).append(p)
        parted += [replace(group, columns=np.array(columns)) for columns in alike.values()]
    return parted


def moments_of(posterior, groups):
    """Return the `Moments` of groups of outputs under a posterior."""
    shared = len(posterior.H) == 1
    return [
        Moments(
            np.ascontiguousarray(posterior.v_mean[:, group.columns]),
            posterior.precisions[0 if shared else group.columns[0]],
        )
        for group in groups
    ]


def posterior_of(prior, groups, sums):
    """Return the optimal q(u) of all outputs."""
    h = np.empty((len(prior.Z), len(sums.cross)))
    H = [None] * len(sums.cross)
    for group in groups:
        H_group, h[:, group.columns], _ = information(group, sums, prior.L_inv)
        for p in group.columns:
            H[p] = H_group
    return Posterior(prior, (H[0],) if len(groups) == 1 else tuple(H), h)
