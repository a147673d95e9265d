"""Where the hyperparameters of a stream may go with one batch."""

import numpy as np

from ...kernels._length_scales import variance_mask

# Noise may rise by so many times as much: else rows that the inducing inputs cannot explain are
# believed, batch after batch (of 180 random streams 7 ended with bands half as wide as the errors
# or less, now 2; on terrain the RMSE fell from 36 m to 29).
_NOISE_RISE = 5.0
# Largest variance of a function in those of the targets. The bound of functions that hardly bend
# rises for ever, but no row tells 10 standard deviations from 100, which leave nothing of the old
# posterior but rounding and jitter (2,000 random streams: with 100, 6 had errors above 2 times
# their bands, up to 20 times; with 10 there are 2, up to 2.4 times). The price: means of planes
# with noise of 1e-2 are 1.4 times as wrong, with log densities lower by 0.01, and terrain in strips
# has an RMSE of 28 instead of 21 m with 600 inducing inputs, of 28 instead of 30 m with 400.
_LARGEST_VARIANCE = 100.0


def plausible(start, parameters, rows):
    """Bound the amplitude of a default kernel by what targets so far may ask for.

    Parameters
    ----------
    parameters : Parameters
        As learned so far: their variances stay allowed, as they come from larger targets.
    rows : Rows
        The batch.
    """
    space, is_mixed = start.space, parameters.mixes_outputs
    by_user = "theta" not in start.with_default_bounds or not space.learns("theta")
    if by_user or is_mixed or not start.likelihood.scales_targets:
        return space
    most = np.log(_LARGEST_VARIANCE * max(start.units.bounds[1], np.mean(rows.targets**2)))
    bounds = np.array(space.group("theta").bounds)
    upper = np.minimum(bounds[:, 1], np.maximum(parameters.theta, most))
    bounds[:, 1] = np.where(variance_mask(parameters.expression), upper, bounds[:, 1])
    return space.with_group("theta", bounds=bounds)


def trusted(space, parameters, radius):
    """Bound log parameters to within ``radius`` of where they are.

    Weights of latent functions are within ``radius`` times the length of their output's weights.

    Parameters
    ----------
    radius : float
        `_NOISE_RISE` times that for noise that rises.
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
        rise = _NOISE_RISE if group.name == "log_noise" else 1.0
        value = np.atleast_1d(parameters.values[group.name])
        ends = np.column_stack([value - radius, value + rise * radius])
        lower, upper = np.reshape(group.bounds, (-1, 2)).T[..., None]
        space = space.with_group(group.name, bounds=np.clip(ends, lower, upper))
    return space
