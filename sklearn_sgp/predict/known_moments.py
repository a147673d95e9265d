"""A predictor of some rows, whose moments were computed once."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class KnownMoments:
    """Hold what is predicted of some rows, for all who ask."""

    mean: np.ndarray
    variance: np.ndarray

    @classmethod
    def of(cls, predictor, inputs, n_jobs):
        """Predict the rows."""
        return cls(*predictor.moments(inputs, n_jobs))

    def moments(self, inputs, n_jobs=None):
        """Return means and variances; see `Predictor`."""
        return self.mean, self.variance
