"""What a fit of latent inputs reports as it goes, and the state that it leaves for later rows."""

from dataclasses import dataclass

import numpy as np

from ...data.targets import read_only_copy
from ...latents.passes import InputPosteriors
from ...optimize.progress import Trace
from ..fitted import State


class LatentTrace(Trace):
    """A trace that knows which rows' q(x) the parameters hold, and what they stand for."""

    def __init__(self, clock):
        super().__init__(clock)
        self.table, self.factor = None, 1.0

    def follow(self, table, n_rows):
        """Report objectives of these rows from now on, which stand for so many."""
        self.table, self.factor = table, n_rows / len(table)

    def add(self, objective, parameters_now):
        """Record an objective; see `Trace`."""
        return super().add(self.factor * objective, parameters_now)


@dataclass(frozen=True)
class LatentState(State):
    """State that a fit of latent inputs leaves for later rows.

    Parameters
    ----------
    q : InputPosteriors
        Of all training rows so far.
    candidates : InputPosteriors
        Which other rows may start from.
    calibration : ndarray of shape (2,)
        Factors of the noise and of the other variance of filled-in values.
    log_scale : float
        What the objective loses in units of Y.
    adam : Adam or None
        Of the steps of later batches.
    """

    q: InputPosteriors
    candidates: InputPosteriors
    calibration: np.ndarray
    log_scale: float
    adam: object = None

    @property
    def attributes(self):
        """Fitted attributes of an estimator."""
        return {
            "embedding_": read_only_copy(self.q.mean),
            "embedding_std_": read_only_copy(np.sqrt(self.q.variance)),
            "calibration_": read_only_copy(self.calibration),
        }
