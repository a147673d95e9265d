"""Predictions where values are missing that no training row lacked."""

from dataclasses import dataclass, replace

import numpy as np

from ..data.rows import in_parts
from .base import Predictor


@dataclass(frozen=True)
class Unforeseen:
    """Averages a predictor over what may stand where values of X are missing.

    Of a column that had all of its values in training no kernel knows what a row is like that lacks
    it: by a single value in its place a prediction would be as sure as where it is known.

    Parameters
    ----------
    predictor : Predictor
    missing : data.missing.MissingValues
    """

    predictor: Predictor
    missing: object

    def __getattr__(self, name):
        """Ask the predictor for what is not averaged, at the values that are expected."""
        return getattr(object.__getattribute__(self, "predictor"), name)

    def mean(self, inputs, n_jobs=None):
        """Return means; see `Predictor`."""
        return self.moments(inputs, n_jobs)[0]

    def moments(self, inputs, n_jobs=None):
        """Return means, and variances of each function; see `Predictor`."""
        mean, variance = self.predictor.moments(inputs, n_jobs)
        mean, variance = mean.copy(), np.array(np.broadcast_to(variance, mean.shape))
        groups = list(self.missing.alternatives(inputs.X, inputs.unforeseen))
        each = inputs.select(np.concatenate([np.repeat(r, p.shape[1]) for r, p in groups]))
        X = np.concatenate([points.reshape(-1, points.shape[2]) for _, points in groups])
        means, variances = self.predictor.moments(each._replace(X=X, unforeseen=None), n_jobs)
        sizes = [points.shape[0] * points.shape[1] for _, points in groups]
        parts = zip(groups, in_parts(means, sizes), in_parts(variances, sizes), strict=True)
        for (rows, points), of_means, of_variances in parts:
            shape = (*points.shape[:2], -1)
            of_means = of_means.reshape(shape)
            mean[rows] = of_means.mean(axis=1)
            variance[rows] = of_variances.reshape(shape).mean(axis=1) + of_means.var(axis=1)
        return mean, variance

    def joint(self, inputs, n_jobs=None):
        """Return means and joint covariances of each function; see `Predictor`.

        What one row lacks says nothing of others: variances alone are larger.
        """
        _, covariance = self.predictor.joint(inputs, n_jobs)
        mean, variance = self.moments(inputs, n_jobs)
        shape = (*covariance.shape[:2], mean.shape[1])
        covariance, each = np.array(np.broadcast_to(covariance, shape)), np.arange(len(mean))
        covariance[each, each] = np.maximum(covariance[each, each], variance)
        return mean, covariance


class AveragesUnforeseen:
    """Mixin of predictive models, for inputs of which some lack what no training row lacked."""

    def where_unforeseen(self, inputs, missing):
        """Return the model for such inputs, averaged; itself for any other ones."""
        if inputs.unforeseen is None:
            return self
        return replace(self, predictor=Unforeseen(self.predictor, missing))
