"""Noise that depends on the input: the logarithm of its variance is a Gaussian process."""

from copy import copy
from typing import NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from ._base import Likelihood, NoiseUpdate
from ._mixtures import NormalMixture
from ._student_t import StudentT

# Nodes of the logarithm of the noise variance, and their weights, by Gauss and Hermite.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(16)
_LOG_WEIGHTS = np.log(_WEIGHTS / _WEIGHTS.sum())


class VaryingNoise(NamedTuple):
    """Noise variances of some rows, as far as they are known.

    The logarithm of that of row n and output c is normal with mean ``log_mean[n, c]`` and variance
    ``log_variance[n, c]``; it takes the place of ``noise_variance`` in a likelihood's methods.
    """

    log_mean: np.ndarray
    log_variance: np.ndarray

    @property
    def mean(self):
        """Expected noise variance, (n, t)."""
        return np.exp(self.log_mean + 0.5 * self.log_variance)

    def mapped(self, function):
        """With a function of both arrays."""
        return VaryingNoise(*map(function, self))
