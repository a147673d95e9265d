"""The bound of a first batch whose inducing inputs contain all of its rows."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...data.distinct import DistinctRows
from ...objectives.exact import exact_evidence, exact_posterior, exact_value
from .online_bound import OnlineBound


@dataclass(frozen=True)
class ExactBound:
    """The evidence of the exact process; see `online_bound.OnlineBound`.

    Parameters
    ----------
    prior : callable
        ``prior(parameters, noise_variance)``: p(u), factorised with a jitter that is small beside
        some noise.
    otherwise : OnlineBound
        Of the same rows, where the noise is too small for the exact process.
    """

    rows: DistinctRows
    prior: Callable
    otherwise: OnlineBound
    with_inputs = False

    def posterior(self, parameters):
        """Find the optimal q(u) and the bound."""
        found = self._found(parameters)
        return self.otherwise.posterior(parameters) if found is None else found[:2]

    def is_safe_at(self, parameters):
        """Return whether q(u) can be made there."""
        return self._found(parameters) is not None

    def _found(self, parameters):
        prior = self.prior(parameters, parameters.least_noise_variance)
        return exact_posterior(prior, self.rows, parameters.noise_variance)

    def __call__(self, parameters):
        """Compute value and gradient."""
        return exact_evidence(parameters, self.rows)

    def value(self, parameters):
        """Compute the value alone."""
        return exact_value(parameters, self.rows)


def exact_or_not(bound, proposal, prior):
    """Return the exact bound of a batch whose rows are all inducing inputs, else the given one.

    There was no batch before; for ``prior`` see `ExactBound`.
    """
    if np.isnan(bound.rows.y).any():  # each output has rows of its own
        return bound
    distinct = DistinctRows.within_inputs(proposal.parameters.Z, bound.rows)
    if distinct is None:
        return bound
    exact = ExactBound(distinct, prior, bound)
    return exact if exact.is_safe_at(proposal.parameters) else bound
