"""Probabilities of the classes of rows that are left out.

In groups of near rows each row's functions follow in closed form from the other rows of its group,
so that nothing is fitted to the row itself but a few parameters of the kernel (docs/theory.md,
section 14).
"""

from copy import copy

import numpy as np
from scipy.optimize import minimize_scalar

# Bounds of the logarithm of a temperature.
_LOG_TEMPERATURE = (np.log(0.1), np.log(10.0))
# Of the prior of it. Fifty rows may all be right: then the smaller the better, but for this.
_LOG_TEMPERATURE_STD = 0.5
# A temperature that gains less, in nats a row, is not kept.
_LEAST_GAIN = 5e-3


class LeftOutClasses:
    """Classes of rows that are left out, and what is predicted of their functions.

    Parameters
    ----------
    likelihood : Dirichlet or Softmax
    moments : (ndarray, ndarray) of shape (n, C)
        Means and variances of the functions.
    place : ndarray of int, shape (n,)
        Numbers of the classes.
    weight : ndarray of shape (n,)
    """

    def __init__(self, likelihood, moments, place, weight):
        self.likelihood, self.moments, self.place, self.weight = likelihood, moments, place, weight

    @classmethod
    def of_groups(cls, evidence, parameters, likelihood):
        """Each row of some groups, given the others of its group.

        Parameters
        ----------
        evidence : NearRowsEvidence
        parameters : Parameters
        likelihood : Dirichlet
        """
        place, weight = np.concatenate(evidence.classes), np.concatenate(evidence.counts)
        return cls(likelihood, evidence.left_out(parameters), place, weight)

    def at(self, temperature):
        """The likelihood with another temperature."""
        changed = copy(self.likelihood)
        changed.temperature = float(temperature)
        return changed

    def log_probabilities(self, temperature):
        """Log probabilities of the classes, (n,)."""
        return self.at(temperature).log_predictive_density(self.place[:, None], *self.moments)

    def value(self, temperature):
        """Mean log probability of the classes."""
        return float(np.average(self.log_probabilities(temperature), weights=self.weight))

    def best_temperature(self):
        """The best temperature, with a prior that few rows do not outweigh, and its value."""
        price = 0.5 / (len(self.place) * _LOG_TEMPERATURE_STD**2)
        found = minimize_scalar(
            lambda log_t: price * log_t**2 - self.value(np.exp(log_t)),
            bounds=_LOG_TEMPERATURE,
            method="bounded",
            options={"xatol": 0.02},
        )
        return float(np.exp(found.x)), -float(found.fun)

    def calibrated(self):
        """The likelihood with the best temperature, or with 1 where that is hardly better."""
        temperature, _ = self.best_temperature()
        before, after = self.log_probabilities(1.0), self.log_probabilities(temperature)
        gain = np.average(after - before, weights=self.weight)
        if gain < _LEAST_GAIN or not is_better(after, before, self.weight):
            return self.at(1.0)
        return self.at(temperature)


def is_better(log_p, before, weight):
    """Whether log probabilities are larger by more than the standard error of their difference."""
    gain = log_p - before
    mean = np.average(gain, weights=weight)
    error = np.sqrt(np.average((gain - mean) ** 2, weights=weight) / max(len(gain) - 1, 1))
    return len(gain) > 1 and mean > error
