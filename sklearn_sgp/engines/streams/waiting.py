"""Rows of batches too short to learn from one by one, and what they say of the noise.

They are part of the posterior at once. How kernel and inducing inputs fit them, the old posterior's
factor knows, but not how far they were from the function: that is kept as sums of expected squares
under q(u), and learning adds E_q[log p(y | f)] of these rows, which in the noise is exact.
"""

from dataclasses import dataclass, replace

import numpy as np

# Rows that are learned from together. Of two parts of four tables and two draws of three made
# functions densities are 0.038 nats a row higher in the mean, row by row, and 0.020 in batches of
# six, than where each batch is learned from (none of the seven lower), in a third of the time.
LEAST_LEARNED = 10.0


@dataclass(frozen=True)
class Waiting:
    """Keep what is known of rows since kernel and noise were last learned; never changed.

    Parameters
    ----------
    weight : float
        Of the rows.
    counts, squares : ndarray of shape (t,), or 0.0
        Weights of the targets that were observed, and sums of their expected squared distances
        from the function, in scaled targets.
    """

    weight: float = 0.0
    counts: np.ndarray | float = 0.0
    squares: np.ndarray | float = 0.0

    def joined(self, fitted, rows):
        """Add the rows of a batch, of which ``fitted`` knows."""
        mean, variance = fitted.predictor.moments(rows, 1)
        squares = (rows.targets - mean) ** 2 + variance
        weight, counts = (part.reshape(len(rows), -1) for part in rows.weights)
        if fitted.parameters.mixes_outputs:
            weight, counts = (part * fitted.parameters.shares for part in (weight, counts))
        return Waiting(
            self.weight + rows.total_weight,
            self.counts + np.sum(counts * ~np.isnan(squares), axis=0),
            self.squares + np.nansum(weight * squares, axis=0),
        )

    def in_units(self, factor):
        """Return the same for targets times a factor, (t,)."""
        return replace(self, squares=factor**2 * self.squares)

    def beside(self, bound):
        """Return the objective of a batch with that of these rows."""
        if not self.weight:
            return bound

        def objective(parameters):
            value, gradient = bound(parameters)
            more, slope = self.log_density(parameters.log_noise)
            return value + more, type(gradient)(gradient, log_noise=gradient["log_noise"] + slope)

        return objective

    def log_density(self, log_noise):
        """Return the expected log density, up to a constant, and its derivative in log_noise."""
        ratio = self.squares * np.exp(-np.asarray(log_noise))
        value = -0.5 * np.sum(self.counts * log_noise + ratio)
        slope = 0.5 * (ratio - self.counts)
        return float(value), slope if np.ndim(log_noise) else float(np.sum(slope))


NONE_WAITING = Waiting()
