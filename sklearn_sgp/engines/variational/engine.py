"""The engine of variational models of independent rows."""

from dataclasses import dataclass, replace

from ..alike_categories import or_with_alike_categories
from ..best_so_far import BestSoFar
from ..diagnostics import warn_of_weak_spots
from ..explained import is_doubtful
from ..learned_directions import or_along_directions
from ..new_categories import with_variance_of_new_categories
from ..one_column import or_fast_along_columns
from ..parts_of_outputs import or_with_parts_of_outputs
from .class_regressions import has_bound_of_labels
from .class_start import begun_with_regressions
from .equal_outputs import or_as_one_output
from .partial_fit import add_rows, more_inducing_inputs
from .plateaus import or_off_the_plateau
from .schedule import run


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

    def fit(self, problem):
        """Learn from all rows; see `Engine`.

        Where a default kernel is at a loss for classes, they are learned from another start, too,
        and so are numbers where one column or two explain far more, where learning ended on a
        plateau, or where mixed outputs are nearly equal.
        """
        usual = problem
        if has_bound_of_labels(problem):
            usual = replace(problem, start=replace(problem.start, alternatives=()))
        best = first = BestSoFar(*run(usual))

        def begun():
            doubts = is_doubtful(*first, first.fitted.objective)
            return begun_with_regressions(problem, first.fitted.parameters) if doubts else None

        if usual is not problem:
            best = best.or_from(begun, run)
        best = or_fast_along_columns(problem, best, run)
        best = or_with_parts_of_outputs(problem, best, run)
        best = or_off_the_plateau(problem, best, run)
        best = or_as_one_output(problem, best, run)
        best = or_with_alike_categories(problem, best, run)
        done, fitted = or_along_directions(problem, best, run)
        warn_of_weak_spots(done, fitted)
        return with_variance_of_new_categories(fitted) if problem.has_learned_kernel else fitted

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
