"""Rows of later batches that lack a value of X which no row of the first batch lacked.

No kernel knows what such a row is like. What is left open of the function there counts as noise of
the row, so that it teaches as much as is known of it.
"""

import numpy as np

from ..predict.unforeseen import Unforeseen


def with_doubts(estimator, fitted, rows, inputs):
    """Let the noise of rows include what is left open where a value of X is missing.

    That is the variance of the predicted function over what may stand there, of the output of which
    most is left open. Rows stay as they are where noise is not Gaussian, or has a function of its
    own, and where outputs mix functions.

    Parameters
    ----------
    rows : Rows
    inputs : Inputs
        Of the same rows.

    Returns
    -------
    rows : Rows
    constant : float
        Of the log densities of the rows, whose normalisers count observations alone.
    """
    is_plain = fitted.likelihood.conjugate and not fitted.noise.differs
    if inputs.unforeseen is None or not is_plain or fitted.parameters.mixes_outputs:
        return rows, 0.0
    missing, n_jobs = estimator._format.missing, estimator.n_jobs
    known = fitted.predictor.moments(inputs, n_jobs)[1]
    averaged = Unforeseen(fitted.predictor, missing).moments(inputs, n_jobs)[1]
    left_open = np.maximum(averaged - known, 0.0) / fitted.noise_variance
    log_precision = -np.log1p(left_open.max(axis=1))
    rows = rows.with_precision(np.exp(log_precision))
    n_observed = (~np.isnan(rows.y)).sum(axis=1)
    return rows, 0.5 * float((rows.counts * n_observed) @ log_precision)
