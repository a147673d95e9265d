"""The bound of Titsias (2009), with q(u) at its optimum, and its reverse mode in m x m matrices.

docs/theory.md, eqs. 10 and 11; in nats, for targets as scaled.
"""

from typing import NamedTuple

import numpy as np

from .._core._memory import empty
from ..factors.row_sums import SumsCotangent, accumulate, block_store, pull_back
from .._linalg import NotPositiveDefiniteError
from ..gp.posterior import DIRECT_GRADIENT_LIMIT, DIRECT_LIMIT, Prior
from ..gp.coordinates import DirectState, WhitenedState


class Gradient(NamedTuple):
    """Derivatives of an objective.

    ``theta`` (n_theta,) in the kernel's log parameters, ``log_noise`` a number, ``Z`` (m, d) or
    0.0 where it was not asked for.
    """

    theta: np.ndarray
    log_noise: float
    Z: np.ndarray

    def scaled(self, factor):
        """The gradient of ``factor`` times the objective."""
        return Gradient(*(factor * part for part in self))


class CollapsedTerms(NamedTuple):
    """Value of the collapsed bound and the cotangents of what it was made from."""

    value: float
    sums: SumsCotangent
    K: np.ndarray
    log_noise: float


def collapsed_value(state, sums, noise_variance):
    """The bound itself (docs/theory.md, eq. 10).

    Parameters
    ----------
    state : states.WhitenedState or states.DirectState
        q(u) at its optimum.
    sums : factors.Sums
        Only its scalars are used.
    noise_variance : float

    Returns
    -------
    value : float
    """
    t = state.h.shape[1]
    unexplained = sums.diagonal / noise_variance - state.explained
    return 0.5 * (
        -t * sums.weight * np.log(2.0 * np.pi * noise_variance)
        - sums.targets / noise_variance
        - t * state.log_det
        + state.fit
        - t * max(unexplained, 0.0)
    )


def collapsed_terms(state, sums, noise_variance):
    """Value and cotangents of the collapsed bound; parameters as in `collapsed_value`."""
    s2, t = noise_variance, state.h.shape[1]
    H_cotangent = state.information_cotangent()
    scaled = np.divide(H_cotangent, s2, out=empty(H_cotangent.shape))
    informed = float(np.vdot(H_cotangent, state.H)) + state.fit
    log_noise = 0.5 * (sums.targets / s2 + t * sums.diagonal / s2 - t * sums.weight) - informed
    return CollapsedTerms(
        collapsed_value(state, sums, s2),
        SumsCotangent(scaled, state.coefficients / s2, -0.5 * t / s2),
        state.collapsed_gram_cotangent(H_cotangent),
        log_noise,
    )


def information_bound(kernel, rows, noise_variance):
    """What the trace of H, and with it its largest eigenvalue, can hardly exceed.

    tr H <= sum w k(x, x) / noise; the largest of about 1,000 k(x, x) stands for all.
    """
    sample = rows.X[:: max(1, len(rows) // 1000)]
    return float(kernel.diag(sample).max()) * rows.total_weight / noise_variance


def suitable_form(rows, prior, noise_variance, limit=DIRECT_LIMIT):
    """DirectState where it is safe, else WhitenedState."""
    information = information_bound(prior.kernel, rows, noise_variance)
    return DirectState if prior.direct_is_safe(information, limit) else WhitenedState


def optimal_state(prior, rows, noise_variance, *, form=None, n_jobs=None, store=None):
    """The optimal q(u), by one pass over the rows.

    Parameters
    ----------
    prior : Prior
    rows : rows.Rows
    noise_variance : float
    form : type or None
        WhitenedState or DirectState; None takes what is safe.
    n_jobs : int or None
    store : list or None
        From `factors.block_store`.

    Returns
    -------
    state : WhitenedState or DirectState
    sums : factors.Sums
        In the same form.
    """
    form = form or suitable_form(rows, prior, noise_variance)
    L_inv = prior.L_inv if form is WhitenedState else None
    sums = accumulate(prior.kernel, prior.Z, L_inv, rows, n_jobs=n_jobs, store=store)
    return form.from_sums(prior, sums, noise_variance), sums


def collapsed_bound(
    parameters,
    rows,
    delta,
    *,
    with_inputs=True,
    n_jobs=None,
    form=None,
    limit=DIRECT_GRADIENT_LIMIT,
):
    """Collapsed bound and its gradient, by two passes over the rows.

    Parameters
    ----------
    parameters : learning.Parameters
        Kernel expression, theta, log noise variance and Z.
    rows : rows.Rows
    delta : float
        Jitter in units of the kernel.
    with_inputs : bool
        Whether the gradient in Z is wanted.
    n_jobs : int or None
    form : type or None
        WhitenedState or DirectState; None takes what ``limit`` says.
    limit : float
        Largest amplification of rounding with which the direct form is taken.

    Returns
    -------
    value : float
    gradient : Gradient

    Raises
    ------
    NotPositiveDefiniteError
        If K(Z, Z) does not factorise, or the value is not finite.
    """
    kernel, Z, s2 = parameters.kernel, parameters.Z, parameters.noise_variance
    prior = Prior.build(kernel, Z, delta)
    form = form or suitable_form(rows, prior, s2, limit)
    store = block_store(len(Z), rows)
    state, sums = optimal_state(prior, rows, s2, form=form, n_jobs=n_jobs, store=store)
    terms = collapsed_terms(state, sums, s2)
    if not np.isfinite(terms.value):
        raise NotPositiveDefiniteError("the bound is not finite")
    theta, grad_Z = pull_back(
        kernel,
        Z,
        state.block_factor,
        rows,
        terms.sums,
        with_inputs=with_inputs,
        n_jobs=n_jobs,
        store=store,
    )
    theta_K, Z_K = kernel.gram_vjp(Z, terms.K, with_inputs)
    return terms.value, Gradient(
        theta + theta_K, terms.log_noise, grad_Z + (0.0 if Z_K is None else Z_K)
    )
