"""What carries a predicted function: terms of a sum, slopes in each column, shares of columns."""

from functools import partial

import numpy as np

from ..kernels._functionals import SlopeKernel, check_slopes

# Inputs, and orders in which columns take their values from one another, that it is averaged over.
_MOST_INPUTS, _ORDERS = 256, 4


def terms(model, inputs, with_std=False):
    """Return the posterior mean of each term, (n, k) or (n, t, k), and its deviation.

    They are in units of y, about its centre: their sum and ``y_mean_`` make the function.
    ``with_std`` says whether the deviations are returned, too.

    Raises
    ------
    ValueError
        If the mean is no linear function of the latent function, or that of two fits: terms do not
        add up there.
    """
    _check_linear(model, "Terms", "take sklearn.inspection.partial_dependence")
    if not model.told_mean.is_own:
        raise ValueError(
            "predict_terms needs a mean of one fit, whose terms add up. Got that of two, which "
            "likelihood='auto' may choose: name a likelihood."
        )
    targets = model.targets
    means, deviations = [], []
    for term in model.predictor.posterior.prior.kernel.terms():
        mean, variance = model.predictor.of_functional(term).moments(inputs, model.n_jobs)
        means.append(mean * targets.scale)
        variance = np.broadcast_to(variance, mean.shape)
        deviations.append(np.sqrt(variance) * targets.scale)
    result = [np.stack(each, axis=2) for each in (means, deviations)]
    result = [each[:, 0] if targets.ndim == 1 else each for each in result]
    return tuple(result) if with_std else result[0]


def column_shares(mean, inputs):
    """Return the share of each column in the changes of a function, (d,), adding up to one.

    It is the mean of squared changes where one column alone takes its value from another row, as in
    total Sobol indices. All are zero where the function is constant. It has no units, and takes any
    kernel, categories included. ``mean(inputs)``, (n, t), is in units in which functions compare.
    """
    rng, (n, d) = np.random.RandomState(0), inputs.X.shape
    if n > _MOST_INPUTS:
        inputs = inputs.select(np.sort(rng.permutation(n)[:_MOST_INPUTS]))
    X, changes = np.array(inputs.X, dtype=np.float64), np.zeros(d)
    here = mean(inputs._replace(X=X))
    for _ in range(_ORDERS):
        order = rng.permutation(len(X))
        for k in range(d):
            changed = X.copy()
            changed[:, k] = X[order, k]
            changes[k] += ((mean(inputs._replace(X=changed)) - here) ** 2).sum()
    total = changes.sum()
    return changes / total if total > 0.0 else changes


def slopes(model, inputs, columns, with_std=False):
    """Return slopes in units of y, (n, d) or (n, t, d), NaN in columns that have none.

    ``columns`` has for each column of the result that of the inputs, None for one without slopes;
    None means all, in their order. ``with_std`` says whether the deviations are returned, too.

    Raises
    ------
    ValueError
        If the mean is no linear function of the latent function.
    """
    _check_linear(model, "Slopes", "take differences of predict")
    check_slopes(model.predictor.posterior.prior.kernel)
    columns = _differentiable(model, inputs) if columns is None else columns
    n, t = len(inputs.X), model.targets.n_outputs
    mean, std = np.full((2, n, t, len(columns)), np.nan)
    of_column = partial(_moments, model.predictor, inputs, model.n_jobs)
    for place, column in enumerate(columns):
        if column is not None:
            own, variance = of_column(column)
            mean[:, :, place] = own * model.targets.scale
            std[:, :, place] = np.sqrt(variance) * model.targets.scale
    if not model.told_mean.is_own:
        share, reference = model.told_mean.share[:, None], model.told_mean.reference
        mean = share * mean + (1.0 - share) * _means(reference, inputs, columns, model.n_jobs)
    squeezed = [each[:, 0] if model.targets.ndim == 1 else each for each in (mean, std)]
    return tuple(squeezed) if with_std else squeezed[0]


def _differentiable(model, inputs):
    """Return the columns of the inputs, None in the place of those of categories."""
    held = model.predictor.posterior.prior.kernel.expression.held_columns
    return [None if k in held else k for k in range(inputs.X.shape[1])]


def _moments(predictor, inputs, n_jobs, column):
    """Return the means and variances of the slope in a column, scaled.

    NaN where the column lacks a value that no training row lacked.
    """
    kernel = SlopeKernel(predictor.posterior.prior.kernel, column)
    moments = predictor.of_functional(kernel).moments(inputs, n_jobs)
    if inputs.unforeseen is None:
        return moments
    lacks = inputs.unforeseen[:, [column]]
    return tuple(np.where(lacks, np.nan, each) for each in moments)


def _means(fitted, inputs, columns, n_jobs):
    """Return means of the slopes of another fit, in units of y, (n, t, d)."""
    parts = []
    for column in columns:
        if column is None:
            parts.append(np.full((len(inputs.X), fitted.targets.n_outputs), np.nan))
        else:
            mean, _ = _moments(fitted.predictor, inputs, n_jobs, column)
            parts.append(mean * fitted.targets.scale)
    return np.stack(parts, axis=2)


def _check_linear(model, what, cure):
    """Refuse means in which slopes and terms of the latent function are in no units of y."""
    if model.likelihood.identity_mean and model.targets.keeps_means:
        return
    got = f"{model.likelihood!r}" if model.targets.keeps_means else "targets that are warped"
    raise ValueError(
        f"{what} need a mean that is linear in the latent function: a likelihood with noise that "
        f"is added to it, and normalize_y=True or False. Got {got}: {cure}."
    )
