"""Columns that were constant so far and vary in a later batch."""

from dataclasses import replace

import numpy as np

from ...gp.posterior import Posterior
from ...latents.table import Columns, Scaling
from .result import output_model


def joined_columns(result, start, columns, Y):
    """Model and columns in which those take part that vary in a batch for the first time.

    Parameters
    ----------
    result : LatentResult
    start : LatentStart
    columns : Columns
    Y : ndarray of shape (n, P)
        All columns of the batch.

    Returns
    -------
    result : LatentResult
    start : LatentStart
    columns : Columns
        All three as they were if no column is new.
    """
    away = np.fmax.reduce(np.abs(Y - columns.constants), axis=0, initial=0.0)
    is_new = ~columns.varying & (away > 1e-10 * np.abs(columns.constants))
    if not is_new.any():
        return result, start, columns
    # centred at their constants, so that all earlier rows have the scaled value 0
    mean = columns.full(result.scaling.mean, columns.constants)
    scale = columns.full(result.scaling.scale, 1.0)
    squares = (Y[:, is_new].astype(np.float64) - mean[is_new]) ** 2
    scale[is_new] = np.sqrt(np.nanmean(squares, axis=0))
    varying = columns.varying | is_new
    old = columns.varying[varying]  # among those that take part now
    parameters = _with_noise(result.parameters, old)
    posterior = _with_outputs(result.model.posterior, parameters.noise_variance, old)
    result = replace(
        result,
        parameters=parameters,
        model=output_model(posterior, parameters, len(old)),
        scaling=Scaling(mean, scale, ~varying).select(varying),
        log_scale=result.log_scale + result.n_rows * float(np.log(scale[is_new]).sum()),
    )
    start = replace(start, parameters=_with_noise(start.parameters, old))
    if np.ndim(parameters.log_noise) and start.space.learns("log_noise"):
        bounds = np.tile(start.space.group("log_noise").bounds[:1], (len(old), 1))
        start = replace(start, space=start.space.with_group("log_noise", bounds=bounds), adam=None)
    return result, start, Columns(np.where(varying, 0.0, columns.constants), varying)


def _with_noise(parameters, old):
    """Parameters in which new columns have the mean log noise of the others."""
    if not np.ndim(parameters.log_noise):
        return parameters
    log_noise = np.full(len(old), parameters.log_noise.mean())
    log_noise[old] = parameters.log_noise
    return parameters.with_values(log_noise=log_noise)


def _with_outputs(posterior, noise_variance, old):
    """q(u) with new outputs that were 0 wherever the best observed of the others was observed."""
    h = np.zeros((len(posterior.h), len(old)))
    h[:, old] = posterior.h
    if len(posterior.H) == 1:
        return Posterior(posterior.prior, posterior.H, h)
    noise, places = np.broadcast_to(noise_variance, len(old)), np.flatnonzero(old)
    sums = [np.trace(H) * noise[p] for H, p in zip(posterior.H, places, strict=True)]
    best = int(np.argmax(sums))
    H = [posterior.H[best] * (noise[places[best]] / own) for own in noise]
    for p, own in zip(places, posterior.H, strict=True):
        H[p] = own
    return Posterior(posterior.prior, tuple(H), h)
