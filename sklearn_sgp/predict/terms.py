"""What each term of a sum of kernels contributes to the function."""

import numpy as np


def terms(model, inputs, with_std=False):
    """Return the posterior mean of each term, (n, k) or (n, t, k), and its deviation.

    They are in units of y, about its centre: their sum and ``y_mean_`` make the function.

    Parameters
    ----------
    model : Observations
    inputs : Inputs
    with_std : bool
        Whether to return the deviations, too.

    Raises
    ------
    ValueError
        If targets are warped, so that terms do not add up in units of y.
    """
    targets = model.targets
    if not targets.keeps_means or not model.told_mean.is_own:
        raise ValueError(
            "predict_terms needs targets that are at most centred and scaled, so that terms add up "
            "in units of y. Got warped ones, or a mean of two fits (likelihood='auto'): set "
            "normalize_y=True and name a likelihood."
        )
    means, deviations = [], []
    for term in model.predictor.posterior.prior.kernel.terms():
        mean, variance = model.predictor.of_functional(term).moments(inputs, model.n_jobs)
        means.append(mean * targets.scale)
        variance = np.broadcast_to(variance, mean.shape)
        deviations.append(np.sqrt(variance) * targets.scale)
    result = [np.stack(each, axis=2) for each in (means, deviations)]
    result = [each[:, 0] if targets.ndim == 1 else each for each in result]
    return tuple(result) if with_std else result[0]
