"""Noise that a fit chooses."""

from .._base import Likelihood
from .._row_precision import NoiseChoice
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
    allows_outliers = True

    @property
    def noise_choice(self):
        """Likelihoods to choose from, the simplest first."""
        tails = StudentT(df=None)
        noises = [Gaussian(), tails, HeteroscedasticGaussian(), HeteroscedasticStudentT()]
        return NoiseChoice(noises, warps_targets=True)

    def moments(self, mean, variance, noise_variance):
        """Return mean and variance of y as `Gaussian` does."""
        return Gaussian().moments(mean, variance, noise_variance)


class NoiseAmidGaps(AutoNoise):
    """The noise of rows that lack values of X: Gaussian, or of each row with tails.

    Targets are warped where the user asks for it.
    """

    @property
    def noise_choice(self):
        """Likelihoods to choose from."""
        return NoiseChoice([Gaussian(), HeteroscedasticStudentT()])
