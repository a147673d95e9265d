"""Classes as regressions with known noise (docs/theory.md, section 14)."""

import numpy as np
from numpy.typing import ArrayLike

from ._base import Likelihood
from ._classes import SoftmaxProbabilities


class Dirichlet(SoftmaxProbabilities, Likelihood):
    """p(y = c | f) = E[softmax(f / temperature)_c], f learned from log-normal targets.

    Class probabilities are thought of as Gamma draws, divided by their sum, with concentrations 1 +
    alpha_epsilon for the class that was seen and alpha_epsilon for the others. The logarithm of a
    Gamma draw is nearly normal, with a mean and a variance that its concentration gives: the
    targets and the noise variances of a regression for each class (Milios et al. 2018).

    Parameters
    ----------
    alpha_epsilon : float
        Concentration of a class that was not seen.
    temperature : float, default=1.0
        What functions are divided by in predictions.
    offset : ndarray of shape (C,) or None, default=None
        Prior means of the functions.
    """

    conjugate = True

    def __init__(
        self, alpha_epsilon: float = 0.01, temperature: float = 1.0, offset: ArrayLike | None = None
    ) -> None:
        self.alpha_epsilon, self.temperature, self.offset = alpha_epsilon, temperature, offset

    @property
    def concentrations(self):
        """Concentrations of a class that was not seen, and of one that was."""
        return np.array([self.alpha_epsilon, 1.0 + self.alpha_epsilon])

    @property
    def noise(self):
        """Variance of the logarithm of a Gamma draw of these concentrations."""
        return np.log1p(1.0 / self.concentrations)

    @property
    def targets(self):
        """Mean of the logarithm of a Gamma draw of these concentrations."""
        return np.log(self.concentrations) - 0.5 * self.noise

    def centred(self, of_class):
        """Take the mean of the targets over rows as the offset.

        Parameters
        ----------
        of_class : ndarray of shape (C,)
            Total weight of the rows of each class. A class without any gets the mean of the others,
            as in `log_frequencies`.
        """
        other, own = self.targets
        present = of_class > 0.0
        of_class = np.where(present, of_class, of_class[present].mean())
        mean = other + (own - other) * of_class / of_class.sum()
        return type(self)(self.alpha_epsilon, self.temperature, mean)
