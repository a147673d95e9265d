"""Frequencies of classes, which few rows may tell as much by as by where they lie."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Frequencies:
    """The frequencies of classes, and the share that they have of what is predicted.

    ``of_class``, (C,), is the total weight of the rows of each class, or (n, C), of those beside
    each of n rows. The share is between 0, where they do not count, and 1, where nothing else does.
    ``is_least`` says that it is only that of labels which go against all that is near: decisions
    are then those of the functions.
    """

    of_class: np.ndarray
    share: float
    is_least: bool = False

    @property
    def probabilities(self):
        """Probabilities of the classes by the rule of succession, (C,) or (n, C)."""
        return succession(self.of_class)

    def mixed(self, probabilities):
        """Return probabilities (n, C) of which these have their share."""
        return (1.0 - self.share) * probabilities + self.share * self.probabilities

    def without(self, place, weight):
        """Return those beside each of some rows, by their classes (n,) and weights (n,)."""
        own = weight[:, np.newaxis] * (place[:, np.newaxis] == np.arange(len(self.of_class)))
        return replace(self, of_class=np.maximum(self.of_class - own, 0.0))

    def joined(self, of_class):
        """Return the same with the weights of more rows: the share is that of the first ones."""
        total, more = self.of_class.sum(), of_class.sum()
        return replace(
            self,
            of_class=self.of_class + of_class,
            share=float(self.share * total / (total + more)),
        )


def succession(of_class):
    """Return the probabilities of classes by the rule of succession: one more row of each."""
    return (of_class + 1.0) / (of_class + 1.0).sum(axis=-1, keepdims=True)
