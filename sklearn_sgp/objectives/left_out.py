"""Probabilities of the classes of rows that are left out of groups of near rows.

Each row's functions follow in closed form from the other rows of its group, so that nothing is
fitted to the row itself but a few parameters of the kernel (docs/theory.md, section 14).
"""

from copy import copy

import numpy as np
from scipy.optimize import minimize_scalar

# Bounds of the logarithm of a temperature.
_LOG_TEMPERATURE = (np.log(0.1), np.log(10.0))


class LeftOutClasses:
    """Means and variances of the functions at left-out rows, and their classes.

    Parameters
    ----------
    evidence : NearRowsEvidence
    parameters : Parameters
    likelihood : Dirichlet
    """

    def __init__(self, evidence, parameters, likelihood):
        self.likelihood, self.moments = likelihood, evidence.left_out(parameters)
        self.place = np.concatenate(evidence.classes)
        self.weight = np.concatenate(evidence.counts)

    def at(self, temperature):
        """The likelihood with another temperature."""
        changed = copy(self.likelihood)
        changed.temperature = float(temperature)
        return changed

    def value(self, temperature):
        """Mean log probability of the classes."""
        log_p = self.at(temperature).log_predictive_density(self.place[:, None], *self.moments)
        return float(np.average(log_p, weights=self.weight))

    def best_temperature(self):
        """The best temperature, and its value."""
        found = minimize_scalar(
            lambda log_t: -self.value(np.exp(log_t)),
            bounds=_LOG_TEMPERATURE,
            method="bounded",
            options={"xatol": 0.02},
        )
        return float(np.exp(found.x)), -float(found.fun)
