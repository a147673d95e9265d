"""The bound of Titsias (2009), with q(u) at its optimum, and its reverse mode in m x m matrices.

docs/theory.md, eqs. 10 and 11; in nats, for targets as scaled.
"""

from typing import NamedTuple

import numpy as np

from .._core import _linalg as la
from .._core._memory import empty
from .._linalg import NotPositiveDefiniteError
from ..data.rows import outputs_by_noise
from ..factors.gradients import Gradient
from ..factors.passes import Pieces
from ..factors.row_sums import RowSumsCotangent, row_sums, row_sums_gradient
from ..gp.coordinates import DIRECT_GRADIENT_LIMIT, choose_coordinates
from ..gp.prior import Prior


class CollapsedTerms(NamedTuple):
    """Value of the collapsed bound and the cotangents of what it was made from."""

    value: float
    sums: RowSumsCotangent
    K: np.ndarray
    log_noise: float | np.ndarray


def collapsed_value(q, sums, noise_variance):
    """Compute the bound (docs/theory.md, eq. 10).

    Parameters
    ----------
    q : Whitened, Direct or Separate
        q(u) at its optimum.
    sums : RowSums
        Only its scalars are used.
    noise_variance : float or ndarray of shape (t,)
        With one for each output the bound is the sum of those of the outputs.
    """
    return sum(_value(one, sums, *noise) for one, noise in _each(q, noise_variance))


def _each(q, noise_variance):
    """Pair the parts of q with one H with the outputs and noise variance of each."""
    return zip(q.outputs, outputs_by_noise(noise_variance), strict=True)


def _value(q, sums, columns, s2):
    t = q.h.shape[1]
    unexplained = _of(sums.diagonal, columns) / s2 - q.trace_H
    return 0.5 * (
        -t * sums.weight * np.log(2.0 * np.pi * s2)
        - float(sums.targets[columns].sum()) / s2
        - t * q.log_det
        + q.quadratic
        - t * max(unexplained, 0.0)
    )


def _of(diagonal, columns):
    """Return the diagonal's sum of some outputs: the same of all, or that of the one."""
    return diagonal if np.ndim(diagonal) == 0 else float(diagonal[columns.start])


def collapsed_terms(q, sums, noise_variance):
    """Return value and cotangents of the collapsed bound; parameters as in `collapsed_value`."""
    each = (_terms(one, sums, *noise) for one, noise in _each(q, noise_variance))
    first = next(each)
    if not np.ndim(noise_variance):
        return first
    differ, grams = sums.gram.ndim == 3, [first.sums.gram]
    parts = [(first.value, first.sums.cross, first.sums.diagonal, first.log_noise)]
    for other in each:
        if differ:
            grams.append(other.sums.gram)
        else:  # (m, m) arrays of one output at a time
            la.axpy(1.0, other.sums.gram, first.sums.gram)
        la.axpy(1.0, other.K, first.K)
        parts.append((other.value, other.sums.cross, other.sums.diagonal, other.log_noise))
    value, cross, diagonal, log_noise = zip(*parts, strict=True)
    gram, diagonal = (np.stack(grams), np.array(diagonal)) if differ else (grams[0], sum(diagonal))
    cotangent = RowSumsCotangent(gram, np.hstack(cross), diagonal)
    return CollapsedTerms(sum(value), cotangent, first.K, np.array(log_noise))


def _terms(q, sums, columns, s2):
    t, targets = q.h.shape[1], float(sums.targets[columns].sum())
    H_cotangent = q.information_cotangent()  # (m, m)
    scaled = np.divide(H_cotangent, s2, out=empty(H_cotangent.shape))
    informed = float(np.vdot(H_cotangent, q.H)) + q.quadratic
    unexplained = t * (_of(sums.diagonal, columns) / s2 - sums.weight)
    log_noise = 0.5 * (targets / s2 + unexplained) - informed
    return CollapsedTerms(
        _value(q, sums, columns, s2),
        RowSumsCotangent(scaled, q.coefficients / s2, -0.5 * t / s2),
        q.collapsed_gram_cotangent(H_cotangent),
        log_noise,
    )


def optimal_q(prior, pieces, noise_variance, coordinates):
    """Return the optimal q(u), by one pass over the rows, and `RowSums` in the same coordinates.

    For ``coordinates``, Whitened or Direct, see `gp.coordinates.choose_coordinates`.
    """
    L_inv = prior.L_inv if coordinates.whitens else None
    sums = row_sums(prior.kernel, prior.Z, L_inv, pieces)
    return coordinates.from_sums(prior, sums.gram, sums.cross, noise_variance), sums


def collapsed_bound(
    parameters,
    rows,
    delta,
    *,
    with_inputs=True,
    n_jobs=None,
    coordinates=None,
    limit=DIRECT_GRADIENT_LIMIT,
):
    """Compute the collapsed bound and its gradient, by two passes over the rows.

    Parameters
    ----------
    delta : float
        Jitter in units of the kernel.
    with_inputs : bool
        Whether the gradient in Z is wanted.
    coordinates : type or None
        Whitened or Direct; None takes what ``limit`` says.
    limit : float
        Largest amplification of rounding with which direct coordinates are taken.
    """
    kernel, Z, s2 = parameters.kernel, parameters.Z, parameters.noise_variance
    prior = Prior.build(kernel, Z, delta)
    coordinates = coordinates or choose_coordinates(rows, prior, s2, limit)
    pieces = Pieces.of_rows(rows, len(Z), n_jobs)
    q, sums = optimal_q(prior, pieces, s2, coordinates)
    terms = collapsed_terms(q, sums, s2)
    if not np.isfinite(terms.value):
        raise NotPositiveDefiniteError("the bound is not finite")
    theta, grad_Z = row_sums_gradient(
        kernel, Z, q.block_factor, pieces, terms.sums, with_inputs=with_inputs
    )
    theta_K, Z_K = kernel.gram_vjp(Z, terms.K, with_inputs)
    return terms.value, Gradient(
        theta=theta + theta_K, log_noise=terms.log_noise, Z=grad_Z + (0.0 if Z_K is None else Z_K)
    )
