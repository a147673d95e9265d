"""Evidence of the models whose factors belong to blocks of rows, and its gradient.

By the envelope theorem the gradient at the optimal q(u), the second pass, is that of log Z
(docs/theory.md, eq. 27).
"""

import numpy as np

from .._linalg import NotPositiveDefiniteError
from ..factors.block_sums import block_gradient_sums, block_sums, pieces_of_blocks
from ..gp.prior import Prior


def block_evidence(parameters, blocks, delta, model, *, copies=1.0, with_inputs=True, n_jobs=None):
    """Compute log Z of a model and its gradient, by two passes over the blocks.

    Parameters
    ----------
    blocks : list of Rows
    delta : float
        Jitter in units of the kernel.
    copies : float
        How many blocks each of these stands for.

    Returns
    -------
    value : float
        Of all the blocks stood for.
    gradient : Gradient or None
        None of a model that has none.
    """
    prior = Prior.build(parameters.kernel, parameters.Z, delta)
    s2 = parameters.noise_variance
    pieces = pieces_of_blocks(blocks, len(prior.Z), model, n_jobs, s2)
    posterior, constant = block_sums(prior, pieces, s2, model).scaled(copies)
    value = posterior.log_evidence(constant)
    if not np.isfinite(value):
        raise NotPositiveDefiniteError("the evidence is not finite")
    if not model.has_gradient:
        return value, None
    sums = block_gradient_sums(posterior, pieces, s2, model, with_inputs=with_inputs)
    return value, sums.gradient(prior, with_inputs).scaled(copies)
