"""A fit given the noise of each row, and the expected squared errors that another noise follows."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..data.rows import Rows
from ..engines.base import Problem
from .own_errors import OwnErrors
from .row_noise import squared_errors


class Errors(NamedTuple):
    """Expected squared errors (n, t) of rows, and the places of these; None for all rows."""

    rows: Rows
    squares: np.ndarray
    places: np.ndarray | None

    @property
    def of_all(self):
        return self.places is None


class NoiseFit(NamedTuple):
    """A problem with a given noise of each row, and what was learned from it."""

    problem: Problem
    learned: object

    def gain_over(self, other):
        """Return by how much its bound is higher; inf if there is no other."""
        if other is None:
            return np.inf
        return self.learned.objective - other.learned.objective

    def ended_by_ctrl_c(self):
        """Return the same, after which Ctrl-C is raised."""
        return self._replace(learned=replace(self.learned, interrupted=True))

    def errors(self, places):
        """Return expected squared errors of the rows at some places, of all for None."""
        rows, settings = self.problem.rows, self.problem.settings
        rows = rows if places is None else rows.select(places)
        mean, variance = self.learned.predictor.training_moments(rows, places, settings.n_jobs)
        noise_variance = self.learned.parameters.noise_variance
        # a target is anywhere in the interval that was rounded: noise is not below that
        variance = variance + self.problem.widths_of(places) ** 2 / 12.0
        squares = squared_errors(rows, mean, variance, noise_variance)
        return Errors(rows, np.maximum(squares, self._least_square), places)

    @property
    def _least_square(self):
        """The lower bound of the noise, in units of it: no row's noise is below that.

        Where a function without noise is flat, errors have no lower end, and noise by them would be
        less than rounding: 400 rows of a burst in the midst of zeros could not be factorised.
        """
        space, log_noise = self.learned.start.space, self.learned.parameters.log_noise
        if not space.learns("log_noise"):
            return 0.0
        least = np.reshape(space.group("log_noise").bounds, (-1, 2))[:, 0]
        return np.exp(least - np.ravel(log_noise))

    def others(self, errors):
        """Return what all other rows say of those that some errors are of."""
        (rows, _, places), n_jobs = errors, self.problem.settings.n_jobs
        moments = self.learned.predictor.left_out(rows, places, n_jobs)
        noise_variance = self.learned.parameters.noise_variance
        return OwnErrors(*moments, self.problem.widths_of(places), rows, noise_variance)
