"""The engine of models whose factors belong to blocks of rows."""

from dataclasses import dataclass

from ..alike_categories import or_with_alike_categories
from ..best_so_far import BestSoFar
from ..diagnostics import warn_of_weak_spots
from ..explained import hardly_explains
from ..fitted import Fitted
from ..learned_directions import or_along_directions
from ..new_categories import with_variance_of_new_categories
from ..one_column import or_fast_along_columns
from ..parts_of_outputs import or_with_parts_of_outputs
from ..variational.class_start import with_regressed_start
from .site_engine import SitesInBlocks
from .solver import add_to_blocks, fit_in_blocks
from .state import BlockPlan


@dataclass(frozen=True)
class BlockModels:
    """Fits SoR to PIC, LMA and VIF (Hoang et al. 2015; docs/theory.md, sections 9 and 12).

    There is no plan where rows are added only; ``previous`` is an earlier fit whose steps may go
    on.
    """

    plan: BlockPlan | None = None
    previous: Fitted | None = None

    def fit(self, problem):
        """Learn from all rows; see `Engine`.

        A likelihood that is not Gaussian has sites. Where inducing inputs alone explain next to
        nothing of classes, they begin anew at what regressions of some labels have found, and where
        one column or two explain far more of numbers, fast along these; the better one is kept. At
        last a learned kernel is given the variance of categories not seen before; `add` keeps it.
        """
        if problem.start.likelihood.conjugate:
            done, fitted = self._or_anew(problem, fit_in_blocks(problem, self.plan, self.previous))
            if not fitted.interrupted:
                warn_of_weak_spots(done, fitted, self.plan.model.dense)
        else:
            fitted = SitesInBlocks(self.plan).fit(problem)
        return with_variance_of_new_categories(fitted) if problem.has_learned_kernel else fitted

    def _or_anew(self, problem, fitted):
        """Return a problem and its fit, or those from another start where these are better."""
        best, learn = BestSoFar(problem, fitted), self._learned

        def begun():
            return with_regressed_start(problem) if hardly_explains(problem, fitted) else None

        if problem.rows.of_classes and not self.plan.uses_near_rows:
            best = best.or_from(begun, learn)
            if best.problem is not problem:
                return best
        best = or_fast_along_columns(problem, best, learn)
        best = or_with_parts_of_outputs(problem, best, learn)
        if self.plan.specification.learns_by_bound:
            best = or_with_alike_categories(problem, best, learn)
        return or_along_directions(problem, best, learn)

    def _learned(self, problem):
        return problem, fit_in_blocks(problem, self.plan)

    def add(self, fitted, problem):
        """Add rows to blocks; see `Engine`."""
        by_sites = not fitted.start.likelihood.conjugate
        return SitesInBlocks().add(fitted, problem) if by_sites else add_to_blocks(fitted, problem)
