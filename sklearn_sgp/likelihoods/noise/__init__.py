"""Noise that is added to the function: Gaussian, with heavy tails, or depending on the input.

Likelihoods that are Gaussian given a precision of each row, and what finds these. Imports the
interface and the quadrature of the folder above, which alone imports from here.
"""

from ._auto import AutoNoise, NoiseAmidGaps
from ._gaussian import Gaussian
from ._heteroscedastic import HeteroscedasticGaussian, HeteroscedasticStudentT
from ._student_t import StudentT

__all__ = [
    "AutoNoise",
    "Gaussian",
    "HeteroscedasticGaussian",
    "HeteroscedasticStudentT",
    "NoiseAmidGaps",
    "StudentT",
]
