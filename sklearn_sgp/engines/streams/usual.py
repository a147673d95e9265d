"""What a number of each batch usually is, and how probable another is; Student's t."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtr

# Batches that the prior of a number counts as: the first batches after the beginning are no guide.
_PRIOR_BATCHES = 4.0
# Two-sided probability of so far a number, of right models: rare, though not every one is told.
ALARM = 3e-3
# Fewer rows are gathered with those of the next batches.
LEAST_ROWS = 8


@dataclass(frozen=True)
class Usual:
    """Keep what z or v were in the batches before, of each output; see Student's t.

    Parameters
    ----------
    count, total, squares : ndarray of shape (t,)
    has_mean : bool
        Whether a mean other than 0 is usual.
    scatter : float
        Deviation before any batch.
    """

    count: np.ndarray
    total: np.ndarray
    squares: np.ndarray
    has_mean: bool
    scatter: float = 1.0

    @classmethod
    def unknown(cls, t, has_mean, scatter=1.0):
        """Return what is thought before any batch."""
        return cls(np.zeros(t), np.zeros(t), np.zeros(t), has_mean, scatter)

    @property
    def mean(self):
        """Mean of the batches before, (t,)."""
        return self.total / (1.0 + self.count) if self.has_mean else np.zeros_like(self.total)

    def log_probability(self, value):
        """Return the logarithm of the probability of a value so far from the usual, (t,)."""
        mean, freedom = self.mean, _PRIOR_BATCHES + self.count
        about = np.maximum(self.squares - (1.0 + self.count) * mean**2, 0.0)
        scale = np.sqrt((_PRIOR_BATCHES * self.scatter**2 + about) / freedom)
        with np.errstate(divide="ignore"):  # -inf
            return np.log(2.0) + np.log(stdtr(freedom, -np.abs(value - mean) / scale))

    def joined(self, value):
        """Add those of a batch."""
        return replace(
            self, count=self.count + 1.0, total=self.total + value, squares=self.squares + value**2
        )
