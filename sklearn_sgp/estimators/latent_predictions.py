"""What models of latent inputs answer with, in units of Y."""

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._compat import check_array
from .._parallel import one_blas_thread_each
from ..data.checks import check_count, check_size, check_variance
from ..engines.latent_inputs.result import ROW_ITERATIONS, ROW_TOL
from ..gp.chunks import in_chunks
from ..latents.expectations import chunk_of
from ..latents.row_posteriors import find_inputs
from .chosen import settings_of
from .latent_model import CONSTANT_VARIANCE


class LatentPredictions(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Mixin of the predicting methods; see `LatentModel` for what a fitted model holds.

    A transformer here, since ``set_output`` reaches methods of the class that derives from one.
    """

    def transform(self, Y, return_std=False):
        """Latent inputs of rows, complete or not, given the learned model.

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
        q, _ = self._inputs_of(self._validated_table(Y, reset=False))
        return (q.mean, np.sqrt(q.variance)) if return_std else q.mean

    def inverse_transform(self, X, return_std=False):
        """Columns at given latent inputs.

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
        X = check_array(X, dtype=np.float64, order="C")
        if X.shape[1] != self._n_features_out:
            raise ValueError(
                f"X must have {self._n_features_out} columns, one for each latent dimension. Got "
                f"{X.shape[1]}."
            )
        check_size("X", X)
        model = self._fitted.model
        check_variance(model.posterior.prior.kernel, X)
        moments = model.posterior.mean_variance if return_std else model.posterior.mean
        with self._telling(len(X)):
            found = in_chunks(moments, X, self.n_jobs)
        if not return_std:
            return self._in_units(found)
        mean, variance = found
        return self._in_units(mean), self._std_in_units(variance + model.noise_variance)

    def score_samples(self, Y):
        """Lower bounds of the log density of what was observed in each row.

        Parameters
        ----------
        Y : array-like of shape (n_samples, n_features)
            Rows, with NaN where a value is missing.

        Returns
        -------
        bounds : ndarray of shape (n_samples,)
            In nats, for Y in its own units; 0 for a row with nothing observed.
        """
        table = self._validated_table(Y, reset=False)
        return self._inputs_of(table)[1] - table.log_scales()

    def score(self, Y, y=None):
        """Mean of `score_samples`.

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
        """Rows with their missing values filled in.

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
        Y, result = self._validated_rows(Y, reset=False), self._fitted
        table = self._table(Y)
        q, _ = self._inputs_of(table)
        filled, missing = np.array(Y, dtype=np.float64), np.isnan(Y)
        std = np.zeros(filled.shape)
        chunk, model = chunk_of(len(result.model.expectations.Z)), result.model
        for lo in range(0, len(table), chunk):  # psi2 of so many rows at a time
            piece = slice(lo, lo + chunk)
            where = missing[piece]
            mean, variance = model.moments(q[piece])
            variance = result.factors[0] * model.noise_variance + result.factors[1] * variance
            filled[piece][where] = self._in_units(mean)[where]
            std[piece][where] = self._std_in_units(variance)[where]
        return (filled, std) if return_std else filled

    def sample(self, n_samples=1, random_state=None):
        """New rows from the model.

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
        check_count("n_samples", n_samples, least=1)
        rng = check_random_state(random_state)
        X = rng.normal(size=(n_samples, self._n_features_out))
        mean, std = self.inverse_transform(X, return_std=True)
        return mean + std * rng.normal(size=mean.shape)

    def _in_units(self, mean):
        """Means of all columns, from scaled ones of those that vary."""
        scaling, columns = self._fitted.scaling, self._columns
        return columns.full(scaling.mean + scaling.scale * mean, columns.constants)

    def _std_in_units(self, variance):
        std = self._fitted.scaling.scale * np.sqrt(variance)
        return self._columns.full(std, np.sqrt(CONSTANT_VARIANCE))

    def _inputs_of(self, table):
        """Return q(x) of rows, and their bounds for columns as scaled."""
        result, n_jobs = self._fitted, settings_of(self).n_jobs
        with self._telling(len(table)), one_blas_thread_each(n_jobs):
            return find_inputs(
                result.model,
                table,
                candidates=result.candidates,
                max_iter=ROW_ITERATIONS,
                tol=ROW_TOL,
                n_jobs=n_jobs,
            )
