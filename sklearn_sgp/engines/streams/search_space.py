"""Where the hyperparameters of a stream may go with one batch."""

from dataclasses import replace

import numpy as np

from ...kernels._defaults import ROWS_FOR_FACTORS
from ...kernels._length_scales import variance_mask
from ...kernels.categories._node import category_slots

# Noise may rise by so many times as much: else rows that the inducing inputs cannot explain are
# believed, batch after batch (of 180 random streams 7 ended with bands half as wide as the errors
# or less, now 2; on terrain the RMSE fell from 36 m to 29). So it may fall where a batch tells that
# it has.
NOISE_MOVES = 5.0
# Largest variance of a function in those of the targets. The bound of functions that hardly bend
# rises for ever, but no row tells 10 standard deviations from 100, which leave nothing of the old
# posterior but rounding and jitter (2,000 random streams: with 100, 6 had errors above 2 times
# their bands, up to 20 times; with 10 there are 2, up to 2.4 times). The price: means of planes
# with noise of 1e-2 are 1.4 times as wrong, with log densities lower by 0.01, and terrain in strips
# has an RMSE of 28 instead of 21 m with 600 inducing inputs, of 28 instead of 30 m with 400.
_LARGEST_VARIANCE = 100.0


def plausible(start, parameters, rows):
    """Bound the amplitude of a default kernel by what targets so far may ask for.

    The rows are the batch. Variances as learned so far stay allowed, as they come from larger
    targets.
    """
    space, is_mixed = start.space, parameters.mixes_outputs
    if is_mixed or not start.learns_default_kernel or not start.likelihood.scales_targets:
        return space
    most = np.log(_LARGEST_VARIANCE * max(start.units.bounds[1], np.nanmean(rows.targets**2)))
    bounds = np.array(space.group("theta").bounds)
    upper = np.minimum(bounds[:, 1], np.maximum(parameters.theta, most))
    bounds[:, 1] = np.where(variance_mask(parameters.expression), upper, bounds[:, 1])
    return space.with_group("theta", bounds=bounds)


def humble(start, share):
    """Let a few rows claim only so much: neither noise nor function may be tiny.

    Two rows that happen to be near say nothing of how much later ones vary. One reading has the
    prior's width. ``share`` is that of rows that are missing; its square is that of the starting
    variances that is the least.
    """
    space, parameters = start.space, start.parameters
    if "log_noise" in start.with_default_bounds:
        least = np.min(parameters.noise_variance) * share**2
        space = space.raised("log_noise", least)
    if start.learns_default_kernel:
        bounds = np.array(space.group("theta").bounds)
        lower = np.maximum(bounds[:, 0], parameters.theta + 2.0 * np.log(share))
        bounds[:, 0] = np.where(variance_mask(parameters.expression), lower, bounds[:, 0])
        space = space.with_group("theta", bounds=bounds)
    return replace(start, space=space)


def alike(start, parameters, weight):
    """Hold what categories share where there are few rows of each so far, with a default kernel.

    As a kernel of few rows does from the start (`scarce_categories`); later rows of a stream set
    them free. They are held at the parameters; ``weight`` is that of all rows so far.
    """
    space = start.space
    if not start.learns_default_kernel:
        return start
    factors = [factor for _, factor, _ in category_slots(parameters.expression)]
    held = [each.ravel() for each in factors if weight < ROWS_FOR_FACTORS * len(each)]
    if not held:
        return start
    places = np.concatenate(held)
    return replace(start, space=space.holding("theta", places, parameters.theta[places]))


def within(space, parameters):
    """Clip logarithms to their bounds: units of the targets may have changed, and what is in them.

    Inducing inputs stay to the last bit.
    """
    clipped = {}
    for group in space.groups:
        if group.name in ("theta", "log_noise"):
            lower, upper = np.reshape(group.bounds, (-1, 2)).T
            value = np.clip(parameters.values[group.name], lower, upper)
            scalar = not np.ndim(parameters.values[group.name])
            clipped[group.name] = float(value[0]) if scalar else value
    return parameters.with_values(**clipped)


def trusted(space, parameters, radius, kernel_radius=None, fall=1.0):
    """Bound log parameters to within ``radius`` of where they are.

    Weights of latent functions are within ``radius`` times the length of their output's weights.

    Parameters
    ----------
    radius : float
        `NOISE_MOVES` times that for noise that rises.
    kernel_radius : float or None
        The same of the kernel, where it is another.
    fall : float
        So many times as far for noise that falls.
    """
    if np.isinf(radius):
        return space
    for group in space.groups:
        if group.name == "mixing":  # as logarithms of the outputs' amplitudes
            W = parameters.mixing
            away = radius * np.linalg.norm(W, axis=1, keepdims=True) * np.ones_like(W)
            ends = np.stack([W - away, W + away], axis=-1).reshape(-1, 2)
            space = space.with_group("mixing", bounds=ends)
        if group.bounds is None:
            continue
        lower, rise = (fall, NOISE_MOVES) if group.name == "log_noise" else (1.0, 1.0)
        value = np.atleast_1d(parameters.values[group.name])
        reach = radius if kernel_radius is None or group.name != "theta" else kernel_radius
        if group.name == "theta":
            reach = reach * group.reach * group.unit  # weights of directions are no logarithms
        ends = np.column_stack([value - lower * reach, value + rise * reach])
        lower, upper = np.reshape(group.bounds, (-1, 2)).T[..., None]
        space = space.with_group(group.name, bounds=np.clip(ends, lower, upper))
    return space
