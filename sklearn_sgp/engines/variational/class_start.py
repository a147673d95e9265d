"""Where the bound of a classifier begins anew: at what regressions of some labels have found.

At the usual length scales labels of a fast function, or of few among many columns, are best
explained by none, an optimum of the bound that L-BFGS does not leave. Regressions with known noise
(docs/theory.md, section 14) know better, and cost a pass where the bound takes several, so that
they can try short length scales, one for each column and one for all in proportion.
"""

from dataclasses import replace

import numpy as np

from ..._linalg import NotPositiveDefiniteError
from ...kernels._length_scales import with_larger_variance
from ...objectives.class_regressions import ClassRegressions
from ...objectives.sites import SiteBound
from ...optimize import time_shares
from ...optimize.progress import Trace
from ..one_column import along_columns_of_labels
from ..other_starts import shorter_start
from ..proportions import with_own_scales
from .class_regressions import RegressionInference, begins_with_regressions, regressions_of
from .inference import INNER_TOL
from .warm_start import learn_from_starts

# Rows whose labels are looked at, and iterations. With 256 rows as
# inducing inputs of 500 or 1,024 a stream of three classes stays at an accuracy of 0.54 (0.82
# with 320 rows that are all of them): the bound then prefers functions that are too smooth.
_START_ROWS, _START_ITERATIONS = 320, 60
# Shares of the usual length scales, and variances, that are looked at before learning, beside those
# that are short along one or two columns. Learning from one share alone (0.15) ended far below the
# best regressions in two of five draws of 23 columns.
_PROBED_SHARES, _PROBED_VARIANCES = (0.5, 0.25, 0.12, 0.06), (1.0, 8.0)
# Fits of fewer iterations shall be short.
_SHORT = 20
# Factors of the variance that regressions have found, among which the bound chooses.
_START_VARIANCES = (1.0, 4.0, 16.0, 0.25)


def begun_with_regressions(problem, before):
    """Return a problem that starts where the bound of some labels is better; None for nowhere.

    Inducing inputs stay where they are. In what is tried all rows, which are few, take their place:
    chosen by the usual length scales they hide what varies faster. The problem is that of labels,
    and the bound shall be better than at the parameters ``before``.
    """
    likelihood, rows = problem.start.likelihood, problem.rows
    if not begins_with_regressions(likelihood) or problem.trace.clock.left() <= 0.0:
        return None
    some = rows.random_subset(_START_ROWS, problem.rng)
    numbers = replace(some, y=np.maximum(some.y, 0.0))  # two classes are -1 and 1
    n_classes = likelihood.max_classes or problem.inference.n_latent
    regressions = regressions_of(likelihood, numbers, n_classes)
    inference = RegressionInference(regressions, None, None, some.total_weight)
    try:
        tried = _with_probed_scales(_at_rows(problem, some.X), regressions, numbers)
        found, parameters = _learned(tried, inference, numbers)
    except NotPositiveDefiniteError:  # huge weights: the bound says more of them
        return None
    bound = _bound_of(problem, some)
    values = {}
    for factor in _START_VARIANCES:
        theta = with_larger_variance(parameters.expression, parameters.theta, factor)
        changed = found.space.clipped(parameters.with_values(theta=theta))
        values[bound(changed)] = changed
    best = max(values)
    if not best > bound(before):
        return None
    start = replace(found, parameters=values[best].with_values(Z=problem.start.parameters.Z))
    return replace(problem, start=start)


def with_regressed_start(problem):
    """Return a problem of regressions of labels that starts where those of some were best, or None.

    With a length scale for each column, too, where the start has them in proportion.
    """
    start, rows = problem.start, problem.rows.random_subset(_START_ROWS, problem.rng)
    if problem.trace.clock.left() <= 0.0:
        return None
    own = with_own_scales([start]) or [start]
    both = replace(problem, start=replace(own[0], alternatives=(start,)))
    place = rows.y.argmax(axis=1)[:, None].astype(np.float64)
    numbers = replace(rows, y=place, weight=rows.observations, counts=None, of_classes=False)
    inference = RegressionInference(start.likelihood, None, None, rows.total_weight)
    try:
        tried = _with_probed_scales(_at_rows(both, rows.X), start.likelihood, numbers)
        found, parameters = _learned(tried, inference, numbers)
    except NotPositiveDefiniteError:
        return None
    begun = replace(found, parameters=parameters.with_values(Z=start.parameters.Z))
    return replace(problem, start=begun)


def _at_rows(problem, X):
    """Return the problem with rows as inducing inputs; features stay."""
    if problem.start.parameters.has_features:
        return problem
    start, few = problem.start, np.unique(np.asarray(X, dtype=np.float64), axis=0)
    start, *others = (
        replace(one, parameters=one.parameters.with_values(Z=few))
        for one in (start, *start.alternatives)
    )
    return replace(problem, start=replace(start, alternatives=tuple(others)))


def _with_probed_scales(problem, regressions, rows):
    """Add starts with the length scales, all in proportion or few short, where these are best."""
    start, regression = problem.start, ClassRegressions(rows, regressions, problem.settings.n_jobs)

    def value(parameters):
        try:
            found = regression.optimal_q(problem.prior(parameters))[1]
            return problem.with_expected(parameters, found)
        except NotPositiveDefiniteError:
            return -np.inf

    place, begun = rows.y[:, 0].astype(np.intp), [shorter_start(start, k) for k in _PROBED_SHARES]
    begun += along_columns_of_labels(start, np.asarray(rows.X, dtype=np.float64), place)
    at = [
        start.space.clipped(parameters.with_values(theta=with_larger_variance(*of, factor)))
        for parameters in begun
        for of in [(parameters.expression, parameters.theta)]
        for factor in _PROBED_VARIANCES
    ]
    best = max(at, key=value)
    probed = tuple(replace(one, parameters=best) for one in _same_kernels(start))
    others = tuple(one for one in start.alternatives if one.kernel is not start.kernel)
    return replace(problem, start=replace(start, alternatives=(*probed, *others)))


def _same_kernels(start):
    """Return a start and its alternatives with the same kernel, without their own."""
    every = (replace(start, alternatives=()), *start.alternatives)
    return [one for one in every if one.kernel is start.kernel]


def _bound_of(problem, rows):
    """Return the bound of some rows as a function of parameters."""
    inference = problem.inference
    bound = SiteBound(
        rows,
        inference.likelihood,
        inference.n_latent,
        INNER_TOL * rows.total_weight,
        with_inputs=False,
        n_jobs=problem.settings.n_jobs,
    )

    def value(parameters):
        try:
            found = bound.at(parameters, problem.prior(parameters))[-1]
            return problem.with_expected(parameters, found)
        except NotPositiveDefiniteError:
            return -np.inf

    return value


def with_iterations_of_regressions(problem):
    """Return the problem with more iterations than a bound takes, as each costs less."""
    settings = problem.settings
    max_iter = _START_ITERATIONS if settings.max_iter >= _SHORT else settings.max_iter
    return replace(problem, settings=replace(settings, max_iter=max_iter))


def _learned(problem, inference, rows):
    """Return the start whose regressions were best, with all that is free, and its parameters."""
    starts = problem.start, *problem.start.alternatives
    problem = with_iterations_of_regressions(problem)
    trial = replace(
        problem,
        rows=rows,
        start=_of_kernels(problem.start),
        inference=inference,
        settings=replace(problem.settings, n_restarts_optimizer=0),
        trace=Trace(problem.trace.clock),
    )
    seconds = time_shares.START_OF_CLASSES * problem.trace.clock.left()
    best, run = learn_from_starts(trial, rows, seconds, interim=True)
    kind = best.start.kernel, best.start.in_proportion
    found = next(one for one in starts if (one.kernel, one.in_proportion) == kind)
    return replace(found, alternatives=()), run.parameters


def _of_kernels(start):
    """Return a start, and its alternatives, where nothing but the kernel is learned."""
    others = tuple(_of_kernels(other) for other in start.alternatives)
    return replace(start, space=start.space.only("theta"), alternatives=others)
