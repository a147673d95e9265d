"""Classifiers that learn kernel and inducing inputs: labels, classes and their weights."""

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from .classifier import LIKELIHOODS, BaseSparseGPClassifier, chosen_likelihood
from .._compat import FitProgress, HasMethods, StrOptions
from ..fitting.inference import BySites
from .learned import BaseLearned
from ..fitting.starting_values import merged_rows, no_noise, positive_rows, scaled_rows
from ..likelihoods import Softmax
from ..data.rows import Rows

LIKELIHOOD_CONSTRAINT = [
    StrOptions({"auto", *LIKELIHOODS}),
    HasMethods(["expected_log_density", "probabilities"]),
]


class BaseLearnedClassifier(BaseLearned, BaseSparseGPClassifier):
    """Classifiers with a ``likelihood`` parameter, and ``class_weight`` where it is one."""

    class_weight = None

    def _checked(self, X, y, sample_weight, *, reset):
        """Validated inputs, labels, and weights times those of classes; rows of weight 0 gone."""
        X, y, weight = self._validated(X, y, sample_weight, reset=reset, multi_output=False)
        check_classification_targets(y)
        if self.class_weight is not None:
            of_class = compute_sample_weight(self.class_weight, y)
            weight = of_class if weight is None else weight * of_class
        return positive_rows(X, y, weight)

    def _coded_rows(self, X, y, weight):
        return scaled_rows(X, self._codes(y), weight, (np.zeros(1), np.ones(1)))

    def _learn(self, X, y, weight, classes, clock, previous):
        progress = FitProgress(self, X, y)
        progress.begin()
        self._learn_batch(X, y, weight, classes, clock, previous, self._course, progress)
        progress.end()

    def _learn_batch(self, X, y, weight, classes, clock, previous, course, progress):
        """Classes, start and course of a fit, or of the first batch of one."""
        self._likelihood = chosen_likelihood(self.likelihood, classes)
        self.classes_ = classes
        self.n_samples_seen_ = len(X)
        coded = merged_rows(X, self._codes(y), weight)
        rows = Rows(*coded, np.zeros(1), np.ones(1))
        rng = check_random_state(self.random_state)
        self._learn_rows(rows, rng, progress, clock, previous, course)

    def _n_latent(self):
        return len(self.classes_) if isinstance(self._likelihood, Softmax) else 1

    def _noise_start(self, whites):
        return no_noise(whites, self.kernel, self._likelihood)

    def _observed(self):
        return self._likelihood, BySites(self._likelihood, self._n_latent())

    def _refuse_balanced(self):
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' is not supported for partial_fit, which does not know how "
                "many rows of each class will come: give a dict."
            )

    def _check_same_classes(self, classes):
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes must be as in the first call, {self.classes_.tolist()}. Got "
                f"{np.unique(classes).tolist()}."
            )
