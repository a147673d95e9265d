"""Predictions of sparse GP regressors, in the units of the targets."""

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .base import BaseSparseGP
from ..likelihoods import Gaussian, Poisson
from .._linalg import NotPositiveDefiniteError, cholesky
from ..gp.pathwise import draw_functions

# Largest number of rows for which sample_y(method="auto") draws jointly.
_JOINT_ROWS = 2000


class BaseSparseGPRegressor(MultiOutputMixin, RegressorMixin, BaseSparseGP):
    """Predicting methods of regressors."""

    _likelihood = Gaussian()

    def predict(self, X, return_std=False, return_cov=False):
        """Predict new observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        return_std : bool, default=False
            Whether to return the standard deviation of each prediction, noise included.

        return_cov : bool, default=False
            Whether to return the joint covariance of the predictions, noise included. It takes
            memory quadratic in ``n_samples``; everything else goes in chunks.

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
        """
        return self._predict(X, return_std, return_cov)

    def predict_std(self, X, include_noise=True):
        """Standard deviation of the predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        include_noise : bool, default=True
            True for that of a new observation, False for that of the latent function.

        Returns
        -------
        std : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Standard deviation, in units of y.
        """
        return self._predict_std(X, include_noise)

    def predict_quantiles(self, X, quantiles=(0.05, 0.5, 0.95)):
        """Quantiles of new observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        quantiles : array-like of float, default=(0.05, 0.5, 0.95)
            Levels, strictly between 0 and 1.

        Returns
        -------
        values : ndarray of shape (n_samples, n_quantiles) or (n_samples, n_targets, n_quantiles)
            Quantiles, in units of y, in the order asked for.
        """
        return self._predict_quantiles(X, quantiles)

    def log_density(self, X, y):
        """Log predictive density of observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observations.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            In nats, for y in its own units; joint over the outputs of a row.
        """
        return self._log_density(X, y)

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
            "joint" draws from the exact joint distribution, cubic in the number of rows.
            "pathwise" evaluates random functions (see :meth:`sample_functions`), linear in the
            number of rows. "auto" is joint up to 2,000 rows and pathwise above.

        Returns
        -------
        samples : ndarray of shape (n_samples_X, n_samples) or (n_samples_X, n_targets, n_samples)
            Draws, in units of y, noise included.

        Raises
        ------
        ValueError
            If a pathwise draw is asked of a kernel without a spectral density.
        """
        return self._sample_y(X, n_samples, random_state, method)

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
            If the kernel has no spectral density.
        """
        check_is_fitted(self, "_posterior")
        rng = check_random_state(random_state)
        paths = draw_functions(self._posterior, n_samples, rng)
        return _FunctionsInUnits(paths, *self._y_scaling(), self._y_ndim == 1)

    # The same with the blocks that the rows belong to, for models to which they matter.

    def _predict(self, X, return_std, return_cov, blocks=None):
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        X, blocks = self._placed(X, blocks)
        if return_cov:
            mean, covariance = self._likelihood.covariance(
                *self._latent_covariances(X, blocks), self._scaled_noise()
            )
            scale = self._y_scaling()[1]
            return self._mean_in_units(mean), self._squeezed(covariance * scale**2)
        if return_std:
            return self._mean_std(X, blocks, include_noise=True)
        if isinstance(self._likelihood, Poisson):  # its mean depends on the latent variance
            return self._mean_std(X, blocks, include_noise=True)[0]
        return self._mean_in_units(self._latent_mean(X, blocks))

    def _predict_std(self, X, include_noise, blocks=None):
        return self._mean_std(*self._placed(X, blocks), include_noise=include_noise)[1]

    def _predict_quantiles(self, X, quantiles, blocks=None):
        levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if levels.ndim != 1 or not ((levels > 0) & (levels < 1)).all():
            raise ValueError(
                "The 'quantiles' parameter must be numbers strictly between 0 and 1. Got "
                f"{quantiles!r}."
            )
        moments = self._latent_moments(*self._placed(X, blocks))
        values = self._likelihood.quantiles(*moments, self._scaled_noise(), levels)
        offset, scale = self._y_scaling()
        values = values * scale[:, None] + offset[:, None]
        return values[:, 0] if self._y_ndim == 1 else values

    def _log_density(self, X, y, blocks=None):
        X, blocks = self._placed(X, blocks)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(X, y)
        offset, scale = self._y_scaling()
        shape = (len(X),) if self._y_ndim == 1 else (len(X), len(scale))
        if y.shape != shape:
            raise ValueError(f"y must have shape {shape}, as in fit. Got {y.shape}.")
        scaled = (y.reshape(len(X), -1) - offset) / scale
        moments = self._latent_moments(X, blocks)
        found = self._likelihood.log_predictive_density(scaled, *moments, self._scaled_noise())
        return found - np.log(scale).sum()

    def _sample_y(self, X, n_samples, random_state, method, blocks=None):
        if method not in ("auto", "joint", "pathwise"):
            raise ValueError(
                f"The 'method' parameter must be 'auto', 'joint' or 'pathwise'. Got {method!r}."
            )
        X, blocks = self._placed(X, blocks)
        rng = check_random_state(random_state)
        if method == "auto":
            method = "joint" if len(X) <= _JOINT_ROWS else "pathwise"
        if method == "joint":
            samples = self._draw_joint(X, blocks, n_samples, rng)
        else:
            samples = self._draw_pathwise(X, n_samples, rng)
        mean, scale = self._y_scaling()
        samples = samples * scale[:, None] + mean[:, None]
        return samples[:, 0] if self._y_ndim == 1 else samples

    def _placed(self, X, blocks):
        """Validated inputs, and the numbers of their blocks where blocks matter."""
        return self._validated_inputs(X), None

    def _latent_mean(self, X, blocks):
        return self._in_chunks(_Mean(self._posterior), X)[0]

    def _latent_mean_variance(self, X, blocks):
        return self._in_chunks(self._posterior.mean_variance, X)

    def _latent_mean_covariance(self, X, blocks):
        return self._posterior.mean_covariance(X)

    def _draw_joint(self, X, blocks, n_samples, rng):
        noise = self._scaled_noise()
        mean, covariance = self._latent_covariances(X, blocks)
        gaussian = isinstance(self._likelihood, Gaussian)
        if gaussian:  # with the noise the covariance is well conditioned
            mean, covariance = self._likelihood.covariance(mean, covariance, noise)
        draws = np.empty((*mean.shape, n_samples))
        normal = rng.standard_normal((len(X), mean.shape[1], n_samples))
        roots = [_root(covariance[:, :, c]) for c in range(covariance.shape[2])]
        for c in range(mean.shape[1]):
            draws[:, c] = mean[:, c, None] + roots[min(c, len(roots) - 1)] @ normal[:, c]
        return draws if gaussian else self._likelihood.draw(draws, noise, rng)

    def _draw_pathwise(self, X, n_samples, rng):
        paths = draw_functions(self._posterior, n_samples, rng)
        (draws,) = self._in_chunks(Single(paths), X)
        return self._likelihood.draw(draws, self._scaled_noise(), rng)

    def _mean_std(self, X, blocks, *, include_noise):
        mean, variance = self._latent_moments(X, blocks)
        if include_noise:
            mean, variance = self._likelihood.moments(mean, variance, self._scaled_noise())
        std = np.sqrt(variance) * self._y_scaling()[1]
        return self._mean_in_units(mean), self._squeezed(np.broadcast_to(std, mean.shape).copy())

    def _latent_moments(self, X, blocks):
        """Latent means and variances, both (n, t)."""
        mean, variance = self._latent_mean_variance(X, blocks)
        return mean, np.broadcast_to(variance.reshape(len(X), -1), mean.shape)

    def _latent_covariances(self, X, blocks):
        """Latent means (n, t) and covariances (n, n, t), or (n, n, 1) where outputs share them."""
        mean, covariance = self._latent_mean_covariance(X, blocks)
        return mean, covariance.reshape(len(X), len(X), -1)

    def _scaled_noise(self):
        """Noise variance in units of the scaled targets; None for a likelihood without one."""
        return self.noise_variance_ if self._likelihood.n_noise else None

    def _y_scaling(self):
        """Offset and scale of each output, shapes (t,)."""
        return np.atleast_1d(self.y_mean_), np.atleast_1d(self.y_scale_)

    def _mean_in_units(self, mean):
        offset, scale = self._y_scaling()
        return self._squeezed(mean * scale + offset)

    def _squeezed(self, values):
        """Drop the axis of the outputs where y had none."""
        return values[..., 0] if self._y_ndim == 1 else values


def _root(covariance):
    """Lower Cholesky factor, with a little on the diagonal where rounding asks for it."""
    covariance = np.array(covariance, order="C")
    size = np.diagonal(covariance).mean()
    for jitter in (0.0, 1e-12, 1e-10, 1e-8):
        try:
            return cholesky(covariance + jitter * size * np.eye(len(covariance)))
        except NotPositiveDefiniteError:
            continue
    raise ValueError(
        f"The joint covariance of {len(covariance)} predictions must be positive definite to draw "
        "from it. Got one that is not, to rounding: draw fewer rows at a time."
    )


class _Mean:
    """The latent mean alone, as a picklable one-tuple function."""

    def __init__(self, posterior):
        self.posterior = posterior

    def __call__(self, X):
        return (self.posterior.mean(X),)


class Single:
    """A function's result as a one-tuple."""

    def __init__(self, function):
        self.function = function

    def __call__(self, X):
        return (self.function(X),)


class _FunctionsInUnits:
    """Pathwise draws in units of y."""

    def __init__(self, paths, mean, scale, squeeze):
        self.paths, self.mean, self.scale, self.squeeze = paths, mean, scale, squeeze

    def __call__(self, X):
        X = check_array(X, dtype=[np.float64, np.float32])
        values = self.paths(X) * self.scale[:, None] + self.mean[:, None]
        return values[:, 0] if self.squeeze else values
