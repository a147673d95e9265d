"""The engine of models whose factors belong to blocks of rows."""

from dataclasses import dataclass

from ..base import Fitted
from ..diagnostics import warn_of_weak_spots
from ..explained import hardly_explains
from ..learned_directions import or_along_directions
from ..new_categories import with_spread_of_levels
from ..one_column import fast_along_a_column, gains_visibly
from ..variational.class_start import with_regressed_start
from .sites import SitesInBlocks
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
        """Learn from all rows; see `Engine`.

        A likelihood that is not Gaussian has sites. Where inducing inputs alone explain next to
        nothing of classes, they begin anew at what regressions of some labels have found, and where
        one column or two explain far more of numbers, fast along these; the better one is kept.
        """
        if problem.start.likelihood.conjugate:
            done, fitted = self._or_anew(problem, fit(problem, self.plan, self.before))
            if not fitted.interrupted:
                warn_of_weak_spots(done, fitted, self.plan.model.dense)
        else:
            fitted = SitesInBlocks(self.plan).fit(problem)
        return with_spread_of_levels(fitted) if problem.learns else fitted

    def _or_anew(self, problem, fitted):
        """Return a problem and its fit, or those from another start where these are better."""
        may_begin_anew = problem.rows.of_classes and not self.plan.uses_near_rows
        if may_begin_anew and not fitted.interrupted and hardly_explains(problem, fitted):
            other = with_regressed_start(problem)
            again = None if other is None else fit(other, self.plan)
            if again is not None and again.merit > fitted.merit:
                return other, again
        done, best = problem, fitted
        for along in fast_along_a_column(problem, fitted):
            problem.trace.start = along.start
            again = fit(along, self.plan)
            if again.merit > best.merit:
                done, best = along, again
            problem.trace.start = best.start
            if gains_visibly(again, fitted):
                break
        return or_along_directions(problem, done, best, lambda one: (one, fit(one, self.plan)))

    def add(self, fitted, problem):
        """Add rows to blocks; see `Engine`."""
        by_sites = not fitted.start.likelihood.conjugate
        return SitesInBlocks().add(fitted, problem) if by_sites else add(fitted, problem)
