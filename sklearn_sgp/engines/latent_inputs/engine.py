"""The engine of models whose inputs are latent."""

from dataclasses import dataclass

from ..fitted import Fitted
from .partial_fit import add
from .solver import fit
from .start import LatentChoices


@dataclass(frozen=True)
class LatentInputs:
    """Fits Bayesian GPLVMs (Titsias & Lawrence 2010; docs/theory.md, section 17).

    The rows of a problem are a `latents.table.Table`. It has no start, as that is found from the
    rows that are learned from. ``previous`` is an earlier fit of the same columns, which the first
    start goes on from, or None.
    """

    choices: LatentChoices
    previous: Fitted | None = None

    def fit(self, problem):
        """Learn from all rows; see `Engine`."""
        return fit(problem, self.choices, self.previous)

    def add(self, fitted, problem):
        """Add rows, minibatch by minibatch; see `Engine`."""
        return add(fitted, problem)
