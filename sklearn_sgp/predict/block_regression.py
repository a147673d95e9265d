"""What a regressor in blocks of rows predicts, told the ``blocks`` of the rows."""

from sklearn.utils.validation import check_is_fitted

from ..collections.lazy import lazily, of_quantiles, of_rows, of_targets, of_targets_twice
from ..gp.conditionals import ExactConditional
from .latent import LatentFunctionsInBlocks
from .marginal_likelihood import BlockMarginalLikelihood


class BlockPredictions(BlockMarginalLikelihood, LatentFunctionsInBlocks):
    """A mixin with the predicting methods, which take blocks; see `LatentFunctionsInBlocks`."""

    @lazily(of_targets_twice)
    def predict(self, X, return_std=False, return_cov=False, blocks=None):
        """Predict new observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        return_std : bool, default=False
            Whether to return the standard deviation of each prediction, noise included.

        return_cov : bool, default=False
            Whether to return the joint covariance of the predictions, noise included. Its memory is
            quadratic in ``n_samples``.

        blocks : array-like of shape (n_samples,), default=None
            Labels of blocks, if ``fit`` had them. A row with a new label belongs to an empty block.
            If ``fit`` had labels and they are not given here, all rows belong to empty blocks, and
            PIC warns.

        Returns
        -------
        y_mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictive mean, in units of y.

        y_std : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Standard deviation of a new observation, in units of y. Only if ``return_std``.

        y_cov : ndarray of shape (n_samples, n_samples) or (n_samples, n_samples, n_targets)
            Covariance of new observations. Only if ``return_cov``.

        Raises
        ------
        RuntimeError
            If both ``return_std`` and ``return_cov`` are True.

        ValueError
            If ``blocks`` is given and ``fit`` had no labels.
        """
        return self._predict(X, return_std, return_cov, blocks)

    @lazily(of_targets)
    def predict_std(self, X, include_noise=True, blocks=None):
        """Predict standard deviations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        include_noise : bool, default=True
            True gives the standard deviation of a new observation, False that of the latent
            function.

        blocks : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        std : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Standard deviation, in units of y.
        """
        return self._predict_std(X, include_noise, blocks)

    @lazily(of_quantiles)
    def predict_quantiles(self, X, quantiles=(0.05, 0.5, 0.95), blocks=None):
        """Predict quantiles of new observations.

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
            Quantiles, in units of y, in the order of ``quantiles``.

        Raises
        ------
        ValueError
            If a level is not strictly between 0 and 1.
        """
        return self._predict_quantiles(X, quantiles, blocks)

    def predict_distribution(self, X, blocks=None):
        """Predict the distributions of new observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        blocks : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        distribution : PredictiveDistribution
            Has ``mean``, ``median``, ``std``, ``var``, ``cdf``, ``sf``, ``ppf``, ``interval``,
            ``pdf``, ``logpdf`` and ``rvs``, as frozen distributions of :mod:`scipy.stats`, in units
            of y.
        """
        return self._predict_distribution(X, blocks)

    @lazily(of_rows)
    def log_density(self, X, y, blocks=None):
        """Compute the log predictive density of observations.

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
            Log density of each row, in nats, for y as it is given. The outputs of a row are joint.

        Raises
        ------
        ValueError
            If y does not have the shape that it had in ``fit``, or holds NaN or infinity.
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
            "joint" draws from the exact joint distribution; its cost is cubic in the number of
            rows, with ``n_latent`` of rows times outputs. "pathwise" evaluates random functions
            (see :meth:`sample_functions`); its cost is linear in the number of rows. "auto" is
            "joint" while the former number is at most 2,000, and "pathwise" above.

        blocks : array-like of shape (n_samples_X,), default=None
            As in `predict`.

        Returns
        -------
        samples : ndarray of shape (n_samples_X, n_samples) or (n_samples_X, n_targets, n_samples)
            Draws, in units of y, noise included.

        Raises
        ------
        ValueError
            If ``n_samples`` is negative or no int, if ``method`` is unknown, or if it is
            "pathwise" and the model is SoR, FIC or PIC or the kernel has no spectral density.
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
            If ``n_samples`` is negative or no int, if the model is SoR, FIC or PIC, or if the
            kernel has no spectral density.
        """
        check_is_fitted(self, "_result")
        self._refuse_paths()
        return super().sample_functions(n_samples, random_state)

    def score(self, X, y, sample_weight=None, blocks=None):
        """Compute the coefficient of determination of the predictive mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observations.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        blocks : array-like of shape (n_samples,), default=None
            As in `predict`.

        Returns
        -------
        score : float
            The coefficient, at most 1.
        """
        from sklearn.metrics import r2_score  # a slow import, as in scikit-learn's own `score`

        return r2_score(y, self.predict(X, blocks=blocks), sample_weight=sample_weight)

    def _draw_pathwise(self, X, n_samples, rng):
        self._refuse_paths()
        return super()._draw_pathwise(X, n_samples, rng)

    def _refuse_paths(self):
        if self._blocks.specification.conditional is not ExactConditional:
            raise ValueError(
                "Functions can be drawn only where the test conditional is the prior's own. Got "
                f"model={self.model!r}: use sample_y with method='joint', in pieces if need be."
            )
