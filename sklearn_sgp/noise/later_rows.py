"""Precisions of the rows of a later batch."""

from .left_out import with_later_rows
from .row_noise import squared_errors


def with_precisions(fitted, rows, n_jobs):
    """Return a later batch with the precisions of its rows, and the noise of all rows.

    The precisions are those that the predictions before the batch ask for.

    Returns
    -------
    rows : Rows
    noise : RowNoise or None
        None where all rows have the same noise, and the rows are as they came.
    """
    noise = fitted.row_noise
    if noise is None:
        return rows, None
    mean, variance = fitted.predictor.moments(rows, n_jobs)
    noise_variance = fitted.noise_variance
    noise = with_later_rows(noise, rows, mean, variance, noise_variance, n_jobs)
    squares = squared_errors(rows, mean, variance, noise_variance)
    noise, precision = noise.joined(rows, squares, n_jobs)
    return rows.with_precision(precision), noise
