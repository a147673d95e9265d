"""Where learning may begin as well: other kernels, shorter length scales, random numbers."""

from dataclasses import replace

import numpy as np

from ..kernels._defaults import SHORTER
from ..kernels._length_scales import has_lines, with_shorter_scales
from ..kernels.categories._node import category_leaves, category_slots
from ..objectives.scores import bic_nats
from ..optimize.parameters import shaped_like

_USUAL_NOISE = (1e-4, 1.0)  # of random starts, in units of the scaled targets' variance


def random_starts(problem):
    """Draw starting parameters, log-uniform within the bounds of kernel and noise.

    Noise is drawn between 1e-4 and 1 of the targets' variance, as far as its bounds allow: far
    outside L-BFGS hardly moves.

    Returns
    -------
    starts : list of Parameters
        As many as ``n_restarts_optimizer`` says.

    Raises
    ------
    ValueError
        If a bound is not finite.
    """
    start, space = problem.start.parameters, problem.space
    names = [name for name in ("theta", "log_noise") if space.learns(name)]
    bounds = {name: space.group(name).bounds for name in names}
    count = problem.settings.n_restarts_optimizer
    if count and not all(np.isfinite(pair).all() for pair in bounds.values()):
        raise ValueError(
            "The bounds of all parameters of the kernel and of the noise must be finite if "
            "n_restarts_optimizer is above 0. Got a bound that is not."
        )
    if "log_noise" in bounds:
        lower, upper = bounds["log_noise"].T
        usual = np.log(_USUAL_NOISE)[:, None] + np.log(problem.start.units.variance)
        bounds["log_noise"] = np.clip(usual, lower, upper).T
    drawn = (_drawn(start, bounds, problem.rng) for _ in range(count))
    return [space.unpack(space.pack(parameters), start) for parameters in drawn]


def shorter_start(start, share):
    """Return parameters of a `Start` with length scales times a share, within their bounds."""
    parameters = start.parameters
    theta = with_shorter_scales(parameters.expression, parameters.theta, share)
    return start.space.clipped(parameters.with_values(theta=theta))


def default_starts(start):
    """Return starts with default kernels: with each, and with short length scales.

    Those of a given kernel are its own.

    A fast function is noise at the usual length scales, and no gradient leads away from there.
    Short ones are those of the first kernel, or of the first that is of numbers alone.

    Returns
    -------
    starts : list of Start
        Without alternatives; one alone where there is no choice of kernels. Those of
        `lines.line_starts` are compared with the best of these.
    """
    lines = lines_in_the_place(start)
    others = [one for one in start.alternatives if not any(one is line for line in lines)]
    starts = [replace(one, alternatives=()) for one in (start, *others)]
    if others and "theta" in start.left_open:
        numbers = [one for one in starts if not category_leaves(one.parameters.expression)]
        first = (numbers or starts)[0]
        starts.append(replace(first, parameters=shorter_start(first, SHORTER)))
    return starts


def lines_in_the_place(start):
    """Return the alternatives of a start that have straight lines where its kernel has none."""
    others = [one for one in start.alternatives if one.kernel is not start.kernel]
    return [one for one in others if has_lines(one.parameters.expression)]


def of_the_same_kernel(start):
    """Return the alternatives of a start that have its kernel, and begin elsewhere."""
    return [one for one in start.alternatives if one.kernel is start.kernel]


def bic_penalty(start, n_rows):
    """Return the BIC penalty of the free parameters of a kernel, in nats: log(n) / 2 for each.

    What is learned of categories counts once for all of them, as a prior ties it together and few
    iterations say little of its gain: with a penalty for each category a sum was taken
    where functions of 300 categories differ (RMSE 0.81, with a product 0.42).
    """
    slots = category_slots(start.parameters.expression)
    n_tied = sum(diagonal.size + factor.size for diagonal, factor, _ in slots)
    n_shared = sum(bool(diagonal.size) + factor.shape[1] for diagonal, factor, _ in slots)
    n_free = len(start.space.only("theta").pack(start.parameters))
    n_free -= 0 if start.in_proportion else start.n_idle
    return bic_nats(n_free - n_tied + n_shared, n_rows)


def _drawn(start, bounds, rng):
    values = {}
    for name, (lower, upper) in ((name, pair.T) for name, pair in bounds.items()):
        values[name] = shaped_like(rng.uniform(lower, upper), start.values[name])
    return start.with_values(**values)
