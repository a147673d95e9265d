"""Several classes: softmax over independent latent functions (docs/theory.md, section 10).

With x_c = exp(s + f_c) and P_c(s) the product of E[exp(-x_j)] over the other classes,

    E[log sum exp f] = integral of exp(-exp s) - E[exp(-x_c)] P_c(s) ds,
    E[p_c] = integral of E[x_c exp(-x_c)] P_c(s) ds,
    E[p_c - p_c^2] = integral of E[x_c exp(-x_c)] (-P_c'(s)) ds,

one-dimensional and exact. Each expectation on the right is a function of s + mean_c and variance_c
alone, and sklearn_sgp/_core/softmax.c computes it on a lattice of s.
"""

from copy import copy

import numpy as np
from numpy.typing import ArrayLike

from ._base import ExpectedLogDensity, Likelihood
from ._classes import (
    SoftmaxProbabilities,
    check_class_offset,
    check_temperature,
    log_frequencies,
    softmax_moments,
)
from ._dirichlet import Dirichlet


class Softmax(SoftmaxProbabilities, Likelihood):
    """p(y = c | f) = exp(offset_c + f_c) / sum exp(offset + f), c from 0.

    Parameters
    ----------
    offset : ndarray of shape (C,), float or None, default=None
        Prior means of the arguments of the softmax. One number for all classes changes nothing.
        None: the estimator takes the logarithms of the frequencies of the classes, by weight,
        relative to the largest; outside of an estimator 0.
    temperature : float, default=1.0
        What the arguments of the softmax are divided by in predictions, positive. Learning does not
        use it. ``optimizer="auto"`` chooses its own.
    """

    # A natural-gradient step uses the curvature of each class alone, and the curvature of all
    # classes together is between one and two times that. At both ends a step of 2/3 leaves a third
    # of the error; full steps oscillate.
    natural_step = 2.0 / 3.0
    # A mean common to all classes changes only the divergence, which is least if that mean is zero.
    # Steps class by class would find this slowly.
    shift_invariant = True
    temperature = 1.0  # of pickles that have none

    def __init__(self, offset: ArrayLike | None = None, temperature: float = 1.0) -> None:
        self.offset, self.temperature = offset, temperature

    def for_classes(self, weight):
        """Check the offset, or take it from the frequencies of the classes."""
        check_temperature(self)
        if self.offset is not None:
            check_class_offset(self, weight.shape)
            return self
        return copy(self).set_params(offset=log_frequencies(weight))

    def as_regressions(self, of_class):
        """Return the regressions with known noise that learning begins with."""
        return Dirichlet().centred(of_class)

    def expected_log_density(self, y, mean, variance, noise_variance=None):
        """Return E[log p_y] and its derivatives; y (n, 1) are numbers of classes, 0 to C - 1."""
        mean = self._offset + mean
        log_sum, p, p2 = softmax_moments(mean, variance)
        rows, label = np.arange(len(mean)), y[:, 0].astype(np.intp)
        d_mean = -p
        d_mean[rows, label] += 1.0
        d_variance = -0.5 * np.maximum(p - p2, 0.0)
        return ExpectedLogDensity(
            mean[rows, label] - log_sum, d_mean, d_variance, np.zeros(len(mean))
        )
