"""L-BFGS as engines run it: again with more jitter, or with some inducing inputs held at first.

Whatever comes later, what is returned is the best that was seen.
"""

import numpy as np

from ..data.distinct import are_rows
from ..optimize.lbfgs import FEW_PAIRS, SINGULAR


def lbfgs_memory(is_exact):
    """Return the option of L-BFGS that differs for the evidence of the exact process."""
    return {"memory": FEW_PAIRS} if is_exact else {}


def merit(space, result):
    """Return what a run maximised: its objective and the log prior of its parameters.

    Parameters
    ----------
    space : ParameterSpace
    result : tuple of Parameters and float
        And more, which is not looked at.
    """
    parameters, value = result[:2]
    return value if space.prior is None else value + space.prior(parameters.theta)[0]


def better(space, first, second):
    """Return the result of the second run, or that of the first where the second lost."""
    return second if merit(space, second) >= merit(space, first) else first


def ascend_with_jitter(run, problem, start, max_iter):
    """Run L-BFGS, and go on with more jitter where covariances that are singular end it.

    Parameters
    ----------
    run : callable
        ``run(delta, parameters, max_iter) -> (parameters, value, n_iter)``.

    Returns
    -------
    parameters, value, n_iter
        The first two are of the best run.
    """
    settings, trace = problem.settings, problem.trace
    delta = settings.prior(start).delta
    best = run(delta, start, max_iter)
    n_iter = best[2]
    while trace.cut_by == SINGULAR and n_iter < max_iter:
        prior = settings.prior_above(best[0], delta)
        if prior is None:
            break
        delta = prior.delta
        more = run(delta, best[0], max_iter - n_iter)
        best, n_iter = better(problem.space, best, more), n_iter + more[2]
    return best[0], best[1], n_iter


def inputs_at_kinks(space, parameters, rows):
    """Return a mask (m,) of learned inducing inputs at rows where the kernel has a kink, or None.

    A bound has one there, too: its slope says nothing of where it rises, and no line search
    succeeds along it.
    """
    if not (space.learns("Z") and parameters.expression.has_kink) or rows.live_elsewhere:
        return None
    held = are_rows(parameters.Z, rows.X)
    return held if held.any() else None


def ascend_from_kinks(ascend, objective, held, start, max_iter, trace):
    """Run L-BFGS with some inducing inputs held, then with all of them free.

    Of 60 places with three rows each, with `Matern(nu=0.5)`, the bound ended 52 nats below the
    optimum where all were free from the beginning; kernel and noise were as they had started.

    Parameters
    ----------
    ascend : callable
        ``ascend(objective, parameters, max_iter) -> (parameters, value, n_iter)``.
    held : ndarray of bool, shape (m,), or None
        None holds nothing.
    """
    if held is None:
        return ascend(objective, start, max_iter)

    def of_others(parameters):
        value, gradient = objective(parameters)
        moves = np.where(held[:, None], 0.0, gradient["Z"])
        return value, type(gradient)(gradient, Z=moves)

    parameters, value, n_iter = ascend(of_others, start, max_iter)
    if n_iter >= max_iter or trace.stopped or trace.cut_by is not None:
        return parameters, value, n_iter
    parameters, value, more = ascend(objective, parameters, max_iter - n_iter)
    return parameters, value, n_iter + more


def best_of_priors(find, problem, parameters):
    """Return what is found with the last jitter, or with that of learning where that is better.

    With the last jitter, a smaller one, rounding may cost more than the jitter does.

    Parameters
    ----------
    find : callable
        ``find(prior)``: a tuple of the prior, the posterior, the objective and more.
    parameters : Parameters
        As learned.
    """
    settings, reached = problem.settings, problem.trace.reached
    found = find(settings.final_prior(parameters))
    if reached is None or found[2] >= reached - problem.plateau().tol:
        return found
    return max(found, find(settings.prior(parameters)), key=lambda one: one[2])
