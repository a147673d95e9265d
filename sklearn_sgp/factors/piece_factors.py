"""Which factors a piece of the data has: one of all outputs, or one for each noise variance."""

import numpy as np

from .._linalg import copy_of, transposed
from ..data.rows import outputs_by_noise, weight_of
from ..kernels import Groups
from .block_factors import MixtureFactor, naming_block
from .class_noise import ClassNoise
from .conditioned import ConditionedFactor, rows_of_groups
from .own_model import OwnModel


def block_factors(prior, rows, noise_variance, model):
    """Return the factors of some rows: one of all outputs, or one for each.

    The rows are of positive weight.

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
        near = _NearGroups(kernel, rows, prior.whitened_rows(rows.X), counts, model.components)
        return [_mixed(near.parts(*each)) for each in by_output]
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
        factors.append(_mixed([(share, single(one, *each)) for one, share in model.components]))
    return factors


def _mixed(parts):
    """Return the factor of weighted ones, or the only one itself."""
    is_one = len(parts) == 1 and parts[0][0] == 1.0
    return parts[0][1] if is_one else MixtureFactor(parts)


class _NearGroups:
    """Rows in groups that are conditioned on others, which are the blocks of all models mixed.

    Models whose blocks are independent take the groups alone.
    """

    def __init__(self, kernel, rows, At, counts, components):
        self.kernel, self.At, self.counts, self.components = kernel, At, counts, components
        self.X = np.asarray(rows.X, dtype=np.float64)
        self.given, self.covariances = rows.groups, {}
        ones = [one for one, _ in self.components if not isinstance(one, OwnModel)]
        for is_given in {one.conditioned for one in ones}:
            groups = self.given if is_given else [(own[:0], own) for _, own in self.given]
            triangles = Groups.triangles(rows_of_groups(groups))
            self.covariances[is_given] = groups, self.kernel.blocks(self.X, self.X, triangles)

    def parts(self, *targets):
        """Return weights and factors of a model or of all that it mixes."""
        every = [(share, self._factors(one, *targets)) for one, share in self.components]
        return [(share, factor) for share, factors in every for factor in factors]

    def _factors(self, one, y, weight, s2):
        if isinstance(one, OwnModel):
            return [self._own(one, own, y, weight, s2) for _, own in self.given]
        groups, K = self.covariances[one.conditioned]
        return [ConditionedFactor(self.At, y, weight, K, groups, s2, self.counts)]

    def _own(self, one, rows, y, weight, s2):
        X, A = self.X[rows], transposed(self.At[rows])
        K = self.kernel.gram(X) if one.dense else self.kernel.diag(X)
        return one.factor(A, y[rows], weight[rows], self.counts[rows], K, s2)


def _observed(factor):
    """Leave rows out whose target is NaN, of an output that has a factor of its own."""
    missing = np.isnan(factor.y)
    factor.y = np.where(missing, 0.0, factor.y)
    factor.weight = np.where(missing[:, 0], 0.0, factor.weight)
    return factor


def class_factors(prior, rows, noise_variance, model):
    """Return one factor of some rows for the regressions of all classes, and the classes' terms.

    The rows are of classes; all else is as in `block_factors`.

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
