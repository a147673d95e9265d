"""L-BFGS-B on any objective of `Parameters`, with a budget of iterations and seconds."""

import time
from functools import partial

import numpy as np

from .._linalg import NotPositiveDefiniteError
from .._minimize import minimize_lbfgs

# Pairs that L-BFGS remembers: after 60 iterations on 8,192 rows of kin40k with 512 inducing inputs
# the bound is 75 nats higher with 30 than with scipy's 10, and 130 nats with 60.
_LBFGS_MEMORY = 50
# Pairs where kernel and noise alone are learned, of the exact process: as many as scikit-learn has.
# Of 40 designs (20 to 400 rows, 1 to 12 columns, six kernels) two of them ended 0.04 and 0.5 nats
# below scikit-learn's optimum from the same start with 50, none with 10.
FEW_PAIRS = 10


# What cut an ascent short: covariances that are not positive definite wherever it could go.
SINGULAR = "singular"


class _Finished(Exception):
    """Ends a run of L-BFGS from inside; never leaves this module."""


def ascend_lbfgs(
    objective,
    space,
    start,
    *,
    max_iter,
    plateau,
    trace,
    seconds=np.inf,
    memory=_LBFGS_MEMORY,
    ends=None,
    scale=1.0,
    changed=None,
    took=None,
):
    """Maximise an objective, and the log prior of the space, by L-BFGS-B from ``start``.

    A trial point where the objective raises NotPositiveDefiniteError counts as much worse than
    any seen, so the line search backs away from it.

    Parameters
    ----------
    objective : callable
        ``objective(parameters) -> (value, Gradient)``.
    start : Parameters
    plateau : Plateau
        On what is maximised, after each iteration.
    trace : Trace
        Gets the objective alone.
    seconds : float
        No evaluation after the first is begun that would end later than so many seconds from now.
    memory : int
        Pairs of steps and changes of the gradient that are remembered.
    ends : callable or None
        Called after each iteration with the trace, which has it by then; True ends the run.
    scale : float
        What the objective and its gradient are multiplied by.
    changed : callable or None
        ``changed(gradient)`` returns the gradient that is followed.
    took : callable or None
        Called after each evaluation of the objective with its seconds.

    Returns
    -------
    parameters : Parameters
        The best seen.
    value : float
        The objective there.
    n_iter : int
    cut_by : str or None
        What cut the ascent short: "max_iter", "max_time" or `SINGULAR`.
    """
    deadline = time.perf_counter() + seconds
    best = {"value": -np.inf, "objective": -np.inf, "x": None, "worst": np.inf}
    last_seconds = 0.0  # of the last evaluation: one that would end too late is not begun
    failed = False  # since the last iteration
    n_iter, cut_by = 0, None
    bounds = space.bounds(start)
    x0 = np.clip(space.pack(start), bounds[:, 0], bounds[:, 1])

    def negated(x):
        nonlocal last_seconds, failed, cut_by
        begin = time.perf_counter()
        if begin + last_seconds > deadline and best["x"] is not None:
            cut_by = "max_time"
            raise _Finished
        try:
            parameters = space.unpack(x, start)
            raw, gradient = objective(parameters)
            if took is not None:
                took(time.perf_counter() - begin)
        except NotPositiveDefiniteError:
            if best["x"] is None:
                raise
            failed = True
            size = max(best["value"] - best["worst"], abs(best["value"]), 1.0)
            return 10.0 * size - best["worst"], np.zeros_like(x)
        if scale != 1.0:
            raw, gradient = scale * raw, gradient.scaled(scale)
        gradient = gradient if changed is None else changed(gradient)
        value, gradient = space.with_prior(raw, gradient, parameters)
        last_seconds = time.perf_counter() - begin
        best["worst"] = min(best["worst"], value)
        if value > best["value"]:
            best.update(value=value, objective=raw, x=x.copy())
        return -value, -space.pack_gradient(gradient)

    def after_iteration(x):
        nonlocal n_iter, failed
        n_iter, failed = n_iter + 1, False
        snapshot = partial(space.unpack, best["x"], start)
        is_over = trace.add(best["objective"], snapshot) or plateau.reached(best["value"])
        if is_over or (ends is not None and ends(trace)):
            raise _Finished

    try:
        minimize_lbfgs(
            negated,
            x0,
            jac=True,
            bounds=bounds,
            callback=after_iteration,
            options={
                "maxcor": memory,
                "maxiter": max_iter,
                "maxfun": 4 * max_iter + 20,
                "ftol": 0.0,
                "gtol": 1e-6,
            },
        )
    except _Finished:
        pass
    else:
        if n_iter < max_iter and failed:
            cut_by = SINGULAR
        elif n_iter >= max_iter and plateau.is_gaining:
            cut_by = "max_iter"
    return space.unpack(best["x"], start), best["objective"], n_iter, cut_by
