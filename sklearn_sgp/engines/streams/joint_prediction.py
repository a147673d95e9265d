"""What a stream predicts of some rows of a batch, jointly."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ..._linalg import cholesky
from .watch import near_others


class Prediction(NamedTuple):
    """Hold what is predicted of some rows of a batch, in scaled targets.

    Attributes
    ----------
    residual : ndarray of shape (n, t)
        NaN where an output was not observed.
    function : ndarray of shape (n, n, t)
        Covariances of the functions.
    noise : ndarray of shape (n, t)
    """

    residual: np.ndarray
    function: np.ndarray
    noise: np.ndarray

    @classmethod
    def of(cls, fitted, rows, n_jobs, share=1.0):
        """Predict rows, of which those before count a share."""
        predictor = fitted.predictor
        if share != 1.0:
            posterior = predictor.posterior.scaled(share)
            predictor = replace(predictor, posterior=posterior)
        mean, covariance = predictor.joint(rows, n_jobs)
        t = mean.shape[1]
        level = fitted.targets.scaled_variance(fitted.state.levels.variance)
        function = np.broadcast_to(covariance + level, (*covariance.shape[:2], t))
        variance = np.ascontiguousarray(np.diagonal(function).T)
        noise = noise_at(fitted, rows.X, mean, variance, n_jobs)
        counts = rows.weights[1]
        if not fitted.start.has_known_noise:  # weights are no precisions, then
            counts = np.maximum(counts, 1.0)  # what counts less is one draw all the same
        return cls(rows.targets - mean, function, noise / counts[:, None])

    def output(self, c):
        """Return residuals, covariance and noise of the rows that have an output."""
        seen = np.flatnonzero(~np.isnan(self.residual[:, c]))
        function = self.function[np.ix_(seen, seen, [c])][:, :, 0]
        return self.residual[seen, c], function, self.noise[seen, c]


def noise_at(fitted, X, mean, variance, n_jobs):
    """Return how much rows vary beside a function of these moments, (n, t)."""
    noise = fitted.noise.noise_at(X, fitted.noise_variance, mean.shape[1], n_jobs)
    total = fitted.likelihood.moments(mean, variance, noise)[1]
    return np.maximum(total - variance, np.finfo(np.float64).tiny)


def without_outliers(residual, deviation):
    """Bring residuals that are alone in being far away in."""
    ratio = residual / deviation
    return deviation * near_others(ratio), np.abs(ratio)


def whitened(residual, covariance):
    """Return whitened residuals and the whitened direction of a level."""
    L = cholesky(covariance)
    both = np.column_stack([residual, np.ones(len(residual))])
    return (*solve_triangular(L, both, lower=True).T, float(np.log(np.diagonal(L)).sum()))
