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
        conditional, shares = self.near.conditional(n_jobs), self.near.shares(inputs)
        X = shares.inputs(inputs.X)
        mean, variance = shares.moments(*conditional.mean_variance(X, shares.cell, self.seen))
        if self.column is None or not shares.n_further:
            return mean, variance
        slopes = self.near.partition.shares(inputs.X, self.column).slope
        return mean + shares.sums(conditional.mean(X, shares.cell), slopes), variance
