"""Several classes, one against the rest: a function and a likelihood of two classes for each."""

from copy import copy

import numpy as np

from ._base import SMALLEST_PROBABILITY, Likelihood


class OneAgainstRest(Likelihood):
    """P(y = c | f) in proportion to P_c(+1 | f_c), where P_c is of a class and all others.

    Parameters
    ----------
    each : list of Likelihood
        Those of two classes.
    """

    def __init__(self, each: list) -> None:
        self.each = each

    def for_classes(self, weight):
        """Let each likelihood see the weights of its class and of all others."""
        both = np.column_stack([weight.sum() - weight, weight])
        each = [one.for_classes(pair) for one, pair in zip(self.each, both, strict=True)]
        return copy(self).set_params(each=each)

    def codes(self, place):
        """Return 1.0 for the class of a row, and -1.0 for all others, (n, C)."""
        return np.where(place[:, None] == np.arange(len(self.each)), 1.0, -1.0)

    def for_output(self, output):
        """Return the likelihood of a class and all others."""
        return self.each[output]

    def probabilities(self, mean, variance):
        """Return the probabilities of classes against all others, over their sum, (n, C)."""
        is_class, columns = np.ones((len(mean), 1)), zip(mean.T, variance.T, strict=True)
        of_classes = zip(self.each, columns, strict=True)
        log_p = [
            one.log_predictive_density(is_class, m[:, None], v[:, None])
            for one, (m, v) in of_classes
        ]
        p = np.exp(log_p - np.max(log_p, axis=0)).T
        return p / p.sum(axis=1, keepdims=True)

    def log_predictive_density(self, y, mean, variance, noise_variance=None):
        """Return log P(y), (n,), of classes by their codes (n, C)."""
        return np.log(np.maximum(self.probabilities(mean, variance)[y > 0.0], SMALLEST_PROBABILITY))
