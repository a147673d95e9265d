"""The exact process: fits whose inducing inputs contain all rows, and learning from few rows.

Where all rows are inducing inputs, objective and q(u) of a fit are those of the exact process.
"""

from dataclasses import dataclass
from typing import NamedTuple

from .._linalg import NotPositiveDefiniteError
from .._parallel import blas_threads_for
from ..data.distinct import DistinctRows
from ..objectives.exact import exact_evidence, exact_posterior_of_rows, exact_value
from ..optimize.lbfgs import FEW_PAIRS, ascend_lbfgs
from ..optimize.parameters import Parameters
from ..optimize.progress import Clock, Plateau, Trace

# Gains of the evidence in nats that are none, two of which end learning from few rows.
_NO_GAIN, _NO_GAINS = 0.5, 2


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


class Learned(NamedTuple):
    """Hold what the exact process of some rows has learned.

    Parameters
    ----------
    value : float
        The evidence.
    gain : float
        Of it, since learning began.
    """

    parameters: Parameters
    value: float
    gain: float


def learn_exactly(space, begun, rows, max_iter, ends=None):
    """Follow the evidence of the exact process of few rows until it gains next to nothing.

    Parameters
    ----------
    begun : Parameters
    rows : DistinctRows
    max_iter : int
    ends : callable or None
        As `ascend_lbfgs` has it.

    Returns
    -------
    learned : Learned

    Raises
    ------
    NotPositiveDefiniteError
        If the covariance is not positive definite where learning begins.
    """
    values = []

    def evidence(parameters):
        value, gradient = exact_evidence(parameters, rows)
        values.append(value)
        return value, gradient

    with blas_threads_for(len(rows.X)):
        parameters, value, *_ = ascend_lbfgs(
            evidence, space, begun, max_iter=max_iter, plateau=Plateau(_NO_GAIN, _NO_GAINS),
            trace=Trace(Clock()), memory=FEW_PAIRS, ends=ends,
        )  # fmt: skip
    return Learned(parameters, value, value - values[0])
