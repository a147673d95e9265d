"""The logarithm of the noise variance as a function to be learned, from squared errors."""

import numpy as np

from ..likelihoods import ExpectedLogDensity, Likelihood


class LogNoise(Likelihood):
    """Squared errors r of noise of variance exp(g): log density -(t g + r exp(-g)) / 2.

    It is what E[log N(y; f, s2 exp g)] depends on through g, concave in g (docs/theory.md, section
    13). Errors of ``n_outputs`` outputs are summed in r. With 1 each column of r has a g of its
    own.
    """

    def __init__(self, n_outputs=1):
        self.n_outputs = n_outputs

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        """Return E[log density] for g ~ N(mean, variance), in closed form, of arrays (n, k)."""
        t = self.n_outputs
        with np.errstate(over="ignore"):  # -inf: the optimiser rejects such a trial
            scaled = y * np.exp(-mean + 0.5 * variance)
        value = -0.5 * (t * mean + scaled)
        return ExpectedLogDensity(
            value.sum(axis=1), 0.5 * (scaled - t), -0.25 * scaled, np.zeros(len(y))
        )

    def moments(self, mean, variance, noise_variance=None):
        """Return mean and variance of exp(g), shape (n, k)."""
        first = np.exp(mean + 0.5 * variance)
        return first, first**2 * np.expm1(variance)
