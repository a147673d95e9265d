"""What a regressor predicts, in units of y."""

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._compat import check_array
from .._linalg import NotPositiveDefiniteError, cholesky
from ..collections.lazy import lazily, of_quantiles, of_rows, of_targets, of_targets_twice
from ..data.checks import check_count
from ..gp.chunks import in_chunks
from ..gp.pathwise import draw_functions
from .distribution import PredictiveDistribution, check_levels
from .latent import LatentFunctions
from .units import FunctionsInUnits, covariance_in_units, mean_std_in_units

# Largest covariance, in rows, of which sample_y(method="auto") takes a root.
_JOINT_ROWS = 2000


class RegressionPredictions(LatentFunctions):
    """A mixin with the predicting methods of regressors."""

    @lazily(of_targets_twice)
    def predict(self, X, return_std=False, return_cov=False):
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

        Returns
        -------
        y_mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictive mean, in units of y.

        y_std : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Standard deviation of a new observation, in units of y. Only if ``return_std``.

        y_cov : ndarray of shape (n_samples, n_samples) or (n_samples, n_samples, n_targets)
            Covariance of new observations. Only if ``return_cov``. Outputs that mix latent
            functions (``n_latent``) have covariances with one another, too: the shape is then
            (n_samples, n_samples, n_targets, n_targets), and entry [i, j, p, r] is the covariance
            of output p in row i and output r in row j.

        Raises
        ------
        RuntimeError
            If both ``return_std`` and ``return_cov`` are True.
        """
        return self._ready(X)._predict(X, return_std, return_cov)

    @lazily(of_targets)
    def predict_std(self, X, include_noise=True):
        """Predict standard deviations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        include_noise : bool, default=True
            True gives the standard deviation of a new observation, False that of the latent
            function.

        Returns
        -------
        std : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Standard deviation, in units of y.
        """
        return self._ready(X)._predict_std(X, include_noise)

    @lazily(of_targets)
    def noise_std(self, X):
        """Predict the standard deviation of the noise alone.

        With ``likelihood="heteroscedastic"`` or "heteroscedastic_student_t" it depends on X, and
        with transformed targets (``normalize_y``), where it is that of an observation whose latent
        function is known to be its predictive mean; else it is the same everywhere.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        std : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Standard deviation, in units of y.

        Raises
        ------
        ValueError
            If the likelihood has no noise besides the function, as that of counts.
        """
        return self._ready(X)._noise_std(X)

    @lazily(of_quantiles)
    def predict_quantiles(self, X, quantiles=(0.05, 0.5, 0.95)):
        """Predict quantiles of new observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        quantiles : array-like of float, default=(0.05, 0.5, 0.95)
            Levels, strictly between 0 and 1.

        Returns
        -------
        values : ndarray of shape (n_samples, n_quantiles) or (n_samples, n_targets, n_quantiles)
            Quantiles, in units of y, in the order of ``quantiles``.

        Raises
        ------
        ValueError
            If a level is not strictly between 0 and 1.
        """
        return self._ready(X)._predict_quantiles(X, quantiles)

    def predict_distribution(self, X):
        """Predict the distributions of new observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        distribution : PredictiveDistribution
            Has ``mean``, ``median``, ``std``, ``var``, ``cdf``, ``sf``, ``ppf``, ``interval``,
            ``pdf``, ``logpdf`` and ``rvs``, as frozen distributions of :mod:`scipy.stats`, in units
            of y.

        Examples
        --------
        The probability of more than 1, behind a pipeline:

        >>> import numpy as np
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> from sklearn_sgp import SVGPRegressor
        >>> X = np.linspace(0, 10, 200)[:, None]
        >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(200)
        >>> model = SVGPRegressor(n_inducing=20, random_state=0)
        >>> pipe = make_pipeline(StandardScaler(), model).fit(X, y)
        >>> new = pipe[:-1].transform([[1.5], [4.5]])
        >>> pipe[-1].predict_distribution(new).sf(1.0).round(1)
        array([0.5, 0. ])
        """
        return self._ready(X)._predict_distribution(X)

    @lazily(of_rows)
    def log_density(self, X, y):
        """Compute the log predictive density of observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observations.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log density of each row, in nats, for y as it is given. The outputs of a row are joint.

        Raises
        ------
        ValueError
            If y does not have the shape that it had in ``fit``, or holds infinity, or NaN where
            ``n_latent`` does not allow for targets that were not observed.
        """
        return self._ready(X)._log_density(X, y)

    def sample_y(self, X, n_samples=1, random_state=0, method="auto"):
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

        Returns
        -------
        samples : ndarray of shape (n_samples_X, n_samples) or (n_samples_X, n_targets, n_samples)
            Draws, in units of y, noise included.

        Raises
        ------
        ValueError
            If ``n_samples`` is negative or no int, if ``method`` is unknown, or if it is
            "pathwise" and the kernel has no spectral density.
        """
        return self._ready(X)._sample_y(X, n_samples, random_state, method)

    def sample_functions(self, n_samples=1, random_state=0):
        """Draw latent functions that can be evaluated anywhere (Wilson et al. 2020).

        Parameters
        ----------
        n_samples : int, default=1
            Number of functions.

        random_state : int, RandomState instance or None, default=0
            Seed of the draws.

        Returns
        -------
        functions : callable
            ``functions(X)`` of shape (n_samples_X, n_samples), or
            (n_samples_X, n_targets, n_samples) for several targets, in units of y, without noise.

        Raises
        ------
        ValueError
            If ``n_samples`` is negative or no int, or if the kernel has no spectral density.
        """
        check_is_fitted(self, "_result")
        check_count("n_samples", n_samples)
        rng = check_random_state(random_state)
        functions = self._drawn_functions(n_samples, rng)
        return FunctionsInUnits(functions, self._targets, self.n_jobs, self._category_codes)

    def _ready(self, X):
        """Return the model that predicts: this one, or its prior if there is one before `fit`."""
        return self

    # The same with the blocks that the rows belong to, for models to which they matter.

    def _predict(self, X, return_std, return_cov, blocks=None):
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        X, blocks = self._with_blocks(X, blocks)
        if return_cov:
            latent = self._latent_covariance(X, blocks)
            return covariance_in_units(self._targets, self.likelihood_, *latent, self._noise_at(X))
        if return_std:
            return self._mean_std(X, blocks, include_noise=True)
        if not self.likelihood_.identity_mean or self._targets.warps is not None:
            return self._mean_std(X, blocks, include_noise=True)[0]
        return self._targets.mean_in_units(self._latent("mean", X, blocks))

    def _predict_std(self, X, include_noise, blocks=None):
        return self._mean_std(*self._with_blocks(X, blocks), include_noise=include_noise)[1]

    def _noise_std(self, X):
        X, targets = self._validated_inputs(X), self._targets
        if self._result.noise_variance is None:
            raise ValueError(
                "noise_std needs a likelihood whose noise is added to the function. Got "
                f"{self.likelihood_!r}: predict_std has the deviation of an observation."
            )
        nothing, mean = np.zeros((len(X), targets.n_outputs)), 0.0
        if targets.warps is not None:  # the noise in units of y depends on the function
            mean = self._latent("mean", X, self._numbers_of_blocks(X, None))
        noise = self._noise_at(X)
        return mean_std_in_units(targets, self.likelihood_, nothing + mean, nothing, noise)[1]

    def _predict_quantiles(self, X, quantiles, blocks=None):
        levels = np.atleast_1d(check_levels("quantiles", quantiles, max_ndim=1))
        X, blocks = self._with_blocks(X, blocks)
        moments = self._latent_moments(X, blocks)
        values = self.likelihood_.quantiles(*moments, self._noise_at(X), levels)
        return self._targets.samples_in_units(values)

    def _predict_distribution(self, X, blocks=None):
        X, blocks = self._with_blocks(X, blocks)
        moments, noise = self._latent_moments(X, blocks), self._noise_at(X)
        return PredictiveDistribution(self.likelihood_, *moments, noise, self._targets)

    def _log_density(self, X, y, blocks=None):
        X, blocks = self._with_blocks(X, blocks)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(X, y)
        targets = self._targets
        shape = (len(X),) if targets.ndim == 1 else (len(X), targets.n_outputs)
        if y.shape != shape:
            raise ValueError(f"y must have shape {shape}, as in fit. Got {y.shape}.")
        y = y.reshape(len(X), -1)
        moments, noise = self._latent_moments(X, blocks), self._noise_at(X)
        log_p = self.likelihood_.log_predictive_density(targets.scaled(y), *moments, noise)
        return log_p + targets.log_slope(y).sum(axis=-1)

    def _sample_y(self, X, n_samples, random_state, method, blocks=None):
        if method not in ("auto", "joint", "pathwise"):
            raise ValueError(
                f"The 'method' parameter must be 'auto', 'joint' or 'pathwise'. Got {method!r}."
            )
        check_count("n_samples", n_samples)
        X, blocks = self._with_blocks(X, blocks)
        rng = check_random_state(random_state)
        if method == "auto":
            size = len(X) * self._n_joint_outputs
            method = "joint" if size <= _JOINT_ROWS else "pathwise"
        if method == "joint":
            samples = self._draw_joint(X, blocks, n_samples, rng)
        else:
            samples = self._draw_pathwise(X, n_samples, rng)
        return self._targets.samples_in_units(samples)

    def _draw_joint(self, X, blocks, n_samples, rng):
        noise, likelihood = self._noise_at(X), self.likelihood_
        mean, covariance = self._latent_covariance(X, blocks)
        if likelihood.conjugate:  # with the noise the covariance is well conditioned
            mean, covariance = likelihood.covariance(mean, covariance, noise)
        draws = np.empty((*mean.shape, n_samples))
        # output by output: the draws of the first do not depend on how many there are
        normal = rng.standard_normal((mean.shape[1], len(X), n_samples))
        roots = [joint_root(covariance[:, :, c]) for c in range(covariance.shape[2])]
        for c in range(mean.shape[1]):
            draws[:, c] = mean[:, c, None] + roots[min(c, len(roots) - 1)] @ normal[c]
        return draws if likelihood.conjugate else likelihood.draw(draws, noise, rng)

    _n_joint_outputs = 1  # whose draws depend on one another

    def _draw_pathwise(self, X, n_samples, rng):
        functions = self._drawn_functions(n_samples, rng)
        draws = in_chunks(functions, X, self.n_jobs)
        return self.likelihood_.draw(draws, self._noise_at(X), rng)

    def _drawn_functions(self, n_samples, rng):
        """Return draws of the latent functions, in scaled units."""
        posterior, spread = self._result.posterior, self._spread
        functions = draw_functions(posterior, n_samples, rng)
        return functions if spread is None else spread.of_functions(functions, posterior)

    def _mean_std(self, X, blocks, *, include_noise):
        likelihood = self.likelihood_ if include_noise else None
        noise = self._noise_at(X) if include_noise else None
        moments = self._latent_moments(X, blocks)
        return mean_std_in_units(self._targets, likelihood, *moments, noise)

    def _noise_at(self, X):
        """Return the noise variance, or what is known of it at each input."""
        result = self._result
        if result.row_noise is None:
            return result.noise_variance
        n_outputs = self._targets.n_outputs
        return result.row_noise.noise_at(X, result.noise_variance, n_outputs, self.n_jobs)

    def _latent_moments(self, X, blocks):
        """Return latent means and variances, both (n, t)."""
        mean, variance = self._latent("mean_variance", X, blocks)
        if self._spread is not None:
            variance = variance * self._spread.at(X, self.n_jobs) ** 2
        return mean, np.broadcast_to(variance, mean.shape)

    def _latent_covariance(self, X, blocks):
        """Return latent means (n, t) and joint covariances, (n, n, t) or (n, n, 1)."""
        mean, covariance = self._latent("mean_covariance", X, blocks)
        if self._spread is not None:
            factor = self._spread.at(X, self.n_jobs)
            covariance = covariance * factor[:, None] * factor
        return mean, covariance

    @property
    def _spread(self):
        """The factor of deviations, where there is one."""
        noise = self._result.row_noise
        return None if noise is None else noise.variance_scale


def joint_root(covariance):
    """Return the lower Cholesky factor. If rounding makes it fail, the diagonal is raised."""
    covariance = np.array(covariance, order="C")
    size = np.diagonal(covariance).mean()
    for jitter in (0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4):
        try:
            return cholesky(covariance + jitter * size * np.eye(len(covariance)))
        except NotPositiveDefiniteError:
            continue
    raise ValueError(
        f"The joint covariance of {len(covariance)} predictions must be positive definite to draw "
        "from it. Got one that is not, to rounding: draw fewer rows at a time."
    )
