"""Slopes and terms of functions that near rows predict."""

from dataclasses import dataclass

from ..gp.posterior import Posterior


@dataclass(frozen=True)
class NearFunctional:
    """Predicts a linear functional of the functions that `NearRows` predicts.

    Parameters
    ----------
    near : near_rows.NearRows
    seen : Posterior
        Of the functional; see `gp.functionals`.
    column : int or None
        Of inputs, if the functional is a slope there.
    """

    near: object
    seen: Posterior
    column: int | None = None

    def moments(self, inputs, n_jobs=None):
        """Return means and variances; see `Predictor`."""
        conditional, weights = self.near.conditional(n_jobs), self.near.weights(inputs)
        X = weights.inputs(inputs.X)
        mean, variance = weights.moments(*conditional.mean_variance(X, weights.cell, self.seen))
        if self.column is None or not weights.n_further:
            return mean, variance
        slopes = self.near.partition.weights(inputs.X, self.column).slope
        return mean + weights.sums(conditional.mean(X, weights.cell), slopes), variance
