"""Labels as the targets of regressions, one for each class (docs/theory.md, section 14)."""

from dataclasses import dataclass

import numpy as np

from .targets import ClassLabels


@dataclass(frozen=True)
class ClassTargets:
    """What labels are learned as: a number for the class of a row, another for all other classes.

    Parameters
    ----------
    labels : ClassLabels
    likelihood : Dirichlet
        Gives the numbers, and the variances of their noise.
    """

    labels: ClassLabels
    likelihood: object

    @classmethod
    def fit(cls, labels, likelihood, of_class):
        """Centred by the mean over the first rows.

        Parameters
        ----------
        labels : ClassLabels
        likelihood : Dirichlet
        of_class : ndarray of shape (C,)
            Total weight of the rows of each class.
        """
        return cls(labels, likelihood.centred(of_class))

    @property
    def mean(self):
        """Of the targets, which are centred, (C,)."""
        return self.likelihood.offset

    @property
    def scale(self):
        return np.ones(len(self.mean))

    @property
    def log_scale(self):
        """What the log density of a row has more where the noise's own scale is left out."""
        other, own = self.likelihood.noise
        return 0.5 * float(np.log(own) + (self.n_outputs - 1) * np.log(other))

    @property
    def n_outputs(self):
        return len(self.mean)

    @property
    def attributes(self):
        return self.labels.attributes

    def positions(self, y):
        """As `ClassLabels.positions`."""
        return self.labels.positions(y)

    def check_same(self, classes):
        """As `ClassLabels.check_same`."""
        self.labels.check_same(classes)

    def encode(self, y):
        """Labels as targets (n, C), or a ValueError."""
        return self.targets(self.positions(y))

    def targets(self, place):
        """Targets (n, C) of rows whose classes have these positions."""
        other, own = self.likelihood.targets
        y = np.full((len(place), self.n_outputs), other)
        y[np.arange(len(place)), place] = own
        return y

    def precision(self, y):
        """One over the noise variances of targets, (n, C)."""
        other, own = self.likelihood.noise
        return np.where(y == self.likelihood.targets[1], 1.0 / own, 1.0 / other)

    def is_informative(self, rows):
        """As `ClassLabels.is_informative`."""
        return bool((rows.y != rows.y[0]).any())

    def columns(self, y):
        """Labels as they are; see `Targets.columns`."""
        return y

    def joined(self, y, weight):
        """The same: nothing is warped."""
        return self
