"""What a regressor predicts of outputs that mix latent functions: jointly over outputs."""

import numpy as np
from sklearn.utils.validation import check_consistent_length

from .._compat import check_array
from ..gp.chunks import in_chunks
from ..gp.pathwise import draw_mixed_functions
from .regression import joint_root

# Numbers in the covariances between outputs that are held at a time.
_COVARIANCES = 1 << 21
# Of correlations. Functions that outputs share may be so much larger than their noise that no
# number holds both.
_ROUNDING = 1e-15


class MixedPredictions:
    """A mixin of regressors in batches: what ``n_latent`` changes in predictions."""

    @property
    def _is_mixed(self):
        return hasattr(self, "_result") and self._result.parameters.mixing is not None

    @property
    def _n_joint_outputs(self):
        return self._targets.n_outputs if self._is_mixed else super()._n_joint_outputs

    def _drawn_functions(self, n_samples, rng):
        if not self._is_mixed:
            return super()._drawn_functions(n_samples, rng)
        return draw_mixed_functions(self._result.posterior, n_samples, rng)

    def _predict(self, X, return_std, return_cov, blocks=None):
        if not (self._is_mixed and return_cov) or return_std:
            return super()._predict(X, return_std, return_cov, blocks)
        X, targets = self._validated_inputs(X), self._targets
        mean, covariance = self._with_noise(X)
        covariance = covariance * np.outer(targets.scale, targets.scale)
        if targets.ndim == 1:
            covariance = covariance[:, :, 0, 0]
        return targets.mean_in_units(mean), covariance

    def _with_noise(self, X):
        """Return means (n, t) and covariances (n, n, t, t) of observations, scaled."""
        mean, covariance = self._result.posterior.full_covariance(X)
        rows, outputs = np.arange(len(mean))[:, None], np.arange(mean.shape[1])
        covariance[rows, rows, outputs, outputs] += self._result.noise_variance
        return mean, covariance

    def _log_density(self, X, y, blocks=None):
        if not self._is_mixed:
            return super()._log_density(X, y, blocks)
        X, targets = self._validated_inputs(X), self._targets
        y = check_array(
            y, ensure_2d=False, dtype=np.float64, ensure_all_finite="allow-nan", input_name="y"
        )
        check_consistent_length(X, y)
        y = (targets.columns(y) - targets.mean) / targets.scale
        size = max(1, _COVARIANCES // y.shape[1] ** 2)
        pieces = (slice(lo, lo + size) for lo in range(0, len(y), size))
        return np.concatenate([self._log_density_of(X[piece], y[piece]) for piece in pieces])

    def _log_density_of(self, X, y):
        """The same of some rows, targets scaled, whose covariances fit into memory."""
        mean, covariance = in_chunks(self._result.posterior.moments, X, self.n_jobs)
        outputs = np.arange(mean.shape[1])
        covariance[:, outputs, outputs] += self._result.noise_variance
        return _log_normal(y - mean, covariance, self._targets.scale)

    def score(self, X, y, sample_weight=None):
        """Compute the coefficient of determination of the predictive mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Observations. With ``n_latent`` NaN is a target that was not observed.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The mean over the outputs of their coefficients, each at most 1.
        """
        y = np.asarray(y)
        if not (self._is_mixed and y.ndim == 2 and y.dtype.kind == "f" and np.isnan(y).any()):
            return super().score(X, y, sample_weight)
        from sklearn.metrics import r2_score  # a slow import, as in scikit-learn's own `score`

        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        mean, seen = self.predict(X), ~np.isnan(y)
        return float(
            np.mean(
                [
                    r2_score(y[rows, p], mean[rows, p], sample_weight=weight[rows])
                    for p, rows in enumerate(seen.T)
                    if rows.any()
                ]
            )
        )

    def _draw_joint(self, X, blocks, n_samples, rng):
        if not self._is_mixed:
            return super()._draw_joint(X, blocks, n_samples, rng)
        mean, covariance = self._with_noise(X)
        n, t = mean.shape
        root = joint_root(covariance.transpose(0, 2, 1, 3).reshape(n * t, n * t))
        normal = rng.standard_normal((n * t, n_samples))
        return mean[:, :, None] + (root @ normal).reshape(n, t, n_samples)

    def _check_arguments(self, theta, eval_gradient, X, y):
        if self._is_mixed and theta is not None:
            raise ValueError(
                "theta must be None with n_latent, as the objective at other parameters is not "
                f"there for mixed outputs. Got {theta!r}. Without theta, the objective of the fit "
                "is returned."
            )
        super()._check_arguments(theta, eval_gradient, X, y)


def _log_normal(residual, covariance, scale):
    """Log densities of the outputs that were observed, (n,), rows of one pattern together."""
    log_p, seen = np.zeros(len(residual)), ~np.isnan(residual)
    patterns, own = np.unique(seen, axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        rows, places = np.flatnonzero(own.ravel() == k), np.flatnonzero(pattern)
        if not len(places):
            continue  # nothing was observed, with density 1
        some = covariance[np.ix_(rows, places, places)]
        std = np.sqrt(np.diagonal(some, axis1=1, axis2=2))
        variance, axes = np.linalg.eigh(some / (std[:, :, None] * std[:, None, :]))
        variance = np.maximum(variance, _ROUNDING)
        along = np.einsum("npk,np->nk", axes, residual[np.ix_(rows, places)] / std)
        square = (along**2 / variance).sum(axis=1)
        log_det = np.log(variance).sum(axis=1) + 2.0 * np.log(std * scale[places]).sum(axis=1)
        log_p[rows] = -0.5 * (square + log_det + len(places) * np.log(2.0 * np.pi))
    return log_p
