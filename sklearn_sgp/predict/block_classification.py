"""What a classifier in blocks of rows predicts, told the ``blocks`` of the rows."""

import numpy as np

from ..collections.lazy import lazily, of_classes, of_decisions, of_functions, of_labels, of_rows
from ..gp.chunks import in_chunks
from .classification import ClassPredictions
from .latent import LatentFunctionsInBlocks


class BlockClassPredictions(LatentFunctionsInBlocks, ClassPredictions):
    """A mixin with the predicting methods, which take blocks; see `LatentFunctionsInBlocks`."""

    @lazily(of_labels)
    def predict(self, X, blocks=None):
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        blocks : array-like of shape (n_samples,), default=None
            Labels of blocks, if ``fit`` had them. A row with a new label belongs to an empty block.
            If ``fit`` had labels and they are not given here, all rows belong to empty blocks, and
            PIC warns.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels, from ``classes_``.
        """
        return self._predict(X, blocks)

    @lazily(of_classes)
    def predict_proba(self, X, blocks=None):
        """Predict probabilities of the classes, averaged over the latent functions' uncertainty.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        blocks : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
            Each row sums to 1. The columns are in the order of ``classes_``.
        """
        return self._probabilities(X, blocks)

    @lazily(of_decisions)
    def decision_function(self, X, blocks=None):
        """Compute a score of the second of two classes, or of each of more classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        blocks : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The log-odds of `predict_proba` for two classes, log probabilities for more.
        """
        return self._of_moments("decision", X, blocks)

    @lazily(of_functions)
    def predict_std(self, X, blocks=None):
        """Predict standard deviations of the latent functions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        blocks : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        std : ndarray of shape (n_samples, n_classes)
            Each class has a function.
        """
        return self._predict_std(X, blocks)

    @lazily(of_rows)
    def log_density(self, X, y, blocks=None):
        """Compute the log probability of given labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,)
            Labels among ``classes_``.

        blocks : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log probability of each label, in nats.

        Raises
        ------
        ValueError
            If a label is not among ``classes_``.
        """
        return self._log_density(X, y, blocks)

    def score(self, X, y, sample_weight=None, blocks=None):
        """Compute the accuracy of the most probable classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,)
            Labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        blocks : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        score : float
            The share of the rows whose class was predicted, by weight.
        """
        from sklearn.metrics import accuracy_score  # a slow import, as in scikit-learn's `score`

        return accuracy_score(y, self.predict(X, blocks=blocks), sample_weight=sample_weight)

    def _of_moments(self, method, X, blocks=None):
        mean, variance = self._latent("mean_variance", *self._with_blocks(X, blocks))
        both = np.stack([mean, np.broadcast_to(variance, mean.shape)], axis=1)
        return in_chunks(_Apart(getattr(self.likelihood_, method)), both, self.n_jobs)


class _Apart:
    """A function of means and variances as one of both in one array (n, 2, t)."""

    def __init__(self, function):
        self.function = function

    def __call__(self, both):
        return self.function(*np.ascontiguousarray(both.swapaxes(0, 1)))
