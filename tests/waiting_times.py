"""A likelihood of one's own, of which the expected log density and moments are known."""

import numpy as np

from sklearn_sgp.likelihoods import ExpectedLogDensity, Likelihood


class Exponential(Likelihood):
    """Waiting times with mean exp(f): the least that a regression likelihood must define."""

    identity_mean = False

    def __init__(self, unit=1.0):
        self.unit = unit

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        scaled = y / self.unit * np.exp(-mean + 0.5 * variance)
        value = (-mean - scaled - np.log(self.unit)).sum(axis=1)
        return ExpectedLogDensity(value, scaled - 1.0, -0.5 * scaled, np.zeros(len(y)))

    def moments(self, mean, variance, noise_variance=None):
        first = self.unit * np.exp(mean + 0.5 * variance)
        return first, first**2 * (2.0 * np.exp(variance) - 1.0)
