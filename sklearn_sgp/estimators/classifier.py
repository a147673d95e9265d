"""Predictions of sparse GP classifiers."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length, column_or_1d

from .base import BaseSparseGP
from ..likelihoods import Logit, Probit, Softmax

LIKELIHOODS = {"probit": Probit, "logit": Logit, "softmax": Softmax}


class BaseSparseGPClassifier(ClassifierMixin, BaseSparseGP):
    """Predicting methods of classifiers."""

    def predict(self, X):
        """Most probable class.

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
        """Probability of each class, the uncertainty of the latent functions averaged over.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
            Rows sum to 1; columns as in ``classes_``.
        """
        return self._probabilities(self._validated_inputs(X))

    def decision_function(self, X):
        """How much speaks for the second of two classes, or for each of several.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Latent mean over ``sqrt(1 + latent variance)`` for probit, log-odds of `predict_proba`
            for any other likelihood of two classes, log probabilities for more classes.
        """
        X = self._validated_inputs(X)
        if isinstance(self._likelihood, Probit):
            mean, variance = self._in_chunks(self._posterior.mean_variance, X)
            return mean[:, 0] / np.sqrt(1.0 + variance[:, 0])
        log_p = _log(self._probabilities(X))
        return log_p[:, 1] - log_p[:, 0] if len(self.classes_) == 2 else log_p

    def predict_std(self, X):
        """Standard deviation of the latent functions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        std : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One function for probit and logit, one for each class for softmax.
        """
        X = self._validated_inputs(X)
        std = np.sqrt(self._in_chunks(self._posterior.mean_variance, X)[1])
        return std[:, 0] if std.shape[1] == 1 else std

    def log_density(self, X, y):
        """Log probability of given labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,)
            Labels among ``classes_``.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            In nats.

        Raises
        ------
        ValueError
            If a label is not among ``classes_``.
        """
        X = self._validated_inputs(X)
        y = column_or_1d(y)
        check_consistent_length(X, y)
        place = self._places(y)
        return _log(self._probabilities(X)[np.arange(len(y)), place])

    def _probabilities(self, X):
        """Class probabilities at validated inputs, shape (n, n_classes)."""
        return self._in_chunks(_Probabilities(self._posterior, self._likelihood), X)[0]

    def _places(self, y):
        """Position of each label in ``classes_``, or a ValueError."""
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y must hold labels among the classes {self.classes_.tolist()}. Got also "
                f"{unknown.tolist()}: name all classes in the first call of partial_fit."
            )
        return np.searchsorted(self.classes_, y)

    def _codes(self, y):
        """Labels as the likelihood has them, shape (n, 1): -1 and 1, or numbers from 0."""
        place = self._places(y).astype(np.float64)
        if not isinstance(self._likelihood, Softmax):
            place = 2.0 * place - 1.0
        return place[:, None]


def _log(probability):
    """Logarithm, finite where the probability underflowed."""
    return np.log(np.maximum(probability, np.finfo(np.float64).tiny))


class _Probabilities:
    """Class probabilities of a chunk, as a picklable one-tuple function."""

    def __init__(self, posterior, likelihood):
        self.posterior, self.likelihood = posterior, likelihood

    def __call__(self, X):
        return (self.likelihood.probabilities(*self.posterior.mean_variance(X)),)


def chosen_likelihood(likelihood, classes):
    """Instance of a likelihood for some classes, or a ValueError.

    Parameters
    ----------
    likelihood : {"auto", "probit", "logit", "softmax"} or instance
    classes : ndarray

    Returns
    -------
    likelihood : Probit, Logit or Softmax
    """
    if len(classes) < 2:
        raise ValueError(
            "y must hold at least two classes among rows of positive weight. Got one class: "
            f"{classes.tolist()}. The first batch of a stream may hold one, if partial_fit is "
            "given all of them as classes=."
        )
    if isinstance(likelihood, str) and likelihood == "auto":
        return Probit() if len(classes) == 2 else Softmax()
    made = LIKELIHOODS[likelihood]() if isinstance(likelihood, str) else likelihood
    if len(classes) > 2 and not isinstance(made, Softmax):
        raise ValueError(
            f"The 'likelihood' parameter must be 'softmax' for {len(classes)} classes. Got "
            f"{likelihood!r}: for one function against each other class, wrap the estimator in "
            "sklearn.multiclass.OneVsRestClassifier."
        )
    return made
