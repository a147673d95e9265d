"""The engine of models in blocks for likelihoods that are not Gaussian: sites, then a regression.

The kernel is learned from groups of near rows, sites of all rows are found among the rows around
them, and then the model is one of Gaussian noise that is known for each row.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ...objectives.sites import UnboundedSitesError
from ...optimize import time_shares
from ...optimize.budget import Budget
from ..diagnostics import warn_at_bounds, warn_of_max_iter
from ..left_out_bands import check_left_out_of_sites
from . import solver
from .row_sites import AROUND_IN_HASTE, regression_of, seconds_of_sites, swept
from .site_learning import learn_by_sites
from .state import BlockPlan

# Sweeps over all sites with the whole model's marginals. Near rows that are all of one class do not
# know how far away the others are. With the kernel of one fit, new rows of 1,000 digits 3 and 8
# of pendigits have -0.027 nats without, -0.002 to -0.004 with one, three and six; 1 and 7 -0.0133
# and -0.0114 to -0.0119, 2,000 prices of electricity -0.460 with and without.
_SWEEPS_OF_ALL = 2
# A sweep begins if there is time for so many first passes.
_SPARE_PASSES = 3.0


@dataclass(frozen=True)
class SitesInBlocks:
    """Fits PIC, LMA and VIF to any likelihood that has a log density; see `Engine`.

    There is no plan where rows are added only.
    """

    plan: BlockPlan | None = None

    def fit(self, problem):
        """Learn from all rows; see `Engine`."""
        try:
            return self._fit(problem)
        except NotPositiveDefiniteError as error:
            raise _unbounded(problem, error) from error

    def _fit(self, problem):
        budget, start, n_iter, cut_by = Budget(problem.trace.clock), problem.start, 0, None
        parameters, likelihood, n_jobs = start.parameters, start.likelihood, problem.settings.n_jobs
        seconds = 0.0
        if problem.learns:
            if budget.is_limited:
                of_rows = problem.rows, parameters, likelihood, n_jobs
                seconds = seconds_of_sites(*of_rows, budget.clock)
                budget.keep_for_finish(2.0 * seconds, time_shares.FINISH_OF_SITES)
            start, parameters, n_iter, cut_by = learn_by_sites(problem, budget)
            parameters = solver.with_inducing(problem, self.plan, parameters)
            problem.trace.start = start
        at = replace(problem, start=replace(start, parameters=parameters))
        in_haste = {"n_around": AROUND_IN_HASTE} if budget.clock.left() < seconds else {}
        fitted, found = sites_of_all(at, self.plan, **in_haste)
        fitted = replace(fitted, cut_by=cut_by)
        if problem.learns and not (problem.trace.stopped or fitted.interrupted):
            _warn(problem, start, fitted, found)
        return replace(fitted, start=start, n_iter=fitted.n_iter + n_iter)

    def add(self, fitted, problem):
        """Add rows, whose sites are found given those of the rows before; see `Engine`."""
        known, parameters = fitted.state.blocks.rows, fitted.parameters
        likelihood = fitted.start.likelihood
        try:
            found = regression_of(
                problem.rows, parameters, likelihood, problem.rng, problem.settings.n_jobs, known
            )
        except NotPositiveDefiniteError as error:
            raise _unbounded(problem, error) from error
        fitted = solver.add_to_blocks(fitted, replace(problem, rows=found.rows))
        return _with_constant(fitted, found.constant)


def sites_of_all(problem, plan, **options):
    """Find sites of all rows at the parameters of the start, and fit the regression that they are.

    Sweeps by its marginals move them, if there is time left. Options are those of `regression_of`.

    Returns
    -------
    fitted : Fitted
    found : Regression
    """
    trace, n_jobs = problem.trace, problem.settings.n_jobs
    trace.begin(f"sites of {len(problem.rows)} rows")
    of_start = problem.start.parameters, problem.start.likelihood, problem.rng, n_jobs
    found = regression_of(problem.rows, *of_start, clock=trace.clock, **options)
    begin, plan = trace.clock.elapsed(), replace(plan, continues=False)
    fitted = _fit_of_sites(problem, found, plan)
    seconds = trace.clock.elapsed() - begin
    for left in range(_SWEEPS_OF_ALL, -1, -1):
        if fitted.interrupted or fitted.n_used is not None or trace.clock.left() <= 0.0:
            return _with_constant(fitted, found.constant), found
        moments = fitted.predictor.training_moments(found.rows, n_jobs=n_jobs)
        known = fitted.predictor.are_known(found.rows, np.arange(len(found.rows)))
        moved, constant = swept(problem.rows, found, moments, fitted.likelihood, known)
        if not left or trace.clock.left() < _SPARE_PASSES * seconds:
            break
        found = moved
        fitted = _fit_of_sites(replace(problem, previous=fitted), found, plan)
    trace.constant = found.constant
    trace.corrected(fitted.objective, fitted.objective + constant - found.constant)
    trace.constant = 0.0
    return _with_constant(fitted, constant), found


def _fit_of_sites(problem, found, plan):
    """Find q(u) of the regression of the sites; the trace is told their evidence."""
    start = problem.start
    if found.rows.outputs_differ:  # each has an H of its own
        noise = np.zeros(found.rows.y.shape[1])
        start = replace(start, parameters=start.parameters.with_values(log_noise=noise))
    settings, trace = replace(problem.settings, optimizer=None), problem.trace
    given = replace(problem, rows=found.rows, start=start, settings=settings)
    trace.constant = found.constant
    try:
        return solver.fit_in_blocks(given, plan)
    finally:
        trace.constant = 0.0


def _with_constant(fitted, constant):
    """Add what the evidence of the sites is more than that of the regression."""
    state = fitted.state.with_site_constant(constant)
    return replace(fitted, objective=fitted.objective + constant, state=state)


def _warn(problem, start, fitted, found):
    """Warn of bounds, of iterations that were too few, and of what left-out rows do not hold."""
    if not problem.warns:
        return
    warn_at_bounds(start, fitted.parameters)
    if fitted.cut_by == "max_iter":
        warn_of_max_iter(problem.settings.max_iter)
    if fitted.n_used is None:
        check_left_out_of_sites(problem, fitted, found.rows)


def _unbounded(problem, error):
    """Return an error with cause and cure."""
    rows, kernel = problem.rows.fixed_subset(1000), problem.start.parameters.kernel
    weight = 1.0 if rows.weight is None else float(np.max(rows.weight))
    return UnboundedSitesError(
        f"The rows must have finite sites under {problem.start.likelihood!r}. Got some that are "
        f"not ({error}), with a prior variance of up to {float(kernel.diag(rows.X).max()):g} from "
        f"the kernel and sample weights of up to {weight:g}. Lower the variance of the kernel or "
        "its upper bound, scale sample_weight so that 1 is its mean, or check the units of y."
    )
