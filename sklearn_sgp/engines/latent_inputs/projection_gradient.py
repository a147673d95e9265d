"""The part of a stochastic gradient that comes from projecting q(u) (docs/theory.md, eq. 71).

The gradient of the bound holds q(v). A step of kernel or inducing inputs moves q(v) too, since it
carries (H, h) over to the new inducing values. Where q(u) is optimal that changes nothing, at any
other q(u) the step would follow the gradient of another move, and the bound may fall.
"""

import numpy as np

from ..._linalg import product, sandwich


def projection_gradient(posterior, target, scale):
    """Differentiate the bound through the projected q(u) in theta and Z, at no move.

    Parameters
    ----------
    target : Posterior
        Information of some rows, with as many H as the posterior.
    scale : float
        What these rows are multiplied by to stand for all rows.

    Returns
    -------
    theta : ndarray of shape (n_theta,)
    Z : ndarray of shape (m, Q)
    """
    prior = posterior.prior
    C = np.zeros(prior.K.shape)
    for wanted, (precision, own) in zip(target.H, posterior.by_precision, strict=True):
        H, S = precision.H, precision.covariance
        h, V = posterior.h[:, own], np.ascontiguousarray(posterior.v_mean[:, own])
        lack = scale * (target.h[:, own] - product(wanted, V)) - V
        h_bar = product(S, lack)
        A = product(h_bar, V, trans_b=True)
        inner = product(S, product(H - scale * wanted, S))
        H_bar = -0.5 * (A + A.T + h.shape[1] * inner)
        C += 2.0 * product(H_bar, H)
        C += product(h_bar, np.ascontiguousarray(h), trans_b=True)
    G = sandwich(prior.L_inv, C, trans=True)
    of_factor = prior.kernel.gram_vjp(prior.Z, prior.gram_cotangent(C))
    of_block = prior.kernel.block_vjp(prior.Z, prior.Z, np.ascontiguousarray(G))
    return of_factor[0] + of_block[0], of_factor[1] + of_block[1]
