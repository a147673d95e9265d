"""What a classifier predicts: probabilities of its classes."""

from functools import partial

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..collections.lazy import lazily, of_classes, of_decisions, of_functions, of_labels, of_rows
from ..gp.chunks import in_chunks
from .latent import LatentFunctions


class ClassPredictions(LatentFunctions):
    """A mixin with the predicting methods of classifiers."""

    @lazily(of_labels)
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
        return self._predict(X)

    @lazily(of_classes)
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
        return self._probabilities(X)

    @lazily(of_decisions)
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
        return self._of_moments("decision", X)

    @lazily(of_functions)
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
        return self._predict_std(X)

    @lazily(of_rows)
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
        return self._log_density(X, y)

    # The same with the blocks that the rows belong to, for models to which they matter.

    def _predict(self, X, blocks=None):
        probability = self._probabilities(X, blocks)
        return self.classes_[np.argmax(probability, axis=1)]

    def _predict_std(self, X, blocks=None):
        std = np.sqrt(self._latent("mean_variance", *self._with_blocks(X, blocks))[1])
        return std[:, 0] if std.shape[1] == 1 else std

    def _log_density(self, X, y, blocks=None):
        y = column_or_1d(y)
        check_consistent_length(X, y)
        place = self._targets.positions(y)
        probability = self._probabilities(X, blocks)[np.arange(len(y)), place]
        return np.log(np.maximum(probability, np.finfo(np.float64).tiny))

    def _probabilities(self, X, blocks=None):
        """Return class probabilities, shape (n, n_classes)."""
        return self._of_moments("probabilities", X, blocks)

    def _of_moments(self, method, X, blocks=None):
        """Evaluate what the likelihood makes of latent means and variances, in chunks."""
        X, _ = self._with_blocks(X, blocks)
        function = partial(_of_moments, getattr(self.likelihood_, method), self._result.posterior)
        with self._telling(len(X)):
            return in_chunks(function, X, self.n_jobs)


def _of_moments(function, posterior, X):
    return function(*posterior.mean_variance(X))
