"""Noise that a fit chooses."""

from .._base import Likelihood
from ._gaussian import Gaussian
from ._heteroscedastic import HeteroscedasticGaussian, HeteroscedasticStudentT
from ._student_t import StudentT


class AutoNoise(Likelihood):
    """The noise with the best bound, given the function that is learned with Gaussian noise.

    Targets are warped before that where this predicts other rows better, or raises the evidence of
    few rows by more than its parameters cost.
    """

    has_noise = True
    scales_targets = True
    has_row_precision = True
    has_sites = False
    allows_outliers = True
    warps_targets = True

    @property
    def candidates(self):
        """Likelihoods to choose from, the simplest first."""
        tails = StudentT(df=None)
        return [Gaussian(), tails, HeteroscedasticGaussian(), HeteroscedasticStudentT()]

    def moments(self, mean, variance, noise_variance):
        """As of `Gaussian`."""
        return Gaussian().moments(mean, variance, noise_variance)
