"""Fits whose inducing inputs contain all rows: their objective and q(u) are the exact process's."""

from dataclasses import dataclass

from .._linalg import NotPositiveDefiniteError
from ..data.distinct import DistinctRows
from ..objectives.exact import exact_evidence, exact_posterior_of_rows, exact_value


def exact_objective(space, parameters, rows, copies=1.0):
    """Return the evidence of the exact process as an objective, where that is what is asked.

    Parameters
    ----------
    parameters : Parameters
        Where a run begins.
    rows : Rows
        With Gaussian noise.
    copies : float
        How many rows each of these stands for.

    Returns
    -------
    objective : callable or None
        None where the inducing inputs are learned, where some row is not one of them, or where the
        noise is lost in rounding at the start.
    """
    if space.learns("Z"):
        return None
    rows = rows if copies == 1.0 else rows.weighted(copies)
    distinct = DistinctRows.within_inputs(parameters.Z, rows)
    if distinct is None:
        return None
    try:
        exact_evidence(parameters, distinct)
    except NotPositiveDefiniteError:
        return None
    return ExactObjective(distinct)


@dataclass(frozen=True)
class ExactObjective:
    """The evidence of the exact process of some rows."""

    rows: DistinctRows

    def __call__(self, parameters):
        """Compute value and gradient."""
        return exact_evidence(parameters, self.rows)

    def value(self, parameters):
        """Compute the value alone."""
        return exact_value(parameters, self.rows)


def exact_fit(prior, noise_variance, rows):
    """Return the `ExactPosterior` of rows with Gaussian noise that are all inducing inputs.

    None where some row is no inducing input, or where the noise is lost in rounding.
    """
    distinct = DistinctRows.within_inputs(prior.Z, rows)
    return None if distinct is None else exact_posterior_of_rows(prior, distinct, noise_variance)
