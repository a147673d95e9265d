"""Outputs that never vary, beside others: they are predicted, and teach nothing."""

from dataclasses import replace
from functools import partial

import numpy as np


def fitted_beside_constants(fit, problem):
    """Ask for what ``fit`` of an engine learns, where outputs that are constant do not teach.

    A function that is zero everywhere, without noise, asks for a kernel of no variance and endless
    length scales, with more nats than others have to say: beside two of them a sine of 120 rows
    with noise of 0.3 was taken for noise. They are learned beside as much noise as there may be,
    by which they say nothing, and known at last with the least. A stream that goes on from there
    learns all noise with its first batch, as it does with later ones: from the least it would rise
    at the others' cost.
    """
    constant = _constant_outputs(problem)
    if constant is None:
        return (yield partial(fit, problem))
    start = problem.start
    bounds = start.space.group("log_noise").bounds
    least, most = bounds[constant].T
    fitted = yield partial(fit, replace(problem, start=_with_noise(start, constant, most)))
    if fitted.state.goes_on:
        return (yield partial(fit, problem))
    log_noise = np.array(fitted.parameters.log_noise)
    log_noise[constant] = least
    parameters = fitted.parameters.with_values(log_noise=log_noise)
    begin = replace(fitted.start, parameters=parameters, alternatives=())
    begin = replace(begin, space=begin.space.with_group("log_noise", bounds=bounds))
    settings = replace(problem.settings, optimizer=None, n_restarts_optimizer=0)
    posed = replace(problem, start=begin, settings=settings, previous=fitted, is_silent=True)
    known = yield partial(fit, posed)
    told = {name: getattr(fitted, name) for name in ("n_iter", "n_steps", "n_used")}
    told["interrupted"] = fitted.interrupted or known.interrupted
    return replace(known, start=replace(begin, parameters=fitted.start.parameters), **told)


def _constant_outputs(problem):
    """Return which outputs are zero as scaled, where others are not; None where none is.

    Each has Gaussian noise of its own that is learned, and functions are not mixed.
    """
    start, rows = problem.start, problem.rows
    learns = problem.learns and start.space.learns("log_noise") and start.space.learns("theta")
    if rows.live_elsewhere or not (learns and start.likelihood.conjugate):
        return None
    if np.ndim(start.parameters.log_noise) == 0 or start.parameters.mixes_outputs:
        return None
    if len(start.space.group("log_noise").shared):
        return None
    constant = ~np.nan_to_num(rows.targets).any(axis=0)
    return constant if constant.any() and not constant.all() else None


def _with_noise(start, constant, log_noise):
    """Return a start where the noise of some outputs is held."""
    value = np.array(start.parameters.log_noise)
    value[constant] = log_noise
    return replace(
        start,
        parameters=start.parameters.with_values(log_noise=value),
        space=start.space.holding("log_noise", constant, log_noise),
        alternatives=tuple(_with_noise(one, constant, log_noise) for one in start.alternatives),
    )
