"""The engine of models whose factors belong to blocks of rows."""

from dataclasses import dataclass

from ..base import Fitted
from .solver import add, fit
from .state import BlockPlan


@dataclass(frozen=True)
class BlockModels:
    """Fits SoR to PIC, LMA and VIF (Hoang et al. 2015; docs/theory.md, sections 9 and 12).

    Parameters
    ----------
    plan : BlockPlan or None
        None where rows are added only.
    before : Fitted or None
        Of an earlier fit, whose steps may go on.
    """

    plan: BlockPlan | None = None
    before: Fitted | None = None

    def fit(self, problem):
        """Learn from all rows; see `Engine`."""
        return fit(problem, self.plan, self.before)

    def add(self, fitted, problem):
        """Add rows to blocks; see `Engine`."""
        return add(fitted, problem)
