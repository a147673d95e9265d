"""The base of classifiers: labels, weights of classes, probabilities, later batches."""

import copy

from sklearn.base import ClassifierMixin

from .._compat import _fit_context
from ..data.inputs import InputFormat
from ..data.label_checks import sorted_classes
from ..predict.classes import Classes
from . import insights
from .base import BaseSGP, ask, transaction
from .labels import later_rows
from .settings import check_parameters
from .validation import takes_missing


class SGPClassifier(ClassifierMixin, BaseSGP):
    """The base of classifiers.

    A subclass has ``_learn_rows``, ``_add_rows`` and what they need; see `BaseSGP`.
    """

    _format = InputFormat()
    _has_prior = False  # before `fit`

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_missing(self)
        return tags

    # ---- Learning

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn from all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs. A float32 array or memory map is never copied as a whole.

        y : array-like of shape (n_samples,)
            Labels, such as strings or integers, that can be sorted.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts a row twice, weight 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If inputs or parameters are not valid. The estimator is then as before.

        RuntimeError
            If the workers that hold a dask collection are gone. The estimator is then as before.
        """
        with transaction(self):
            self._learn_rows(X, y, sample_weight)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from one more batch of rows.

        The first batch decides all starting values, so it should be large and mixed and should hold
        all classes; kernel and inducing inputs stay where they start if it holds one. What later
        batches change, and which parameters have to stay as in the first, is in the notes on the
        class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,)
            Labels.

        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come. The first call needs them if its batch does not hold all
            of them.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts a row twice, weight 0 leaves it out.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a label is not among the classes, if other inputs or parameters are not valid, or if
            a parameter has changed that needs a new ``fit``. The estimator is then as before, and
            the next batch can come.
        """
        check_parameters(self)
        if isinstance(getattr(self, "class_weight", None), str):
            raise ValueError(
                "class_weight='balanced' is not supported for partial_fit, which does not know how "
                "many rows of each class will come: give a dict."
            )
        known = None if classes is None else sorted_classes(classes)
        with transaction(self):
            if self._fitted is None:
                self._learn_rows(X, y, sample_weight, classes=known, is_batch=True)
            else:
                self._fitted.targets.check_same(known)
                self._add_rows(X, y, sample_weight)
        return self

    # ---- Predictions

    def predict(self, X):
        """Predict the most probable class, by `decision_function`.

        Probabilities of a default `AnytimeSGPClassifier` have a small share of class frequencies,
        which scores leave out: now and then the largest one is another's.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels, from ``classes_``.
        """
        return ask(self, "labels", X)

    def predict_proba(self, X):
        """Predict probabilities of the classes, averaged over the latent functions' uncertainty.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
            Each row sums to 1. The columns are in the order of ``classes_``. The largest one may be
            another's than that of `predict` where class frequencies have a share in them, as by a
            default `AnytimeSGPClassifier`.
        """
        return ask(self, "probabilities", X)

    def predict_log_proba(self, X):
        """Predict logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        log_probability : ndarray of shape (n_samples, n_classes)
            In nats, in the order of ``classes_``; finite also where a probability is zero to
            rounding.
        """
        return ask(self, "log_probabilities", X)

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
            variance)`` and the temperature. For any other likelihood of two classes, the log-odds
            of `predict_proba`. For more classes, log probabilities. A small share of class
            frequencies, for labels that go against all that is near, is left out; a default
            `AnytimeSGPClassifier` has one. `predict` returns the second class above 0, or the class
            of the largest score.
        """
        return ask(self, "decision", X)

    def predict_std(self, X):
        """Predict standard deviations of the latent functions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        std : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Probit and logit have one function; softmax, and regressions of labels, have one for
            each class.
        """
        return ask(self, "std", X)

    @property
    def feature_importances_(self):
        return insights.feature_importances(self)

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
        return ask(self, "log_density", X, y)

    def _training_rows(self, X, y, sample_weight):
        """Return the rows that an evidence is asked of, None for those kept, and their targets."""
        targets = self._fitted.targets
        if X is None:
            return None, targets
        return later_rows(copy.copy(self), X, y, sample_weight)[0], targets

    def _model(self):
        """Return the distribution of labels."""
        fitted = self._fitted
        return Classes(fitted.predictor, self.likelihood_, fitted.targets, self.n_jobs)
