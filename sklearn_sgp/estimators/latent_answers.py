"""What a fitted model of latent inputs answers."""

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..data.checks import check_n_samples
from .base import BaseSGP
from .latent_tables import checked_latents, checked_table, latent_map


class LatentAnswers(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseSGP):
    """The base of models of latent inputs: their methods but for learning.

    It derives from scikit-learn's mixins, since ``set_output`` reaches methods of such a class.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]

    def fit_transform(self, Y, y=None):
        """Learn from all rows, and return the means of their latent inputs.

        Parameters
        ----------
        Y : array-like of shape (n_samples, n_features)
            Rows, with NaN where a value is missing.

        y : object, default=None
            Ignored.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
        """
        return self.fit(Y, y).embedding_.copy()

    def transform(self, Y, return_std=False):
        """Find latent inputs of rows, complete or not, given the learned model.

        Parameters
        ----------
        Y : array-like of shape (n_samples, n_features)
            Rows, with NaN where a value is missing. A row with nothing observed gets the prior.

        return_std : bool, default=False
            Whether to return standard deviations too.

        Returns
        -------
        mean : ndarray of shape (n_samples, n_components)

        std : ndarray of shape (n_samples, n_components)
            Only if ``return_std`` is True.
        """
        Y = checked_table(self, Y)
        with self._telling(len(Y)):
            q = latent_map(self).inputs_of(Y)
        return (q.mean, np.sqrt(q.variance)) if return_std else q.mean

    def inverse_transform(self, X, return_std=False):
        """Predict columns at given latent inputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Latent inputs.

        return_std : bool, default=False
            Whether to return standard deviations of new observations, noise included, too.

        Returns
        -------
        mean : ndarray of shape (n_samples, n_features)

        std : ndarray of shape (n_samples, n_features)
            Only if ``return_std`` is True.
        """
        check_is_fitted(self)
        X = checked_latents(X, self._n_features_out)
        with self._telling(len(X)):
            return latent_map(self).columns_at(X, return_std)

    def score_samples(self, Y):
        """Compute lower bounds of the log density of what was observed in each row.

        Parameters
        ----------
        Y : array-like of shape (n_samples, n_features)
            Rows, with NaN where a value is missing.

        Returns
        -------
        bounds : ndarray of shape (n_samples,)
            In nats, for Y in its own units; 0 for a row with nothing observed.
        """
        Y = checked_table(self, Y)
        with self._telling(len(Y)):
            return latent_map(self).log_density_bounds(Y)

    def score(self, Y, y=None):
        """Compute the mean of `score_samples`.

        Parameters
        ----------
        Y : array-like of shape (n_samples, n_features)
            Rows, with NaN where a value is missing.

        y : object, default=None
            Ignored.

        Returns
        -------
        score : float
            In nats a row.
        """
        return float(self.score_samples(Y).mean())

    def impute(self, Y, return_std=False):
        """Fill in missing values.

        Parameters
        ----------
        Y : array-like of shape (n_samples, n_features)
            Rows, with NaN where a value is missing.

        return_std : bool, default=False
            Whether to return standard deviations too.

        Returns
        -------
        filled : ndarray of shape (n_samples, n_features)
            Observed values are as they were.

        std : ndarray of shape (n_samples, n_features)
            Standard deviations of the missing values, noise included and corrected by
            ``calibration_``, and 0 for observed ones. Only if ``return_std`` is True.
        """
        Y = checked_table(self, Y)
        with self._telling(len(Y)):
            filled, std = latent_map(self).imputed(Y)
        return (filled, std) if return_std else filled

    def sample(self, n_samples=1, random_state=None):
        """Draw new rows from the model.

        Latent inputs come from their prior, and values of the columns from their distributions at
        these, each value on its own.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.

        random_state : int, RandomState instance or None, default=None
            Seed of the draws.

        Returns
        -------
        Y : ndarray of shape (n_samples, n_features)

        Raises
        ------
        ValueError
            If ``n_samples`` is not a positive whole number.
        """
        check_is_fitted(self)
        check_n_samples(n_samples, least=1)
        rng = check_random_state(random_state)
        X = rng.normal(size=(n_samples, self._n_features_out))
        mean, std = self.inverse_transform(X, return_std=True)
        return mean + std * rng.normal(size=mean.shape)
