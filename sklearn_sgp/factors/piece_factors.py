"""Which factors a piece of the data has: one of all outputs, or one for each noise variance."""

import numpy as np

from .._linalg import copy_of
from ..gp.posterior import outputs_by_noise
from .block_factors import DenseFactor, DiagonalFactor, MixtureFactor
from .conditioned import ConditionedFactor


def block_factors(prior, rows, noise_variance, model):
    """The factors of some rows: one of all outputs, or one for each.

    Parameters
    ----------
    prior : Prior
    rows : Rows
        Of positive weight.
    noise_variance : float or ndarray of shape (t,)
    model : Model or Mixture

    Returns
    -------
    factors : list of DiagonalFactor, DenseFactor or MixtureFactor
        As many as there are noise variances.
    """
    if model.conditioned:
        return _conditioned_factors(prior, rows, noise_variance)
    A, targets = prior.whitened(rows.X), rows.targets
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight.astype(np.float64)
    outputs = outputs_by_noise(noise_variance)
    diagonal = prior.kernel.diag(rows.X)
    gram = prior.kernel.gram(rows.X) if model.dense else None
    n_copies = len(outputs) * model.n_dense - 1  # each factor overwrites its own

    def single(model, y, s2):
        nonlocal n_copies
        if not model.dense:
            return DiagonalFactor(A, y, weight, diagonal, s2, model)
        n_copies -= 1
        return DenseFactor(A, y, weight, copy_of(gram) if n_copies >= 0 else gram, s2, model)

    def factor(y, s2):
        parts = [(share, single(component, y, s2)) for component, share in model.components]
        return parts[0][1] if len(parts) == 1 else MixtureFactor(parts)

    return [factor(np.ascontiguousarray(targets[:, own]), s2) for own, s2 in outputs]


def _conditioned_factors(prior, rows, noise_variance):
    A, targets = prior.whitened(rows.X), rows.targets
    weight = np.ones(len(rows.X)) if rows.weight is None else rows.weight.astype(np.float64)

    def gram(index):
        return prior.kernel.gram(rows.X[index])

    return [
        ConditionedFactor(A, np.ascontiguousarray(targets[:, own]), weight, gram, rows.groups, s2)
        for own, s2 in outputs_by_noise(noise_variance)
    ]
