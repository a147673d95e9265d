"""What likelihoods of classes share: offsets, and the frequencies that they are taken from."""

import numpy as np

from ._base import SMALLEST_PROBABILITY


def log_probability(probability, y):
    """log P(y), shape (n,), of probabilities (n, C) and classes by number (n, 1)."""
    p = probability[np.arange(len(y)), y[:, 0].astype(np.intp)]
    return np.log(np.maximum(p, SMALLEST_PROBABILITY))


def log_frequencies(weight):
    """Logarithms of the classes' frequencies, (C,), relative to the largest one.

    A class without rows gets the mean of the others: a first batch that lacks a class is usually
    sorted, and says nothing about how rare the class is.

    Parameters
    ----------
    weight : ndarray of shape (C,)
        Total weight of the rows of each class; one at least is positive.

    Returns
    -------
    log_frequency : ndarray of shape (C,)
    """
    present = weight > 0.0
    log_weight = np.log(np.where(present, weight, 1.0))
    log_weight[~present] = log_weight[present].mean()
    return log_weight - log_weight.max()


def check_class_offset(likelihood, shape):
    """Refuse an offset that is not one finite number, or has not the given shape, by a ValueError.

    Parameters
    ----------
    likelihood : Likelihood
        Has the parameter ``offset``.
    shape : tuple
        Allowed besides that of one number.
    """
    try:
        offset = np.asarray(likelihood.offset, dtype=np.float64)
    except (TypeError, ValueError):
        offset = np.array(np.nan)
    if offset.shape not in ((), shape) or not np.isfinite(offset).all():
        each = f", {shape[0]} of them for the classes," if shape else ""
        raise ValueError(
            f"The 'offset' parameter of {type(likelihood).__name__} must be a finite number{each} "
            f"or None to take it from the frequencies of the classes. Got {likelihood.offset!r}."
        )
