"""The error of a row at other precisions of its noise, what all other rows say being given.

Where a row nearly tells its own function's value, a large error needs a small precision, and a
small precision a large error: rounds of coordinate ascent, each with a new function of all rows,
move both but little. Given the other rows both have closed forms, and cost next to nothing.
"""

from typing import NamedTuple

import numpy as np

from ..data.rows import Rows
from ..objectives.scores import Score
from ..predict.rounded import log_mean_density

# By so many turns error and precision follow each other after each new function. 8,611 rows of
# power_plant, three rounds: 0.652 and 0.669 nats without (two splits), 0.668 and 0.675 with 10
# turns, 0.675 with 4 on the second; six rounds without have 0.664 and 0.674.
TURNS = 6


class OwnErrors(NamedTuple):
    """Hold what all other rows say of some, and these.

    Attributes
    ----------
    mean, variance : ndarray of shape (n, t)
        Of the function without the row itself; NaN where nothing is known then.
    width : ndarray of shape (n, t)
        Of the intervals that targets were rounded from.
    rows : Rows
    noise_variance : float or ndarray of shape (t,)
    """

    mean: np.ndarray
    variance: np.ndarray
    width: np.ndarray
    rows: Rows
    noise_variance: object

    def squares(self, update, before):
        """Return expected squared errors given the precisions of an `Update`, (n, t).

        ``before`` are those of rows of which nothing else is known.
        """
        (_, counts), n = self.rows.weights, len(self.mean)
        precision = counts[:, None] * update.precision.reshape(n, -1)
        noise = self.noise_variance * update.scale / precision
        gain = self.variance / (self.variance + noise)
        error = (1.0 - gain) * (self.rows.targets - self.mean)
        squares = (error**2 + gain * noise + self.width**2 / 12.0) / self.noise_variance
        return np.where(np.isfinite(squares), squares, before)

    def score(self, update, costs, n_jobs):
        """Return the `Score` of an `Update`, less some nats a row, by rows given all others.

        They have told the log noise, which pays for that by its divergence from the prior.
        """
        costs += update.noise.divergence / self.rows.total_weight
        known = np.isfinite(self.mean + self.variance).all(axis=1)
        if not known.any():
            return Score.none()
        rows, noise_variance = self.rows.select(known), self.noise_variance * update.scale
        mean, width = self.mean[known], np.broadcast_to(self.width, self.mean.shape)[known]
        variance = np.broadcast_to(self.variance, self.mean.shape)[known]
        noise = update.noise.noise_at(rows.X, noise_variance, mean.shape[1], n_jobs)
        likelihood = update.noise.likelihood
        log_p = log_mean_density(likelihood, rows.targets, width, mean, variance, noise)
        return Score(log_p - costs, rows.weights[1])
