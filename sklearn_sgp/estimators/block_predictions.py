"""Predictions of regressors whose blocks of rows matter: every method takes ``blocks``."""

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from .learned_regression import BaseLearnedRegressor
from .regressor import Single
from .._warnings import warn_caller
from .._parallel import resolved_jobs
from ..blocks.partition import check_labels, position_of
from ..gp.conditionals import Conditional, FactorCache, InBlocks

# Memory for factorised blocks that were predicted in.
_CACHE_BYTES = 256 << 20


class BaseBlockRegressor(BaseLearnedRegressor):
    """Predicting methods with blocks.

    A subclass fits, and sets what `_block_attributes` returns.
    """

    @staticmethod
    def _block_attributes(specification, blocks, partition, classes):
        """Fitted attributes besides those of all regressors."""
        return {
            "_specified": specification,
            "_blocks": blocks,
            "_partition": partition,
            "_classes": classes,
            "_cache": FactorCache(_CACHE_BYTES),
            "n_blocks_": len(blocks),
        }

    def _checked_labels(self, labels, n_rows):
        if self._classes is None:
            raise ValueError(
                "blocks must be given to fit for other methods to take them. Got them here only."
            )
        return check_labels(labels, n_rows, self._classes)

    def predict(self, X, return_std=False, return_cov=False, blocks=None):
        """Predict new observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        return_std : bool, default=False
            Whether to return the standard deviation of each prediction, noise included.

        return_cov : bool, default=False
            Whether to return the joint covariance of the predictions, noise included.

        blocks : array-like of shape (n_samples,), default=None
            Labels of blocks, if ``fit`` had them. A row with a label never seen belongs to an empty
            block, and without labels, after a warning, all rows do.

        Returns
        -------
        y_mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictive mean, in units of y.

        y_std : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Only if ``return_std``.

        y_cov : ndarray of shape (n_samples, n_samples) or (n_samples, n_samples, n_targets)
            Only if ``return_cov``.
        """
        return self._predict(X, return_std, return_cov, blocks)

    def predict_std(self, X, include_noise=True, blocks=None):
        """Standard deviation of the predictions; see `predict`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        include_noise : bool, default=True
            True for that of a new observation, False for that of the latent function.

        blocks : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        std : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Standard deviation, in units of y.
        """
        return self._predict_std(X, include_noise, blocks)

    def predict_quantiles(self, X, quantiles=(0.05, 0.5, 0.95), blocks=None):
        """Quantiles of new observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        quantiles : array-like of float, default=(0.05, 0.5, 0.95)
            Levels, strictly between 0 and 1.

        blocks : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        values : ndarray of shape (n_samples, n_quantiles) or (n_samples, n_targets, n_quantiles)
            Quantiles, in units of y, in the order asked for.
        """
        return self._predict_quantiles(X, quantiles, blocks)

    def log_density(self, X, y, blocks=None):
        """Log predictive density of observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observations.

        blocks : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            In nats, for y in its own units; joint over the outputs of a row.
        """
        return self._log_density(X, y, blocks)

    def sample_y(self, X, n_samples=1, random_state=0, method="auto", blocks=None):
        """Draw new observations.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_features)
            Inputs.

        n_samples : int, default=1
            Number of draws.

        random_state : int, RandomState instance or None, default=0
            Seed of the draws.

        method : {"auto", "joint", "pathwise"}, default="auto"
            "joint" draws from the exact joint distribution. "pathwise" is linear in the number of
            rows, for models whose test conditional is the prior's own: not SoR, FIC and PIC.

        blocks : array-like of shape (n_samples_X,), default=None
            As in `predict`.

        Returns
        -------
        samples : ndarray of shape (n_samples_X, n_samples) or (n_samples_X, n_targets, n_samples)
            Draws, in units of y, noise included.
        """
        return self._sample_y(X, n_samples, random_state, method, blocks)

    def sample_functions(self, n_samples=1, random_state=0):
        """Draw latent functions that can be evaluated anywhere.

        Parameters
        ----------
        n_samples : int, default=1
            Number of functions.

        random_state : int, RandomState instance or None, default=0
            Seed of the draws.

        Returns
        -------
        functions : callable
            ``functions(X)`` of shape (n_samples_X, n_samples), in units of y, without noise.

        Raises
        ------
        ValueError
            For SoR, FIC and PIC, and for kernels without a spectral density.
        """
        check_is_fitted(self, "_posterior")
        self._refuse_paths()
        return super().sample_functions(n_samples, random_state)

    def score(self, X, y, sample_weight=None, blocks=None):
        """Coefficient of determination of the predictive mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observations.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        blocks : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        score : float
            At most 1.
        """
        return r2_score(y, self.predict(X, blocks=blocks), sample_weight=sample_weight)

    def _draw_pathwise(self, X, n_samples, rng):
        self._refuse_paths()
        return super()._draw_pathwise(X, n_samples, rng)

    def _refuse_paths(self):
        if self._specified.conditional is not Conditional:
            raise ValueError(
                "Functions can be drawn only where the test conditional is the prior's own. Got "
                f"model={self.model!r}: use sample_y with method='joint', in pieces if need be."
            )

    def _placed(self, X, blocks):
        X = self._validated_inputs(X)
        if blocks is not None:
            return X, position_of(self._checked_labels(blocks, len(X)), self._classes)
        if self._partition is None:
            if self._specified.conditional is InBlocks:
                warn_caller(
                    "The model was fitted with labels of blocks and predicts without them: what "
                    "the data of a row's own block say is left out. Pass blocks=, with labels as "
                    "in fit, or fit without labels to have rows placed by their inputs."
                )
            return X, np.full(len(X), -1)
        return X, self._partition.assign(X)

    @property
    def _latent(self):
        model, _, conditional = self._specified
        if conditional is not InBlocks:
            return conditional(self._posterior)
        return InBlocks(
            self._posterior,
            self.noise_variance_,
            model,
            self._blocks,
            resolved_jobs(self.n_jobs),
            self._cache,
        )

    def _latent_mean(self, X, blocks):
        return self._moments(self._latent.mean, X, blocks, 1)[0]

    def _latent_mean_variance(self, X, blocks):
        return self._moments(self._latent.mean_variance, X, blocks, 2)

    def _latent_mean_covariance(self, X, blocks):
        return self._latent.mean_covariance(X, blocks)

    def _moments(self, function, X, blocks, count):
        """In chunks of rows, but for PIC, which goes block by block."""
        if isinstance(function.__self__, InBlocks):
            found = function(X, blocks)
            return (found,) if count == 1 else found
        return self._in_chunks(Single(function) if count == 1 else function, X)
