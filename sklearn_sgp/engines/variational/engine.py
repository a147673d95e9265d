"""The engine of variational models of independent rows."""

from dataclasses import dataclass

from .partial_fit import add_rows, more_inducing_inputs
from .schedule import fit


@dataclass(frozen=True)
class Variational:
    """Fits SVGP models (Hensman et al. 2013; docs/theory.md, sections 5 and 6).

    Parameters
    ----------
    inducing : str or array-like
        How later batches choose more inducing inputs; given ones stay as they are.
    n_inducing : int
        Largest number of inducing inputs.
    total_samples : int or None
        Number of rows that later batches stand for; None if all rows are new.
    """

    inducing: object
    n_inducing: int
    total_samples: int | None = None

    fit = staticmethod(fit)

    def add(self, fitted, problem):
        """Add rows, minibatch by minibatch; see `Engine`."""
        rows, parameters = problem.rows, fitted.parameters
        new_Z = more_inducing_inputs(self.inducing, self.n_inducing, rows, parameters, problem.rng)
        return add_rows(
            fitted,
            rows,
            settings=problem.settings,
            inference=problem.inference,
            clock=problem.trace.clock,
            total_samples=self.total_samples,
            new_Z=new_Z,
            n_inducing=max(self.n_inducing, len(parameters.Z)),
        )
