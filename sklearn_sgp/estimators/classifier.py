"""The base of classifiers: it encodes labels, weights classes and predicts probabilities."""

from functools import partial
from numbers import Real

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from .._compat import HasMethods, StrOptions
from ..data.rows import drop_zero_weight, make_rows, merge_repeated
from ..data.targets import ClassLabels, Encoded, count_samples
from ..gp.chunks import in_chunks
from ..likelihoods._names import CLASSIFICATION, classification_likelihood
from .base import BaseSparseGP

LIKELIHOOD_CONSTRAINT = [
    StrOptions({"auto", *CLASSIFICATION}),
    HasMethods(["expected_log_density", "probabilities"]),
]


class SparseGPClassifier(ClassifierMixin, BaseSparseGP):
    """The base of classifiers. It has their labels and predictions."""

    class_weight = None  # where it is no parameter

    # ---- Labels

    def _checked(self, X, y, sample_weight, *, reset, classes=None):
        """Return validated inputs, labels and weights of all rows of positive weight.

        Weights are multiplied by those of the classes. Classes of None are those of the labels.
        """
        X, y, weight = self._validated(X, y, sample_weight, reset=reset, multi_output=False)
        check_classification_targets(y)
        if self.class_weight is not None:
            of_class = self._weight_of_classes(y, np.unique(y) if classes is None else classes)
            weight = of_class if weight is None else weight * of_class
        X, y, weight = drop_zero_weight(X, y, weight)
        if reset and not len(X):
            raise ValueError(
                "class_weight must leave rows of weight above zero. Got "
                f"{self.class_weight!r}, which with sample_weight leaves none."
            )
        return X, y, weight

    def _weight_of_classes(self, y, classes):
        """Return the weight of each row's class, or raise a ValueError."""
        place = ClassLabels(classes, None).positions(y)
        if isinstance(self.class_weight, dict):
            weights = list(self.class_weight.values())
            if not all(isinstance(w, Real) and 0.0 <= w < np.inf for w in weights):
                raise ValueError(
                    "The weights of the 'class_weight' parameter must be finite and not negative. "
                    f"Got {self.class_weight!r}."
                )
            return compute_class_weight(self.class_weight, classes=classes, y=classes)[place]
        return compute_class_weight(self.class_weight, classes=classes, y=y)[place]

    def _encoded(self, X, y, weight, classes):
        """Encode the labels of a first batch, and merge its repeated rows."""
        n_samples = count_samples(X, weight)
        likelihood = classification_likelihood(self.likelihood, classes)
        labels = ClassLabels(classes, likelihood)
        X, place, weight = merge_repeated(X, labels.positions(y), weight)
        y = likelihood.codes(place)
        of_class = np.bincount(place, weights=weight, minlength=len(classes))
        likelihood = likelihood.for_classes(of_class.astype(np.float64)).initialized(y, weight)
        return Encoded(X, y, weight, labels, likelihood, n_samples)

    def _later_rows(self, X, y, weight):
        """Make the `Rows` of a later batch."""
        return make_rows(X, self._targets.encode(y), weight, self._targets)

    # ---- Predictions

    def predict(self, X):
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels, from ``classes_``.
        """
        probability = self.predict_proba(X)
        return self.classes_[np.argmax(probability, axis=1)]

    def predict_proba(self, X):
        """Predict probabilities of the classes, averaged over the latent functions' uncertainty.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
            Each row sums to 1. The columns are in the order of ``classes_``.
        """
        return self._probabilities(self._validated_inputs(X))

    def decision_function(self, X):
        """Compute a score of the second of two classes, or of each of more classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For probit, the latent mean, prior mean included, divided by ``sqrt(1 + latent
            variance)``. For any other likelihood of two classes, the log-odds of `predict_proba`.
            For more classes, log probabilities.
        """
        X = self._validated_inputs(X)
        return self._of_moments(self.likelihood_.decision, X)

    def predict_std(self, X):
        """Predict standard deviations of the latent functions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        std : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Probit and logit have one function, softmax has one for each class.
        """
        X = self._validated_inputs(X)
        std = np.sqrt(in_chunks(self._result.posterior.mean_variance, X, self.n_jobs)[1])
        return std[:, 0] if std.shape[1] == 1 else std

    def log_density(self, X, y):
        """Compute the log probability of given labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,)
            Labels among ``classes_``.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log probability of each label, in nats.

        Raises
        ------
        ValueError
            If a label is not among ``classes_``.
        """
        X = self._validated_inputs(X)
        y = column_or_1d(y)
        check_consistent_length(X, y)
        place = self._targets.positions(y)
        probability = self._probabilities(X)[np.arange(len(y)), place]
        return np.log(np.maximum(probability, np.finfo(np.float64).tiny))

    def _probabilities(self, X):
        """Return class probabilities at validated inputs, shape (n, n_classes)."""
        return self._of_moments(self.likelihood_.probabilities, X)

    def _of_moments(self, function, X):
        """Evaluate a function of latent means and variances, in chunks."""
        return in_chunks(partial(_of_moments, function, self._result.posterior), X, self.n_jobs)


def _of_moments(function, posterior, X):
    return function(*posterior.mean_variance(X))
