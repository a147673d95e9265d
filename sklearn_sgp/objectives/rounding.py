"""How far rounding lets a run of an optimiser use direct coordinates; measured where it begins."""

import numpy as np

from .._linalg import NotPositiveDefiniteError
from ..gp.coordinates import DIRECT_GRADIENT_LIMIT, Direct, Whitened, rounding_amplification
from ..gp.prior import Prior
from .collapsed import collapsed_bound

_ROUNDING_ROWS = 2048
# Largest error of the gradient in direct coordinates, in nats a row and unit of a variable. The
# tests of convergence compare 1e-4 nats a row.
_GRADIENT_ERROR = 1e-5
# K(Z, Z) changes along the run, and the error may grow faster than the amplification.
_ROUNDING_SAFETY = 10.0
_LARGEST_LIMIT = 1e-2


def gradient_limit(parameters, rows, delta, space, n_jobs=None):
    """Return the largest amplification of rounding with which this run may take direct coordinates.

    `DIRECT_GRADIENT_LIMIT` is safe anywhere. Where both coordinates agree at the start, what the
    direct ones may lose follows from their difference.

    Parameters
    ----------
    parameters : Parameters
        Where the run begins.
    rows : Rows
        Of the run.
    delta : float
        Jitter in units of the kernel.
    """
    if len(rows) < 2 * _ROUNDING_ROWS:
        return DIRECT_GRADIENT_LIMIT
    prior = Prior.build(parameters.kernel, parameters.Z, delta)
    amplification = rounding_amplification(prior, rows, parameters.noise_variance)
    if not DIRECT_GRADIENT_LIMIT < amplification < _LARGEST_LIMIT:
        return DIRECT_GRADIENT_LIMIT
    sample = rows.fixed_sample(_ROUNDING_ROWS)

    def gradient(coordinates):
        _, parts = collapsed_bound(
            parameters,
            sample,
            delta,
            with_inputs=space.learns("Z"),
            n_jobs=n_jobs,
            coordinates=coordinates,
        )
        return space.pack_gradient(parts)

    try:
        error = np.abs(gradient(Direct) - gradient(Whitened)).max()
    except NotPositiveDefiniteError:
        return DIRECT_GRADIENT_LIMIT
    allowed = _GRADIENT_ERROR * rows.total_weight
    room = allowed / (_ROUNDING_SAFETY * max(error, np.finfo(float).tiny))
    return float(max(DIRECT_GRADIENT_LIMIT, amplification * min(room, _ROUNDING_SAFETY)))
