"""Columns that were constant so far and vary in a later batch."""

from dataclasses import replace

import numpy as np

from ...gp.posterior import Posterior
from ...kernels._white_noise import checked_noise, split_noise
from ...latents.table import Columns, Scaling
from .final_posterior import output_model


def columns_that_vary(columns, Y):
    """Return `Columns` of which those take part, too, that vary in a batch for the first time.

    Y, (n, P), has all columns of the batch.
    """
    constants = columns.constants
    away = np.fmax.reduce(np.abs(Y - constants), axis=0, initial=0.0)
    # a number of single precision is another one in double
    is_single = np.float32 in (Y.dtype, constants.dtype)
    least = np.finfo(np.float32).eps if is_single else 1e-10
    is_new = ~columns.varying & (away > least * np.abs(constants))
    if not is_new.any():
        return columns
    # centred at their constants, so that all earlier rows have the scaled value 0
    mean, scale = columns.mean, columns.scale
    squares = (Y[:, is_new].astype(np.float64) - mean[is_new]) ** 2
    scale[is_new] = np.sqrt(np.nanmean(squares, axis=0))
    varying = columns.varying | is_new
    scaling = Scaling(mean, scale, ~varying).select(varying)
    return Columns(np.where(varying, 0.0, columns.constants), varying, scaling)


def with_new_columns(fitted, columns, choices):
    """Let more columns take part; the same if there are none.

    Parameters
    ----------
    columns : Columns
        See `columns_that_vary`.
    choices : LatentChoices
        Of these columns.
    """
    varying, state, start = columns.varying, fitted.state, fitted.start
    old = fitted.targets.varying[varying]  # among those that take part now
    if old.all():
        return fitted
    parameters = _with_noise(fitted.parameters, old, start, choices)
    posterior = _with_outputs(fitted.posterior, parameters.noise_variance, old)
    start = replace(start, parameters=_with_noise(start.parameters, old, start, choices))
    log_scale = fitted.n_samples * float(np.log(columns.scaling.scale[~old]).sum())
    if np.ndim(parameters.log_noise) and start.space.learns("log_noise"):
        bounds = np.tile(start.space.group("log_noise").bounds[:1], (len(old), 1))
        start = replace(start, space=start.space.with_group("log_noise", bounds=bounds))
    return replace(
        fitted,
        start=start,
        parameters=parameters,
        predictor=output_model(posterior, parameters, len(old)),
        state=replace(state, log_scale=state.log_scale + log_scale),
        targets=columns,
    )


def _with_noise(parameters, old, start, choices):
    """Give new columns the noise that was given for each, else the mean log noise of the others.

    One that all columns share stays; that of a single column is no such noise.
    """
    if choices.noise == "shared" or split_noise(start.kernel)[1]:
        return parameters
    log_noise, given = np.full(len(old), np.mean(parameters.log_noise)), choices.noise_variance
    if np.ndim(given):
        log_noise = np.log(checked_noise(given, len(old)))
    if start.space.learns("log_noise"):
        log_noise = np.clip(log_noise, *start.space.group("log_noise").bounds[0])
    log_noise[old] = parameters.log_noise
    return parameters.with_values(log_noise=log_noise)


def _with_outputs(posterior, noise_variance, old):
    """Add outputs to q(u) that were 0 wherever the best observed of the others was observed."""
    h = np.zeros((len(posterior.h), len(old)))
    h[:, old] = posterior.h
    if len(posterior.H) == 1 and not np.ndim(noise_variance):
        return Posterior(posterior.prior, posterior.H, h)
    noise, places = np.broadcast_to(noise_variance, len(old)), np.flatnonzero(old)
    sums = [np.trace(H) * noise[p] for H, p in zip(posterior.H, places, strict=True)]
    best = int(np.argmax(sums))
    H = [posterior.H[best] * (noise[places[best]] / own) for own in noise]
    for p, own in zip(places, posterior.H, strict=True):
        H[p] = own
    return Posterior(posterior.prior, tuple(H), h)
