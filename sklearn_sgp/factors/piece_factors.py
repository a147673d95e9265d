"""Which factors a piece of the data has: one of all outputs, or one for each noise variance."""

import numpy as np

from .._linalg import copy_of
from ..data.rows import outputs_by_noise, weight_of
from ..kernels import Groups
from .block_factors import MixtureFactor, naming_block
from .class_noise import ClassNoise
from .conditioned import ConditionedFactor, rows_of_groups


def block_factors(prior, rows, noise_variance, model):
    """Return the factors of some rows: one of all outputs, or one for each.

    Parameters
    ----------
    rows : Rows or ConditionedRows
        Of positive weight.
    noise_variance : float or ndarray of shape (t,)

    Returns
    -------
    factors : list of DiagonalFactor, DenseFactor, OwnFactor, MixtureFactor or ConditionedFactor
        As many as there are noise variances.
    """
    kernel, targets = prior.kernel, rows.targets
    weight, counts = rows.weights
    outputs = outputs_by_noise(noise_variance)
    by_output = [
        (np.ascontiguousarray(targets[:, columns]), weight_of(weight, columns), s2)
        for columns, s2 in outputs
    ]
    if model.conditioned:
        X, At = np.asarray(rows.X, dtype=np.float64), prior.whitened_rows(rows.X)
        K = kernel.blocks(X, X, Groups.triangles(rows_of_groups(rows.groups)))
        return [
            ConditionedFactor(At, y, weight, K, rows.groups, s2, counts)
            for y, weight, s2 in by_output
        ]
    A, diagonal = prior.whitened(rows.X), kernel.diag(rows.X)
    gram = kernel.gram(rows.X) if model.dense else None
    n_left = len(outputs)

    def single(model, y, weight, s2):
        if not model.dense:
            factor = model.factor(A, y, weight, counts, diagonal, s2)
            return _observed(factor) if np.isnan(y).any() else factor
        K = copy_of(gram) if n_left else gram  # each factor overwrites its own
        return model.factor(A, y, weight, counts, K, s2)

    factors = []
    for each in by_output:
        n_left -= 1
        parts = [(share, single(one, *each)) for one, share in model.components]
        is_one = len(parts) == 1 and parts[0][0] == 1.0
        factors.append(parts[0][1] if is_one else MixtureFactor(parts))
    return factors


def _observed(factor):
    """Leave rows out whose target is NaN, of an output that has a factor of its own."""
    missing = np.isnan(factor.y)
    factor.y = np.where(missing, 0.0, factor.y)
    factor.weight = np.where(missing[:, 0], 0.0, factor.weight)
    return factor


def class_factors(prior, rows, noise_variance, model):
    """Return one factor of some rows for the regressions of all classes, and the classes' terms.

    Parameters
    ----------
    prior, noise_variance, model
        As in `block_factors`.
    rows : Rows or ConditionedRows
        Of classes.

    Returns
    -------
    factor : DiagonalFactor, DenseFactor, MixtureFactor or ConditionedFactor
        With the noise of classes that no row has, of all outputs.
    terms : list of ClassTerms
    """
    class_noise = ClassNoise.of(rows.weights[0] / noise_variance)
    precision = 1.0 / class_noise.other
    (factor,) = block_factors(prior, rows.with_weight(precision), 1.0, model)
    with naming_block(1.0, precision):
        return factor, factor.class_terms(class_noise)
