"""Class labels: their codes, or a regression for each class (docs/theory.md, section 14)."""

from dataclasses import dataclass, replace

import numpy as np

from .frequencies import Frequencies
from .label_checks import check_labels_present, not_sortable
from .targets import Encoding


@dataclass(frozen=True)
class ClassLabels(Encoding):
    """Classes of a classifier, and their codes.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Sorted labels.
    likelihood : Likelihood
        Says how it has classes: as -1 and 1, or as numbers from 0.
    frequencies : Frequencies or None
        Of few rows, where they have a share of what is predicted.
    """

    classes: np.ndarray
    likelihood: object
    frequencies: Frequencies | None = None

    mean, scale = np.zeros(1), np.ones(1)  # nothing is scaled

    @property
    def n_outputs(self):
        return len(self.classes)

    @property
    def attributes(self):
        return {"classes_": self.classes.copy()}

    def positions(self, y):
        """Return the position of each label in the classes, or raise a ValueError."""
        try:
            unknown = np.setdiff1d(y, self.classes)
        except TypeError as error:
            check_labels_present("y", y)
            raise ValueError(not_sortable("y", y)) from error
        if len(unknown):
            raise ValueError(
                f"y must hold labels among the classes {self.classes.tolist()}. Got also "
                f"{unknown.tolist()}: name all classes in the first call of partial_fit."
            )
        return np.searchsorted(self.classes, y)

    def codes(self, place):
        """Encode rows whose classes have these positions, as the likelihood has them, (n, 1)."""
        return self.likelihood.codes(place)

    def places(self, y):
        """Return the positions of the classes of encoded labels (n, t), (n,).

        Where each class has a column the largest number is in that of the label.
        """
        if y.shape[1] > 1:
            return y.argmax(axis=1)
        return (y == self.codes(np.arange(len(self.classes))).T).argmax(axis=1)

    def encode(self, y):
        """Encode labels, or raise a ValueError."""
        return self.codes(self.positions(y))

    def after(self, rows):
        """Return the same after the `Rows` of a later batch."""
        if self.frequencies is None:
            return self
        of_class = np.bincount(self.places(rows.y), rows.weights[1], len(self.classes))
        return replace(self, frequencies=self.frequencies.joined(of_class))

    def check_same(self, classes):
        """Refuse ``classes`` of a later batch that differ from those of the first."""
        if classes is not None and not np.array_equal(np.unique(classes), self.classes):
            raise ValueError(
                f"classes must be as in the first call, {self.classes.tolist()}. Got "
                f"{np.unique(classes).tolist()}."
            )

    def is_informative(self, rows):
        """Tell if rows have labels of more than one class.

        Labels that are all the same are best explained by a function that never changes.
        """
        return bool((rows.y != rows.y[0]).any())


@dataclass(frozen=True)
class ClassTargets(ClassLabels):
    """Labels as targets of regressions: one number for the class of a row, another for all others.

    The `Dirichlet` likelihood gives the numbers, and the variances of their noise.
    """

    @classmethod
    def fit(cls, labels, likelihood, of_class):
        """Centre by the mean over the first rows.

        ``of_class``, (C,), is the total weight of the rows of each class.
        """
        return cls(labels.classes, likelihood.centred(of_class))

    @property
    def mean(self):
        return self.likelihood.offset

    @property
    def scale(self):
        return np.ones(self.n_outputs)

    @property
    def log_scale(self):
        """Sum of the log noise deviations of a row, which precisions leave out."""
        other, own = self.likelihood.noise
        return 0.5 * float(np.log(own) + (self.n_outputs - 1) * np.log(other))

    def codes(self, place):
        """Return targets (n, C) of rows whose classes have these positions."""
        other, own = self.likelihood.targets
        y = np.full((len(place), self.n_outputs), other)
        y[np.arange(len(place)), place] = own
        return y

    def precision(self, y):
        """Return one over the noise variances of targets, (n, C)."""
        other, own = self.likelihood.noise
        return np.where(y == self.likelihood.targets[1], 1.0 / own, 1.0 / other)
